package shards_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	_ "modernc.org/sqlite" // the driver of the caller's transaction

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

func openDB(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// office is a graph that calls a child and has a task run by a queue, and the graph of the child.
type office struct {
	parent, child *graph.Graph[Order, OrderUpdate]
	mu            sync.Mutex
	ran           map[string]bool // by line and key
}

// newOffice compiles the graphs. The child of each thread has the given id, in which {} stands for
// the id of the thread.
func newOffice(tb testing.TB, s checkpoint.Saver, child string) *office {
	tb.Helper()
	o := &office{ran: make(map[string]bool)}
	b := graph.New("child", OrderSchema)
	b.Node("read", func(ctx context.Context, _ Order) (OrderUpdate, error) { return o.log(ctx, "read") })
	b.Edge(graph.Start, "read")
	b.Edge("read", graph.End)
	var err error
	if o.child, err = b.Compile(graph.Saver(s)); err != nil {
		tb.Fatal(err)
	}
	b = graph.New("parent", OrderSchema)
	b.Node("call", func(ctx context.Context, _ Order) (OrderUpdate, error) {
		read, err := graph.Child(ctx, o.child, strings.ReplaceAll(child, "{}", graph.CurrentTask(ctx).Thread), OrderUpdate{})
		if err != nil {
			return OrderUpdate{}, err
		}
		return OrderUpdate{Log: state.Append(read.Log...)}, nil
	})
	b.Node("heavy", func(ctx context.Context, _ Order) (OrderUpdate, error) { return o.log(ctx, "heavy") }, graph.Queue("gpu"))
	b.Node("end", func(ctx context.Context, _ Order) (OrderUpdate, error) { return o.log(ctx, "end") })
	b.Edge(graph.Start, "call")
	b.Edge(graph.Start, "heavy")
	b.Join([]graph.ID{"call", "heavy"}, "end")
	b.Edge("end", graph.End)
	if o.parent, err = b.Compile(graph.Saver(s)); err != nil {
		tb.Fatal(err)
	}
	return o
}

// log notes that a task runs.
func (o *office) log(ctx context.Context, line string) (u OrderUpdate, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ran[line+" "+graph.CurrentTask(ctx).Key] = true
	u.Log.Append(line)
	return u, nil
}

// tasks returns the tasks that have run: their lines and keys.
func (o *office) tasks() (lines []string) {
	for task := range o.ran {
		lines = append(lines, task)
	}
	slices.Sort(lines)
	return lines
}

// finish runs workers until the thread has ended.
func (o *office) finish(tb testing.TB, s checkpoint.Saver, thread string) []string {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	var runs sync.WaitGroup
	runs.Go(func() {
		if err := worker.New(s, worker.Options{Queues: map[string]int{"gpu": 2}}, o.parent, o.child).Run(ctx); err != nil {
			tb.Error(err)
		}
	})
	defer runs.Wait()
	defer cancel()
	for {
		_, err := o.parent.Thread(thread).Submit(ctx, OrderUpdate{}, graph.RequestID("one"))
		if err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	for tries := 0; ; tries++ {
		res, err := o.parent.Thread(thread).Result(ctx)
		if err == nil {
			return res.State.Log
		}
		if tries == 100 {
			tb.Fatalf("the result: %v", err)
		}
		time.Sleep(time.Second)
	}
}

// TestChildrenAndTasksOnOtherShards runs a thread, its child and its task on each combination of
// two shards.
func TestChildrenAndTasksOnOtherShards(t *testing.T) {
	for _, places := range []string{"aa", "ab", "ba", "bb"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t)
			parent, child := p.thread("parent", places[:1], 0), p.thread("child", places[1:], 0)
			o := newOffice(t, p, child)
			if got, want := o.finish(t, p, parent), []string{"read", "heavy", "end"}; !slices.Equal(got, want) {
				t.Errorf("on %s: got %q, want %q", places, got, want)
			}
			if got := o.tasks(); len(got) != 3 {
				t.Errorf("on %s: got the tasks %q, want three", places, got)
			}
		})
	}
}

// TestAShardFailsInTheMiddle stops a shard at each of its calls while a thread on one shard has a
// child on the other. The fault is before the call, or after it: then the answer is lost. The
// shard stays down for a while. The thread ends as if nothing had happened.
func TestAShardFailsInTheMiddle(t *testing.T) {
	points := 0
	for _, shard := range []string{"a", "b"} {
		for _, after := range []bool{false, true} {
			for at, over := 1, false; !over && !t.Failed(); at++ {
				points++
				synctest.Test(t, func(t *testing.T) { over = failOnce(t, shard, at, after) })
			}
		}
	}
	if t.Logf("%d faults", points); points < 40 {
		t.Errorf("got %d faults, want one at each call", points)
	}
}

// failOnce runs a thread while a shard fails at one of its calls. over says that the thread ended
// before this call.
func failOnce(t *testing.T, shard string, at int, after bool) (over bool) {
	t.Helper()
	p := newPair(t)
	o := newOffice(t, p, p.thread("child", "b", 0))
	failing := p.a
	if shard == "b" {
		failing = p.b
	}
	var began time.Time
	failing.set(func(op string, n int) (error, bool) {
		switch {
		case op == "ready" || op == "threads" || op == "news": // workers poll, at any number of calls
			return nil, false
		case n >= at && began.IsZero():
			began = time.Now()
			return errDown, after
		case !began.IsZero() && time.Since(began) < time.Minute:
			return errDown, false
		}
		return nil, false
	})
	if got, want := o.finish(t, p, p.thread("parent", "a", 0)), []string{"read", "heavy", "end"}; !slices.Equal(got, want) {
		t.Errorf("shard %s fails at call %d, after it %v: got %q, want %q", shard, at, after, got, want)
	}
	if got := o.tasks(); len(got) != 3 {
		t.Errorf("shard %s fails at call %d, after it %v: got the tasks %q, want three", shard, at, after, got)
	}
	return began.IsZero()
}

// TestWorkersServeTheOtherShards runs threads of one shard while the other one is down.
func TestWorkersServeTheOtherShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		o := newOffice(t, p, p.thread("child", "a", 0))
		there := p.thread("parent", "b", 0)
		if _, err := o.parent.Thread(there).Submit(t.Context(), OrderUpdate{}, graph.RequestID("one")); err != nil {
			t.Fatal(err)
		}
		p.b.set(func(string, int) (error, bool) { return errHangs, false })
		if got := o.finish(t, p, p.thread("parent", "a", 0)); len(got) != 3 {
			t.Errorf("got %q, want the thread done", got)
		}
		p.b.set(nil)
		if got := newOffice(t, p, p.thread("child", "a", 1)).finish(t, p, there); len(got) != 3 {
			t.Errorf("got %q, want the thread of the other shard done, too", got)
		}
	})
}

// TestRetentionGoesOnWhileAShardIsDown removes ended threads of one shard while the other is down,
// and those of the other one later.
func TestRetentionGoesOnWhileAShardIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		name := strings.TrimPrefix(p.thread("__retention/g", "a", 0), "__retention/") // its walk is on a
		b := graph.New(name, OrderSchema)
		b.Node("n", func(context.Context, Order) (OrderUpdate, error) { return OrderUpdate{}, nil })
		b.Edge(graph.Start, "n")
		b.Edge("n", graph.End)
		g, err := b.Compile(graph.Saver(p))
		if err != nil {
			t.Fatal(err)
		}
		here, there := p.thread("t", "a", 0), p.thread("t", "b", 0)
		for _, id := range []string{here, there} {
			if _, err := g.Thread(id).Invoke(t.Context(), OrderUpdate{}); err != nil {
				t.Fatal(err)
			}
		}
		p.b.down()
		ctx, cancel := context.WithCancel(t.Context())
		var runs sync.WaitGroup
		runs.Go(func() {
			keep := worker.Retention{Graph: name, Ended: time.Hour}
			if err := worker.New(p, worker.Options{Retention: []worker.Retention{keep}}, g).Run(ctx); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(2 * time.Hour)
		if _, err := checkpoint.FindThread(ctx, p, here); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("got %v, want the thread removed although the other shard is down", err)
		}
		p.b.set(nil)
		if _, err := checkpoint.FindThread(ctx, p, there); err != nil {
			t.Errorf("got %v, want the thread of the shard that was down", err)
		}
		time.Sleep(time.Hour)
		if _, err := checkpoint.FindThread(ctx, p, there); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("got %v, want the thread removed", err)
		}
		cancel()
		runs.Wait()
	})
}
