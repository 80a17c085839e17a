package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// errCrash is what a run sees of a process that died.
var errCrash = errors.New("the process died")

// crashing passes calls on until its budget is spent. The last call is made or not, and from then
// on every call fails, as if the process had died there.
type crashing struct {
	checkpoint.Saver
	mu    sync.Mutex
	left  int    // calls until the crash; negative for never
	after bool   // the call at the crash is still made, and its answer lost
	hook  func() // called before the call at the crash, when it is made
}

func (c *crashing) call(do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return errCrash
	}
	if c.left--; c.left != 0 {
		return do()
	}
	if c.after {
		if c.hook != nil {
			c.hook()
		}
		_ = do() // its answer is lost
	}
	return errCrash
}

func (c *crashing) Append(ctx context.Context, r checkpoint.Append) (a checkpoint.AppendResult, err error) {
	err = c.call(func() error { a, err = c.Saver.Append(ctx, r); return err })
	if err != nil {
		a = checkpoint.AppendResult{}
	}
	return a, err
}

func (c *crashing) PutWrites(ctx context.Context, w checkpoint.PutWrites) (done checkpoint.PutResult, err error) {
	err = c.call(func() error { done, err = c.Saver.PutWrites(ctx, w); return err })
	if err != nil {
		done = checkpoint.PutResult{}
	}
	return done, err
}

func (c *crashing) Load(ctx context.Context, p checkpoint.Ref) (ch checkpoint.Chain, err error) {
	err = c.call(func() error { ch, err = c.Saver.Load(ctx, p); return err })
	return ch, err
}

func (c *crashing) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (done checkpoint.PruneResult, err error) {
	err = c.call(func() error { done, err = c.Saver.Prune(ctx, thread, keep); return err })
	return done, err
}

// ledger is what the nodes of a test did to the world: how often each task ran, by key.
type ledger struct {
	mu    sync.Mutex
	runs  map[string]int
	steps map[string]int
	names map[string]string
}

func (l *ledger) note(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs, l.steps, l.names = map[string]int{}, map[string]int{}, map[string]string{}
	}
	task := graph.CurrentTask(ctx)
	l.runs[task.Key]++
	l.steps[task.Key], l.names[task.Key] = task.Step, task.Node
}

func (l *ledger) copy() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.runs)
}

// journey has parallel branches of different length that join, a loop, and a stop for people.
func journey(l *ledger) *graph.Builder[work, update] {
	b := newWork()
	node := func(id graph.ID, more func(*update, work)) {
		b.Node(id, func(ctx context.Context, s work) (update, error) {
			l.note(ctx)
			u := logged(string(id))
			u.Count.Add(1)
			if more != nil {
				more(&u, s)
			}
			return u, nil
		})
	}
	node("begin", nil)
	node("left", func(u *update, _ work) { u.Facts.Put("left", "l") })
	node("right1", func(u *update, _ work) { u.Facts.Put("right", "r1"); u.Last.Set("right1") })
	node("right2", func(u *update, s work) { u.Facts.Put("right", "r2"); u.Draft.Set(s.Last) })
	node("joined", func(u *update, s work) { u.Stack.Reduce(s.Draft) })
	node("draft", func(u *update, s work) { u.Status.Set(fmt.Sprint("draft ", s.Best+1)); u.Best.Offer(s.Best + 1) })
	node("send", nil)
	b.Edge(graph.Start, "begin")
	b.Edge("begin", "left")
	b.Edge("begin", "right1")
	b.Edge("right1", "right2")
	b.Join([]graph.ID{"left", "right2"}, "joined")
	b.Edge("joined", "draft")
	b.Route("draft", func(_ context.Context, s work) (graph.Next, error) {
		if s.Best < 2 {
			return graph.To("draft"), nil
		}
		return graph.To("send"), nil
	}, "draft", "send")
	b.Edge("send", graph.End)
	return b
}

// travel does what a caller does that dies and comes back: it begins the thread, or resumes it,
// until the run stops or finishes.
func travel(t *testing.T, s checkpoint.Saver, l *ledger, opts ...graph.Option) (result, error) {
	t.Helper()
	opts = append([]graph.Option{graph.Saver(s), graph.InterruptBefore("send"), graph.Strict()}, opts...)
	th := compile(t, journey(l), opts...).Thread("t")
	res, err := th.Resume(t.Context(), graph.TakeOver())
	if errors.Is(err, checkpoint.ErrNotFound) {
		res, err = th.Invoke(t.Context(), input, graph.TakeOver())
	}
	return res, err
}

// arrive resumes until the thread is finished. It returns how often the run stopped for people.
func arrive(t *testing.T, s checkpoint.Saver, l *ledger, opts ...graph.Option) (res result, stops int) {
	t.Helper()
	for range 4 {
		res, err := travel(t, s, l, opts...)
		if err != nil {
			t.Fatalf("after the crash: %v", err)
		}
		if res.Status == graph.Done {
			return res, stops
		}
		stops++
	}
	t.Fatal("the thread does not finish")
	return res, stops
}

// acknowledged are the tasks that need not run again, going by what is stored: those of committed
// supersteps and those whose results stand.
func acknowledged(t *testing.T, s checkpoint.Saver, l *ledger) map[string]int {
	t.Helper()
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]int{}
	if chain.Empty() {
		return kept
	}
	head := chain.Last.Step
	stored := map[string]bool{}
	for _, w := range chain.Writes {
		stored[w.Task] = w.Kind == checkpoint.Result
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.runs {
		if l.steps[key] <= head || stored[key] {
			kept[key] = n
		}
	}
	return kept
}

func TestEveryCrashPointOnTheMemorySaver(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		whole := new(ledger)
		want, stops := arrive(t, memory.New(), whole, d)
		same(t, "stops without a crash", stops, 1)
		same(t, "tasks without a crash", len(whole.runs), 8)
		points := 0
		for left := 1; ; left++ {
			reached := false
			for _, after := range []bool{false, true} {
				reached = crashOnce(t, want, d, left, after) || reached
				points++
			}
			if !reached {
				break
			}
		}
		t.Logf("%d crash points", points-2)
	})
}

// crashOnce runs the journey with one crash, and reports whether the run reached the crash.
func crashOnce(t *testing.T, want result, d graph.Durability, left int, after bool) bool {
	t.Helper()
	what := fmt.Sprintf("crash at call %d, after it was made: %t", left, after)
	inner := memory.New()
	l := new(ledger)
	dying := &crashing{Saver: inner, left: left, after: after}
	if !dies(t, what, dying, l, d) {
		return false
	}
	checkRecovery(t, what, inner, l, want, d)
	return true
}

// dies runs the journey until its saver crashes; it reports whether that came before the end.
func dies(t *testing.T, what string, s checkpoint.Saver, l *ledger, d graph.Durability) bool {
	t.Helper()
	for {
		res, err := travel(t, s, l, d, graph.Concurrency(1))
		switch {
		case errors.Is(err, errCrash):
			return true
		case err != nil:
			t.Fatalf("%s: got %v", what, err)
		case res.Status == graph.Done:
			return false
		}
	}
}

// checkRecovery resumes after a crash and compares with what would have been without it.
func checkRecovery(t *testing.T, what string, s checkpoint.Saver, l *ledger, want result, d graph.Durability) {
	t.Helper()
	kept := acknowledged(t, s, l)
	res, _ := arrive(t, s, l, d)
	same(t, what+": state", res.State, want.State)
	now := l.copy()
	same(t, what+": tasks", len(now), 8)
	for key, n := range kept {
		if now[key] != n {
			t.Errorf("%s: a task whose result was stored ran again", what)
		}
	}
	for key, n := range now {
		if n > 2 {
			t.Errorf("%s: task %s ran %d times for one crash", what, key, n)
		}
	}
}

// everyCrashPoint repeats a journey with a crash at each of its saver calls, before the call and
// after it. Then it makes the journey again, to its end, on the stored data. check gets the
// result. One crash may make a task run twice, not more.
func everyCrashPoint(t *testing.T, travel func(s checkpoint.Saver, l *ledger) (result, error), check func(what string, res result)) {
	t.Helper()
	points := 0
	for left, more := 1, true; more; left++ {
		more = false
		for _, after := range []bool{false, true} {
			what := fmt.Sprintf("crash at call %d, after it was made %t", left, after)
			s, l := memory.New(), new(ledger)
			_, err := travel(&crashing{Saver: s, left: left, after: after}, l)
			if err == nil {
				continue
			}
			if !errors.Is(err, errCrash) {
				t.Fatalf("%s: got %v", what, err)
			}
			more = true
			points++
			res, err := travel(s, l)
			if err != nil {
				t.Fatalf("%s: after the crash: %v", what, err)
			}
			check(what, res)
			for key, n := range l.copy() {
				if n > 2 {
					t.Errorf("%s: %s ran %d times for one crash", what, l.names[key], n)
				}
			}
		}
	}
	t.Logf("%d crash points", points)
	if points < 8 {
		t.Errorf("only %d crash points, want them all", points)
	}
}

// TestEveryTornWriteOnTheFileSaver cuts the log short in every write of a run. It cuts
// at several places of the write, from its start to just before its end.
func TestEveryTornWriteOnTheFileSaver(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		want, _ := arrive(t, memory.New(), new(ledger), d)
		points := 0
		for left := 1; tearAll(t, want, d, left, &points); left++ {
		}
		t.Logf("%d torn writes", points)
		if points < 36 {
			t.Errorf("only %d torn writes, want them all", points)
		}
	})
}

// tearAll crashes at one call with each of several cuts, and reports whether the run reached that
// call.
func tearAll(t *testing.T, want result, d graph.Durability, left int, points *int) bool {
	t.Helper()
	for _, cut := range []float64{0, 0.01, 0.1, 0.5, 0.9, 0.99} {
		what := fmt.Sprintf("crash at call %d, torn at %v of the write", left, cut)
		dir, l := t.TempDir(), new(ledger)
		inner := openFile(t, dir)
		var before int64
		dying := &crashing{Saver: inner, left: left, after: true, hook: func() { before = size(t, dir) }}
		died := dies(t, what, dying, l, d)
		if err := inner.Close(); err != nil {
			t.Fatal(err)
		}
		if !died {
			return false
		}
		tear(t, dir, before, cut)
		*points++
		again := openFile(t, dir)
		checkRecovery(t, what, again, l, want, d)
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

func openFile(t *testing.T, dir string) *file.Saver {
	t.Helper()
	s, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// threadFile is the file of the log in dir; empty before there is one.
func threadFile(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.saver"))
	if err != nil || len(names) > 1 {
		t.Fatalf("got files %q, %v; want at most one", names, err)
	}
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

func size(t *testing.T, dir string) int64 {
	t.Helper()
	name := threadFile(t, dir)
	if name == "" {
		return 0
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// tear leaves of what was written after before only the given part, and never all of it.
func tear(t *testing.T, dir string, before int64, part float64) {
	t.Helper()
	name := threadFile(t, dir)
	if name == "" {
		return
	}
	written := size(t, dir) - before
	if written == 0 {
		return
	}
	if err := os.Truncate(name, before+int64(part*float64(written))); err != nil {
		t.Fatal(err)
	}
}
