package graphtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// export writes all versions of all threads to an archive.
func export(tb testing.TB, saver checkpoint.Saver) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := archive.NewWriter(&b)
	for t, err := range saver.Threads(tb.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			tb.Fatal(err)
		}
		versions, err := saver.Versions(tb.Context(), t.ID)
		if err != nil {
			tb.Fatal(err)
		}
		for _, v := range versions {
			if err := w.Add(v, saver.Export(tb.Context(), t.ID, v.Number)); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// waiting returns a saver with threads of the shop that wait, and what they wait for.
func waiting(tb testing.TB, threads int) (checkpoint.Saver, *graph.Graph[Order, OrderUpdate]) {
	tb.Helper()
	saver := memory.New()
	app := newShop().build(tb, saver)
	for i := range threads {
		res, err := app.Thread(fmt.Sprintf("order-%05d", i)).Invoke(tb.Context(), OrderUpdate{})
		if err != nil || res.Status != graph.Waiting {
			tb.Fatalf("status %s, %v", res.Status, err)
		}
	}
	return saver, app
}

func TestReplayOfThreadsThatFit(t *testing.T) {
	saver, app := waiting(t, 2)
	th := app.Thread("order-00001")
	res, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := th.Answer(t.Context(), sure.Answer(res.Questions[0], true)); err != nil {
		t.Fatal(err)
	}
	if err := th.Signal(t.Context(), paid.With("yes")); err != nil {
		t.Fatal(err)
	}
	if _, err := th.Submit(t.Context(), OrderUpdate{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "threads.graphgen"), export(t, saver), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "threads.graphgen"))
	if err != nil {
		t.Fatal(err)
	}
	scratch := memory.New()
	graphtest.Replay(t, app, scratch, dir)
	after, err := os.ReadFile(filepath.Join(dir, "threads.graphgen"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed, %v", err)
	}
	if left := export(t, scratch); len(left) != len(export(t, memory.New())) {
		t.Error("threads are left in the scratch saver")
	}
}

// imported returns a saver with copies of the threads of an archive.
func imported(t *testing.T, from checkpoint.Saver) checkpoint.Saver {
	t.Helper()
	to := memory.New()
	for th, err := range from.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err == nil {
			err = to.Import(t.Context(), th.ID, from.Export(t.Context(), th.ID, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestRehearsalsRefuseWhatResumesRefuse rehearses a waiting thread under changed programs.
func TestRehearsalsRefuseWhatResumesRefuse(t *testing.T) {
	tests := map[string]struct {
		change func(p *shop)
		want   string // in the error; empty for none
	}{
		"nothing":           {func(*shop) {}, ""},
		"a node is renamed": {func(p *shop) { p.ask, p.joins[1] = "asks", "asks" }, `"ask`},
		"a node has a FormerID": {func(p *shop) {
			p.ask, p.joins[1], p.options = "asks", "asks", []graph.NodeOption{graph.FormerIDs("ask")}
		}, ""},
		"a task node becomes a node":     {func(p *shop) { p.plainEach = true }, `what was sent to node "each"`},
		"another payload":                {func(p *shop) { p.sendsInt = true }, `what was sent to node "each"`},
		"a node below is renamed":        {func(p *shop) { p.inner = "await" }, `sub/wait`},
		"a node below has a FormerID":    {func(p *shop) { p.inner, p.innerOpts = "await", []graph.NodeOption{graph.FormerIDs("wait")} }, ""},
		"a join is gone":                 {func(p *shop) { p.noJoin = true }, `the thread waits at ["both"]`},
		"a question is gone":             {func(p *shop) { p.noAsk = true }, `does not list question "sure" any more`},
		"a signal is gone":               {func(p *shop) { p.noSignal = true }, `signal "paid" and does not list it any more`},
		"another name":                   {func(p *shop) { p.name = "store" }, "graph.FormerNames"},
		"another name with FormerNames":  {func(p *shop) { p.name, p.compile = "store", []graph.Option{graph.FormerNames("shop")} }, ""},
		"a new node and another policy":  {func(p *shop) { p.extra = true }, ""},
		"a subgraph node has a FormerID": {func(p *shop) { p.sub = "below" }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			from, _ := waiting(t, 1)
			after := newShop()
			test.change(after)
			err := after.build(t, memory.New()).Rehearse(t.Context(), imported(t, from), "order-00000")
			if test.want == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an ErrGraphChanged with %s", err, test.want)
			}
		})
	}
}

// guard is the functions of a graph. They fail the test once closed.
type guard struct {
	t      *testing.T
	closed bool
}

func (g *guard) pass(what string) {
	if g.closed {
		g.t.Errorf("%s runs in a rehearsal", what)
	}
}

var errStock = errors.New("no stock")

func (g *guard) work(_ context.Context, s Order) (u OrderUpdate, err error) {
	g.pass("a node")
	if s.Item == "broken" {
		return u, errStock
	}
	u.Log.Append("worked")
	return u, nil
}

func (g *guard) sleep(ctx context.Context, s Order) (u OrderUpdate, err error) {
	if s.Item != "quick" {
		if err := graph.Sleep(ctx, time.Hour); err != nil {
			return u, err
		}
	}
	return g.work(ctx, s)
}

// build compiles a graph with each kind of function.
func (g *guard) build(saver checkpoint.Saver) *graph.Graph[Order, OrderUpdate] {
	child := graph.New("child", OrderSchema)
	child.Node("inner", g.work)
	child.Chain(graph.Start, "inner", graph.End)
	sub, err := child.Compile(graph.SubgraphOnly())
	if err != nil {
		g.t.Fatal(err)
	}
	b := graph.New("calls", OrderSchema)
	b.Route(graph.Start, func(context.Context, Order) (graph.Next, error) {
		g.pass("a route")
		return graph.To("work"), nil
	}, "work")
	b.Node("work", g.work, graph.Limit(graph.MaxConcurrent(1)))
	b.Node("sleep", g.sleep)
	b.Cache("work", graph.MemoryCache(1<<10), time.Hour, func(s Order) string {
		g.pass("a cache")
		return s.Item
	})
	graph.MapSubgraph(b, "sub", sub, func(context.Context, Order) (u OrderUpdate, err error) {
		g.pass("the input of a subgraph")
		return u, nil
	}, func(context.Context, Order, Order) (u OrderUpdate, err error) { return u, nil })
	b.Fallback("work", func(_ context.Context, _ Order, err error) (u OrderUpdate, _ error) {
		g.pass("a fallback")
		return u, err
	})
	b.Chain("work", "sleep", "sub", graph.End)
	app, err := b.Compile(graph.Saver(saver), graph.InterruptBefore("sub"))
	if err != nil {
		g.t.Fatal(err)
	}
	return app
}

func TestRehearsalsCallNoNode(t *testing.T) {
	saver := memory.New()
	g := &guard{t: t}
	app := g.build(saver)
	for item, want := range map[string]graph.Status{"lamp": graph.Waiting, "broken": graph.Failed, "quick": graph.Paused, "done": graph.Done} {
		var u OrderUpdate
		if u.Item.Set(item); item == "done" {
			u.Item.Set("quick")
		}
		th := app.Thread(item)
		res, err := th.Invoke(t.Context(), u)
		if item == "done" {
			res, err = th.Resume(t.Context())
		}
		if err != nil && !errors.Is(err, errStock) || res.Status != want {
			t.Fatalf("%s has status %s, %v; want %s", item, res.Status, err, want)
		}
	}
	if _, err := app.Thread("done").Submit(t.Context(), OrderUpdate{}); err != nil {
		t.Fatal(err)
	}
	g.closed = true
	copies := imported(t, saver)
	for _, id := range []string{"lamp", "broken", "quick", "done"} {
		if err := app.Rehearse(t.Context(), copies, id); err != nil {
			t.Errorf("%s: got %v, want no error", id, err)
		}
	}
}

func TestRehearsalsRefuseSignalsThatNobodyListens(t *testing.T) {
	saver, app := waiting(t, 1)
	if err := app.Thread("order-00000").Signal(t.Context(), paid.With("yes")); err != nil {
		t.Fatal(err)
	}
	after := newShop()
	after.noSignal = true
	err := after.build(t, memory.New()).Rehearse(t.Context(), imported(t, saver), "order-00000")
	if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), "paid") {
		t.Errorf("got %v, want an ErrGraphChanged that names the signal", err)
	}
}

// TestReplayRefuses runs Replay in processes of their own, because it must fail.
func TestReplayRefuses(t *testing.T) {
	saver, _ := waiting(t, 1)
	whole := export(t, saver)
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"empty folder":    {nil, "write one by: graphctl export"},
		"damaged file":    {whole[:len(whole)-30], "export the threads again"},
		"another file":    {[]byte("hello, this is no archive"), "not an archive"},
		"no thread":       {export(t, memory.New()), "the archive has no thread"},
		"another graph":   {whole, "order-00000"},
		"used by another": {whole, "pass an empty saver"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if test.file != nil {
				if err := os.WriteFile(filepath.Join(dir, "threads.graphgen"), test.file, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReplayChild$", "-test.v")
			cmd.Env = append(os.Environ(), "GRAPHTEST_REPLAY="+dir, "GRAPHTEST_CASE="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("got %v:\n%s\nwant a failure with %q", err, out, test.want)
			}
		})
	}
}

// TestReplayChild is the process of a TestReplayRefuses.
func TestReplayChild(t *testing.T) {
	dir := os.Getenv("GRAPHTEST_REPLAY")
	if dir == "" {
		return // it runs as a part of TestReplayRefuses only
	}
	p, scratch := newShop(), checkpoint.Saver(memory.New())
	switch os.Getenv("GRAPHTEST_CASE") {
	case "another graph":
		p.name = "store"
	case "used by another":
		scratch, _ = waiting(t, 1)
	}
	graphtest.Replay(t, p.build(t, memory.New()), scratch, dir)
}

// BenchmarkReplay rehearses the threads of an archive; with -benchtime 10000x, 10,000 of them.
func BenchmarkReplay(b *testing.B) {
	from, app := waiting(b, 100)
	copies := memory.New()
	var ids []string
	for th, err := range from.Threads(b.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, th.ID)
	}
	b.ReportAllocs()
	for i := range b.N {
		id := ids[i%len(ids)]
		if err := copies.Import(b.Context(), id, from.Export(b.Context(), id, 0)); err != nil {
			b.Fatal(err)
		}
		if err := app.Rehearse(b.Context(), copies, id); err != nil {
			b.Fatal(err)
		}
		if err := copies.Delete(b.Context(), id); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "threads/s")
}
