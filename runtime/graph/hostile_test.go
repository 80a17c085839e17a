package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestAConsumersPanicWaitsForTheNodesThatRun(t *testing.T) {
	var running atomic.Int32
	b := newWork()
	for _, id := range []graph.ID{"a", "b"} {
		b.Node(id, func(ctx context.Context, _ work) (update, error) {
			running.Add(1)
			defer running.Add(-1)
			graph.Emit(ctx, "token")
			<-ctx.Done()
			return logged(string(id)), ctx.Err()
		})
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	th, s := newThread(t, b)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
			if n := running.Load(); n != 0 {
				t.Errorf("the stream returned while %d nodes run", n)
			}
		}()
		for _, err := range th.Stream(t.Context(), input, graph.Events(graph.EventCustom)) {
			panic(err)
		}
	}()
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "holder", chain.Thread.Holder, "")
}

// stumbling fails the n-th Append, and is well again.
type stumbling struct {
	checkpoint.Saver
	n, at int32
}

func (s *stumbling) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if atomic.AddInt32(&s.n, 1) == s.at {
		return checkpoint.AppendResult{}, errBroken
	}
	return s.Saver.Append(ctx, a)
}

// The writes are the opening, a, what waits for it, and d.
func TestAnAsyncRunWhoseWriteFailedGivesItsLeaseUp(t *testing.T) {
	for at := int32(2); at <= 4; at++ {
		synctest.Test(t, func(t *testing.T) {
			s := &stumbling{Saver: resting{memory.New()}, at: at}
			th := compile(t, chain("a", "b", "c", "d"), graph.Saver(s), graph.Async).Thread("t")
			res, err := th.Invoke(t.Context(), input)
			if !errors.Is(err, errBroken) || strings.Count(err.Error(), errBroken.Error()) != 1 {
				t.Fatalf("write %d: got %v, want errBroken, once", at, err)
			}
			snap, err := th.At(res.Checkpoint).State(t.Context())
			if err != nil {
				t.Fatalf("write %d: the checkpoint of the result: %v", at, err)
			}
			same(t, "state", res.State, snap.State)
			same(t, "due", res.Next, snap.Next)
			res = done(t, graph.Done)(th.Resume(t.Context()))
			same(t, "log", res.State.Log, []string{"a", "b", "c", "d"})
		})
	}
}

func TestARequestIsNotMergedTwiceAcrossForks(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"))
	invoke := func() result {
		t.Helper()
		return done(t, graph.Done)(th.Invoke(t.Context(), logged("in"), graph.RequestID("r1")))
	}
	first := invoke()
	if _, err := th.UpdateState(t.Context(), logged("as a"), graph.AsNode("a")); err != nil {
		t.Fatal(err)
	}
	same(t, "after an edit as a node", invoke().State.Log, []string{"in", "a", "b", "as a", "b"})
	var at checkpoint.ID
	for _, snap := range collect(t, th.History(t.Context(), checkpoint.Query{Next: "a"})) {
		if snap.Source == checkpoint.Input {
			at = snap.Checkpoint
		}
	}
	done(t, graph.Done)(th.At(at).Resume(t.Context()))
	same(t, "after a replay", invoke().State.Log, first.State.Log)
	if _, err := th.At(at).UpdateState(t.Context(), logged("forked")); err != nil {
		t.Fatal(err)
	}
	same(t, "after a fork of a fork", invoke().State.Log, []string{"in", "forked", "a", "b"})
}

func TestLimitsOfACallAreChecked(t *testing.T) {
	g := compile(t, forkJoin(), graph.Saver(memory.New()))
	type option interface {
		graph.InvokeOption
		graph.ResumeOption
	}
	for want, opt := range map[string]option{
		"Concurrency is 0; want at least 1":           graph.Concurrency(0),
		"Concurrency is -1; want at least 1":          graph.Concurrency(-1),
		"MaxSteps is 0; want at least 1":              graph.MaxSteps(0),
		"Durability is 9; want Sync, Async or OnExit": graph.Durability(9),
		"Durability is 0; want Sync, Async or OnExit": graph.Durability(0),
		"IfHead has a zero id; pass the Checkpoint":   graph.IfHead(checkpoint.ID{}),
	} {
		var err1 error
		if limit, ok := opt.(graph.RunOption); ok {
			_, err1 = g.Run(t.Context(), input, limit)
		} else {
			err1 = errors.New(want)
		}
		_, err2 := g.Thread("t").Invoke(t.Context(), input, opt)
		_, err3 := g.Thread("t").Resume(t.Context(), opt)
		var err4 error
		for _, err := range g.Thread("t").Stream(t.Context(), input, opt) {
			err4 = err
		}
		for i, err := range []error{err1, err2, err3, err4} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("call %d: got %v, want %s", i, err, want)
			}
		}
	}
	if _, err := g.Thread("t").State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a refused call left a thread: %v", err)
	}
}

func TestCopiesOfANextAreApart(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"a", "b", "c", "d", "e"} {
		b.Node(id, say(string(id)))
		b.Edge(id, graph.End)
	}
	base := graph.To("a", "b", "c")
	base.Add(graph.To("a"))
	x, y := base, base
	x.Add(graph.To("d"))
	y.Add(graph.To("e"))
	z := x
	z.Add(graph.To("e"))
	for want, next := range map[string]graph.Next{"a b c": base, "a b c d": x, "a b c e": y, "a b c d e": z} {
		r := newWork()
		*r = *b
		r.Route(graph.Start, func(context.Context, work) (graph.Next, error) { return next, nil }, "a", "b", "c", "d", "e")
		res := done(t, graph.Done)(compile(t, r).Run(t.Context(), input))
		same(t, "log", strings.Join(res.State.Log, " "), want)
	}
}

func TestZeroAndNilValues(t *testing.T) {
	var zero thread
	_, err1 := zero.Invoke(t.Context(), input)
	_, err2 := zero.Resume(t.Context())
	_, err3 := zero.UpdateState(t.Context(), input)
	_, err4 := zero.State(t.Context())
	_, err5 := zero.Release(t.Context())
	var err6, err7 error
	for _, err := range zero.Stream(t.Context(), input) {
		err6 = err
	}
	for _, err := range zero.History(t.Context(), checkpoint.Query{}) {
		err7 = err
	}
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
		if !errors.Is(err, graph.ErrNotCompiled) || !strings.Contains(err.Error(), "zero Thread") {
			t.Errorf("call %d: got %v, want ErrNotCompiled that says so", i, err)
		}
	}
	b := newWork()
	b.Node("a", say("a"), nil)
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	done(t, graph.Done)(compile(t, b, nil, graph.Saver(memory.New())).Thread("t").Invoke(t.Context(), input, nil))
	same(t, "faults", faults(t, b, graph.Lease(-1), graph.SaverTimeout(0), graph.RedactErrors(nil)), []string{
		"RedactErrors is given nil; pass a function, or leave the option out",
		"Lease is -1ns; want more than 0, or 0 for the default",
		"SaverTimeout is 0s; want more than 0",
	})
}

func TestAZeroGraphReturnsErrors(t *testing.T) {
	ctx := t.Context()
	calls := map[string]func(g *app, u graph.Untyped) error{
		"Run": func(g *app, _ graph.Untyped) error { _, err := g.Run(ctx, input); return err },
		"Stream": func(g *app, _ graph.Untyped) (last error) {
			for _, err := range g.Stream(ctx, input) {
				last = err
			}
			return last
		},
		"Invoke": func(g *app, _ graph.Untyped) error { _, err := g.Thread("t").Invoke(ctx, input); return err },
		"Update": func(_ *app, u graph.Untyped) error { _, err := u.Update(ctx, "t", checkpoint.ID{}, nil); return err },
		"Submit": func(_ *app, u graph.Untyped) error { _, err := u.Submit(ctx, "t", nil); return err },
		"Signal": func(_ *app, u graph.Untyped) error { return u.Signal(ctx, "t", "s", nil) },
		"Ask":    func(_ *app, u graph.Untyped) error { _, err := u.Ask(ctx, "t", "s", nil); return err },
		"Answer": func(_ *app, u graph.Untyped) error { return u.Answer(ctx, "t") },
		"Resume": func(_ *app, u graph.Untyped) error { _, err := u.Resume(ctx, "t", checkpoint.ID{}); return err },
		"Result": func(_ *app, u graph.Untyped) error { _, err := u.Result(ctx, "t"); return err },
	}
	for name, call := range calls {
		for _, u := range []graph.Untyped{{}, new(app).Untyped()} {
			if err := call(new(app), u); !errors.Is(err, graph.ErrNotCompiled) {
				t.Errorf("%s: got %v, want ErrNotCompiled", name, err)
			}
		}
	}
	if u := (graph.Untyped{}); u.Shape() != nil || u.Queues() != nil || len(new(app).Describe().Nodes) != 0 {
		t.Error("a zero graph has a shape, queues or nodes")
	}
	_, serves := new(app).Serves(memory.New())
	_, result := graph.Stored{}.Result(ctx)
	_, reply := graph.Stored{}.Reply(ctx, "message")
	for name, err := range map[string]error{"Serves": serves, "Result": result, "Reply": reply} {
		if !errors.Is(err, graph.ErrNoSaver) {
			t.Errorf("%s: got %v, want ErrNoSaver", name, err)
		}
	}
}

func TestACallOnTheHeadRefusesACheckpoint(t *testing.T) {
	ctx := t.Context()
	th := compile(t, chain("a"), graph.Saver(memory.New())).Thread("t")
	at := th.At(done(t, graph.Done)(th.Invoke(ctx, input)).Checkpoint)
	_, invoke := at.Invoke(ctx, input)
	_, submit := at.Submit(ctx, input)
	_, result := at.Result(ctx)
	for name, err := range map[string]error{"Invoke": invoke, "Submit": submit, "Result": result} {
		if !errors.Is(err, graph.ErrNotHead) {
			t.Errorf("%s: got %v, want ErrNotHead", name, err)
		}
	}
}

func TestZeroQuestionsAndSignalsAreErrors(t *testing.T) {
	var question graph.Question[wire.String, wire.Bool]
	var signal graph.Signal[wire.String]
	var asked graph.ReplySignal[wire.String, wire.Bool]
	var got graph.Received[wire.String, wire.Bool]
	th := compile(t, chain("a"), graph.Saver(memory.New())).Thread("t")
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	_, ask := question.Ask(t.Context(), "?")
	_, decode := question.Decode(graph.OpenQuestion{})
	_, reply := asked.Ask(t.Context(), th, "?")
	for call, err := range map[string]error{
		"Ask": ask, "Decode": decode, "Answer": th.Answer(t.Context(), question.Answer(graph.OpenQuestion{}, true)),
		"Signal": th.Signal(t.Context(), signal.With("?")), "Ask of a signal": reply, "Reply": got.Reply(t.Context(), true),
	} {
		if err == nil || !strings.Contains(err.Error(), "declare it by") {
			t.Errorf("%s: got %v, want an error that says how to declare one", call, err)
		}
	}
}

func TestAnErrorDoesNotRepeatAHugeThreadID(t *testing.T) {
	th := compile(t, chain("a"), graph.Saver(memory.New())).Thread(strings.Repeat("x", 1<<20))
	_, invoke := th.Invoke(t.Context(), input)
	_, submit := th.Submit(t.Context(), input)
	_, read := th.State(t.Context())
	for call, err := range map[string]error{"Invoke": invoke, "Submit": submit, "State": read, "Cancel": th.Cancel(t.Context(), "")} {
		var invalid *checkpoint.InvalidError
		if !errors.As(err, &invalid) || len(err.Error()) > 500 {
			t.Errorf("%s: got an error of %d bytes, %.200v; want a short *checkpoint.InvalidError", call, len(err.Error()), err)
		}
	}
}

func TestALeaseOfZeroIsTheDefault(t *testing.T) {
	s, g := &counting{Saver: memory.New()}, newGated()
	th := g.graph(t, "one", graph.Saver(s), graph.Lease(0)).Thread("t")
	first := background(func() (result, error) { return th.Invoke(t.Context(), input) })
	<-g.running
	close(g.open)
	o := <-first
	done(t, graph.Done)(o.res, o.err)
	same(t, "renewals", s.puts.Load(), int32(0))
}

// TestTwoDueNodesThatAreOneNow: their stored results cannot both be those of one task.
func TestTwoDueNodesThatAreOneNow(t *testing.T) {
	s := memory.New()
	b := newWork()
	for _, id := range []graph.ID{"a", "b", "c"} {
		b.Node(id, say(string(id)))
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	done(t, graph.Paused)(compile(t, b, graph.Saver(s), graph.InterruptBefore("b")).Thread("t").Invoke(t.Context(), input))

	merged := newWork()
	merged.Node("b", say("b"))
	merged.Node("x", say("x"), graph.FormerIDs("a", "c"))
	for _, id := range []graph.ID{"b", "x"} {
		merged.Edge(graph.Start, id)
		merged.Edge(id, graph.End)
	}
	_, err := compile(t, merged, graph.Saver(s)).Thread("t").Resume(t.Context())
	if !errors.Is(err, graph.ErrGraphChanged) {
		t.Fatalf("got %v, want ErrGraphChanged", err)
	}
	for _, id := range []string{`"a"`, `"c"`, `"x"`} {
		if !strings.Contains(err.Error(), id) {
			t.Errorf("got %v, want it to name %s", err, id)
		}
	}
}
