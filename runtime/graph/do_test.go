package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// bank is a service outside. It counts the calls of each key.
type bank struct {
	mu    sync.Mutex
	keys  []string // in the order of their first calls, without the key of the task
	calls map[string]int
	tasks map[string]bool // the keys of the tasks
}

// charge is a call to the bank. Its result says which call for its key it was.
func (b *bank) charge(ctx context.Context) (doc, error) {
	key := graph.CurrentTask(ctx).Key
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls == nil {
		b.calls, b.tasks = map[string]int{}, map[string]bool{}
	}
	task, name, _ := strings.Cut(key, "/")
	if b.calls[key]++; b.calls[key] == 1 {
		b.keys = append(b.keys, name)
	}
	b.tasks[task] = true
	return doc{Name: name, Pages: []int{b.calls[key]}}, nil
}

// repeated returns how many calls repeated another one with the same key.
func (b *bank) repeated() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, calls := range b.calls {
		n += calls - 1
	}
	return n
}

// single is Start -> pay -> End.
func single(pay func(context.Context, work) (update, error), opts ...graph.NodeOption) *graph.Builder[work, update] {
	b := newWork()
	b.Node("pay", pay, opts...)
	b.Edge(graph.Start, "pay")
	b.Edge("pay", graph.End)
	return b
}

// receipts is the update of a node that got receipts.
func receipts(of ...doc) update {
	var u update
	for _, d := range of {
		u.Log.Append(fmt.Sprint(d.Name, " ", d.Pages))
	}
	return u
}

// payer makes ordered and named calls, asks, and makes another call. Its first attempt after the
// answer fails.
func payer(b *bank, failed *bool) *graph.Builder[work, update] {
	return single(func(ctx context.Context, _ work) (update, error) {
		var got [4]doc
		var err error
		if got[0], err = graph.Do(ctx, "charge", b.charge); err != nil {
			return update{}, err
		}
		if got[1], err = graph.Do(ctx, "charge", b.charge); err != nil {
			return update{}, err
		}
		if got[2], err = graph.DoNamed(ctx, "mail", b.charge); err != nil {
			return update{}, err
		}
		if _, err = refund.Ask(ctx, doc{Name: "shoes"}); err != nil {
			return update{}, err
		}
		if got[3], err = graph.Do(ctx, "ship", b.charge); err != nil {
			return update{}, err
		}
		if !*failed {
			*failed = true
			return update{}, errBroken
		}
		return receipts(got[:]...), nil
	}, refund, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
}

var paid = []string{"do:charge [1]", "do:charge#2 [1]", "named:mail [1]", "do:ship [1]"}

func TestADurableCallIsMadeOnceHoweverOftenItsNodeRuns(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var b bank
		failed := false
		th, s := newThread(t, payer(&b, &failed), d, graph.Strict())
		w := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
		th = compile(t, payer(&b, &failed), graph.Saver(s), d).Thread("t") // in another process
		res := done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(w, true)))
		same(t, "log", res.State.Log, paid)
		same(t, "keys", b.keys, []string{"do:charge", "do:charge#2", "named:mail", "do:ship"})
		same(t, "tasks", len(b.tasks), 1)
		chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "writes after the commit", len(chain.Writes), 0)
	})
}

// TestADurableCallSurvivesEveryCrash: at every call of the saver the process dies. Only the call
// whose result was being stored is repeated, with its key.
func TestADurableCallSurvivesEveryCrash(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async} {
		for _, after := range []bool{false, true} {
			for left := 1; ; left++ {
				var b bank
				failed := true
				s := memory.New()
				dying := &crashing{Saver: s, left: left, after: after}
				res, err := payUp(t, dying, payer(&b, &failed), d)
				crashed := errors.Is(err, errCrash)
				if crashed {
					res, err = payUp(t, s, payer(&b, &failed), d)
				}
				what := fmt.Sprintf("%v, crash at call %d, made: %t", d, left, after)
				if err != nil || res.Status != graph.Done {
					t.Fatalf("%s: got %s, %v", what, res.Status, err)
				}
				if n := b.repeated(); n > 1 || after && n > 0 {
					t.Errorf("%s: %d calls were repeated: %v", what, n, b.calls)
				}
				if len(res.State.Log) != len(paid) {
					t.Fatalf("%s: got the log %q, want the results of %q", what, res.State.Log, paid)
				}
				for i, line := range res.State.Log {
					if name, _, _ := strings.Cut(paid[i], " "); !strings.HasPrefix(line, name+" ") {
						t.Errorf("%s: got the log %q, want the results of %q", what, res.State.Log, paid)
					}
				}
				if !crashed {
					t.Logf("%v: %d crash points", d, left-1)
					break
				}
			}
		}
	}
}

// payUp begins or resumes a thread, with answers, until it is done.
func payUp(t *testing.T, s checkpoint.Saver, b *graph.Builder[work, update], d graph.Durability) (result, error) {
	t.Helper()
	th := compile(t, b, graph.Saver(s), d).Thread("t")
	res, err := th.Resume(t.Context(), graph.TakeOver())
	if errors.Is(err, checkpoint.ErrNotFound) {
		res, err = th.Invoke(t.Context(), input, graph.TakeOver())
	}
	for err == nil && res.Status == graph.Waiting {
		res, err = th.Resume(t.Context(), refund.Answer(res.Questions[0], true), graph.TakeOver())
	}
	return res, err
}

func TestTheResultOfADurableCallIsStoredWhenDoReturns(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		var names []string
		b := single(func(ctx context.Context, _ work) (update, error) {
			if _, err := graph.Do(ctx, "charge", new(bank).charge); err != nil {
				return update{}, err
			}
			chain, err := s.Load(ctx, checkpoint.Ref{Thread: "t"})
			for _, w := range chain.Writes {
				names = append(names, w.Name)
			}
			return update{}, err
		})
		done(t, graph.Done)(compile(t, b, graph.Saver(s), d).Thread("t").Invoke(t.Context(), input))
		want := []string{"do:charge"}
		if d == graph.OnExit {
			want = nil
		}
		same(t, "stored when Do returns", names, want)
	})
}

func TestOnlyReplaysAndForksMakeADurableCallAgain(t *testing.T) {
	var b bank
	fails := true
	build := single(func(ctx context.Context, _ work) (update, error) {
		d, err := graph.Do(ctx, "charge", b.charge)
		if err == nil && fails {
			err = errBroken
		}
		return receipts(d), err
	})
	th, _ := newThread(t, build)
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want errBroken", err)
	}
	if _, err := th.UpdateState(t.Context(), logged("edit")); err != nil {
		t.Fatal(err)
	}
	if _, err := th.Resume(t.Context(), graph.Rerun("pay")); !errors.Is(err, errBroken) {
		t.Fatalf("rerun: got %v, want errBroken", err)
	}
	fails = false
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"edit", "do:charge [1]"})
	same(t, "tasks that called", len(b.tasks), 1)

	for _, snap := range collect(t, th.History(t.Context(), checkpoint.Query{})) {
		if slices.Equal(snap.Next, []graph.ID{"pay"}) && snap.Source == checkpoint.Input {
			done(t, graph.Done)(th.At(snap.Checkpoint).Resume(t.Context()))
		}
	}
	same(t, "tasks that called after a replay", len(b.tasks), 2)
	same(t, "calls repeated with their key", b.repeated(), 0)
}

func TestOnlyTheResultOfADurableCallIsStored(t *testing.T) {
	attempt := 0
	f := func(context.Context) (wire.String, error) {
		switch attempt++; attempt {
		case 1:
			return "not this", errBroken
		case 2:
			panic(errBroken)
		}
		return "result", nil
	}
	b := single(func(ctx context.Context, _ work) (u update, err error) {
		s, err := graph.Do(ctx, "charge", f)
		return logged(string(s)), err
	})
	th, _ := newThread(t, b)
	_, err := th.Invoke(t.Context(), input)
	var node *graph.NodeError
	if !errors.As(err, &node) || !errors.Is(node.Err, errBroken) {
		t.Errorf("got %v, want the error of the call as it is", err)
	}
	var panicked *graph.PanicError
	if _, err = th.Resume(t.Context()); !errors.As(err, &panicked) {
		t.Errorf("got %v, want the panic of the call", err)
	}
	same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"result"})
}

func TestADurableCallWhoseResultIsNotStored(t *testing.T) {
	for _, attempts := range []int{1, 2} {
		var b bank
		build := single(func(ctx context.Context, _ work) (update, error) {
			d, err := graph.Do(ctx, "charge", b.charge)
			return receipts(d), err
		}, graph.Retry(graph.RetryPolicy{Attempts: attempts, Base: 1}))
		build.Fallback("pay", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
		s := memory.New()
		refuses := &refusing{Saver: s, refuse: 1, prefix: "do:"}
		th := compile(t, build, graph.Saver(refuses)).Thread("t")
		res, err := th.Invoke(t.Context(), input)
		if attempts == 1 {
			var saver *graph.SaverError
			if !errors.As(err, &saver) || !strings.Contains(err.Error(), `call "charge" has succeeded, and its result is not stored`) {
				t.Fatalf("got %v, want the error of the saver", err)
			}
			res, err = th.Resume(t.Context())
		}
		done(t, graph.Done)(res, err)
		same(t, "log", res.State.Log, []string{"do:charge [1]"})
	}
}

// refusing refuses the first results with certain names.
type refusing struct {
	checkpoint.Saver
	refuse int
	prefix string // of the names of the results that it refuses
}

func (r *refusing) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if r.refuse > 0 && len(w.Writes) > 0 && strings.HasPrefix(w.Writes[0].Name, r.prefix) {
		r.refuse--
		return checkpoint.PutResult{}, errBroken
	}
	return r.Saver.PutWrites(ctx, w)
}

// TestANodeThatMakesOtherCallsWhenItRunsAgain: the second execution makes the calls of the second
// list.
func TestANodeThatMakesOtherCallsWhenItRunsAgain(t *testing.T) {
	for name, test := range map[string]struct {
		first, second []string
		want          string // empty for no error
	}{
		"the same":        {[]string{"a", "b", "a"}, []string{"a", "b", "a"}, ""},
		"more":            {[]string{"a"}, []string{"a", "b"}, ""},
		"another name":    {[]string{"a"}, []string{"b"}, `call "b": it is call 1 of the node, and the result of "a" is stored for that place`},
		"another order":   {[]string{"a", "b"}, []string{"b", "a"}, `call "b": it is call 1 of the node, and the result of "a" is stored`},
		"one in between":  {[]string{"a", "b"}, []string{"a", "c", "b"}, `call "c": it is call 2 of the node, and the result of "b" is stored`},
		"one is left out": {[]string{"a", "b", "a"}, []string{"b", "a"}, `call "b": it is call 1 of the node, and the result of "a" is stored`},
		"an earlier place": {
			[]string{"!x", "a"}, []string{"a"}, `call "a": it is call 1 of the node, and its result is stored as that of call 2`,
		},
		"a failed call first": {[]string{"!x", "a"}, []string{"x", "a"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			runs, calls := 0, 0
			build := single(func(ctx context.Context, _ work) (u update, err error) {
				runs++
				list := test.first
				if runs > 1 {
					list = test.second
				}
				for _, name := range list {
					_, err = graph.Do(ctx, strings.TrimPrefix(name, "!"), func(context.Context) (wire.Int, error) {
						if strings.HasPrefix(name, "!") {
							return 0, errBroken
						}
						calls++
						return 1, nil
					})
					if err != nil && !errors.Is(err, errBroken) {
						return u, err
					}
				}
				if runs == 1 {
					return u, errBroken
				}
				return u, nil
			})
			build.Fallback("pay", func(_ context.Context, _ work, err error) (update, error) {
				if !errors.Is(err, graph.ErrNotDurable) {
					return update{}, err
				}
				return update{}, nil
			})
			th, _ := newThread(t, build)
			if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
				t.Fatalf("got %v, want errBroken", err)
			}
			before := calls
			_, err := th.Resume(t.Context())
			if test.want == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if !errors.Is(err, graph.ErrNotDurable) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ErrNotDurable: %s", err, test.want)
			}
			same(t, "calls made", calls-before, 0)
		})
	}
}

func TestAResultOfAnotherTypeIsRefused(t *testing.T) {
	runs := 0
	build := single(func(ctx context.Context, _ work) (u update, err error) {
		if runs++; runs == 1 {
			_, err = graph.Do(ctx, "charge", func(context.Context) (wire.String, error) { return "r", nil })
			return u, errors.Join(err, errBroken)
		}
		_, err = graph.Do(ctx, "charge", new(bank).charge)
		return u, err
	})
	th, _ := newThread(t, build)
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want errBroken", err)
	}
	if _, err := th.Resume(t.Context()); !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), `the stored result of call "charge"`) {
		t.Errorf("got %v, want ErrGraphChanged with the name of the call", err)
	}
}

func TestCallsThatCannotBeDurable(t *testing.T) {
	called := 0
	call := func(context.Context) (wire.Int, error) { called++; return 1, nil }
	in := func(do func(ctx context.Context) error) *graph.Builder[work, update] {
		return single(func(ctx context.Context, _ work) (update, error) { return update{}, do(ctx) })
	}
	var left context.Context
	for name, test := range map[string]struct {
		build func(t *testing.T) *graph.Builder[work, update]
		want  string
	}{
		"in a route": {func(*testing.T) *graph.Builder[work, update] {
			b := newWork()
			b.Node("a", say("a"))
			b.Edge(graph.Start, "a")
			b.Route("a", func(ctx context.Context, _ work) (graph.Next, error) {
				_, err := graph.Do(ctx, "x", call)
				return graph.To(graph.End), err
			}, graph.End)
			return b
		}, "a route cannot make it"},
		"in a mapping": {func(t *testing.T) *graph.Builder[work, update] {
			t.Helper()
			b := newWork()
			graph.MapSubgraph(b, "sub", compile(t, chain("x"), graph.SubgraphOnly()), func(ctx context.Context, _ work) (update, error) {
				_, err := graph.Do(ctx, "x", call)
				return update{}, err
			}, func(context.Context, work, work) (update, error) { return update{}, nil })
			b.Edge(graph.Start, "sub")
			b.Edge("sub", graph.End)
			return b
		}, "a function of MapSubgraph cannot make it"},
		"inside another": {func(*testing.T) *graph.Builder[work, update] {
			return in(func(ctx context.Context) error {
				_, err := graph.Do(ctx, "outer", func(ctx context.Context) (wire.Int, error) { return graph.DoNamed(ctx, "x", call) })
				return err
			})
		}, `it is made inside call "do:outer"`},
		"two at a time": {func(*testing.T) *graph.Builder[work, update] {
			return in(func(ctx context.Context) (err error) {
				_, _ = graph.Do(ctx, "slow", func(context.Context) (wire.Int, error) {
					_, err = graph.Do(ctx, "x", call)
					return 1, nil
				})
				return err
			})
		}, `it is made while call "slow" is in progress`},
		"twice at a time": {func(*testing.T) *graph.Builder[work, update] {
			return in(func(ctx context.Context) (err error) {
				_, _ = graph.DoNamed(ctx, "x", func(context.Context) (wire.Int, error) {
					_, err = graph.DoNamed(ctx, "x", call)
					return 1, nil
				})
				return err
			})
		}, "it is made twice at the same time"},
		"without a name": {func(*testing.T) *graph.Builder[work, update] {
			return in(func(ctx context.Context) error { _, err := graph.Do(ctx, "", call); return err })
		}, "its name has 0 bytes"},
		"with a long name": {func(*testing.T) *graph.Builder[work, update] {
			return in(func(ctx context.Context) error {
				_, err := graph.DoNamed(ctx, strings.Repeat("x", 201), call)
				return err
			})
		}, "its name has 201 bytes"},
		"with a number in its name": {func(*testing.T) *graph.Builder[work, update] {
			return in(func(ctx context.Context) error { _, err := graph.Do(ctx, "x#2", call); return err })
		}, "its name has a #"},
		"after the node": {func(*testing.T) *graph.Builder[work, update] {
			b := in(func(ctx context.Context) error { left = ctx; return nil })
			b.Node("b", func(context.Context, work) (update, error) {
				_, err := graph.Do(left, "x", call)
				return update{}, err
			})
			b.Edge("pay", "b")
			b.Edge("b", graph.End)
			return b
		}, "the node has returned"},
	} {
		th, _ := newThread(t, test.build(t))
		_, err := th.Invoke(t.Context(), input)
		if !errors.Is(err, graph.ErrNotDurable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want ErrNotDurable: %s", name, err, test.want)
		}
	}
	same(t, "calls made", called, 0)
}

func TestACancelledTaskMakesNoDurableCall(t *testing.T) {
	var b bank
	ctx, cancel := context.WithCancel(t.Context())
	th, _ := newThread(t, single(func(ctx context.Context, _ work) (update, error) {
		cancel()
		_, err := graph.Do(ctx, "charge", b.charge)
		return update{}, err
	}))
	if _, err := th.Invoke(ctx, input); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	same(t, "calls", len(b.calls), 0)
}

// TestDurableCallsOfSendsInSubgraphs: each send has its own calls, at any depth, and many of them
// run at the same time.
func TestDurableCallsOfSendsInSubgraphs(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		const sends, calls = 8, 4
		var b bank
		fail := true
		inner := newWork()
		fetch := graph.TaskNode(inner, "fetch", func(ctx context.Context, _ work, in doc) (u update, err error) {
			var wg sync.WaitGroup
			errs := make([]error, calls)
			for i := range calls {
				wg.Go(func() { _, errs[i] = graph.DoNamed(ctx, fmt.Sprint("call ", i), b.charge) })
			}
			wg.Wait()
			if err = errors.Join(errs...); err == nil && fail && in.Name == "3" {
				err = errBroken
			}
			return logged(in.Name), err
		}, graph.ContinueOnError())
		inner.Route(graph.Start, func(context.Context, work) (next graph.Next, _ error) {
			for i := range sends {
				next.Add(fetch.Send(teststate.Doc{Name: fmt.Sprint(i)}))
			}
			return next, nil
		}, "fetch")
		inner.Edge("fetch", graph.End)
		outer := newWork()
		outer.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
		outer.Edge(graph.Start, "sub")
		outer.Edge("sub", graph.End)
		th, s := newThread(t, outer, d)
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want errBroken", err)
		}
		fail = false
		th = compile(t, outer, graph.Saver(s), d).Thread("t")
		done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "calls", len(b.calls), sends*calls)
		same(t, "calls repeated", b.repeated(), 0)
	})
}

func TestTheCallsOfAFallbackAreItsOwn(t *testing.T) {
	var b bank
	fails := true
	build := single(func(ctx context.Context, _ work) (update, error) {
		_, err := graph.Do(ctx, "charge", b.charge)
		return update{}, errors.Join(err, errBroken)
	})
	build.Fallback("pay", func(ctx context.Context, _ work, _ error) (update, error) {
		d, err := graph.Do(ctx, "charge", b.charge)
		if err == nil && fails {
			err = errBroken
		}
		return receipts(d), err
	})
	th, _ := newThread(t, build)
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want errBroken", err)
	}
	fails = false
	same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"fallback:do:charge [1]"})
	same(t, "keys", b.keys, []string{"do:charge", "fallback:do:charge"})
	same(t, "calls repeated", b.repeated(), 0)
}

func TestADurableCallWithoutAThreadIsKeptForTheAttempts(t *testing.T) {
	var b bank
	failed := false
	g := compile(t, single(func(ctx context.Context, _ work) (update, error) {
		d, err := graph.Do(ctx, "charge", b.charge)
		if !failed {
			failed, err = true, errBroken
		}
		return receipts(d), err
	}, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1})))
	same(t, "log", done(t, graph.Done)(g.Run(t.Context(), input)).State.Log, []string{"do:charge [1]"})
}

// TestTheLoserOfARaceLeavesNoResult: its call is stored, and gone with the commit.
func TestTheLoserOfARaceLeavesNoResult(t *testing.T) {
	var b bank
	stored := make(chan struct{})
	build := newWork()
	build.Node("slow", func(ctx context.Context, _ work) (update, error) {
		_, err := graph.Do(ctx, "charge", b.charge)
		close(stored)
		<-ctx.Done()
		return update{}, errors.Join(err, ctx.Err())
	})
	build.Node("quick", func(context.Context, work) (update, error) { <-stored; return logged("quick"), nil })
	build.Node("after", say("after"))
	build.Edge(graph.Start, "slow")
	build.Edge(graph.Start, "quick")
	build.JoinAny([]graph.ID{"slow", "quick"}, "after")
	build.Edge("after", graph.End)
	th, s := newThread(t, build)
	same(t, "log", done(t, graph.Done)(th.Invoke(t.Context(), input)).State.Log, []string{"quick", "after"})
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "writes left", len(chain.Writes), 0)
}
