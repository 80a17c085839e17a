package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// takers give a thread an input that takes the place of due tasks, in each way there is.
var takers = map[string]func(t *testing.T, g *app, s checkpoint.Saver, th thread){
	"Invoke": func(t *testing.T, _ *app, _ checkpoint.Saver, th thread) {
		t.Helper()
		if _, err := th.Invoke(t.Context(), logged("next"), graph.DiscardPending()); err != nil {
			t.Error(err)
		}
	},
	"Submit": func(t *testing.T, g *app, s checkpoint.Saver, th thread) {
		t.Helper()
		submit(t, th, "next", graph.DiscardPending())
		serve(t, g, s)
	},
	"Cancel and Submit": func(t *testing.T, g *app, s checkpoint.Saver, th thread) {
		t.Helper()
		submit(t, th, "next", graph.CancelPending("no stock"))
		serve(t, g, s)
	},
	"Cancel and Invoke": func(t *testing.T, g *app, s checkpoint.Saver, th thread) {
		t.Helper()
		if err := th.Cancel(t.Context(), "no stock"); err != nil {
			t.Fatal(err)
		}
		serve(t, g, s)
		if _, err := th.Invoke(t.Context(), logged("next")); err != nil {
			t.Error(err)
		}
	},
}

// eachTaker calls test for each durability and each of the takers.
func eachTaker(t *testing.T, test func(t *testing.T, d graph.Durability, take func(*app, checkpoint.Saver, thread))) {
	t.Helper()
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for name, take := range takers {
			t.Run(name, func(t *testing.T) {
				test(t, d, func(g *app, s checkpoint.Saver, th thread) { take(t, g, s, th) })
			})
		}
	})
}

// begun returns the checkpoint at which the newest input begins.
func begun(t *testing.T, th thread) graph.Snapshot[work] {
	t.Helper()
	for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Next) == 1 && snap.Next[0] == graph.Start {
			return snap
		}
	}
	t.Error("no checkpoint has Start due")
	return graph.Snapshot[work]{}
}

// twoApprovals builds a graph of two approvals in one superstep. Both pay. The first one needs no
// answer, and has a successor.
func twoApprovals() *graph.Builder[work, update] {
	b := newWork()
	b.Node("first", say("paid"))
	b.Node("second", func(ctx context.Context, w work) (update, error) {
		if w.Log[len(w.Log)-1] == "next" {
			return logged("skipped"), nil
		}
		_, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged("paid, too"), err
	}, refund)
	b.Node("shipped", say("shipped"))
	b.Edge(graph.Start, "first")
	b.Edge(graph.Start, "second")
	b.Edge("first", "shipped")
	b.Edge("second", graph.End)
	b.Edge("shipped", graph.End)
	return b
}

func TestAnInputKeepsWhatTheTasksBeforeItHaveFinished(t *testing.T) {
	eachTaker(t, func(t *testing.T, d graph.Durability, take func(*app, checkpoint.Saver, thread)) {
		s := memory.New()
		g := compile(t, twoApprovals(), graph.Saver(s), d)
		th := g.Thread("t")
		left := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
		take(g, s, th)
		snap := snapshot(t, th)
		same(t, "status", snap.Status, graph.Done)
		same(t, "log", snap.State.Log, []string{"one", "paid", "next", "paid", "skipped", "shipped"})
		at := begun(t, th)
		same(t, "log before the input", at.State.Log, []string{"one", "paid"})
		same(t, "ran", at.Ran, []graph.ID{"first"})
		same(t, "dropped", at.Dropped, []graph.TaskState{{Node: "second"}})

		res := done(t, graph.Done)(th.At(left.Checkpoint).Resume(t.Context(), refund.Answer(left.Questions[0], true)))
		same(t, "log of the branch that was left", res.State.Log, []string{"one", "paid", "paid, too", "shipped"})
	})
}

// TestAnInputKeepsThePartialAnswerOfATask: a person stops the task, and what it has paid counts.
func TestAnInputKeepsThePartialAnswerOfATask(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		ctx, stop := context.WithCancel(t.Context())
		b := single(func(ctx context.Context, w work) (update, error) {
			if w.Log[len(w.Log)-1] == "next" {
				return logged("answer"), nil
			}
			stop()
			<-ctx.Done()
			return logged("partial answer"), ctx.Err()
		}, graph.KeepUpdateOnError())
		th, _ := newThread(t, b, d)
		if _, err := th.Invoke(ctx, logged("one")); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
		res := done(t, graph.Done)(th.Invoke(t.Context(), logged("next"), graph.DiscardPending()))
		same(t, "log", res.State.Log, []string{"one", "partial answer", "next", "answer"})
		same(t, "dropped", begun(t, th).Dropped, []graph.TaskState{{Node: "pay"}})
	})
}

// TestAnInputDropsAResultThatDoesNotMerge: otherwise the conflict, or the reducer that panics,
// would hold up every input.
func TestAnInputDropsAResultThatDoesNotMerge(t *testing.T) {
	b := newWork()
	set := func(text string) func(context.Context, work) (update, error) {
		return func(_ context.Context, w work) (update, error) {
			if w.Log[len(w.Log)-1] == "next" {
				return update{}, nil
			}
			u := logged(text)
			if text == "c" {
				u.Stack.Reduce("boom")
			} else {
				u.Status.Set(text)
			}
			return u, nil
		}
	}
	for _, id := range []graph.ID{"a", "b", "c"} {
		text := string(id)
		b.Node(id, set(text))
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	th, _ := newThread(t, b)
	var conflict *graph.ConflictError
	if _, err := th.Invoke(t.Context(), logged("one")); !errors.As(err, &conflict) {
		t.Fatalf("got %v, want a ConflictError", err)
	}
	res := done(t, graph.Done)(th.Invoke(t.Context(), logged("next"), graph.DiscardPending()))
	same(t, "log", res.State.Log, []string{"one", "a", "next"})
	same(t, "dropped", begun(t, th).Dropped, []graph.TaskState{{Node: "b"}, {Node: "c"}})
}

// TestAnInputKeepsWhatAnUnfinishedSubgraphHasDone: its supersteps and its finished tasks count.
func TestAnInputKeepsWhatAnUnfinishedSubgraphHasDone(t *testing.T) {
	eachTaker(t, func(t *testing.T, d graph.Durability, take func(*app, checkpoint.Saver, thread)) {
		child := newWork()
		child.Node("early", say("early"))
		child.Node("first", say("paid"))
		child.Node("second", func(ctx context.Context, w work) (update, error) {
			_, err := refund.Ask(ctx, doc{Name: "shoes"})
			return logged("paid, too"), err
		}, refund)
		child.Edge(graph.Start, "early")
		for _, id := range []graph.ID{"first", "second"} {
			child.Edge("early", id)
			child.Edge(id, graph.End)
		}
		b := newWork()
		b.Route(graph.Start, func(_ context.Context, w work) (graph.Next, error) {
			if w.Log[len(w.Log)-1] == "next" {
				return graph.To(graph.End), nil
			}
			return graph.To("call"), nil
		}, "call", graph.End)
		b.Subgraph("call", compile(t, child, graph.SubgraphOnly()))
		b.Edge("call", graph.End)
		s := memory.New()
		g := compile(t, b, graph.Saver(s), d)
		th := g.Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
		take(g, s, th)
		snap := snapshot(t, th)
		same(t, "log", snap.State.Log, []string{"one", "early", "paid", "next"})
		same(t, "dropped", begun(t, th).Dropped, []graph.TaskState{{Node: "call"}})
	})
}

// TestAnInputKeepsTheLabelsOfFinishedTasks: rule 10.13. The calls are nested, and over the same
// state, so that the result of the task is kept.
func TestAnInputKeepsTheLabelsOfFinishedTasks(t *testing.T) {
	ends := maps.Clone(takers)
	ends["Release"] = func(t *testing.T, _ *app, _ checkpoint.Saver, th thread) {
		t.Helper()
		if _, err := th.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		done(t, graph.Done)(th.Invoke(t.Context(), logged("next")))
	}
	ends["Label"] = func(t *testing.T, _ *app, _ checkpoint.Saver, th thread) {
		t.Helper()
		done(t, graph.Done)(th.Invoke(t.Context(), logged("next"), graph.DiscardPending(), graph.Label("phase", "given")))
	}
	for depth := range 3 {
		for name, end := range ends {
			t.Run(fmt.Sprint(name, depth), func(t *testing.T) {
				eachDurability(t, func(t *testing.T, d graph.Durability) {
					s, around := memory.New(), twoLabels()
					for range depth {
						inner := compile(t, around, graph.SubgraphOnly())
						around = newWork()
						around.Subgraph("call", inner)
						around.Chain(graph.Start, "call", graph.End)
					}
					g := compile(t, around, graph.Saver(s), d)
					th := g.Thread("t")
					done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one"), graph.Label("user", "ada")))
					same(t, "labels while it waits", described(t, th).Labels, map[string]string{"user": "ada"})
					end(t, g, s, th)
					phase := map[bool]string{true: "given", false: "paid"}[name == "Label"]
					same(t, "labels", described(t, th).Labels, map[string]string{"user": "ada", "phase": phase})
				})
			})
		}
	}
}

// twoLabels builds a graph of two nodes that set a label in one superstep. The second one asks.
func twoLabels() *graph.Builder[work, update] {
	b := newWork()
	set := func(id graph.ID, node func(ctx context.Context) error, opts ...graph.NodeOption) {
		b.Node(id, func(ctx context.Context, w work) (update, error) {
			if w.Log[len(w.Log)-1] == "next" {
				return update{}, nil
			}
			return update{}, errors.Join(graph.SetLabel(ctx, "phase", string(id)), graph.Progress(ctx, string(id)), node(ctx))
		}, opts...)
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	set("paid", func(context.Context) error { return nil })
	set("asked", func(ctx context.Context) error {
		_, err := refund.Ask(ctx, doc{Name: "shoes"})
		return err
	}, refund)
	return b
}

// TestAReleaseKeepsWhatTheTasksHaveFinished, in a last checkpoint of the version (rule 10.12).
func TestAReleaseKeepsWhatTheTasksHaveFinished(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		th := compile(t, twoApprovals(), graph.Saver(s), d).Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
		v, err := th.Release(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "status of the version", v.Status, graph.Cancelled)
		snap, err := th.Version(v.Number).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "log", snap.State.Log, []string{"one", "paid"})
		same(t, "ran", snap.Ran, []graph.ID{"first"})
		same(t, "dropped", snap.Dropped, []graph.TaskState{{Node: "second"}})
		same(t, "next", snap.Next, []graph.ID(nil))
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("two")))
		same(t, "log of the next version", res.State.Log, []string{"two"})
	})
}

// TestNoCrashLosesWhatTasksHaveFinished: an input or a release takes the place of a task, and the
// process dies at each of its calls of the saver. Made again, it has the payment, once.
func TestNoCrashLosesWhatTasksHaveFinished(t *testing.T) {
	ways := map[string]struct {
		take func(th thread) error
		log  []string // of the newest version
	}{
		"an input": {func(th thread) error {
			_, err := th.Invoke(t.Context(), logged("next"), graph.DiscardPending(), graph.RequestID("next"), graph.TakeOver())
			return err
		}, []string{"one", "paid", "next", "paid", "skipped", "shipped"}},
		"a release": {func(th thread) error {
			_, err := th.Release(t.Context())
			return err
		}, []string{"one", "paid"}},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				points := 0
				for left, more := 1, true; more; left++ {
					more = false
					for _, after := range []bool{false, true} {
						s := memory.New()
						th := compile(t, twoApprovals(), graph.Saver(s), d).Thread("t")
						done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
						dying := compile(t, twoApprovals(), graph.Saver(&crashing{Saver: s, left: left, after: after}), d).Thread("t")
						if err := way.take(dying); err == nil {
							continue
						} else if !errors.Is(err, errCrash) {
							t.Fatal(err)
						}
						more = true
						points++
						if err := way.take(th); err != nil && !(name == "a release" && errors.Is(err, checkpoint.ErrNotFound)) {
							t.Fatalf("crash at call %d, after it was made %t: %v", left, after, err)
						}
						snap, err := th.Version(1).State(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						same(t, fmt.Sprintf("crash at call %d, after it was made %t: log", left, after), snap.State.Log, way.log)
					}
				}
				if points < 4 {
					t.Errorf("only %d crash points, want them all", points)
				}
			})
		})
	}
}

// TestAnOutcomeThatNoRunHasTakenIsKept: a worker of a queue has paid, and an input or a release
// ends the superstep before a run has seen that.
func TestAnOutcomeThatNoRunHasTakenIsKept(t *testing.T) {
	graphs := map[string]func() *graph.Builder[work, update]{
		"siblings": func() *graph.Builder[work, update] {
			b := newWork()
			for _, id := range []graph.ID{"pay", "ship"} {
				b.Node(id, say(string(id)), graph.Queue("gpu"))
				b.Edge(graph.Start, id)
				b.Edge(id, graph.End)
			}
			return b
		},
		"a subgraph": func() *graph.Builder[work, update] {
			b := newWork()
			child := newWork()
			for _, id := range []graph.ID{"pay", "ship"} {
				child.Node(id, say(string(id)), graph.Queue("gpu"))
				child.Edge(graph.Start, id)
				child.Edge(id, graph.End)
			}
			b.Subgraph("sub", compile(t, child, graph.SubgraphOnly()))
			b.Chain(graph.Start, "sub", graph.End)
			return b
		},
	}
	for name, build := range graphs {
		for _, release := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, released %t", name, release), func(t *testing.T) {
				s := memory.New()
				g := compile(t, build(), graph.Saver(s))
				th := g.Thread("t")
				done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
				tasks := serving(g, s).waiting(t)
				same(t, "tasks", len(tasks), 2)
				if err := g.RunQueued(t.Context(), tasks[0].payload, false); err != nil {
					t.Fatal(err)
				}
				paid := snapshot(t, th)
				same(t, "log before", paid.State.Log, []string{"one"})
				var kept graph.Snapshot[work]
				if release {
					v, err := th.Release(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if kept, err = th.Version(v.Number).State(t.Context()); err != nil {
						t.Fatal(err)
					}
				} else {
					done(t, graph.Waiting)(th.Invoke(t.Context(), logged("next"), graph.DiscardPending()))
					kept = begun(t, th)
				}
				if len(kept.State.Log) != 2 || kept.State.Log[1] != "pay" && kept.State.Log[1] != "ship" {
					t.Errorf("got log %v, want what the worker has done", kept.State.Log)
				}
			})
		}
	}
}

// stepEnds are the ways by which the test of an outcome ends the superstep of its task.
var stepEnds = map[string]func(t *testing.T, th thread) error{
	"an input": func(t *testing.T, th thread) error {
		t.Helper()
		_, err := th.Invoke(t.Context(), logged("next"), graph.DiscardPending())
		return err
	},
	"a release": func(t *testing.T, th thread) error {
		t.Helper()
		_, err := th.Release(t.Context())
		return err
	},
}

// TestASignalOfAnOutcomeThatIsKeptIsTaken: a worker of a queue has received a signal, and replied.
// The outcome is kept although no run has taken it. So the signal does not go back to the inbox.
func TestASignalOfAnOutcomeThatIsKeptIsTaken(t *testing.T) {
	for name, end := range stepEnds {
		for _, inside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in a call %t", name, inside), func(t *testing.T) {
				s, of := memory.New(), newWork()
				of.Node("gpu", func(ctx context.Context, _ work) (update, error) {
					m, err := greet.Receive(ctx)
					if err != nil {
						return update{}, err
					}
					return logged("greeted " + string(m.Value)), m.Reply(ctx, "hello "+m.Value)
				}, graph.Queue("gpu"), greet)
				of.Chain(graph.Start, "gpu", graph.End)
				b := of
				if inside {
					b = newWork()
					b.Subgraph("call", compile(t, of, graph.SubgraphOnly()))
					b.Chain(graph.Start, "call", graph.End)
				}
				g := compile(t, b, graph.Saver(s))
				th := g.Thread("t")
				if err := th.Signal(t.Context(), greet.With("ada")); err != nil {
					t.Fatal(err)
				}
				p := serving(g, s)
				done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
				p.work(t)
				done(t, graph.Waiting)(th.Resume(t.Context())) // the task has received the signal
				if err := g.RunQueued(t.Context(), p.only(t), false); err != nil {
					t.Fatal(err)
				}
				if err := end(t, th); err != nil {
					t.Fatal(err)
				}
				in, err := th.Inbox(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				same(t, "signals in the inbox, refused", len(in.Waiting)+len(in.Refused), 0)
				same(t, "replies", len(in.Replied), 1)
			})
		}
	}
}

// TestTheSignalOfABeatenOutcomeGoesBack: two workers of a queue have received a signal each, and
// only one of their tasks counts.
func TestTheSignalOfABeatenOutcomeGoesBack(t *testing.T) {
	s, b := memory.New(), newWork()
	for _, id := range []graph.ID{"one", "two"} {
		b.Node(id, receiver(string(id), string(id)), graph.Queue("gpu"), payment)
		b.Edge(graph.Start, id)
	}
	b.Node("z", say("z"))
	b.JoinAny([]graph.ID{"one", "two"}, "z")
	b.Edge("z", graph.End)
	g := compile(t, b, graph.Saver(s))
	th := g.Thread("t")
	for _, key := range []string{"one", "two"} {
		if err := th.Signal(t.Context(), payment.With(wire.String(key), graph.For(key))); err != nil {
			t.Fatal(err)
		}
	}
	p := serving(g, s)
	done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
	p.work(t)
	done(t, graph.Waiting)(th.Resume(t.Context()))
	same(t, "executions with a signal", p.work(t), 2)
	done(t, graph.Waiting)(th.Invoke(t.Context(), logged("next"), graph.DiscardPending()))
	kept := begun(t, th).State.Log
	if len(kept) != 2 {
		t.Fatalf("got log %q, want that of one task", kept)
	}
	in, err := th.Inbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "signals in the inbox", len(in.Waiting), 1)
}

// oneRelease is a saver that counts the releases of a version by a call of their own.
type oneRelease struct {
	*crashing
	releases int
}

func (s *oneRelease) Release(ctx context.Context, thread string, ifHead checkpoint.ID) (checkpoint.Version, error) {
	s.releases++
	return s.crashing.Release(ctx, thread, ifHead)
}

// TestAReleaseThatKeepsResultsIsOneAct: an input that waits begins in the next version, and a
// release that has failed leaves the head as it was.
func TestAReleaseThatKeepsResultsIsOneAct(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		g := compile(t, twoApprovals(), graph.Saver(s), d)
		th := g.Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
		submit(t, th, "two")
		head := snapshot(t, th).Checkpoint
		for left := 1; ; left++ {
			by := &oneRelease{crashing: &crashing{Saver: s, left: left}}
			v, err := compile(t, twoApprovals(), graph.Saver(by), d).Thread("t").Release(t.Context(), graph.IfHead(head))
			same(t, "calls of Saver.Release", by.releases, 0)
			if err == nil {
				same(t, "version", fmt.Sprint(v.Number, v.Status, v.Released.IsZero()), fmt.Sprint(1, graph.Cancelled, false))
				break
			}
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
		}
		serve(t, g, s)
		one, err := th.Version(1).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "log of the released version", one.State.Log, []string{"one", "paid"})
		same(t, "first line of the next version", snapshot(t, th).State.Log[0], "two")
	})
}

// TestAReleaseOfTasksThatWereOnlyHandedOutStoresNothing: no worker of the queue has done anything.
func TestAReleaseOfTasksThatWereOnlyHandedOutStoresNothing(t *testing.T) {
	th := queued(t, say("gpu"), memory.New(), nil).Thread("t")
	done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
	head := snapshot(t, th).Checkpoint
	v, err := th.Release(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "head and status of the version", fmt.Sprint(v.Head, v.Status), fmt.Sprint(head, graph.Waiting))
}

// TestACancelIsNoReleaseWhateverItsReasonIs: a person cancels a thread with the text of a release.
func TestACancelIsNoReleaseWhateverItsReasonIs(t *testing.T) {
	s := memory.New()
	g := queued(t, say("gpu"), s, nil)
	th := g.Thread("t")
	submit(t, th, "one", graph.RequestID("1"))
	serve(t, g, s)
	if err := th.Cancel(t.Context(), "the version was released"); err != nil {
		t.Fatal(err)
	}
	serve(t, g, s)
	if _, err := th.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	var cancelled *graph.CancelledError
	if _, err := th.Result(t.Context(), graph.RequestID("1")); !errors.As(err, &cancelled) {
		t.Errorf("got %v, want a CancelledError", err)
	}
}
