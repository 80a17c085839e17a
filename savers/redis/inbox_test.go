package redis_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/redis"
)

func message(kind checkpoint.MessageKind, id string) checkpoint.Message {
	return checkpoint.Message{ID: id, Kind: kind, Name: "name of " + id, Key: "k", Payload: []byte("payload of " + id)}
}

func post(tb testing.TB, s checkpoint.Inbox, thread, graph string, messages ...checkpoint.Message) []checkpoint.PostedMessage {
	tb.Helper()
	done, err := s.Post(context.Background(), checkpoint.Post{Thread: thread, Graph: graph, Messages: messages})
	if err != nil || len(done) != 1 || done[0].Err != nil {
		tb.Fatalf("post: got %+v, %v", done, err)
	}
	return done[0].Messages
}

func mail(tb testing.TB, s checkpoint.Inbox, q checkpoint.MailQuery) []checkpoint.Message {
	tb.Helper()
	all, err := s.Mail(context.Background(), q)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// due returns the ids of the ready threads of graph g.
func due(tb testing.TB, s checkpoint.Saver, reserve time.Duration) string {
	tb.Helper()
	got, err := s.Ready(context.Background(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1000, Reserve: reserve})
	if err != nil {
		tb.Fatal(err)
	}
	var ids []string
	for _, t := range got.Threads {
		ids = append(ids, t.ID)
	}
	return strings.Join(ids, " ")
}

// inGraph is an opening of graph g with a lease of an hour.
func inGraph(tb testing.TB, thread string, after checkpoint.ID) checkpoint.Append {
	tb.Helper()
	a := opening(tb, thread, after)
	a.Records[0].Graph = "g"
	return a
}

// TestTheInboxIsThatOfTheMemorySaver makes random calls on both and compares all that they say.
func TestTheInboxIsThatOfTheMemorySaver(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range 30 {
		addr, prefix := testenv.Redis(t)
		m := &compared{tb: t, rng: rng, heads: map[string]checkpoint.ID{}, fences: map[string]checkpoint.ID{}}
		m.savers = []checkpoint.Saver{memory.New(), openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))}
		for call := range 60 {
			m.call()
			m.compare(fmt.Sprintf("seed %d, round %d, call %d, %s", seed, round, call, m.what))
			if t.Failed() {
				return
			}
		}
	}
}

// compared are savers that must say the same.
type compared struct {
	tb     testing.TB
	rng    *rand.Rand
	savers []checkpoint.Saver
	heads  map[string]checkpoint.ID // of threads with an open version
	fences map[string]checkpoint.ID // of runs that have not ended
	what   string
}

var comparedThreads = []string{"a", "b"}

// each makes a call on each saver, and compares what they return.
func (m *compared) each(what string, f func(s checkpoint.Saver) any) {
	m.tb.Helper()
	m.what = what
	var said []string
	for _, s := range m.savers {
		said = append(said, fmt.Sprintf("%+v", f(s)))
	}
	if said[0] != said[1] {
		m.tb.Errorf("%s: memory says\n%s\nredis says\n%s", what, said[0], said[1])
	}
}

// kindOf returns what kind of error err is.
func kindOf(err error) string {
	for _, kind := range []error{checkpoint.ErrInboxFull, checkpoint.ErrNotIdle, checkpoint.ErrConflict, checkpoint.ErrNotFound} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return fmt.Sprint(err)
}

func (m *compared) call() {
	m.tb.Helper()
	thread, ctx := comparedThreads[m.rng.IntN(2)], context.Background()
	switch n := m.rng.IntN(20); {
	case n < 7:
		m.post(thread)
	case n < 10:
		a := inGraph(m.tb, thread, m.heads[thread])
		a.Open.TakeOver, a.Messages = true, m.handled()
		if a.End = m.rng.IntN(3) == 0; a.End {
			a.Status = checkpoint.Done
		}
		m.append(a)
	case n < 14 && !m.fences[thread].IsZero():
		id := newID(m.tb)
		a := checkpoint.Append{Thread: thread, After: m.heads[thread], Fence: m.fences[thread], Lease: time.Hour, Messages: m.handled()}
		a.Records = []checkpoint.Record{{
			ID: id, Parent: a.After, Base: id, Line: a.Fence, Commits: a.After, Source: checkpoint.Loop, Payload: change("x"),
		}}
		if a.End = m.rng.IntN(2) == 0; a.End {
			a.Status, a.Release = checkpoint.Done, m.rng.IntN(2) == 0
		}
		m.append(a)
	case n < 17 && !m.fences[thread].IsZero():
		w := checkpoint.PutWrites{Thread: thread, Fence: m.fences[thread], Lease: time.Hour, Messages: m.handled(), End: m.rng.IntN(2) == 0}
		if w.End {
			w.Status = []checkpoint.Status{checkpoint.Done, checkpoint.Waiting}[m.rng.IntN(2)]
			delete(m.fences, thread)
		}
		m.each(fmt.Sprintf("put %+v", w), func(s checkpoint.Saver) any {
			done, err := s.PutWrites(ctx, w)
			return fmt.Sprint(done, kindOf(err))
		})
	case n == 17:
		m.each("release "+thread, func(s checkpoint.Saver) any {
			v, err := s.Release(ctx, thread, checkpoint.ID{})
			if err == nil {
				delete(m.heads, thread)
			}
			return fmt.Sprint(v.Number, kindOf(err))
		})
	case n == 18:
		other := comparedThreads[0]
		if thread == other {
			other = comparedThreads[1]
		}
		m.each("copy "+thread+" to "+other, func(s checkpoint.Saver) any {
			err := checkpoint.Copy(ctx, s, thread, 0, s, other)
			if err == nil {
				m.heads[other] = m.heads[thread]
				delete(m.fences, other)
			}
			return kindOf(err)
		})
	default:
		m.each("delete "+thread, func(s checkpoint.Saver) any {
			err := s.Delete(ctx, thread)
			if err == nil {
				delete(m.heads, thread)
			}
			return kindOf(err)
		})
	}
}

func (m *compared) append(a checkpoint.Append) {
	m.tb.Helper()
	var stored bool
	m.each(fmt.Sprintf("append %+v", a), func(s checkpoint.Saver) any {
		done, err := s.Append(context.Background(), a)
		stored = err == nil
		return fmt.Sprint(done.Version, done.Head, done.Posted, done.Attempts, kindOf(err))
	})
	if !stored {
		return
	}
	m.heads[a.Thread] = a.Records[len(a.Records)-1].ID
	if a.Open != nil {
		m.fences[a.Thread] = a.Records[0].ID
	}
	if a.End {
		delete(m.fences, a.Thread)
	}
	if a.Release {
		delete(m.heads, a.Thread)
	}
}

func (m *compared) post(thread string) {
	m.tb.Helper()
	p := checkpoint.Post{Thread: thread, Graph: "g", Title: "t", Labels: map[string]string{"l": "v"}, Idle: m.rng.IntN(6) == 0}
	p.MaxInputs, p.MaxOthers = m.rng.IntN(4), m.rng.IntN(6)
	used := map[string]bool{}
	for range 1 + m.rng.IntN(3) {
		kind := checkpoint.MessageKind(1 + m.rng.IntN(5))
		msg := message(kind, fmt.Sprint("id ", m.rng.IntN(30)))
		if m.rng.IntN(4) == 0 {
			msg.Payload = nil
		}
		if !used[msg.ID] {
			used[msg.ID] = true
			p.Messages = append(p.Messages, msg)
		}
	}
	m.each(fmt.Sprintf("post %+v", p), func(s checkpoint.Saver) any {
		done, err := s.Post(context.Background(), p)
		if err != nil {
			return err
		}
		return fmt.Sprint(done[0].Messages, kindOf(done[0].Err))
	})
}

func (m *compared) handled() (h checkpoint.Handled) {
	number := func() uint64 { return uint64(1 + m.rng.IntN(12)) }
	for range m.rng.IntN(3) {
		h.Take = append(h.Take, number())
	}
	for range m.rng.IntN(2) {
		h.Refuse = append(h.Refuse, checkpoint.Refusal{Number: number(), Reason: "because"})
	}
	for range m.rng.IntN(2) {
		h.Return = append(h.Return, checkpoint.Message{Number: number(), Payload: []byte("again")})
	}
	h.Seen = number()
	return h
}

// compare reads all that the savers have of the threads.
func (m *compared) compare(what string) {
	m.tb.Helper()
	ctx := context.Background()
	m.each(what, func(s checkpoint.Saver) any {
		var said []any
		plain := func(messages []checkpoint.Message) []checkpoint.Message {
			messages = slices.Clone(messages)
			for i := range messages {
				if messages[i].Posted.IsZero() {
					m.tb.Errorf("%s: message %d has no time", what, messages[i].Number)
				}
				messages[i].Posted = time.Time{}
			}
			return messages
		}
		for _, id := range comparedThreads {
			for _, q := range []checkpoint.MailQuery{{Thread: id}, {Thread: id, Handled: true}, {Thread: id, After: 2, Limit: 2}, {Thread: id, Handled: true, After: 3, Limit: 1}} {
				said = append(said, plain(mail(m.tb, s, q)))
			}
			for item, err := range s.Export(ctx, id, 0) {
				if err == nil && item.Message != nil {
					said = append(said, plain([]checkpoint.Message{*item.Message}))
				}
			}
		}
		news, err := s.News(ctx, comparedThreads)
		said = append(said, news, err)
		for t, err := range s.Threads(ctx, checkpoint.ThreadQuery{}) {
			said = append(said, t.ID, t.Version, t.Status, t.Versions, t.Wake.IsZero(), t.Attempts, t.Posted, t.Inputs, t.Others, t.Graph, t.Title, t.Labels, err)
		}
		ready, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10})
		slices.SortFunc(ready.Threads, func(a, b checkpoint.ReadyThread) int { return strings.Compare(a.ID, b.ID) })
		for _, t := range ready.Threads {
			said = append(said, t.ID, t.Status, t.Fence, t.Attempts, t.Posted)
		}
		return append(said, err)
	})
}

func TestTheIdsOfTheLastThousandHandledMessagesAreKept(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	s := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
	a := inGraph(t, "a", checkpoint.ID{})
	if _, err := s.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	post(t, s, "a", "g", message(checkpoint.SignalMessage, "stays"))
	for batch := range 25 {
		var messages []checkpoint.Message
		w := checkpoint.PutWrites{Thread: "a", Fence: a.Records[0].ID, Lease: time.Hour}
		for i := range 100 {
			messages = append(messages, message(checkpoint.SignalMessage, fmt.Sprint(batch, " ", i)))
			w.Messages.Take = append(w.Messages.Take, uint64(2+batch*100+i))
		}
		post(t, s, "a", "g", messages...)
		if _, err := s.PutWrites(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	stored := client.ZCard(t.Context(), redis.Key(prefix, "a")).Val()
	if known := post(t, s, "a", "g", message(checkpoint.SignalMessage, "15 0"))[0]; !known.Known || known.Number != 2+15*100 {
		t.Errorf("the first of the last thousand: got %+v, want the known number %d", known, 2+15*100)
	}
	if again := post(t, s, "a", "g", message(checkpoint.SignalMessage, "14 99"))[0]; again.Known || again.Number != 2502 {
		t.Errorf("the message before these: got %+v, want a new number", again)
	}
	if got := mail(t, s, checkpoint.MailQuery{Thread: "a"}); len(got) != 2 || got[0].ID != "stays" || got[1].ID != "14 99" {
		t.Errorf("untaken: got %+v, want the two that nobody took", got)
	}
	if stored > 2600 {
		t.Errorf("the thread has %d rows, want at most 2 for each of 1,250 messages, and few others", stored)
	}
}

func TestAPostWhoseAnswerIsLostIsStoredOnceAndNotKnown(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	proxy := testenv.NewProxy(t, addr)
	for _, retries := range []int{-1, 3} { // of the client
		s := openOn(t, goredis.NewClient(&goredis.Options{Addr: proxy.Addr, MaxRetries: retries}), redis.Prefix(fmt.Sprint(prefix, retries)))
		post(t, s, "a", "g", message(checkpoint.InputMessage, "warm"))
		for i := range 10 {
			proxy.CutReply(i % 5 * 3)
			got := post(t, s, "a", "g", message(checkpoint.SignalMessage, fmt.Sprint(i)), message(checkpoint.CancelMessage, fmt.Sprint("c", i)))
			proxy.Disarm()
			want := []checkpoint.PostedMessage{{Number: uint64(2 + 2*i)}, {Number: uint64(3 + 2*i)}}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("post %d: got %+v, want %+v", i, got, want)
			}
		}
		if got := post(t, s, "a", "g", message(checkpoint.SignalMessage, "3"))[0]; !got.Known || got.Number != 8 {
			t.Errorf("a second call: got %+v, want the known number 8", got)
		}
	}
	if proxy.Cuts() < 20 {
		t.Errorf("%d answers were cut, want 20", proxy.Cuts())
	}
}

func TestAThreadWithMailOrAWakeDoesNotExpire(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	s, ctx := openOn(t, client, redis.Prefix(prefix), redis.TTL(time.Hour)), t.Context()
	expires := func(what string, want bool) {
		t.Helper()
		if got := client.PTTL(ctx, redis.Key(prefix, "a")).Val() > 0; got != want {
			t.Errorf("%s: it expires: %t, want %t", what, got, want)
		}
	}
	a := inGraph(t, "a", checkpoint.ID{})
	a.End, a.Status = true, checkpoint.Done
	if _, err := s.Append(ctx, a); err != nil {
		t.Fatal(err)
	}
	expires("done", true)
	post(t, s, "a", "g", message(checkpoint.WakeMessage, "w"))
	expires("woken", false)
	rewake := func(posted uint64) {
		t.Helper()
		if err := s.Rewake(ctx, checkpoint.Rewake{Thread: "a", Fence: a.Records[0].ID, Posted: posted}); err != nil {
			t.Fatal(err)
		}
	}
	rewake(1)
	expires("looked at", true)
	post(t, s, "a", "g", message(checkpoint.SignalMessage, "s"))
	rewake(2)
	expires("with a signal and without a wake", false)
	again := inGraph(t, "a", a.Records[0].ID)
	again.End, again.Status, again.Messages = true, checkpoint.Done, checkpoint.Handled{Seen: 2, Take: []uint64{2}}
	if _, err := s.Append(ctx, again); err != nil {
		t.Fatal(err)
	}
	expires("after the signal was taken", true)
	post(t, s, "a", "g", message(checkpoint.InputMessage, "i"))
	if _, err := s.Release(ctx, "a", checkpoint.ID{}); err != nil {
		t.Fatal(err)
	}
	expires("released with an input", false)
	if got := due(t, s, 0); got != "a" {
		t.Errorf("released with an input: got %q ready, want a", got)
	}
}
