package graphmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

type (
	// App is a graph that Build made.
	App = graph.Graph[State, StateUpdate]
	// Thread is a thread of one.
	Thread = graph.Thread[State, StateUpdate]
	// Result is the outcome of a run of one.
	Result = graph.Result[State]
)

// questions are asked by nodes, in turns.
var questions = [...]graph.Question[wire.String, wire.Int]{
	graph.NewQuestion[wire.String, wire.Int]("even").Check(sensible),
	graph.NewQuestion[wire.String, wire.Int]("odd").Check(sensible),
}

// sensible refuses wrong answers.
func sensible(_ wire.String, answer wire.Int) error {
	if answer < 0 {
		return errors.New("negative")
	}
	return nil
}

// signals are received by nodes, in turns.
var (
	signalNames = []string{"ping", "pong"}
	signals     = [...]graph.Signal[wire.Int]{
		graph.NewSignal[wire.Int](signalNames[0]), graph.NewSignal[wire.Int](signalNames[1]),
	}
	asked = graph.NewReplySignal[wire.Int, wire.Int](signalNames[1]) // the second one, of a graph with Replies
)

// replyTo is the reply of a node to a signal with a payload.
func replyTo(payload int64) int64 { return payload + 1 }

// queue is that of all nodes that have one.
const queue = "q"

// Build makes the graph. Its nodes record in w what they do. opts are those of Compile; subgraphs
// get the limits among them (rule 18.15).
func (s *Spec) Build(w *World, opts ...graph.Option) (*App, error) {
	return s.build(w, StateSchema, nil, opts)
}

// BuildAll makes the graph, and that of the children that its nodes begin; nil for none.
func (s *Spec) BuildAll(w *World, opts ...graph.Option) (app, below *App, err error) {
	if s.Below == nil {
		app, err = s.Build(w, opts...)
		return app, nil, err
	}
	own := opts
	if s.Seed%2 == 0 {
		own = append(slices.Clip(opts), graph.ReleaseOnDone()) // rule 25.6
	}
	below, err = s.Below.make(&building{world: w, name: "child"}, StateSchema, own)
	if err != nil {
		return nil, nil, err
	}
	app, err = s.make(&building{world: w, name: "model", below: below, belowSpec: s.Below}, StateSchema, opts)
	return app, below, err
}

// build makes the graph over a schema of State.
func (s *Spec) build(
	w *World, schema *state.Schema[State, StateUpdate], parent *building, opts []graph.Option,
) (*App, error) {
	b := &building{world: w, name: "model", parent: parent}
	if parent != nil {
		b.below, b.belowSpec = parent.below, parent.belowSpec
	}
	return s.make(b, schema, opts)
}

// make makes the graph of a building that has no spec yet.
func (s *Spec) make(b *building, schema *state.Schema[State, StateUpdate], opts []graph.Option) (*App, error) {
	b.spec, b.schema, b.opts, b.senders = s, schema, opts, map[int]graph.Sender[Job]{}
	b.g = graph.New(b.name, schema)
	for i := range s.Nodes {
		if err := b.node(i); err != nil {
			return nil, err
		}
	}
	b.edges()
	b.fallbacks()
	opts = append(b.stops(), opts...)
	if len(s.Nodes)%2 == 0 { // interceptors that only pass everything on change nothing
		opts = append(opts, graph.Intercept(passing()))
	}
	return b.g.Compile(opts...)
}

// building is a graph in the making.
type building struct {
	spec   *Spec
	world  *World
	schema *state.Schema[State, StateUpdate]
	name   string
	parent *building // of a subgraph
	below  *App      // of the children

	belowSpec *Spec
	opts      []graph.Option
	g         *graph.Builder[State, StateUpdate]
	senders   map[int]graph.Sender[Job]
}

func (b *building) node(i int) error {
	n := &b.spec.Nodes[i]
	id, opts := graph.ID(n.Name), b.options(n)
	if n.Kind == Routing || n.Kind == RoutingTask {
		opts = append(opts, graph.Targets(b.ids(n.Targets)...))
	}
	switch n.Kind {
	case Plain:
		b.g.Node(id, func(ctx context.Context, view State) (StateUpdate, error) {
			u, _, err := b.run(ctx, i, view, Job{})
			return u, err
		}, opts...)
	case Routing:
		b.g.RoutingNode(id, func(ctx context.Context, view State) (StateUpdate, graph.Next, error) {
			return b.run(ctx, i, view, Job{})
		}, opts...)
	case Task:
		b.senders[i] = graph.TaskNode(b.g, id, func(ctx context.Context, view State, in Job) (StateUpdate, error) {
			u, _, err := b.run(ctx, i, view, in)
			return u, err
		}, opts...)
	case RoutingTask:
		f := func(ctx context.Context, view State, in Job) (StateUpdate, graph.Next, error) {
			return b.run(ctx, i, view, in)
		}
		b.senders[i] = graph.RoutingTaskNode(b.g, id, f, opts...)
	case Sub, SubTask:
		return b.sub(i)
	}
	return nil
}

// policies returns the options that every kind of node takes.
func (b *building) policies(n *Node) []graph.NodeOption {
	retry := graph.RetryPolicy{Attempts: n.Retry, Base: 1}
	if n.Insists {
		retry.If = func(error) bool { return true }
	}
	if n.Pause > 0 {
		retry.Base, retry.Max, retry.Jitter = n.Pause, n.Pause, func() float64 { return 1 }
	}
	opts := []graph.NodeOption{graph.Retry(retry)}
	if n.Deferred {
		opts = append(opts, graph.Deferred())
	}
	if n.Lets {
		opts = append(opts, graph.ContinueOnError())
	}
	if n.Late {
		opts = append(opts, graph.Timeout(time.Minute)) // which has another code path
	}
	return opts
}

// options returns the options of a node that runs a function.
func (b *building) options(n *Node) []graph.NodeOption {
	opts := b.policies(n)
	if n.Keeps {
		opts = append(opts, graph.KeepUpdateOnError())
	}
	if n.Asks > 0 {
		opts = append(opts, questions[0], questions[1])
	}
	if n.Receives > 0 {
		if opts = append(opts, signals[0]); b.world.Replies {
			opts = append(opts, asked)
		} else {
			opts = append(opts, signals[1])
		}
	}
	if n.Queued {
		opts = append(opts, graph.Queue(queue))
	}
	return opts
}

// run is the function of a node.
func (b *building) run(ctx context.Context, i int, view State, job Job) (StateUpdate, graph.Next, error) {
	u, next, err := b.perform(ctx, i, view, job)
	if err != nil && ctx.Err() != nil && b.spec.Nodes[i].Masks { // rule 11.16
		return update(failing), next, ErrBroken
	}
	return u, next, err
}

// perform is run without the mask of a cancellation.
func (b *building) perform(ctx context.Context, i int, view State, job Job) (u StateUpdate, next graph.Next, err error) {
	n, t := &b.spec.Nodes[i], graph.CurrentTask(ctx)
	if err := b.world.settle(ctx); err != nil {
		return u, next, err
	}
	b.world.begin(t)
	if err := b.world.arrive(ctx); err != nil {
		return u, next, err
	}
	d := doing{node: i, index: t.Index, job: job}
	if !n.Late {
		err = b.world.fail(t.Key, n)
	}
	if err == nil {
		d.answers, err = b.call(ctx, d, view)
	}
	if err == nil && n.Begins {
		var end State
		in := b.belowSpec.input(b.spec.beginning(d, view))
		if end, err = graph.Child(ctx, b.below, "", update(in)); err == nil {
			d.answers = append(d.answers, ended(end))
		}
	}
	if err == nil {
		var answers []int64
		answers, err = b.await(ctx, d, view)
		d.answers = append(d.answers, answers...)
	}
	if err == nil && n.Late {
		err = b.world.fail(t.Key, n)
	}
	if err != nil {
		return update(failing), next, err
	}
	d.mended = b.world.isMended()
	u = update(b.spec.does(d, view))
	if n.routes() {
		next = b.next(b.spec.chooses(d, view))
	}
	return u, next, nil
}

// fallbacks gives nodes their fallbacks.
func (b *building) fallbacks() {
	for i := range b.spec.Nodes {
		n := &b.spec.Nodes[i]
		if !n.Falls {
			continue
		}
		run := func(ctx context.Context, view State, job Job, _ error) (u StateUpdate, next graph.Next, _ error) {
			t := graph.CurrentTask(ctx)
			b.world.begin(t)
			d := doing{node: i, index: t.Index, job: job}
			if n.routes() {
				next = b.next(b.spec.chooses(d, view))
			}
			return update(b.spec.falling(d, view)), next, nil
		}
		plain := func(ctx context.Context, view State, job Job, err error) (StateUpdate, error) {
			u, _, err := run(ctx, view, job, err)
			return u, err
		}
		switch id := graph.ID(n.Name); n.Kind {
		case Plain, Sub:
			b.g.Fallback(id, func(ctx context.Context, view State, err error) (StateUpdate, error) {
				return plain(ctx, view, Job{}, err)
			})
		case Routing:
			b.g.RoutingFallback(id, func(ctx context.Context, view State, err error) (StateUpdate, graph.Next, error) {
				return run(ctx, view, Job{}, err)
			})
		case Task, SubTask:
			graph.TaskFallback(b.g, b.senders[i], plain)
		case RoutingTask:
			graph.RoutingTaskFallback(b.g, b.senders[i], run)
		}
	}
}

// call makes the durable calls of a node. Those with names run concurrently.
func (b *building) call(ctx context.Context, d doing, view State) ([]int64, error) {
	n := &b.spec.Nodes[d.node]
	results, errs := make([]int64, n.Calls), make([]error, n.Calls)
	var wg sync.WaitGroup
	for k := range n.Calls {
		f := func(ctx context.Context) (wire.Int, error) {
			b.world.call(graph.CurrentTask(ctx))
			return wire.Int(b.spec.calling(d, k, view)), nil
		}
		one := func() {
			var result wire.Int
			if n.Named {
				result, errs[k] = graph.DoNamed(ctx, fmt.Sprint("n", k), f)
			} else {
				result, errs[k] = graph.Do(ctx, fmt.Sprint("k", k%2), f)
			}
			results[k] = int64(result)
		}
		if n.Named {
			wg.Go(one)
			continue
		}
		if one(); errs[k] != nil {
			break
		}
	}
	wg.Wait()
	return results, errors.Join(errs...)
}

// await sleeps, receives and asks as the node does, and returns what it gets once it has
// everything.
func (b *building) await(ctx context.Context, d doing, view State) (got []int64, err error) {
	n := &b.spec.Nodes[d.node]
	for _, nap := range n.Naps {
		if err := graph.Sleep(ctx, nap); err != nil {
			return nil, err
		}
	}
	var asks []graph.AskOption
	var receives []graph.ReceiveOption
	if n.Expires > 0 {
		asks, receives = append(asks, graph.ExpireAfter(n.Expires)), append(receives, graph.ExpireAfter(n.Expires))
	}
	take := func(v wire.Int, e error) bool {
		if errors.Is(e, graph.ErrExpired) {
			v, e = -1, nil
		}
		got, err = append(got, int64(v)), cmp.Or(err, e)
		return e == nil || n.AtOnce
	}
	for k := range n.Receives {
		name, key := n.receives(k)
		v, e := b.receive(ctx, name, append(slices.Clip(receives), graph.For(key)))
		if e == nil {
			b.world.receive(graph.CurrentTask(ctx), int64(v))
		}
		if !take(v, e) {
			return nil, err
		}
	}
	for k := range n.Asks {
		as := ""
		if n.Named {
			as = fmt.Sprint("n", k)
		}
		if !take(questions[k%2].Ask(ctx, wire.String(b.spec.asking(d, k, view)), append(slices.Clip(asks), graph.As(as))...)) {
			return nil, err
		}
	}
	return got, err
}

// receive receives a signal, and replies to one of a graph with Replies.
func (b *building) receive(ctx context.Context, name string, opts []graph.ReceiveOption) (wire.Int, error) {
	if !b.world.Replies || name != signalNames[1] {
		return signals[slices.Index(signalNames, name)].Receive(ctx, opts...)
	}
	m, err := asked.Receive(ctx, opts...)
	if err == nil {
		err = m.Reply(ctx, wire.Int(replyTo(int64(m.Value))))
	}
	return m.Value, err
}

// limit is an option of Compile that each run can override.
type limit interface {
	graph.Option
	graph.RunOption
}

// sub adds a subgraph.
func (b *building) sub(i int) error {
	n := &b.spec.Nodes[i]
	var limits []graph.Option
	for _, o := range b.opts {
		if l, ok := o.(limit); ok {
			limits = append(limits, l)
		}
	}
	child, err := n.Child.build(b.world, b.schema, b, append(limits, graph.SubgraphOnly()))
	if err != nil {
		return fmt.Errorf("subgraph %s: %w", n.Name, err)
	}
	opts := b.policies(n)
	if n.Up {
		opts = append(opts, graph.Targets(b.ids(n.Ups)...))
	}
	if n.Same {
		b.g.Subgraph(graph.ID(n.Name), child, opts...)
		return nil
	}
	if n.Kind == SubTask {
		b.subTask(i, child, opts)
		return nil
	}
	if n.Recalls {
		opts = append(opts, graph.Stateful())
	}
	graph.MapSubgraph(b.g, graph.ID(n.Name), child,
		func(_ context.Context, view State) (StateUpdate, error) {
			return update(b.spec.entering(doing{node: i}, view)), nil
		},
		func(ctx context.Context, view, child State) (StateUpdate, error) {
			b.world.begin(graph.CurrentTask(ctx))
			return update(b.spec.leaving(doing{node: i}, view, child)), nil
		}, opts...)
	return nil
}

// subTask adds a subgraph that is called for each send.
func (b *building) subTask(i int, child *App, opts []graph.NodeOption) {
	b.senders[i] = graph.TaskSubgraph(b.g, graph.ID(b.spec.Nodes[i].Name), child,
		func(ctx context.Context, view State, job Job) (StateUpdate, error) {
			return update(b.spec.entering(doing{node: i, index: graph.CurrentTask(ctx).Index, job: job}, view)), nil
		},
		func(ctx context.Context, view State, job Job, child State) (StateUpdate, error) {
			t := graph.CurrentTask(ctx)
			b.world.begin(t)
			return update(b.spec.leaving(doing{node: i, index: t.Index, job: job}, view, child)), nil
		}, opts...)
}

func (b *building) next(choice []target) graph.Next {
	var next graph.Next
	for _, p := range choice {
		switch {
		case p.node == Parent:
			next.Add(graph.ToParent(b.parent.next(p.forParent)))
			continue
		case p.sent:
			next.Add(b.senders[p.node].Send(p.job))
			continue
		}
		next.Add(graph.To(graph.ID(b.spec.name(p.node))))
	}
	return next
}

func (b *building) ids(nodes []int) []graph.ID {
	var ids []graph.ID
	for _, n := range nodes {
		ids = append(ids, graph.ID(b.spec.name(n)))
	}
	return ids
}

func (b *building) edges() {
	s := b.spec
	for _, to := range s.Entry {
		b.g.Edge(graph.Start, graph.ID(s.name(to)))
	}
	if s.EntryRoute != nil {
		b.route(Start, 0)
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for _, to := range n.Edges {
			b.g.Edge(graph.ID(n.Name), graph.ID(s.name(to)))
		}
		if len(n.Targets) > 0 && !n.routes() {
			b.route(i, n.Astray)
		}
	}
	for _, f := range s.Joins {
		b.g.Join(b.ids(f.From), graph.ID(s.name(f.To)))
	}
	for _, f := range s.Races {
		b.g.JoinAny(b.ids(f.From), graph.ID(s.name(f.To)))
	}
}

func (b *building) route(from, astray int) {
	b.g.Route(graph.ID(b.spec.name(from)), func(_ context.Context, view State) (graph.Next, error) {
		if err := b.world.stray(from, astray, view); err != nil {
			return graph.Next{}, err
		}
		return b.next(b.spec.chooses(doing{node: from}, view)), nil
	}, b.ids(b.spec.targets(from))...)
}

func (b *building) stops() (opts []graph.Option) {
	for i := range b.spec.Nodes {
		n := &b.spec.Nodes[i]
		if n.Before {
			opts = append(opts, graph.InterruptBefore(graph.ID(n.Name)))
		}
		if n.After {
			opts = append(opts, graph.InterruptAfter(graph.ID(n.Name)))
		}
	}
	if b.spec.BeforeRoute {
		opts = append(opts, graph.BeforeRoute())
	}
	return opts
}
