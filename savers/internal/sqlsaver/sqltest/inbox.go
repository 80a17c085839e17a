package sqltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// input is a Post of one input.
func input(thread, id string) checkpoint.Post {
	return checkpoint.Post{
		Thread: thread, Graph: "test",
		Messages: []checkpoint.Message{{ID: id, Kind: checkpoint.InputMessage, Payload: []byte("payload of " + id)}},
	}
}

// inputs are posts of one input for each of n threads.
func inputs(thread, id string, n int) []checkpoint.Post {
	posts := make([]checkpoint.Post, n)
	for i := range posts {
		posts[i] = input(fmt.Sprint(thread, i), id)
	}
	return posts
}

// posts stores messages, which must all be accepted.
func posts(t *testing.T, s checkpoint.Inbox, all ...checkpoint.Post) []checkpoint.Posted {
	t.Helper()
	done, err := s.Post(t.Context(), all...)
	if err != nil || len(done) != len(all) {
		t.Fatalf("post: got %d results, %v; want %d", len(done), err, len(all))
	}
	for i := range done {
		if done[i].Err != nil {
			t.Fatalf("post %d: %v", i, done[i].Err)
		}
	}
	return done
}

// PostTrips has the round trips of calls. Post has three numbers: for new threads, for threads
// that exist, and for ids that are known. Each is for any number of threads in one call.
type PostTrips struct{ New, Old, Known, News, Mail int }

// PostRoundTrips counts what posts to 1 and to 200 threads cost on the wire.
func PostRoundTrips(t *testing.T, b *Backend, want PostTrips) {
	t.Helper()
	s, proxy := b.through(t, 1)
	trips := func(call func()) int {
		before := proxy.RoundTrips()
		call()
		return proxy.RoundTrips() - before
	}
	for _, n := range []int{1, 200, 1, 200} { // the first ones may prepare
		name := fmt.Sprint("threads ", rand.Int(), " ")
		got := PostTrips{
			New:   trips(func() { posts(t, s, inputs(name, "a", n)...) }),
			Old:   trips(func() { posts(t, s, inputs(name, "b", n)...) }),
			Known: trips(func() { posts(t, s, inputs(name, "a", n)...) }),
			News: trips(func() {
				var ids []string
				for i := range n {
					ids = append(ids, fmt.Sprint(name, i))
				}
				numbers, err := posted(t, s, append(ids, "no such thread")...)
				if err != nil || len(numbers) != n+1 || slices.Min(numbers[:n]) != 2 || slices.Max(numbers[:n]) != 2 || numbers[n] != 0 {
					t.Errorf("news: got %v, %v; want 2 for each of %d, and 0", numbers, err, n)
				}
			}),
			Mail: trips(func() {
				all, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: fmt.Sprint(name, n-1), After: 1})
				if err != nil || len(all) != 1 || all[0].ID != "b" || string(all[0].Payload) != "payload of b" {
					t.Errorf("mail: got %v, %v; want the input b", all, err)
				}
			}),
		}
		t.Logf("%d threads: %+v", n, got)
		if proxy.RoundTrips() > 60 && got != want {
			t.Errorf("%d threads: got round trips %+v, want %+v", n, got, want)
		}
	}
}

// HeldWithMail counts the round trips of a run that has seen all messages of its thread. Each
// commit, put and renewal takes one, and must report the newest number. A message that arrives
// costs the next write more, once.
func HeldWithMail(t *testing.T, b *Backend) {
	t.Helper()
	s, proxy := b.through(t, 1)
	ctx := t.Context()
	posts(t, s, input("t", "a"))
	r := opening(t, s, "t", checkpoint.ID{})
	seen := uint64(0)
	write := func(name string, call func() (uint64, error), most int) {
		t.Helper()
		before := proxy.RoundTrips()
		posted, err := call()
		trips := proxy.RoundTrips() - before
		if err != nil || trips > most {
			t.Errorf("%s: %d round trips, %v; want at most %d", name, trips, err, most)
		}
		seen = posted
	}
	commit := func() (uint64, error) { return r.commitSeen(ctx, seen) }
	put := func() (uint64, error) {
		done, err := s.PutWrites(ctx, checkpoint.PutWrites{
			Thread: "t", Fence: r.fence, Lease: time.Hour, Messages: checkpoint.Handled{Seen: seen},
			Writes: []checkpoint.Write{{Base: r.heads[""], Task: fmt.Sprint(rand.Int()), Kind: checkpoint.Result}},
		})
		return done.Posted, err
	}
	renew := func() (uint64, error) {
		done, err := s.PutWrites(ctx, checkpoint.PutWrites{
			Thread: "t", Fence: r.fence, Lease: time.Hour, Messages: checkpoint.Handled{Seen: seen},
		})
		return done.Posted, err
	}
	for n := range 4 {
		most := 1
		if n < 2 {
			most = 100 // statements are prepared
		}
		for _, w := range []struct {
			name string
			call func() (uint64, error)
		}{{"a commit", commit}, {"a put", put}, {"a renewal", renew}} {
			id := fmt.Sprint(w.name, n)
			number := posts(t, s, input("t", id))[0].Messages[0].Number
			write(w.name+" with news", w.call, 100)
			if seen != number {
				t.Errorf("%s with news: got newest number %d, want %d", w.name, seen, number)
			}
			write(w.name, w.call, most)
			if seen != number {
				t.Errorf("%s: got newest number %d, want %d", w.name, seen, number)
			}
		}
	}
}

// commitSeen is a commit of a run that knows of messages, and returns the newest number.
func (r *run) commitSeen(ctx context.Context, seen uint64) (uint64, error) {
	id, err := checkpoint.NewID()
	if err != nil {
		return 0, err
	}
	head := r.heads[""]
	done, err := r.s.Append(ctx, checkpoint.Append{
		Thread: r.thread, After: head, Fence: r.fence, Lease: time.Hour, Messages: checkpoint.Handled{Seen: seen},
		Records: []checkpoint.Record{{
			ID: id, Parent: head, Base: id, Line: r.fence, Commits: head, Source: checkpoint.Loop, Graph: "test", Payload: []byte{0x80},
		}},
	})
	r.heads[""] = id
	return done.Posted, err
}

// ManyPosts posts to the same threads from several savers concurrently, in different orders, while
// runs commit. Each message must be stored once, and the numbers must have no gaps.
func ManyPosts(t *testing.T, open func() (checkpoint.Saver, error)) {
	t.Helper()
	const threads, posters, rounds = 6, 4, 12
	name := func(n int) string { return fmt.Sprint("thread ", n) }
	var group sync.WaitGroup
	defer group.Wait()
	for p := range posters {
		s := opened(t, open)
		group.Go(func() {
			for round := range rounds {
				var all []checkpoint.Post
				for _, n := range rand.Perm(threads) {
					own := input(name(n), fmt.Sprint(p, " ", round))
					own.Messages = append(own.Messages, checkpoint.Message{ID: fmt.Sprint("of all ", round), Kind: checkpoint.SignalMessage})
					all = append(all, own)
				}
				done, err := s.Post(context.WithoutCancel(t.Context()), all...)
				for i := range done {
					err = errors.Join(err, done[i].Err)
				}
				if err != nil {
					t.Errorf("post: %v", err)
					return
				}
			}
		})
	}
	s := opened(t, open)
	runs := make([]*run, threads)
	for n := range runs {
		runs[n] = opening(t, s, name(n), checkpoint.ID{})
	}
	for range rounds {
		for _, r := range runs {
			if _, err := r.commitSeen(t.Context(), 0); err != nil {
				t.Error(err)
			}
		}
	}
	group.Wait()
	for n := range threads {
		all, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: name(n)})
		if want := (posters + 1) * rounds; err != nil || len(all) != want || all[want-1].Number != uint64(want) {
			t.Errorf("%s has %d messages, %v; want %d with numbers from 1", name(n), len(all), err, want)
		}
	}
}

// CallerTx is a transaction of a caller.
type CallerTx struct {
	Post             func(posts ...checkpoint.Post) ([]checkpoint.Posted, error)
	Commit, Rollback func() error
}

// InTxDeadlock has two transactions that post to two threads in opposite orders.
func InTxDeadlock(t *testing.T, s checkpoint.Saver, begin func() CallerTx) {
	t.Helper()
	type outcome struct {
		first, second checkpoint.Post
		err           error
	}
	if _, err := s.Post(t.Context(), input("a", "0"), input("b", "0")); err != nil {
		t.Fatal(err)
	}
	ended := make(chan outcome, 2)
	plans := []outcome{{first: input("a", "1"), second: input("b", "1")}, {first: input("b", "2"), second: input("a", "2")}}
	txs := []CallerTx{begin(), begin()}
	for i, p := range plans {
		if _, err := txs[i].Post(p.first); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range plans {
		go func() {
			if _, p.err = txs[i].Post(p.second); p.err == nil {
				p.err = txs[i].Commit()
			} else {
				_ = txs[i].Rollback() // the server may have done so
			}
			ended <- p
		}()
	}
	var failed []outcome
	for range plans {
		if p := <-ended; p.err != nil {
			failed = append(failed, p)
		}
	}
	if len(failed) != 1 || !errors.Is(failed[0].err, checkpoint.ErrUnavailable) {
		t.Fatalf("the transactions that failed: got %v; want one that is %v", failed, checkpoint.ErrUnavailable)
	}
	again := begin()
	if _, err := again.Post(failed[0].first, failed[0].second); err != nil {
		t.Fatal(err)
	}
	if err := again.Commit(); err != nil {
		t.Fatal(err)
	}
	numbers, err := posted(t, s, "a", "b")
	if err != nil || !slices.Equal(numbers, []uint64{3, 3}) {
		t.Errorf("news: got %v, %v; want 3 messages each", numbers, err)
	}
}

// InTxRefused has a transaction in which one Post is refused and another one is accepted.
func InTxRefused(t *testing.T, s checkpoint.Saver, tx CallerTx) {
	t.Helper()
	full := input("full", "2")
	full.MaxInputs = 1
	for i, p := range []checkpoint.Post{input("full", "1"), full, input("free", "1")} {
		done, err := tx.Post(p)
		if refused := i == 1; err != nil || errors.Is(done[0].Err, checkpoint.ErrInboxFull) != refused {
			t.Fatalf("post %d: got %v, %v; want it refused: %t", i, done, err, refused)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	numbers, err := posted(t, s, "full", "free")
	if err != nil || !slices.Equal(numbers, []uint64{1, 1}) {
		t.Errorf("news: got %v, %v; want 1 message each", numbers, err)
	}
}

// InTxElsewhere posts in a transaction on a database without the tables of the saver.
func InTxElsewhere(t *testing.T, tx CallerTx) {
	t.Helper()
	_, err := tx.Post(input("t", "1"))
	if err == nil || !strings.Contains(err.Error(), "must be on the database of the saver") || errors.Is(err, checkpoint.ErrUnavailable) {
		t.Errorf("post: got %v; want an error that names the database, and nothing to try again", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// InTx posts in transactions of the caller, to a new thread and to one that a run holds.
func InTx(t *testing.T, s checkpoint.Saver, begin func() CallerTx) {
	t.Helper()
	r := opening(t, s, "held", checkpoint.ID{})
	both := func(id string) []checkpoint.Post { return []checkpoint.Post{input("held", id), input("new", id)} }
	post := func(tx CallerTx, id string) []checkpoint.Posted {
		t.Helper()
		done, err := tx.Post(both(id)...)
		if err != nil || len(done) != 2 || done[0].Err != nil || done[1].Err != nil {
			t.Fatalf("post: got %v, %v; want it to be accepted", done, err)
		}
		return done
	}
	due := func(want ...string) {
		t.Helper()
		got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"test"}, Limit: 9})
		var ids []string
		for _, thread := range got.Threads {
			ids = append(ids, thread.ID)
		}
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("ready: got %q, %v; want %q", ids, err, want)
		}
	}
	tx := begin()
	post(tx, "a")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	numbers, err := posted(t, s, "held", "new")
	if err != nil || !slices.Equal(numbers, []uint64{0, 0}) {
		t.Errorf("news after a rollback: got %v, %v; want none", numbers, err)
	}
	due()
	tx = begin()
	post(tx, "a")
	wrote := make(chan error, 1)
	go func() { // it may have to wait for the transaction
		posted, err := r.commitSeen(t.Context(), 0)
		if err == nil && posted > 1 {
			err = fmt.Errorf("the newest number is %d, want 0 or 1", posted)
		}
		wrote <- err
	}()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Errorf("a commit of the run that holds the thread: %v", err)
	}
	due("new")
	tx = begin()
	for i, done := range post(tx, "a") {
		if want := (checkpoint.PostedMessage{Number: 1, Known: true}); len(done.Messages) != 1 || done.Messages[0] != want {
			t.Errorf("post %d again: got %+v, want %+v", i, done.Messages, want)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	numbers, err = posted(t, s, "held", "new")
	if err != nil || !slices.Equal(numbers, []uint64{1, 1}) {
		t.Errorf("news: got %v, %v; want 1 message each", numbers, err)
	}
	if _, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "held", Fence: r.fence, End: true, Status: checkpoint.Done}); err != nil {
		t.Fatal(err)
	}
	due("new", "held")
}

// posted returns the number of the newest message of each thread.
func posted(t *testing.T, s checkpoint.Saver, threads ...string) (numbers []uint64, err error) {
	t.Helper()
	news, err := s.News(t.Context(), threads)
	for i := range news {
		numbers = append(numbers, news[i].Posted)
	}
	return numbers, err
}
