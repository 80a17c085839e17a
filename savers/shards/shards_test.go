package shards_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/internal/intercept"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/shards"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

var errDown = errors.New("the server has gone away")

// faulty is a saver that counts its calls, and that a test stops.
type faulty struct {
	*intercept.Saver
	mu    sync.Mutex
	calls map[string]int
	fault func(op string, n int) (err error, after bool) // n counts the calls of any kind; after makes the call, and its answer is lost
	n     int
}

func newFaulty() *faulty {
	f := &faulty{calls: make(map[string]int)}
	f.Saver = &intercept.Saver{Saver: memory.New(), By: f.call}
	return f
}

// set sets the fault; nil for none.
func (f *faulty) set(fault func(op string, n int) (error, bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.n = fault, 0
	clear(f.calls)
}

// down makes all calls fail.
func (f *faulty) down() { f.set(func(string, int) (error, bool) { return errDown, false }) }

// counts returns how often each call was made since set.
func (f *faulty) counts() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for op, n := range f.calls {
		all = append(all, fmt.Sprint(op, " ", n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// call makes a call, unless it has a fault.
func (f *faulty) call(ctx context.Context, op, _ string, do func(context.Context) error) error {
	f.mu.Lock()
	f.calls[op]++
	f.n++
	var err error
	after := false
	if f.fault != nil {
		err, after = f.fault(op, f.n)
	}
	f.mu.Unlock()
	if errors.Is(err, errHangs) {
		<-ctx.Done()
		return ctx.Err()
	}
	if err != nil && !after {
		return err
	}
	if failed := do(ctx); err == nil {
		return failed
	}
	return err
}

// errHangs is the fault of a server that does not answer.
var errHangs = errors.New("hangs")

// pair is a saver over two shards in memory, whose calls a test stops.
type pair struct {
	*shards.Saver
	a, b *faulty
}

func newPair(tb testing.TB) pair {
	tb.Helper()
	p := pair{a: newFaulty(), b: newFaulty()}
	s, err := shards.Open(tb.Context(), on("a", p.a), on("b", p.b))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	p.Saver = s
	p.a.set(nil)
	p.b.set(nil)
	return p
}

// thread returns the n-th id with a prefix that lives on a shard.
func (p pair) thread(prefix, shard string, n int) string {
	for i := 0; ; i++ {
		id := fmt.Sprint(prefix, i)
		if p.Shard(id) == shard {
			if n == 0 {
				return id
			}
			n--
		}
	}
}

// input is a Post of one input.
func input(thread string) checkpoint.Post {
	return checkpoint.Post{Thread: thread, Graph: "g", Messages: []checkpoint.Message{{ID: "in", Kind: checkpoint.InputMessage, Payload: []byte{1}}}}
}

// post posts inputs for threads.
func post(tb testing.TB, s checkpoint.Saver, threads ...string) {
	tb.Helper()
	for _, id := range threads {
		posted, err := s.Post(tb.Context(), input(id))
		if err == nil {
			err = posted[0].Err
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// listed returns the ids of a list, and its error.
func listed(tb testing.TB, s checkpoint.Saver, q checkpoint.ThreadQuery) (ids []string, failed error) {
	tb.Helper()
	for t, err := range s.Threads(tb.Context(), q) {
		if failed = err; err != nil {
			continue
		}
		ids = append(ids, t.ID)
	}
	return ids, failed
}

// wantShard fails unless err names a shard that is down.
func wantShard(tb testing.TB, what string, err error, shard string) {
	tb.Helper()
	var failed *shards.ShardError
	if !errors.As(err, &failed) || failed.Shard != shard || !errors.Is(err, errDown) {
		tb.Errorf("%s: got %v, want a *ShardError of %q with the error of the shard", what, err, shard)
	}
}

// TestPlacesNeverChange has the shards of threads as the first version chose them. Threads that
// are stored would be lost if this test had to change.
func TestPlacesNeverChange(t *testing.T) {
	s, err := shards.Open(t.Context(), weighted("eu-1", 1), weighted("eu-2", 1), weighted("us", 2))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []string
	for i := range 12 {
		got = append(got, s.Shard(fmt.Sprint("order-", i)))
	}
	for _, id := range []string{"a", "\x00\xff", strings.Repeat("x", checkpoint.MaxThread), "__task-7", "__task-00000000000000ff-x"} {
		got = append(got, s.Shard(id))
	}
	want := []string{
		"us", "eu-1", "eu-1", "us", "us", "eu-1", "eu-1", "us", "us", "us", "eu-2", "eu-1",
		"us", "eu-2", "eu-2", "eu-2", "us",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the shards differ (-want +got):\n%s", diff)
	}
}

// weighted is a shard in memory.
func weighted(name string, weight int) shards.Shard {
	sh := on(name, memory.New())
	sh.Weight = weight
	return sh
}

func TestThreadsSpreadByWeight(t *testing.T) {
	s, err := shards.Open(t.Context(), weighted("a", 1), weighted("b", 1), weighted("c", 2))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n = 40_000
	count := make(map[string]int)
	for i := range n {
		count[s.Shard(fmt.Sprint("order-", i))]++
	}
	for name, share := range map[string]int{"a": n / 4, "b": n / 4, "c": n / 2} {
		if got := count[name]; got < share*97/100 || got > share*103/100 {
			t.Errorf("shard %s has %d of %d threads, want about %d", name, got, n, share)
		}
	}
}

func TestTasksLiveWithTheirThread(t *testing.T) {
	s, err := shards.Open(t.Context(), weighted("a", 1), weighted("b", 1), weighted("c", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 100 {
		id := fmt.Sprint("order-", i)
		if task := checkpoint.TaskID(id, "5feceb66"); s.Shard(task) != s.Shard(id) {
			t.Errorf("task %s lives on %s, and its thread on %s", task, s.Shard(task), s.Shard(id))
		}
	}
}

// TestACallTakesOneCall counts the calls of the shards.
func TestACallTakesOneCall(t *testing.T) {
	p := newPair(t)
	id, ctx := p.thread("t", "a", 0), t.Context()
	first, _ := checkpoint.NewID()
	_, err := p.Append(ctx, checkpoint.Append{Thread: id, Open: &checkpoint.Opening{}, Records: []checkpoint.Record{
		{ID: first, Base: first, Source: checkpoint.Input, Graph: "g", Snapshot: true, Created: time.Now()},
	}})
	if err == nil {
		_, err = p.PutWrites(ctx, checkpoint.PutWrites{Thread: id, Fence: first})
	}
	if err == nil {
		_, err = p.Load(ctx, checkpoint.Ref{Thread: id})
	}
	if err == nil {
		_, err = p.Mail(ctx, checkpoint.MailQuery{Thread: id})
	}
	if err == nil {
		_, err = p.Post(ctx, input(id), input(p.thread("t", "a", 1)))
	}
	if err == nil {
		_, err = p.News(ctx, []string{id, p.thread("t", "a", 1)})
	}
	if err == nil {
		_, err = checkpoint.FindThread(ctx, p, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.a.counts(), "append 1, load 1, mail 1, news 1, post 1, put 1, threads 1"; got != want {
		t.Errorf("shard a got the calls %s, want %s", got, want)
	}
	if got := p.b.counts(); got != "" {
		t.Errorf("shard b got the calls %s, want none", got)
	}
}

// TestReadyAsksTwice counts the calls of Ready: one if nothing is due, and two of the shards with
// the first due threads.
func TestReadyAsksTwice(t *testing.T) {
	p := newPair(t)
	q := checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 2, Reserve: time.Hour}
	ready := func(want, a, b string, ids ...string) {
		t.Helper()
		p.a.set(nil)
		p.b.set(nil)
		got, err := p.Ready(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, due := range got.Threads {
			found = append(found, due.ID)
		}
		if !slices.Equal(found, ids) || p.a.counts() != a || p.b.counts() != b {
			t.Errorf("%s: got %q by the calls %q and %q, want %q by %q and %q", want, found, p.a.counts(), p.b.counts(), ids, a, b)
		}
	}
	ready("nothing is due", "ready 1", "ready 1")
	ids := []string{p.thread("t", "a", 0), p.thread("t", "a", 1), p.thread("t", "b", 0)}
	post(t, p, ids...)
	ready("the first two are on a", "ready 2", "ready 1", ids[:2]...)
	ready("the rest is on b", "ready 1", "ready 2", ids[2])
}

func TestAShardThatIsDownFailsItsThreadsOnly(t *testing.T) {
	p := newPair(t)
	ctx := t.Context()
	here, there := p.thread("t", "a", 0), p.thread("t", "b", 0)
	post(t, p, here, there)
	p.b.down()

	post(t, p, p.thread("t", "a", 1))
	if _, err := p.Load(ctx, checkpoint.Ref{Thread: here}); err != nil {
		t.Errorf("load of a thread of the other shard: %v", err)
	}
	_, err := p.Load(ctx, checkpoint.Ref{Thread: there})
	wantShard(t, "load", err, "b")
	_, err = p.Post(ctx, input(there))
	wantShard(t, "post", err, "b")
	_, err = checkpoint.FindThread(ctx, p, there)
	wantShard(t, "find", err, "b")
	if _, err := checkpoint.FindThread(ctx, p, here); err != nil {
		t.Errorf("find of a thread of the other shard: %v", err)
	}

	posted, err := p.Post(ctx, input(p.thread("t", "a", 2)), input(p.thread("t", "b", 2)))
	if err != nil || posted[0].Err != nil || len(posted[0].Messages) != 1 {
		t.Fatalf("post to both: got %+v and %v, want one of two stored", posted, err)
	}
	wantShard(t, "post to both", posted[1].Err, "b")
	if !errors.Is(posted[1].Err, checkpoint.ErrUnavailable) {
		t.Errorf("post to both: got %v, want ErrUnavailable", posted[1].Err)
	}

	for what, q := range map[string]checkpoint.ThreadQuery{
		"all": {}, "a page": {Limit: 2}, "the newest": {Order: checkpoint.NewestFirst}, "a graph": {Graph: "g"},
	} {
		want := 3
		if q.Limit > 0 {
			want = q.Limit
		}
		ids, err := listed(t, p, q)
		if len(ids) != want || !errors.Is(err, checkpoint.ErrPartial) {
			t.Errorf("list %s: got %q and %v, want %d threads and ErrPartial", what, ids, err, want)
		}
		wantShard(t, "list "+what, err, "b")
	}

	news, err := p.News(ctx, []string{there, here})
	if !errors.Is(err, checkpoint.ErrPartial) || len(news) != 2 || news[0] != (checkpoint.News{}) || news[1].Posted != 1 {
		t.Errorf("news: got %+v and %v, want those of one thread and ErrPartial", news, err)
	}
	got, err := p.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 9, Reserve: time.Hour})
	if !errors.Is(err, checkpoint.ErrPartial) || len(got.Threads) != 3 {
		t.Errorf("ready: got %d threads and %v, want 3 and ErrPartial", len(got.Threads), err)
	}
	if _, err := p.Ready(ctx, checkpoint.ReadyQuery{Limit: 1}); err != nil {
		t.Errorf("the time: %v", err)
	}

	p.a.down()
	if _, err := listed(t, p, checkpoint.ThreadQuery{}); errors.Is(err, checkpoint.ErrPartial) {
		t.Errorf("list: got %v, want another error if all shards are down", err)
	} else {
		wantShard(t, "list", err, "a")
	}
}

// TestAShardThatHangsDoesNotDelayOthers: a call over all shards gives a shard a part of its time,
// and leaves it out for a while.
func TestAShardThatHangsDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		post(t, p, p.thread("t", "a", 0), p.thread("t", "b", 0))
		p.b.set(func(string, int) (error, bool) { return errHangs, false })
		ready := func() (int, time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			began := time.Now()
			got, err := p.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 9, Reserve: time.Second})
			return len(got.Threads), time.Since(began), err
		}
		n, took, err := ready()
		if n != 1 || took != 2*time.Second || !errors.Is(err, checkpoint.ErrPartial) {
			t.Errorf("got %d threads after %s and %v, want one after a quarter of the time and ErrPartial", n, took, err)
		}
		time.Sleep(2 * time.Second) // the reservation ends
		listed := func() (n int, took time.Duration, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			began := time.Now()
			for _, err = range p.Threads(ctx, checkpoint.ThreadQuery{}) {
				if err == nil {
					n++
				}
			}
			return n, time.Since(began), err
		}
		if n, took, err := listed(); n != 1 || took != 0 || !errors.Is(err, checkpoint.ErrPartial) {
			t.Errorf("a list: got %d threads after %s and %v, want one at once and ErrPartial", n, took, err)
		}
		n, took, err = ready()
		if n != 1 || took != 0 || !errors.Is(err, checkpoint.ErrPartial) {
			t.Errorf("the next call: got %d threads after %s and %v, want one at once and ErrPartial", n, took, err)
		}
		time.Sleep(6 * time.Second) // the shard rests no more
		if n, took, err := listed(); n != 1 || took != 2*time.Second || !errors.Is(err, checkpoint.ErrPartial) {
			t.Errorf("a list: got %d threads after %s and %v, want one after a quarter of the time and ErrPartial", n, took, err)
		}
		p.b.set(nil)
		time.Sleep(10 * time.Second)
		if n, _, err := ready(); n != 2 || err != nil {
			t.Errorf("a shard that answers again: got %d threads and %v, want both", n, err)
		}
	})
}

func TestAShardIsOpenedLater(t *testing.T) {
	a, b, down := memory.New(), memory.New(), true
	later := on("b", b)
	open := later.Open
	later.Open = func(ctx context.Context) (checkpoint.Saver, error) {
		if down {
			return nil, errDown
		}
		return open(ctx)
	}
	s, err := shards.Open(t.Context(), on("a", a), later)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := pair{Saver: s}
	post(t, s, p.thread("t", "a", 0))
	_, err = s.Post(t.Context(), input(p.thread("t", "b", 0)))
	wantShard(t, "post", err, "b")
	down = false
	post(t, s, p.thread("t", "b", 0))

	if _, err := shards.Open(t.Context(), shards.Shard{Name: "c", Open: func(context.Context) (checkpoint.Saver, error) { return nil, errDown }}); !errors.Is(err, errDown) {
		t.Errorf("got %v, want the error of the only shard", err)
	}
}

// kept hides Close, so that a storage in memory is opened again.
type kept struct{ checkpoint.Saver }

func (kept) Close() error { return nil }

func TestALayoutIsStored(t *testing.T) {
	stores := map[string]checkpoint.Saver{}
	shard := func(name string, weight int, storage string) shards.Shard {
		if stores[storage] == nil {
			stores[storage] = kept{memory.New()}
		}
		sh := on(name, stores[storage])
		sh.Weight = weight
		return sh
	}
	open := func(all ...shards.Shard) error {
		s, err := shards.Open(t.Context(), all...)
		if err != nil {
			return err
		}
		return s.Close()
	}
	if err := open(shard("b", 0, "2"), shard("a", 0, "1")); err != nil {
		t.Fatal(err)
	}
	if err := open(shard("a", 1, "1"), shard("b", 1, "2")); err != nil {
		t.Errorf("the same layout: %v", err)
	}
	used := kept{memory.New()}
	post(t, used, "t")
	stores["used"] = used
	for want, all := range map[string][]shards.Shard{
		`has the layout a (1), b (1), not a (1)`:                  {shard("a", 1, "1")},
		`has the layout a (1), b (1), not a (1), b (1), c (1)`:    {shard("a", 1, "1"), shard("b", 1, "2"), shard("c", 1, "3")},
		`has the layout a (1), b (1), not a (1), b (2)`:           {shard("a", 1, "1"), shard("b", 2, "2")},
		`the storage of shard "a" is that of shard "b"`:           {shard("a", 1, "2"), shard("b", 1, "1")},
		`the storage of shard "x" has threads, and no layout: it`: {shard("x", 1, "used"), shard("y", 1, "4")},
	} {
		err := open(all...)
		var layout *shards.LayoutError
		if !errors.As(err, &layout) || len(layout.Given) != len(all) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a *LayoutError that says %q", err, want)
		}
	}
	for what, all := range map[string][]shards.Shard{
		"no shard": {}, "a name twice": {shard("a", 1, "8"), shard("a", 1, "9")}, "no name": {shard("", 1, "8")},
		"a weight": {shard("a", -1, "8")}, "a large weight": {shard("a", 101, "8")}, "no Open": {{Name: "a"}},
	} {
		if err := open(all...); !errors.As(err, new(*checkpoint.InvalidError)) {
			t.Errorf("%s: got %v, want an *InvalidError", what, err)
		}
	}
}

// TestALayoutIsStoredOnce opens two layouts at the same time: one of them is refused.
func TestALayoutIsStoredOnce(t *testing.T) {
	for range 50 {
		a, errs := kept{memory.New()}, make([]error, 2)
		var both sync.WaitGroup
		for i, other := range []string{"b", "c"} {
			both.Go(func() {
				s, err := shards.Open(t.Context(), on("a", a), on(other, memory.New()))
				if errs[i] = err; err == nil {
					errs[i] = s.Close()
				}
			})
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("got %v and %v, want one error", errs[0], errs[1])
		}
	}
}

func TestTheLayoutIsNoThread(t *testing.T) {
	p := newPair(t)
	for what, q := range map[string]checkpoint.ThreadQuery{"all": {}, "released": {Released: true}, "tasks": {Prefix: checkpoint.TaskPrefix}} {
		if ids, err := listed(t, p, q); len(ids) > 0 || err != nil {
			t.Errorf("%s: got %q and %v, want none", what, ids, err)
		}
	}
	if err := p.Delete(t.Context(), "__shards"); !errors.As(err, new(*checkpoint.InvalidError)) {
		t.Errorf("got %v, want that the thread of the layout is not deleted", err)
	}
}

func TestOnlySomeShards(t *testing.T) {
	p := newPair(t)
	here, there := p.thread("t", "a", 0), p.thread("t", "b", 0)
	some, err := p.Only("b")
	if err != nil {
		t.Fatal(err)
	}
	post(t, some, here, there)
	got, err := some.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 9})
	if err != nil || len(got.Threads) != 1 || got.Threads[0].ID != there {
		t.Errorf("got %v and %v, want the thread of shard b", got.Threads, err)
	}
	if ids, err := listed(t, some, checkpoint.ThreadQuery{}); len(ids) != 2 || err != nil {
		t.Errorf("got %q and %v, want a list of all threads", ids, err)
	}
	if err := some.Close(); err != nil {
		t.Error(err)
	}
	post(t, p, p.thread("t", "a", 1))
	for _, names := range [][]string{nil, {"c"}, {"a", "a"}} {
		if _, err := p.Only(names...); !errors.As(err, new(*checkpoint.InvalidError)) {
			t.Errorf("%q: got %v, want an *InvalidError", names, err)
		}
	}
}

// TestATransactionPostsToItsShard posts in a transaction of the database of a shard.
func TestATransactionPostsToItsShard(t *testing.T) {
	dir := t.TempDir()
	db, err := sqlite.Open(dir + "/a.db")
	if err != nil {
		t.Fatal(err)
	}
	s, err := shards.Open(t.Context(), on("a", db), onMemory("b"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := pair{Saver: s}
	app := openDB(t, dir+"/a.db")
	here, there := p.thread("t", "a", 0), p.thread("t", "b", 0)
	for _, commit := range []bool{false, true} {
		tx, err := app.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Via("a", db.InTx(tx)).Post(t.Context(), input(here), input(there)); !errors.As(err, new(*checkpoint.InvalidError)) {
			t.Errorf("a thread of another shard: got %v, want an *InvalidError", err)
		}
		posted, err := s.Via("a", db.InTx(tx)).Post(t.Context(), input(here))
		if err != nil || posted[0].Err != nil {
			t.Fatalf("got %v and %v", posted, err)
		}
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		_, err = checkpoint.FindThread(t.Context(), s, here)
		if commit && err != nil || !commit && !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("committed %v: got %v", commit, err)
		}
	}
}

// TestPagesReadAPageOfEachShard counts the threads that a page reads.
func TestPagesReadAPageOfEachShard(t *testing.T) {
	a, b := &counting{Saver: memory.New()}, &counting{Saver: memory.New()}
	s, err := shards.Open(t.Context(), on("a", a), on("b", b))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n, page = 200, 10
	for i := range n {
		post(t, s, fmt.Sprint("t", i))
	}
	a.yielded, b.yielded = 0, 0
	for _, q := range []checkpoint.ThreadQuery{{Limit: page}, {Limit: page, Order: checkpoint.NewestFirst}, {Limit: page, After: "t2"}} {
		ids, err := listed(t, s, q)
		if err != nil || len(ids) != page {
			t.Fatalf("got %d threads and %v, want a page", len(ids), err)
		}
		if got := a.yielded + b.yielded; got > page+2 {
			t.Errorf("a page of %d threads took %d of the shards, want at most one more of each", page, got)
		}
		a.yielded, b.yielded = 0, 0
	}
}

// counting counts the threads that lists yield.
type counting struct {
	checkpoint.Saver
	yielded int
}

func (c *counting) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range c.Saver.Threads(ctx, q) {
			c.yielded++
			if !yield(t, err) {
				return
			}
		}
	}
}
