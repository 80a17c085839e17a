//go:build unix

package proof_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// round is one history: the calls that some clients of one process make.
type round struct {
	Threads []string
	First   int // the number of the first client
	Clients int
	Ops     int // of each client
	Seed    uint64
}

// run lets the clients loose.
func (r round) run(saver checkpoint.Saver, now func() int64) []operation {
	all := make([][]operation, r.Clients)
	var working sync.WaitGroup
	for i, c := range r.clients(saver, now) {
		working.Go(func() { all[i] = c.work(r.Ops) })
	}
	working.Wait()
	return slices.Concat(all...)
}

func (r round) clients(saver checkpoint.Saver, now func() int64) []*client {
	all := make([]*client, r.Clients)
	for i := range all {
		all[i] = &client{
			saver: saver, number: r.First + i, now: now, threads: r.Threads, known: make(map[string]*known),
			random: rand.New(rand.NewPCG(r.Seed, uint64(r.First+i))),
		}
	}
	return all
}

// takeTurns lets the clients make their calls in turns, so that the history is the same every
// time.
func (r round) takeTurns(saver checkpoint.Saver) (ops []operation) {
	clock := int64(0)
	all := r.clients(saver, func() int64 { clock++; return clock })
	for range r.Ops {
		for _, c := range all {
			c.reserves = true
			c.step()
		}
	}
	ops = r.settle(saver, all[0].now)
	for _, c := range all {
		ops = append(ops, c.ops...)
	}
	return ops
}

// linear is the work of a process of clients.
func (j *job) linear(saver checkpoint.Saver) error {
	shared, err := share(j.Counter)
	if err != nil {
		return err
	}
	return serve(func(r round) ([]operation, error) { return r.run(saver, shared.now), nil })
}

// judge fails the test unless the history of every thread is linearizable, and returns how many
// calls it checked.
//
// A Ready can omit a due thread that another call changes at the same time, if its Next says that
// a thread is due.
//
// On a Redis cluster, the index is in another slot than the thread, and follows it, a second
// later if the call ended in between. The clock of MySQL is that of the beginning of a
// statement, before its view.
func judge(tb testing.TB, b *bench, what string, ops []operation) (calls int) {
	tb.Helper()
	byThread := make(map[string][]operation)
	for _, o := range ops {
		o.Omits = !o.Settled && slices.Contains([]string{"redis cluster", "mysql"}, b.name)
		if o.Answer.Outcome == "error" {
			tb.Errorf("%s: %s of thread %s: %s", what, o.Kind, o.Thread, o.Err)
		}
		byThread[o.Thread] = append(byThread[o.Thread], o)
	}
	for name, ops := range byThread {
		if got := linearizable(ops); got != porcupine.Ok {
			tb.Errorf("%s: the history of thread %s: got %s, want it linearizable\n%s", what, name, got, describe(ops))
		}
	}
	return len(ops)
}

// proveLinear checks histories of clients in several processes.
func proveLinear(t *testing.T, b *bench, c *count) {
	t.Helper()
	counter := newCounters(t)
	const processes, clients = 3, 3
	var all []*process
	shared, err := share(counter)
	if err != nil {
		t.Fatal(err)
	}
	if b.url == "" {
		for b.more(&c.rounds, 6) {
			r := round{Threads: b.threads("linear", c.rounds), Clients: processes * clients, Ops: 40, Seed: b.seed + uint64(c.rounds)}
			c.calls += judge(t, b, fmt.Sprint("seed ", r.Seed), r.runWhole(b.open(t), shared.now))
		}
		return
	}
	parent := b.open(t)
	for range processes {
		all = append(all, start(t, job{Role: "linear", URL: b.url, Counter: counter}))
	}
	for b.more(&c.rounds, 6) {
		r := round{Threads: b.threads("linear", c.rounds), Clients: clients, Ops: 40, Seed: b.seed + uint64(c.rounds)}
		for i, p := range all {
			r.First = i * clients
			p.ask(t, r)
		}
		var ops []operation
		for _, p := range all {
			var some []operation
			p.answer(t, &some)
			ops = append(ops, some...)
		}
		if b.follows != nil {
			b.follows(t)
		}
		ops = append(ops, r.settle(parent, shared.now)...)
		c.calls += judge(t, b, fmt.Sprint("seed ", r.Seed), ops)
		if t.Failed() {
			return
		}
	}
	for _, p := range all {
		p.end(t)
	}
}

// headless is a saver that appends wherever the head is.
type headless struct{ checkpoint.Saver }

func (h headless) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	chain, err := h.Load(ctx, checkpoint.Ref{Thread: a.Thread, Namespace: a.Namespace})
	if err != nil {
		return checkpoint.AppendResult{}, err
	}
	if a.Open == nil && !chain.Empty() {
		a.Records = slices.Clone(a.Records)
		a.After, a.Records[0].Parent = chain.Head, chain.Head
	}
	return h.Saver.Append(ctx, a)
}

// forgetful is a saver that acknowledges now and then what it does not store.
type forgetful struct {
	checkpoint.Saver
	puts atomic.Int64
}

func (f *forgetful) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if f.puts.Add(1)%5 == 0 {
		w.Writes = nil
	}
	return f.Saver.PutWrites(ctx, w)
}

// stale is a saver that shows a thread as it was a while ago.
type stale struct {
	checkpoint.Saver
	mu   sync.Mutex
	last map[checkpoint.Ref]checkpoint.Chain
	n    int
}

func (s *stale) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	chain, err := s.Saver.Load(ctx, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if old, seen := s.last[p]; seen && s.n%3 == 0 {
		return old, err
	}
	s.last[p] = chain
	return chain, err
}

// unfenced is a saver that lets a run write on which lost its thread to another.
type unfenced struct {
	checkpoint.Saver
	mu    sync.Mutex
	fence map[string]checkpoint.ID
}

func (u *unfenced) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a.Open == nil {
		a.Fence = u.fence[a.Thread]
		if a.Fence.IsZero() {
			a.Fence = a.Records[0].ID
		}
	}
	done, err := u.Saver.Append(ctx, a)
	if err == nil && a.Open != nil {
		u.fence[a.Thread] = a.Records[0].ID
	}
	return done, err
}

func (u *unfenced) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if fence := u.fence[w.Thread]; !fence.IsZero() {
		w.Fence = fence
	}
	return u.Saver.PutWrites(ctx, w)
}

// undying is a saver that does not delete what it says it deletes.
type undying struct{ checkpoint.Saver }

func (u undying) Delete(ctx context.Context, thread string) error {
	for t, err := range u.Threads(ctx, checkpoint.ThreadQuery{Prefix: thread}) {
		if err == nil && t.Holder != "" {
			err = &checkpoint.BusyError{Thread: thread}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// careless is a saver that imports without what is pending.
type careless struct{ checkpoint.Saver }

func (c careless) Import(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	return c.Saver.Import(ctx, thread, func(yield func(checkpoint.ExportItem, error) bool) {
		for item, err := range items {
			if item.Write == nil && !yield(item, err) {
				return
			}
		}
	})
}

// greedy is a saver whose prune takes what is pending, too.
type greedy struct{ checkpoint.Saver }

func (g greedy) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	done, err := g.Saver.Prune(ctx, thread, keep)
	if err != nil {
		return done, err
	}
	var items []checkpoint.ExportItem
	for item, err := range g.Export(ctx, thread, 0) {
		if err != nil {
			return done, nil // it has no open version
		}
		items = append(items, item)
	}
	if _, err = g.Release(ctx, thread, checkpoint.ID{}); err == nil {
		err = careless(g).Import(ctx, thread, func(yield func(checkpoint.ExportItem, error) bool) {
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		})
	}
	return done, err
}

// TestWrongSaversAreNotLinearizable shows that the proof finds savers that are wrong on purpose.
func TestWrongSaversAreNotLinearizable(t *testing.T) {
	wrong := map[string]func(checkpoint.Saver) checkpoint.Saver{
		"appends wherever the head is": func(s checkpoint.Saver) checkpoint.Saver { return headless{s} },
		"forgets writes":               func(s checkpoint.Saver) checkpoint.Saver { return &forgetful{Saver: s} },
		"shows what was": func(s checkpoint.Saver) checkpoint.Saver {
			return &stale{Saver: s, last: make(map[checkpoint.Ref]checkpoint.Chain)}
		},
		"deletes nothing":               func(s checkpoint.Saver) checkpoint.Saver { return undying{s} },
		"imports nothing that pends":    func(s checkpoint.Saver) checkpoint.Saver { return careless{s} },
		"prunes what pends into a copy": func(s checkpoint.Saver) checkpoint.Saver { return greedy{s} },
		"forgets messages":              func(s checkpoint.Saver) checkpoint.Saver { return &losing{Saver: s} },
		"takes twice":                   func(s checkpoint.Saver) checkpoint.Saver { return &retaking{Saver: s} },
		"shows old news":                func(s checkpoint.Saver) checkpoint.Saver { return &behind{Saver: s} },
		"reserves nothing":              func(s checkpoint.Saver) checkpoint.Saver { return lavish{s} },
		"rewakes a thread with news":    func(s checkpoint.Saver) checkpoint.Saver { return deaf{s} },
		"ends a run despite news":       func(s checkpoint.Saver) checkpoint.Saver { return sleepy{s} },
		"has no fence": func(s checkpoint.Saver) checkpoint.Saver {
			return &unfenced{Saver: s, fence: make(map[string]checkpoint.ID)}
		},
	}
	maps.Copy(wrong, brokenInboxes())
	for name, wrap := range wrong {
		t.Run(name, func(t *testing.T) {
			r := round{Threads: []string{"t"}, Clients: 4, Ops: 30}
			for r.Seed = range 500 { // usually far fewer; on a slow machine, contexts end at other calls
				if got := linearizable(r.takeTurns(memory.New())); got != porcupine.Ok {
					t.Fatalf("seed %d: got the memory saver %s, want it linearizable", r.Seed, got)
				}
				if linearizable(r.takeTurns(wrap(memory.New()))) == porcupine.Illegal {
					return
				}
			}
			t.Errorf("%d histories: got them all linearizable, want one that is not", r.Seed+1)
		})
	}
}

// Every kind of call must succeed now and then, or else nothing that is said of it means anything.
func TestHistoriesHaveEveryKindOfCall(t *testing.T) {
	done := make(map[string]int)
	short := 0
	for seed := range uint64(100) {
		for _, o := range (round{Threads: []string{"t"}, Clients: 4, Ops: 30, Seed: seed}).takeTurns(memory.New()) {
			for _, what := range o.uses() {
				done[what]++
			}
			if o.Kind == doLoad && o.Answer.Seq > size(o.Answer.Log) {
				short++
			}
		}
	}
	for _, kind := range []string{doOpen, doAppend, doPut, doLoad, doRelease, doVersions, doDelete, doImport, doPrune, doPost, doMail, doNews, doReady, doRewake,
		full, notIdle, "idle", "known", "two", "take", "refuse", "return", "attempts", "attempts at a look", "progress", "cancels"} {
		if done[kind] < 5 {
			t.Errorf("%s: %d calls succeeded, want more", kind, done[kind])
		}
	}
	if t.Log(done, short, "loads of a pruned log"); short == 0 {
		t.Error("no load shows that a prune took anything")
	}
}

// uses returns what a call shows of the rules.
func (o *operation) uses() (all []string) {
	if o.Answer.Outcome != ok {
		return []string{o.Answer.Outcome}
	}
	for what, is := range map[string]bool{
		o.Kind:               true,
		"idle":               o.Idle,
		"known":              o.Kind == doPost && strings.Contains(o.Answer.Mail, "="),
		"two":                len(strings.Fields(o.Answer.Mail)) == 2 && o.Kind == doPost,
		"take":               len(o.Take) > 0,
		"refuse":             len(o.Refuse) > 0,
		"return":             len(o.Back) > 0,
		"attempts":           o.Answer.Tries > 1,
		"attempts at a look": (o.Kind == doReady || o.Kind == doLoad) && o.Answer.Tries > 0,
		"progress":           o.Progress,
		"cancels":            strings.HasSuffix(o.Answer.Counts, ", 1 cancels"),
	} {
		if is {
			all = append(all, what)
		}
	}
	return all
}

// A call of unknown outcome may have happened at any time, or not at all; it excuses nothing else.
func TestUnknownOutcomesExcuseThemselvesOnly(t *testing.T) {
	opening := operation{Kind: doOpen, ID: "1", Base: "1", Call: 1, Return: 2, Answer: answer{Outcome: unknown}}
	load := func(call int64, log string) operation {
		o := operation{Client: 1, Kind: doLoad, Call: call, Return: call + 1, Answer: answer{Outcome: ok}}
		if log != "" {
			o.Answer = answer{Outcome: ok, Version: 1, Seq: 1, Log: log, Base: "1", Holder: "1", Counts: box{}.counts()}
		}
		return o
	}
	for what, c := range map[string]struct {
		history []operation
		want    porcupine.CheckResult
	}{
		"it happened at once":       {[]operation{opening, load(3, "1 "), load(5, "1 ")}, porcupine.Ok},
		"it happened later":         {[]operation{opening, load(3, ""), load(5, "1 ")}, porcupine.Ok},
		"it never happened":         {[]operation{opening, load(3, ""), load(5, "")}, porcupine.Ok},
		"it happened and did not":   {[]operation{opening, load(3, "1 "), load(5, "")}, porcupine.Illegal},
		"something else happened":   {[]operation{opening, load(3, "2 ")}, porcupine.Illegal},
		"it did before it was done": {[]operation{load(-1, "1 "), opening}, porcupine.Illegal},
	} {
		if got := linearizable(c.history); got != c.want {
			t.Errorf("%s: got %s, want %s", what, got, c.want)
		}
	}
}

// A ready may omit a due thread if it says so and other calls are in progress.
func TestAReadyThatOmitsADueThreadSaysSo(t *testing.T) {
	post := operation{Kind: doPost, ID: "i1", Call: 1, Return: 2, Answer: answer{Outcome: ok, Mail: "1 "}}
	ready := operation{Client: 1, Kind: doReady, Call: 3, Return: 4, Answer: answer{Outcome: ok}}
	for what, c := range map[string]struct {
		again, settled bool
		want           porcupine.CheckResult
	}{
		"it says so":                   {true, false, porcupine.Ok},
		"it says nothing":              {false, false, porcupine.Illegal},
		"no other call is in progress": {true, true, porcupine.Illegal},
	} {
		ready.Again, ready.Settled = c.again, c.settled
		if got := linearizable([]operation{post, ready}); got != c.want {
			t.Errorf("%s: got %s, want %s", what, got, c.want)
		}
	}
}
