package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// family is a parent graph whose node "call" calls the graph "child", both on one saver.
type family struct {
	s             checkpoint.Saver
	parent, child *app
}

// newFamily returns a family whose child has one node, and whose parent calls the child "kid" with
// options.
func newFamily(t *testing.T, node func(context.Context, work) (update, error), opts ...graph.ChildOption) *family {
	t.Helper()
	return familyOn(t, memory.New(), node, opts)
}

// familyOn returns a family on a saver. All its graphs have the options more.
func familyOn(
	t *testing.T, s checkpoint.Saver, node func(context.Context, work) (update, error), opts []graph.ChildOption, more ...graph.Option,
) *family {
	t.Helper()
	f := &family{s: s}
	more = append(more, graph.Saver(s))
	child := graph.New("child", teststate.WorkSchema)
	child.Node("work", node)
	f.child = compile(t, line(child, "work"), more...)
	b := newWork()
	b.Node("call", func(ctx context.Context, _ work) (update, error) {
		got, err := graph.Child(ctx, f.child, "kid", logged("from the parent"), opts...)
		if err != nil {
			return update{}, err
		}
		return logged(append([]string{"the child did"}, got.Log...)...), nil
	})
	f.parent = compile(t, line(b, "call"), more...)
	return f
}

// work runs threads that are due until none is. It returns how often a thread was run.
func (f *family) work(t *testing.T) (runs int) {
	t.Helper()
	for {
		found, err := f.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g", "child"}, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Threads) == 0 {
			return runs
		}
		if runs++; runs > 20 {
			t.Fatalf("thread %+v is due again and again", found.Threads[0])
		}
		g := f.parent
		if found.Threads[0].Graph == "child" {
			g = f.child
		}
		if _, err := g.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{Retry: graph.RetryPolicy{Attempts: 1}}); err != nil {
			t.Log(err)
		}
	}
}

func (f *family) status(t *testing.T, g *app, id string) graph.Status {
	t.Helper()
	snap, err := g.Thread(id).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap.Status
}

// TestAChildReturnsItsState: rule 25.1.
func TestAChildReturnsItsState(t *testing.T) {
	f := newFamily(t, func(context.Context, work) (update, error) { return logged("worked"), nil })
	res := done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
	if len(res.Signals) != 1 || !res.Signals[0].Child || res.Signals[0].Key != "kid" || res.Signals[0].Signal != "child" {
		t.Errorf("got %+v, want the wait for the child", res.Signals)
	}
	if runs := f.work(t); runs != 2 {
		t.Errorf("got %d runs of threads, want 2: the child, and the parent once", runs)
	}
	snap, err := f.parent.Thread("p").State(t.Context())
	if err != nil || snap.Status != graph.Done {
		t.Fatalf("got %v, %v; want the parent Done", snap.Status, err)
	}
	if got := strings.Join(snap.State.Log, "; "); !strings.Contains(got, "the child did; from the parent; worked") {
		t.Errorf("got the log %q, want the child's in it", got)
	}
	kid, err := f.child.Thread("kid").State(t.Context())
	if err != nil || kid.Status != graph.Done || kid.Labels[graph.ParentLabel] != "p" {
		t.Errorf("got %v with labels %v, %v; want the child Done, with the label of its parent", kid.Status, kid.Labels, err)
	}
	for th, err := range f.s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil || !th.Wake.IsZero() || th.Inputs+th.Others > 0 {
			t.Errorf("got thread %s due at %v with %d messages, %v; want nothing left to do", th.ID, th.Wake, th.Inputs+th.Others, err)
		}
	}
}

// TestAChildThatFailsIsAnError: rule 25.3.
func TestAChildThatFailsIsAnError(t *testing.T) {
	f := newFamily(t, func(context.Context, work) (update, error) { return update{}, errBroken })
	done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
	f.work(t)
	_, err := f.parent.Thread("p").Resume(t.Context())
	var failed *graph.ChildError
	if !errors.As(err, &failed) || failed.Status != graph.Failed || failed.Thread != "kid" || !strings.Contains(failed.Reason, errBroken.Error()) {
		t.Errorf("got %v, want a *ChildError with the reason", err)
	}
	if got := f.status(t, f.child, "kid"); got != graph.Failed {
		t.Errorf("got the child %v, want Failed", got)
	}
}

// TestACancelGoesToTheChild: rule 25.4.
func TestACancelGoesToTheChild(t *testing.T) {
	for name, c := range map[string]struct {
		opts []graph.ChildOption
		want graph.Status
	}{
		"cancelled":      {nil, graph.Cancelled},
		"left to itself": {[]graph.ChildOption{graph.Abandon()}, graph.Done},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, func(context.Context, work) (update, error) { return logged("worked"), nil }, c.opts...)
			p := f.parent.Thread("p")
			done(t, graph.Waiting)(p.Invoke(t.Context(), input))
			if err := p.Cancel(t.Context(), "not needed"); err != nil {
				t.Fatal(err)
			}
			found, err := f.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
			if err != nil || len(found.Threads) != 1 {
				t.Fatalf("got %+v, %v; want the parent due", found, err)
			}
			if _, err := f.parent.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); err != nil {
				t.Fatal(err)
			}
			f.work(t)
			if got := f.status(t, f.parent, "p"); got != graph.Cancelled {
				t.Errorf("got the parent %v, want Cancelled", got)
			}
			if got := f.status(t, f.child, "kid"); got != c.want {
				t.Errorf("got the child %v, want %v", got, c.want)
			}
		})
	}
}

// TestAnIDHasOneChild: rule 25.2.
func TestAnIDHasOneChild(t *testing.T) {
	f := newFamily(t, func(context.Context, work) (update, error) { return logged("worked"), nil })
	done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
	_, err := f.parent.Thread("other").Invoke(t.Context(), input)
	if !errors.Is(err, graph.ErrChildExists) {
		t.Errorf("got %v, want ErrChildExists", err)
	}
	f.work(t)
	if got := f.status(t, f.parent, "p"); got != graph.Done {
		t.Errorf("got the parent %v, want Done", got)
	}
}

// live submits an input to the parent, and runs what is due in s until nothing is.
func (f *family) live(ctx context.Context, s checkpoint.Saver) error {
	if _, err := f.parent.Thread("p").Submit(ctx, input, graph.RequestID("1")); err != nil {
		return err
	}
	for {
		found, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g", "child"}, Limit: 1})
		if err != nil || len(found.Threads) == 0 {
			return err
		}
		g := f.parent
		if found.Threads[0].Graph == "child" {
			g = f.child
		}
		if _, err := g.ResumeDue(ctx, found.Threads[0], graph.DueOptions{}); err != nil {
			return err
		}
	}
}

// TestAChildEndsOnceWhateverCallACrashHits proves rules 25.1 and 25.2 at each call of the saver.
func TestAChildEndsOnceWhateverCallACrashHits(t *testing.T) {
	for _, more := range [][]graph.Option{nil, {graph.ReleaseOnDone()}} {
		eachDurability(t, func(t *testing.T, d graph.Durability) {
			more := append(slices.Clip(more), d)
			for point := 1; ; point++ {
				crashed := false
				for _, after := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						crashed = crashFamily(t, point, after, more) || crashed
					})
				}
				if t.Failed() || !crashed {
					same(t, "crash points, more than ten", point > 10, true)
					return
				}
			}
		})
	}
}

// crashFamily lets the process die at one call of the saver, and repeats everything in another
// one. It reports whether there is such a call.
func crashFamily(t *testing.T, point int, after bool, more []graph.Option) bool {
	t.Helper()
	s := memory.New()
	runs := 0
	node := func(ctx context.Context, _ work) (update, error) {
		runs++
		return logged("worked"), nil
	}
	dying := crashingInbox{&crashing{Saver: s, left: point, after: after}}
	err := familyOn(t, dying, node, nil, more...).live(t.Context(), s)
	if err != nil && !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	time.Sleep(2 * checkpoint.DefaultLease)
	f := familyOn(t, s, node, nil, more...)
	for range 3 { // a crash can leave one thread due later
		if again := f.live(t.Context(), s); again != nil {
			t.Fatalf("point %d %t, after %v: %v", point, after, err, again)
		}
		time.Sleep(2 * checkpoint.DefaultLease)
	}
	what := fmt.Sprintf("point %d %t: ", point, after)
	for _, id := range []string{"kid", "p"} {
		versions, err := s.Versions(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		same(t, what+"versions of "+id, len(versions), 1)
	}
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil || !th.Wake.IsZero() || th.Inputs+th.Others > 0 {
			t.Errorf("%sthread %s is due at %v with %d messages, %v; want nothing left to do", what, th.ID, th.Wake, th.Inputs+th.Others, err)
		}
	}
	snap, lost := f.parent.Thread("p").Version(1).State(t.Context())
	if lost != nil {
		t.Fatal(lost)
	}
	same(t, what+"log", snap.State.Log, []string{"the child did", "from the parent", "worked"})
	if runs > 2 {
		t.Errorf("%sthe child ran %d times, want at most once more after a crash", what, runs)
	}
	return err != nil
}

// TestALateReportOfAChildIsRefused: rule 25.5. The child ends after its caller was cancelled.
func TestALateReportOfAChildIsRefused(t *testing.T) {
	f := newFamily(t, func(context.Context, work) (update, error) { return logged("worked"), nil }, graph.Abandon())
	p := f.parent.Thread("p")
	done(t, graph.Waiting)(p.Invoke(t.Context(), input))
	if err := p.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Resume(t.Context()); err == nil {
		t.Fatal("got no error, want that of the cancel")
	}
	f.work(t)
	if _, err := p.Submit(t.Context(), logged("next")); err != nil {
		t.Fatal(err)
	}
	f.work(t)
	in, err := p.Inbox(t.Context())
	if err != nil || len(in.Waiting) != 0 || len(in.Refused) != 1 || in.Refused[0].Kind != checkpoint.SignalMessage {
		t.Errorf("got %+v, %v; want the report refused", in, err)
	}
}

// TestAnInputOfTheChildEndsIt: rule 25.3.
func TestAnInputOfTheChildEndsIt(t *testing.T) {
	f := newFamily(t, func(ctx context.Context, _ work) (update, error) {
		return update{}, graph.Sleep(ctx, time.Hour)
	})
	done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
	f.work(t)
	if _, err := f.child.Thread("kid").Invoke(t.Context(), input, graph.DiscardPending()); err != nil {
		t.Fatal(err)
	}
	_, err := f.parent.Thread("p").Resume(t.Context())
	var ended *graph.ChildError
	if !errors.As(err, &ended) || ended.Status != graph.Cancelled {
		t.Errorf("got %v, want a *ChildError that says Cancelled", err)
	}
}

// A child whose process dies before it reports the end is found by a worker: rule 25.2.
func TestAChildThatDiesBeforeItsReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := func(context.Context, work) (update, error) { return logged("worked"), nil }
		f := newFamily(t, node)
		done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
		found, err := f.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"child"}, Limit: 1})
		if err != nil || len(found.Threads) != 1 {
			t.Fatalf("got %+v, %v; want the child due", found, err)
		}
		g := familyOn(t, postless{f.s}, node, nil).child
		if _, err := g.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want the error of the report", err)
		}
		same(t, "child", f.status(t, f.child, "kid"), graph.Done)
		same(t, "parent", f.status(t, f.parent, "p"), graph.Waiting)
		time.Sleep(2 * checkpoint.DefaultLease)
		f.work(t)
		same(t, "parent after a lease", f.status(t, f.parent, "p"), graph.Done)
	})
}

// TestAReportAfterACrashHasTheReason: rules 25.1, 25.2 and 25.3. The process dies after it has
// stored the end of the child, and before the report.
func TestAReportAfterACrashHasTheReason(t *testing.T) {
	slow := sleeper("worked", 9*day)
	cancel := func(t *testing.T, kid graph.Thread[work, update]) {
		t.Helper()
		if err := kid.Cancel(t.Context(), "out of stock"); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		node  func(context.Context, work) (update, error)
		end   func(t *testing.T, kid graph.Thread[work, update]) // makes the child, which has begun, end; nil for one that ends when it begins
		crash func(t *testing.T, kid graph.Thread[work, update]) // between the end and the report; nil for nothing
		want  string
		is    error
	}{
		"deadline": {
			node: slow, want: "its ExecutionTimeout has passed", is: graph.ErrExecutionTimeout,
			end: func(*testing.T, graph.Thread[work, update]) { time.Sleep(day) },
		},
		"cancel": {node: slow, end: cancel, want: "out of stock"},
		"cancel, and a second one": {
			node: slow, end: cancel, want: "out of stock",
			crash: func(t *testing.T, kid graph.Thread[work, update]) {
				t.Helper()
				if err := kid.Cancel(t.Context(), "too late"); err != nil {
					t.Fatal(err)
				}
			},
		},
		"cancel, and another input": {
			node: slow, end: cancel, want: "out of stock",
			crash: func(t *testing.T, kid graph.Thread[work, update]) {
				t.Helper()
				done(t, graph.Waiting)(kid.Invoke(t.Context(), input))
			},
		},
		"failure": {
			node: func(context.Context, work) (update, error) { return update{}, errors.New("out of luck") }, want: "out of luck",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := []graph.ChildOption{graph.ExecutionTimeout(day)}
				f := familyOn(t, memory.New(), tt.node, opts)
				done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
				if tt.end != nil {
					f.work(t)
					tt.end(t, f.child.Thread("kid"))
				}
				found, err := f.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"child"}, Limit: 1})
				if err != nil || len(found.Threads) != 1 {
					t.Fatalf("got %+v, %v; want the child due", found, err)
				}
				dying := familyOn(t, postless{f.s}, tt.node, opts).child
				once := graph.DueOptions{Retry: graph.RetryPolicy{Attempts: 1}}
				if _, err := dying.ResumeDue(t.Context(), found.Threads[0], once); !errors.Is(err, errBroken) {
					t.Fatalf("got %v, want the error of the report", err)
				}
				if tt.crash != nil {
					tt.crash(t, f.child.Thread("kid"))
				}
				time.Sleep(2 * checkpoint.DefaultLease)
				f.work(t)
				_, err = f.parent.Thread("p").Resume(t.Context())
				var child *graph.ChildError
				if !errors.As(err, &child) || !strings.Contains(child.Reason, tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("got %v, want the *ChildError with the reason %q", err, tt.want)
				}
			})
		})
	}
}

// TestAReleaseReportsTheEndOfAChild: rule 25.2. The process dies after it has stored the end of
// the child and before the report, and then somebody releases the child.
func TestAReleaseReportsTheEndOfAChild(t *testing.T) {
	for want, node := range map[graph.Status]func(context.Context, work) (update, error){
		graph.Done:      func(context.Context, work) (update, error) { return logged("worked"), nil },
		graph.Failed:    func(context.Context, work) (update, error) { return update{}, errors.New("out of luck") },
		graph.Cancelled: sleeper("worked", 9*day),
	} {
		t.Run(want.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFamily(t, node)
				done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
				kid := f.child.Thread("kid")
				if want == graph.Cancelled {
					f.work(t)
					if err := kid.Cancel(t.Context(), "out of luck"); err != nil {
						t.Fatal(err)
					}
				}
				found, err := f.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"child"}, Limit: 1})
				if err != nil || len(found.Threads) != 1 {
					t.Fatalf("got %+v, %v; want the child due", found, err)
				}
				dying := familyOn(t, postless{f.s}, node, nil).child
				once := graph.DueOptions{Retry: graph.RetryPolicy{Attempts: 1}}
				if _, err := dying.ResumeDue(t.Context(), found.Threads[0], once); !errors.Is(err, errBroken) {
					t.Fatalf("got %v, want the error of the report", err)
				}
				same(t, "child", f.status(t, f.child, "kid"), want)
				if _, err := kid.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				f.work(t)
				res, err := f.parent.Thread("p").Resume(t.Context())
				var child *graph.ChildError
				switch {
				case want == graph.Done:
					same(t, "parent", res.Status, graph.Done)
				case !errors.As(err, &child) || child.Status != want || !strings.Contains(child.Reason, "out of luck"):
					t.Errorf("got %v, want the *ChildError of a child that is %v", err, want)
				}
			})
		})
	}
}

// TestAChildThatNeverBeginsReports: rules 25.2 and 25.3. Somebody cancels the child before its
// input has begun, and the process that obeys can die before the report.
func TestAChildThatNeverBeginsReports(t *testing.T) {
	for name, dies := range map[string]bool{"lives": false, "dies": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := func(context.Context, work) (update, error) { return logged("worked"), nil }
				f := newFamily(t, node)
				done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
				if err := f.child.Thread("kid").Cancel(t.Context(), "out of stock"); err != nil {
					t.Fatal(err)
				}
				if dies {
					found, err := f.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"child"}, Limit: 1})
					if err != nil || len(found.Threads) != 1 {
						t.Fatalf("got %+v, %v; want the child due", found, err)
					}
					dying := familyOn(t, postless{f.s}, node, nil).child
					if _, err := dying.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); !errors.Is(err, errBroken) {
						t.Fatalf("got %v, want the error of the report", err)
					}
					time.Sleep(2 * checkpoint.DefaultLease)
				}
				f.work(t)
				same(t, "child", f.status(t, f.child, "kid"), graph.Cancelled)
				_, err := f.parent.Thread("p").Resume(t.Context())
				var child *graph.ChildError
				if !errors.As(err, &child) || child.Status != graph.Cancelled || !strings.Contains(child.Reason, "out of stock") {
					t.Errorf("got %v, want the *ChildError with the reason of the cancel", err)
				}
				for th, err := range f.s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
					if err != nil || !th.Wake.IsZero() || th.Inputs+th.Others > 0 {
						t.Errorf("got thread %s due at %v, %v; want nothing left to do", th.ID, th.Wake, err)
					}
				}
			})
		})
	}
}

// TestARefusedInputOfAChildReports: rule 25.2. Somebody cancels the child before its input has
// begun, and gives its thread another input, which runs.
func TestARefusedInputOfAChildReports(t *testing.T) {
	for name, other := range map[string]func(t *testing.T, child *app){
		"submitted": func(t *testing.T, child *app) {
			t.Helper()
			if _, err := child.Thread("kid").Submit(t.Context(), input); err != nil {
				t.Fatal(err)
			}
		},
		"submitted before the cancel": func(*testing.T, *app) {},
		"in person": func(t *testing.T, child *app) {
			t.Helper()
			done(t, graph.Done)(child.Thread("kid").Invoke(t.Context(), input))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, func(context.Context, work) (update, error) { return logged("worked"), nil })
			done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
			kid := f.child.Thread("kid")
			var err error
			if name == "submitted before the cancel" {
				_, err = kid.Submit(t.Context(), input, graph.CancelPending("out of stock"))
			} else {
				err = kid.Cancel(t.Context(), "out of stock")
			}
			if err != nil {
				t.Fatal(err)
			}
			other(t, f.child)
			f.work(t)
			same(t, "child", f.status(t, f.child, "kid"), graph.Done)
			_, err = f.parent.Thread("p").Resume(t.Context())
			var child *graph.ChildError
			if !errors.As(err, &child) || child.Status != graph.Cancelled || !strings.Contains(child.Reason, "out of stock") {
				t.Errorf("got %v, want the *ChildError with the reason of the cancel", err)
			}
		})
	}
}

// TestACancelThatARunObeysReportsRefusedInputs: rule 25.2. The run of another input is cancelled
// while the input of the caller waits.
func TestACancelThatARunObeysReportsRefusedInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan struct{})
		f := newFamily(t, func(ctx context.Context, _ work) (update, error) {
			close(begun)
			<-ctx.Done()
			return update{}, ctx.Err()
		})
		done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
		ended := make(chan graph.Status)
		go func() {
			res, _ := f.child.Thread("kid").Invoke(t.Context(), input) // its error is the cancel
			ended <- res.Status
		}()
		<-begun
		if err := f.child.Thread("kid").Cancel(t.Context(), "out of stock"); err != nil {
			t.Fatal(err)
		}
		same(t, "child", <-ended, graph.Cancelled)
		_, err := f.parent.Thread("p").Resume(t.Context())
		var child *graph.ChildError
		if !errors.As(err, &child) || child.Status != graph.Cancelled || !strings.Contains(child.Reason, "out of stock") {
			t.Errorf("got %v, want the *ChildError with the reason of the cancel", err)
		}
	})
}

// TestAReadyThreadWithoutTasksIsNotDue has a stored status Ready and nothing to run: the end of a
// child that is not reported, and a finished thread. A worker must not find them again and again.
func TestAReadyThreadWithoutTasksIsNotDue(t *testing.T) {
	node := func(context.Context, work) (update, error) { return logged("worked"), nil }
	f := newFamily(t, node)
	done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
	found, err := f.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"child"}, Limit: 1})
	if err != nil || len(found.Threads) != 1 {
		t.Fatalf("got %+v, %v; want the child due", found, err)
	}
	g := familyOn(t, postless{f.s}, node, nil).child
	if _, err := g.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want the error of the report", err)
	}
	done(t, graph.Done)(f.child.Thread("alone").Invoke(t.Context(), input))
	for _, id := range []string{"kid", "alone"} {
		c, err := f.s.Load(t.Context(), checkpoint.Ref{Thread: id})
		if err == nil {
			_, err = f.s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: id, Fence: c.Fence, Status: graph.Ready, End: true, Wake: time.Unix(1, 0)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f.work(t)
	same(t, "parent", f.status(t, f.parent, "p"), graph.Done)
}

// postless is a saver that stores no messages.
type postless struct{ checkpoint.Saver }

func (postless) Post(context.Context, ...checkpoint.Post) ([]checkpoint.Posted, error) {
	return nil, errBroken
}

// TestAChildReportsItsEndThoughItsCallerIsGone ends the context of the run in the write that ends
// it.
func TestAChildReportsItsEndThoughItsCallerIsGone(t *testing.T) {
	node := func(context.Context, work) (update, error) { return logged("worked"), nil }
	f := newFamily(t, node)
	done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
	found, err := f.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"child"}, Limit: 1})
	if err != nil || len(found.Threads) != 1 {
		t.Fatalf("got %+v, %v; want the child due", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g := familyOn(t, &endsWith{f.s, cancel}, node, nil).child
	if _, err := g.ResumeDue(ctx, found.Threads[0], graph.DueOptions{}); err != nil {
		t.Fatal(err)
	}
	f.work(t)
	same(t, "parent", f.status(t, f.parent, "p"), graph.Done)
}

// TestAChildThatHasNotReportedStays removes ended threads while the report of a child fails.
func TestAChildThatHasNotReportedStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := func(context.Context, work) (update, error) { return logged("worked"), nil }
		f := newFamily(t, node)
		done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
		found, err := f.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"child"}, Limit: 1})
		if err != nil || len(found.Threads) != 1 {
			t.Fatalf("got %+v, %v; want the child due", found, err)
		}
		if _, err := familyOn(t, postless{f.s}, node, nil).child.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want a report that fails", err)
		}
		if _, err := f.s.Prune(t.Context(), found.Threads[0].ID, checkpoint.Retention{Ended: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		f.work(t)
		same(t, "parent", f.status(t, f.parent, "p"), graph.Done)
	})
}

// endsWith is a saver that calls cancel in the write that ends a run.
type endsWith struct {
	checkpoint.Saver
	cancel func()
}

func (e *endsWith) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	done, err := e.Saver.Append(ctx, a)
	if a.End {
		e.cancel()
	}
	return done, err
}
