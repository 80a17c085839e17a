//go:build deterministic

package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/internal/graphmodel"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

type (
	app    = graph.Graph[graphmodel.State, graphmodel.StateUpdate]
	state  = graphmodel.State
	update = graphmodel.StateUpdate
)

var (
	confirm = graph.NewQuestion[wire.String, wire.Int]("confirm")
	arrived = graph.NewSignal[wire.Int]("arrived")
)

// errNode is the error of a node that fails the first few times.
var errNode = errors.New("the node breaks")

const (
	queue = "heavy"
	parts = 3 // that the node split sends
)

// Each input has a name, such as t1/2. It is the only line of Turn, and a line of Log. A node that
// has run for it has a line in Log, such as t1/2.pay.

// input returns the input with a name.
func input(name string) (u update) {
	u.Turn.Append(name)
	u.Log.Append(name)
	return u
}

// branches are what an input can be worked on by, each by a node or several.
var branches = []graph.ID{"pay", "lift", "split", "call", "ask", "hear", "nap", "sub", "race", "again"}

// chosen returns the branches of an input. All processes choose the same.
func (s *sim) chosen(name string) []graph.ID {
	r, chosen := s.draw("branches", name), slices.Clone(branches)
	r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	if s.brief {
		return []graph.ID{"pay"}
	}
	return chosen[:1+r.IntN(3)]
}

// wanted returns the lines of an input that has run.
func (s *sim) wanted(name string) []string {
	lines := []string{name, name + ".end"}
	for _, b := range s.chosen(name) {
		switch b {
		case "split":
			for i := range parts {
				lines = append(lines, fmt.Sprint(name, ".part", i))
			}
		case "sub":
			lines = append(lines, name+".inner", name+".deep")
		case "race":
			lines = append(lines, name+".race", name+".won")
		default:
			lines = append(lines, name+"."+string(b))
		}
	}
	slices.Sort(lines)
	return lines
}

// program is the graphs that a process compiles.
type program struct {
	p             *process
	saver         checkpoint.Saver
	orders, items *app
}

// compile compiles a version of the program: 1 or 2.
func (p *process) compile(saver checkpoint.Saver, version int) (*program, error) {
	prog, opts := &program{p: p, saver: saver}, p.s.options(saver)
	b := graph.New("items", graphmodel.StateSchema)
	b.Node("item", prog.plain("item"), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: time.Second}))
	b.Node("box", prog.plain("box"), p.s.queue()...)
	b.Edge(graph.Start, "item")
	b.Edge("item", "box")
	b.Edge("box", graph.End)
	var err error
	if prog.items, err = b.Compile(opts...); err != nil {
		return nil, err
	}
	sub := graph.New("sub", graphmodel.StateSchema)
	sub.Node("inner", prog.plain("inner"))
	sub.Node("deep", func(ctx context.Context, view state) (update, error) {
		if err := graph.Sleep(ctx, 3*time.Second); err != nil {
			return update{}, err
		}
		return prog.node(ctx, "deep", view)
	})
	sub.Edge(graph.Start, "inner")
	sub.Edge("inner", "deep")
	sub.Edge("deep", graph.End)
	inner, err := sub.Compile(graph.SubgraphOnly())
	if err != nil {
		return nil, err
	}

	b = graph.New("orders", graphmodel.StateSchema)
	b.Node("begin", func(context.Context, state) (update, error) { return update{}, nil })
	b.Node("pay", prog.pay, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: time.Second}))
	lift := p.s.queue()
	if len(lift) > 0 {
		lift = append(lift, graph.StartTimeout(20*time.Second))
		b.Fallback("lift", func(ctx context.Context, view state, _ error) (update, error) { return prog.node(ctx, "lift", view) })
	}
	b.Node("lift", prog.plain("lift"), lift...)
	part := graph.TaskNode(b, "part", func(ctx context.Context, view state, n wire.Int) (update, error) {
		return prog.node(ctx, fmt.Sprint("part", n), view)
	}, p.s.queue()...)
	b.RoutingNode("split", func(context.Context, state) (u update, next graph.Next, _ error) {
		for i := range parts {
			next.Add(part.Send(wire.Int(i)))
		}
		return u, next, nil
	}, graph.Targets("part"))
	b.Node("call", prog.call)
	b.Node("ask", prog.ask, confirm)
	b.Node("hear", prog.hear, arrived)
	nap, opt := graph.ID("nap"), []graph.NodeOption(nil)
	if version == 2 {
		nap, opt = "rest", []graph.NodeOption{graph.FormerIDs("nap")}
	}
	b.Node(nap, prog.nap, opt...)
	b.Subgraph("sub", inner)
	b.Node("again", prog.again, graph.Retry(graph.RetryPolicy{If: func(err error) bool { return errors.Is(err, errLater) }, Attempts: 5}))
	b.Node("left", prog.runner("left"))
	b.Node("right", prog.runner("right"), p.s.queue()...)
	b.Node("won", prog.plain("won"))
	b.JoinAny([]graph.ID{"left", "right"}, "won")
	b.Node("finish", prog.plain("end"), graph.Deferred())
	targets := slices.Clone(branches)
	targets[slices.Index(targets, "nap")] = nap
	targets[slices.Index(targets, "race")] = "left"
	targets = append(targets, "right")
	b.Edge(graph.Start, "begin")
	b.Route("begin", func(_ context.Context, view state) (graph.Next, error) {
		var next graph.Next
		for _, id := range p.s.chosen(view.Turn[0]) {
			switch id {
			case "nap":
				next.Add(graph.To(nap))
			case "race":
				next.Add(graph.To("left"))
				next.Add(graph.To("right"))
			default:
				next.Add(graph.To(id))
			}
		}
		return next, nil
	}, targets...)
	for _, id := range append(targets, "part", "won") {
		if !slices.Contains([]graph.ID{"split", "left", "right"}, id) {
			b.Edge(id, "finish")
		}
	}
	if version == 1 {
		b.Edge("finish", graph.End)
	} else {
		b.Node("audit", prog.plain("audit"))
		b.Edge("finish", "audit")
		b.Edge("audit", graph.End)
	}
	prog.orders, err = b.Compile(opts...)
	return prog, err
}

// options are the options of the graphs.
func (s *sim) options(saver checkpoint.Saver) []graph.Option {
	opts := []graph.Option{graph.Saver(saver), s.durability}
	if s.releases {
		opts = append(opts, graph.ReleaseOnDone())
	}
	if s.keeps > 0 {
		opts = append(opts, graph.KeepCheckpoints(s.keeps))
	}
	return opts
}

// queue returns the option of nodes that run in a queue. Queues need Sync.
func (s *sim) queue() []graph.NodeOption {
	if s.durability != graph.Sync {
		return nil
	}
	return []graph.NodeOption{graph.Queue(queue)}
}

// plain returns the function of a node that works for some time.
func (g *program) plain(name string) func(context.Context, state) (update, error) {
	return func(ctx context.Context, view state) (update, error) { return g.node(ctx, name, view) }
}

// node works, has an effect outside, and adds its line. The first executions may fail.
func (g *program) node(ctx context.Context, name string, view state) (u update, err error) {
	line := view.Turn[0] + "." + name
	if err := g.work(ctx, line); err != nil {
		return u, err
	}
	u.Log.Append(line)
	return u, nil
}

// work works for some time, and has an effect outside.
func (g *program) work(ctx context.Context, line string) error {
	p := g.p
	if graph.CurrentTask(ctx).Node == "part" && p.s.durability == graph.Sync {
		p.begins(queue, line)
	}
	r := p.draw("work " + line)
	d := time.Duration(r.Int64N(int64(p.s.pace)))
	if r.IntN(20) == 0 && !p.s.calm() {
		d += 20 * time.Second // longer than a lease
	}
	if err := p.pass(ctx, d); err != nil {
		return err
	}
	if p.s.breaks(line) {
		p.s.note("%s %s breaks", p.name, line)
		return errNode
	}
	p.s.effect(p, line, graph.CurrentTask(ctx).Key)
	return nil
}

// pass lets time pass in a node.
func (p *process) pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-p.over:
	}
	p.resume()
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.dead {
		return errDead
	}
	return ctx.Err()
}

// pay has its effect in a durable call.
func (g *program) pay(ctx context.Context, view state) (u update, err error) {
	line := view.Turn[0] + ".pay"
	receipt, err := graph.Do(ctx, "charge", func(ctx context.Context) (wire.String, error) {
		g.p.s.mu.Lock()
		kept, again := g.p.s.charged[line]
		opened := g.p.opened[graph.CurrentTask(ctx).Thread]
		g.p.s.mu.Unlock()
		if again && opened.After(kept) {
			g.p.s.fail("%s is charged again, although its result is stored", line)
		}
		return wire.String(line), g.work(ctx, line)
	})
	if err != nil {
		return u, err
	}
	if g.p.s.durability != graph.OnExit {
		g.p.s.mu.Lock()
		if !g.p.dead {
			g.p.s.charged[line] = time.Now()
		}
		g.p.s.mu.Unlock()
	}
	if g.p.s.breaks(line + " after") {
		return u, errNode
	}
	u.Log.Append(string(receipt))
	return u, nil
}

// call runs the graph of items as a child, and checks its state.
func (g *program) call(ctx context.Context, view state) (u update, err error) {
	line := view.Turn[0] + ".call"
	end, err := graph.Child(ctx, g.items, "", input(line))
	if err != nil {
		return u, err
	}
	if want := []string{line, line + ".item", line + ".box"}; !slices.Equal(end.Log, want) {
		g.p.s.fail("the child of %s has the lines %q, want %q", line, end.Log, want)
	}
	u.Log.Append(line)
	return u, nil
}

func (g *program) ask(ctx context.Context, view state) (u update, err error) {
	line := view.Turn[0] + ".ask"
	g.p.s.look(line)
	got, err := confirm.Ask(ctx, wire.String(line))
	if err != nil {
		return u, err
	}
	return g.got(line, got, len(line))
}

func (g *program) hear(ctx context.Context, view state) (u update, err error) {
	line := view.Turn[0] + ".hear"
	g.p.s.look(line)
	got, err := arrived.Receive(ctx, graph.For(line))
	if err != nil {
		return u, err
	}
	return g.got(line, got, len(line))
}

// got adds a line for a message that came.
func (g *program) got(line string, got wire.Int, want int) (u update, err error) {
	if int(got) != want {
		g.p.s.fail("%s got %d, want %d", line, got, want)
	}
	u.Log.Append(line)
	return u, nil
}

func (g *program) nap(ctx context.Context, view state) (u update, err error) {
	line := view.Turn[0] + ".nap"
	if err := graph.Sleep(ctx, time.Duration(1+g.p.s.draw(line).IntN(60))*time.Second); err != nil {
		return u, err
	}
	u.Log.Append(line)
	return u, nil
}

// inputOf returns the number of the input that a line begins, such as 2 for t1/2.
func inputOf(line string) (n int, ok bool) {
	_, rest, _ := strings.Cut(line, "/")
	if strings.Contains(rest, ".") {
		return 0, false
	}
	_, err := fmt.Sscan(rest, &n)
	return n, err == nil
}
