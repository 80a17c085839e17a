package graphtest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// shop is a program whose parts can be changed. A thread of it waits at each kind of node.
type shop struct {
	name, ask, each, sub, both string
	inner                      string // the node of the subgraph

	joins     []graph.ID
	options   []graph.NodeOption // of ask
	listed    []graph.NodeOption // of each
	compile   []graph.Option
	innerOpts []graph.NodeOption
	plainEach bool // each is a Node
	sendsInt  bool
	extra     bool // one more node, and other policies
	noSignal  bool
	noAsk     bool
	noJoin    bool
	reuse     string // the id of a node that does something else

	fast string // how the node that finishes while the others wait is declared

	below       string // the name of the graph of sub; "child" if it is empty
	otherAnswer bool   // ask gets another type of answers
	otherSignal bool   // the node below gets another type of signals
}

func newShop() *shop {
	return &shop{name: "shop", ask: "ask", each: "each", sub: "sub", both: "both", inner: "wait", joins: []graph.ID{"quick", "ask"}}
}

var (
	sure = graph.NewQuestion[wire.String, wire.Bool]("sure")
	paid = graph.NewSignal[wire.String]("paid")
)

func logging(word string) func(context.Context, Order) (OrderUpdate, error) {
	return func(context.Context, Order) (u OrderUpdate, err error) {
		u.Log.Append(word)
		return u, nil
	}
}

// asking is a node that logs a word after its question is answered.
func (p *shop) asking(word string) func(context.Context, Order) (OrderUpdate, error) {
	return func(ctx context.Context, _ Order) (u OrderUpdate, err error) {
		if _, err := sure.Ask(ctx, "sure?"); err != nil {
			return u, err
		}
		u.Log.Append(word)
		return u, nil
	}
}

func (p *shop) child(tb testing.TB) *graph.Graph[Order, OrderUpdate] {
	tb.Helper()
	b := graph.New(cmp.Or(p.below, "child"), OrderSchema)
	opts := append([]graph.NodeOption{}, p.innerOpts...)
	switch {
	case p.otherSignal:
		opts = append(opts, graph.NewSignal[wire.Int]("paid"))
	case !p.noSignal:
		opts = append(opts, paid)
	}
	b.Node(graph.ID(p.inner), func(ctx context.Context, _ Order) (u OrderUpdate, err error) {
		if _, err := paid.Receive(ctx); err != nil {
			return u, err
		}
		u.Log.Append("sub")
		return u, nil
	}, opts...)
	b.Chain(graph.Start, graph.ID(p.inner), graph.End)
	g, err := b.Compile(graph.SubgraphOnly())
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// build compiles the program. Start runs quick and sends; then ask, each and sub wait.
func (p *shop) build(tb testing.TB, saver checkpoint.Saver) *graph.Graph[Order, OrderUpdate] {
	tb.Helper()
	b := graph.New(p.name, OrderSchema)
	ask, each, sub, both := graph.ID(p.ask), graph.ID(p.each), graph.ID(p.sub), graph.ID(p.both)
	b.Node("quick", logging("quick"))
	b.Node("send", logging("send"))
	p.addAsk(b)
	send := p.addEach(b)
	b.Subgraph(sub, p.child(tb), subOptions(p.sub)...)
	p.addFast(tb, b)
	b.Node(both, logging("both"))
	b.Edge(graph.Start, "quick")
	b.Edge(graph.Start, "send")
	b.Route("send", func(context.Context, Order) (graph.Next, error) {
		n := graph.To(ask, sub, "fast")
		send(&n)
		return n, nil
	}, ask, sub, "fast", each)
	if p.noJoin {
		b.Edge(ask, both)
		b.Edge("quick", graph.End)
	} else {
		b.Join(p.joins, both)
	}
	for _, id := range []graph.ID{each, sub, "fast", both, "quick"} {
		if id == "quick" && (p.noJoin || slices.Contains(p.joins, id)) {
			continue
		}
		b.Edge(id, graph.End)
	}
	if p.extra {
		b.Node("more", logging("more"))
		b.Edge(both, "more")
		b.Edge("more", graph.End)
	}
	if p.reuse != "" {
		b.Node(graph.ID(p.reuse), logging("another"), sure)
		b.Edge("quick", graph.ID(p.reuse))
		b.Edge(graph.ID(p.reuse), graph.End)
	}
	app, err := b.Compile(append(p.compile, graph.Saver(saver))...)
	if err != nil {
		tb.Fatal(err)
	}
	return app
}

// addFast adds the node that finishes while the others of its superstep wait.
func (p *shop) addFast(tb testing.TB, b *graph.Builder[Order, OrderUpdate]) {
	tb.Helper()
	below := graph.New("fast-child", OrderSchema)
	below.Node("log", logging("fast"))
	below.Chain(graph.Start, "log", graph.End)
	child, err := below.Compile(graph.SubgraphOnly())
	if err != nil {
		tb.Fatal(err)
	}
	switch p.fast {
	case "RoutingNode":
		b.RoutingNode("fast", func(ctx context.Context, s Order) (OrderUpdate, graph.Next, error) {
			u, err := logging("fast")(ctx, s)
			return u, graph.To(graph.End), err
		}, graph.Targets(graph.End))
	case "RoutingNode to late":
		b.RoutingNode("fast", func(ctx context.Context, s Order) (OrderUpdate, graph.Next, error) {
			u, err := logging("fast")(ctx, s)
			return u, graph.To("late"), err
		}, graph.Targets(graph.End, "late"))
		b.Node("late", logging("late"))
		b.Edge("late", graph.End)
	case "RoutingNode without late":
		b.RoutingNode("fast", func(ctx context.Context, s Order) (OrderUpdate, graph.Next, error) {
			u, err := logging("fast")(ctx, s)
			return u, graph.To(graph.End), err
		}, graph.Targets(graph.End))
		b.Node("late", logging("late"))
		b.Edge("quick", "late")
		b.Edge("late", graph.End)
	case "Queue":
		b.Node("fast", logging("fast"), graph.Queue("gpu"))
	case "Subgraph":
		b.Subgraph("fast", child)
	case "MapSubgraph", "Stateful":
		var opts []graph.NodeOption
		if p.fast == "Stateful" {
			opts = append(opts, graph.Stateful())
		}
		graph.MapSubgraph(b, "fast", child, func(context.Context, Order) (u OrderUpdate, err error) { return u, nil },
			func(ctx context.Context, _, s Order) (OrderUpdate, error) {
				return logging(strings.Repeat("fast", len(s.Log)))(ctx, s) // the second call of a stateful one logs fastfast
			}, opts...)
	default:
		b.Node("fast", logging("fast"))
	}
}

func subOptions(id string) []graph.NodeOption {
	if id == "sub" {
		return nil
	}
	return []graph.NodeOption{graph.FormerIDs("sub")}
}

func (p *shop) addAsk(b *graph.Builder[Order, OrderUpdate]) {
	opts := slices.Clone(p.options)
	switch {
	case p.otherAnswer:
		opts = append(opts, graph.NewQuestion[wire.String, wire.Int]("sure"))
	case !p.noAsk:
		opts = append(opts, sure)
	}
	b.Node(graph.ID(p.ask), p.asking("ask"), opts...)
}

// addEach adds the node that gets sends, and returns the function that adds a send.
func (p *shop) addEach(b *graph.Builder[Order, OrderUpdate]) func(n *graph.Next) {
	opts := append([]graph.NodeOption{sure}, p.listed...)
	switch {
	case p.plainEach:
		b.Node(graph.ID(p.each), p.asking("each"), opts...)
		return func(n *graph.Next) { n.Add(graph.To(graph.ID(p.each))) }
	case p.sendsInt:
		each := graph.TaskNode(b, graph.ID(p.each), func(ctx context.Context, s Order, _ wire.Int) (OrderUpdate, error) {
			return p.asking("each")(ctx, s)
		}, opts...)
		return func(n *graph.Next) { n.Add(each.Send(7)) }
	}
	each := graph.TaskNode(b, graph.ID(p.each), func(ctx context.Context, s Order, _ wire.String) (OrderUpdate, error) {
		return p.asking("each")(ctx, s)
	}, opts...)
	return func(n *graph.Next) { n.Add(each.Send("a lamp")) }
}

// resumed reports how a thread that one program begins fares under the program after.
func resumed(t *testing.T, before, after *shop) error {
	t.Helper()
	saver := memory.New()
	old := before.build(t, saver)
	res, err := old.Thread("t").Invoke(t.Context(), OrderUpdate{})
	if err != nil || res.Status != graph.Waiting || len(res.Questions) != 2 || len(res.Signals) != 1 {
		t.Fatalf("the thread has status %s, %v and %v: %v", res.Status, res.Questions, res.Signals, err)
	}
	if err := old.Thread("t").Signal(t.Context(), paid.With("yes")); err != nil { // a message does not know the program
		t.Fatal(err)
	}
	th := after.build(t, saver).Thread("t")
	end, err := th.Resume(t.Context(), answersTo(res.Questions)...)
	if err != nil {
		return err
	}
	want := "quick send ask sub fast each both" // each is a task node, and sends come last
	if log := strings.Join(end.State.Log, " "); end.Status != graph.Done || !strings.HasPrefix(log, want) {
		return fmt.Errorf("%w: status %s, log %s", errLost, end.Status, log)
	}
	if before.fast != "Stateful" {
		return nil
	}
	if res, err = th.Invoke(t.Context(), OrderUpdate{}); err != nil {
		return err
	}
	if err := th.Signal(t.Context(), paid.With("again")); err != nil {
		return err
	}
	if end, err = th.Resume(t.Context(), answersTo(res.Questions)...); err != nil {
		return err
	}
	if log := strings.Join(end.State.Log, " "); !strings.Contains(log, "fastfast") {
		return fmt.Errorf("%w: log %s", errLost, log)
	}
	return nil
}

func answersTo(questions []graph.OpenQuestion) (answers []graph.ResumeOption) {
	for _, q := range questions {
		answers = append(answers, sure.Answer(q, true))
	}
	return answers
}

var errLost = errors.New("work is lost")

// recorder is a testing.TB that keeps the text of a failure. Fatalf ends the goroutine.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.text += fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format+"\n", args...) }

// lockFailure returns the text with which Lock fails its test.
func lockFailure(t *testing.T, app graphtest.Described, path string) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		graphtest.Lock(r, app, path)
	}()
	<-done
	return r.text
}

func renamedAsk(p *shop) {
	p.ask, p.joins[1], p.options = "asks", "asks", []graph.NodeOption{graph.FormerIDs("ask")}
}

// TestLockAgreesWithTheRuntime changes one part of a program in which a thread waits. Lock says
// breaking if and only if the thread cannot continue.
func TestLockAgreesWithTheRuntime(t *testing.T) {
	t.Setenv("GRAPHGEN_REWRITE", "")
	tests := map[string]struct {
		change func(p *shop)
		want   string // in the report; empty if the lock does not change
		breaks bool
		locked func(p *shop) // a change of the program before it is locked
		stored func(p *shop) // a change of the program that begins the thread; nil for locked
	}{
		"nothing": {change: func(*shop) {}},
		"a node becomes a RoutingNode": {
			change: func(p *shop) { p.fast = "RoutingNode" }, want: "was of kind node and is of kind node routing", breaks: true,
		},
		"a RoutingNode becomes a node": {
			locked: func(p *shop) { p.fast = "RoutingNode" },
			change: func(*shop) {}, want: "was of kind node routing and is of kind node", breaks: true,
		},
		"a node becomes a Subgraph":    {change: func(p *shop) { p.fast = "Subgraph" }, want: "is of kind subgraph", breaks: true},
		"a node becomes a MapSubgraph": {change: func(p *shop) { p.fast = "MapSubgraph" }, want: "is of kind mapSubgraph"},
		"a RoutingNode has lost a target that it has chosen": {
			locked: func(p *shop) { p.fast = "RoutingNode to late" },
			change: func(p *shop) { p.fast = "RoutingNode without late" }, want: `cannot choose "late" any more`, breaks: true,
		},
		"a subgraph forgets": {
			locked: func(p *shop) { p.fast = "Stateful" },
			change: func(p *shop) { p.fast = "MapSubgraph" }, want: "is not Stateful any more", breaks: true,
		},
		"a subgraph stays Stateful": {
			locked: func(p *shop) { p.fast = "Stateful" },
			change: func(p *shop) { p.fast = "Stateful" },
		},
		"a subgraph calls another graph": {change: func(p *shop) { p.below = "another" }, want: `node "sub" of graph "shop" calls another graph than "child"`, breaks: true},
		"an answer has another type":     {change: func(p *shop) { p.otherAnswer = true }, want: `question "sure": its payload has int64 at "."`, breaks: true},
		"a signal has another type":      {change: func(p *shop) { p.otherSignal = true }, want: `signal "paid": its payload has int64 at "."`, breaks: true},
		"a former id is dropped": {
			locked: renamedAsk, stored: func(*shop) {},
			change: func(p *shop) { p.ask, p.joins[1] = "asks", "asks" }, want: `list it by graph.FormerIDs`, breaks: true,
		},
		"a new node has a former id": {
			locked: renamedAsk, stored: func(*shop) {},
			change: func(p *shop) { p.ask, p.joins[1], p.reuse = "asks", "asks", "ask" }, want: `would run the new node`, breaks: true,
		},
		"a node gets its former id back": {
			locked: renamedAsk,
			change: func(p *shop) { p.options = []graph.NodeOption{graph.FormerIDs("asks")} }, want: "new: node shop ask former asks",
		},
		"a former name is dropped": {
			locked: func(p *shop) { p.name, p.compile = "store", []graph.Option{graph.FormerNames("shop")} }, stored: func(*shop) {},
			change: func(p *shop) { p.name = "store" }, want: "does not list its former name", breaks: true,
		},
		"a graph gets its former name back": {
			locked: func(p *shop) { p.name, p.compile = "store", []graph.Option{graph.FormerNames("shop")} },
			change: func(p *shop) { p.compile = []graph.Option{graph.FormerNames("store")} }, want: "new: graph shop former store",
		},
		"a node is renamed":              {change: func(p *shop) { p.ask, p.joins[1] = "asks", "asks" }, want: "graph.FormerIDs", breaks: true},
		"a node has a FormerID":          {change: renamedAsk, want: "allowed: new: node shop asks former ask"},
		"a subgraph node has a FormerID": {change: func(p *shop) { p.sub = "below" }, want: "allowed: new: node shop below former sub"},
		"a task node is renamed":         {change: func(p *shop) { p.each = "every" }, want: `node "each" of graph "shop" is gone`, breaks: true},
		"a task node becomes a node":     {change: func(p *shop) { p.plainEach = true }, want: "was of kind task and is of kind node", breaks: true},
		"another payload":                {change: func(p *shop) { p.sendsInt = true }, want: "and stored ones have string", breaks: true},
		"a node below is renamed":        {change: func(p *shop) { p.inner = "await" }, want: `node "wait" of graph "child" is gone`, breaks: true},
		"a node below has a FormerID":    {change: func(p *shop) { p.inner, p.innerOpts = "await", []graph.NodeOption{graph.FormerIDs("wait")} }, want: "allowed: new: node child await former wait"},
		"a join is gone":                 {change: func(p *shop) { p.noJoin = true }, want: `the join of ["ask" "quick"] to "both"`, breaks: true},
		"a join loses a source":          {change: func(p *shop) { p.joins = []graph.ID{"ask", "sub"} }, want: "the join of", breaks: true},
		"a join gets a source":           {change: func(p *shop) { p.joins = append(p.joins, "sub") }, want: "waits for more nodes"},
		"the target of a join is gone":   {change: func(p *shop) { p.both = "all" }, want: `node "both" of graph "shop" is gone`, breaks: true},
		"a question is gone":             {change: func(p *shop) { p.noAsk = true }, want: `does not list question "sure" any more`, breaks: true},
		"a signal is gone":               {change: func(p *shop) { p.noSignal = true }, want: `does not list signal "paid" any more`, breaks: true},
		"another name":                   {change: func(p *shop) { p.name = "store" }, want: "graph.FormerNames", breaks: true},
		"another name with FormerNames":  {change: func(p *shop) { p.name, p.compile = "store", []graph.Option{graph.FormerNames("shop")} }, want: "allowed: new: graph store former shop"},
		"a new node":                     {change: func(p *shop) { p.extra = true }, want: "allowed: new: node shop more kind node"},
		"a retry policy":                 {change: func(p *shop) { p.options = []graph.NodeOption{graph.Retry(graph.RetryPolicy{Attempts: 2})} }},
		"a stop":                         {change: func(p *shop) { p.compile = []graph.Option{graph.InterruptBefore("quick")} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			locked, before, after := newShop(), newShop(), newShop()
			if test.locked != nil {
				test.locked(locked)
				test.locked(before)
			}
			if test.stored != nil {
				before = newShop()
				test.stored(before)
			}
			path := lockOf(t, locked)
			test.change(after)
			got := lockFailure(t, after.build(t, memory.New()), path)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) || strings.Contains(got, "breaking:") != test.breaks {
				t.Errorf("Lock says %q, want %q, breaking: %v", got, test.want, test.breaks)
			}
			if err := resumed(t, before, after); (err != nil) != test.breaks {
				t.Errorf("a waiting thread resumes with: %v; breaking: %v", err, test.breaks)
			}
		})
	}
}

// lockOf writes the lock of a program to a new file.
func lockOf(t *testing.T, p *shop) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "testdata", "graph.lock")
	t.Setenv("GRAPHGEN_REWRITE", "1")
	graphtest.Lock(t, p.build(t, memory.New()), path)
	t.Setenv("GRAPHGEN_REWRITE", "")
	return path
}

// TestLockAllowsToLeaveAQueue does not run the program, because no worker serves the queue.
func TestLockAllowsToLeaveAQueue(t *testing.T) {
	queued := newShop()
	queued.fast = "Queue"
	path := lockOf(t, queued)
	const want = `allowed: node "fast" of graph "shop" has left the queue "gpu"`
	if got := lockFailure(t, newShop().build(t, memory.New()), path); !strings.Contains(got, want) || strings.Contains(got, "breaking:") {
		t.Errorf("Lock says %q, want %q", got, want)
	}
}

func TestLockWritesOneFactALine(t *testing.T) {
	got, err := os.ReadFile(lockOf(t, newShop()))
	if err != nil {
		t.Fatal(err)
	}
	//nolint:dupword // the first word of lines is the same
	const want = `# graphgen lock of a graph, format 1
graph child
graph shop
join shop both ask quick
node child wait kind node
node child wait signal paid . string
node shop ask kind node
node shop ask question sure answer . bool
node shop ask question sure asks . string
node shop both kind node
node shop each kind task
node shop each payload . string
node shop each question sure answer . bool
node shop each question sure asks . string
node shop fast kind node
node shop quick kind node
node shop send kind node
node shop sub calls child
node shop sub kind subgraph
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLockRewritesBreakingChangesOnlyIfTheyAreAccepted(t *testing.T) {
	path := lockOf(t, newShop())
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := newShop()
	broken.each = "every"
	app := broken.build(t, memory.New())

	t.Setenv("GRAPHGEN_REWRITE", "1")
	if got := lockFailure(t, app, path); !strings.Contains(got, "GRAPHGEN_REWRITE=accept") {
		t.Errorf("GRAPHGEN_REWRITE=1 with a breaking change: %q", got)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the refused change is in the file")
	}
	t.Setenv("GRAPHGEN_REWRITE", "accept")
	graphtest.Lock(t, app, path)
	t.Setenv("GRAPHGEN_REWRITE", "")
	graphtest.Lock(t, app, path)
}

func TestLockRefusesFilesThatItCannotRead(t *testing.T) {
	t.Setenv("GRAPHGEN_REWRITE", "")
	app := newShop().build(t, memory.New())
	path := filepath.Join(t.TempDir(), "graph.lock")
	if got := lockFailure(t, app, path); !strings.Contains(got, "run the test again with GRAPHGEN_REWRITE=1") {
		t.Errorf("no file: %q", got)
	}
	for text, want := range map[string]string{
		"":                                       "line 1",
		"hello":                                  "line 1",
		"# graphgen lock of a graph, format 2\n": `format "2"; this program reads format 1`,
		"# graphgen lock of a graph, format 1\nnode shop\n":                "line 2: it states no fact",
		"# graphgen lock of a graph, format 1\nnode shop ask question a\n": "line 2: it states no fact",
		"# graphgen lock of a graph, format 1\n\nnode \"shop a b\n":        "line 3: it states no fact",
		"# graphgen lock of a graph, format 1\n<<<<<<< HEAD\n":             "line 2: it has the marks of a merge conflict; keep the lines of both sides",
		"<<<<<<< HEAD\n# graphgen lock of a graph, format 1\n":             "line 1: it has the marks of a merge conflict",
	} {
		for _, mode := range []string{"", "1", "accept"} {
			t.Setenv("GRAPHGEN_REWRITE", mode)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := lockFailure(t, app, path); !strings.Contains(got, want) || strings.Contains(got, "write the file") {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != text {
				t.Errorf("%q with GRAPHGEN_REWRITE=%s is now %q, %v", text, mode, after, err)
			}
		}
	}
}

func TestLockWritesOnlyIfTheVariableSaysSo(t *testing.T) {
	app := newShop().build(t, memory.New())
	path := filepath.Join(t.TempDir(), "graph.lock")
	for value, want := range map[string]string{
		"0": "there is no lock", "": "there is no lock", "true": `GRAPHGEN_REWRITE is "true"; want 1`, "Accept": `GRAPHGEN_REWRITE is "Accept"`,
	} {
		t.Setenv("GRAPHGEN_REWRITE", value)
		if got := lockFailure(t, app, path); !strings.Contains(got, want) {
			t.Errorf("GRAPHGEN_REWRITE=%s: got %q, want %q", value, got, want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("GRAPHGEN_REWRITE=%s has written the lock", value)
		}
	}
}

// FuzzLock compares a graph with files of any content: each is equal, different or refused.
func FuzzLock(f *testing.F) {
	f.Add("graph shop\nnode shop ask kind node\n")
	f.Add("graph \"a b\" former x\nnode shop \"\" stateful\njoin shop both a b c\nnode shop ask question\nnode shop ask signal paid\nnode shop ask payload\n")
	app := newShop().build(f, memory.New())
	path := filepath.Join(f.TempDir(), "graph.lock")
	f.Fuzz(func(t *testing.T, text string) {
		t.Setenv("GRAPHGEN_REWRITE", "")
		if err := os.WriteFile(path, []byte("# graphgen lock of a graph, format 1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		lockFailure(t, app, path)
	})
}
