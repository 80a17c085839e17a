package graphkeep

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func notify(context.Context, string) {}

func print(...any) {}

var (
	lastLog  []string
	lastPlan *desk.Plan
	byName   = map[string][]string{}
)

func contextInGoroutine(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	go notify(ctx, s.Status) // want `this goroutine uses the context of the node, and can outlive the node`
	return desk.StateUpdate{}, nil
}

func contextInClosure(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	go func() { // want `this goroutine uses the context of the node`
		notify(ctx, "x")
	}()
	return desk.StateUpdate{}, nil
}

func derivedContext(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	timeout, cancel := context.WithTimeout(ctx, time.Second)
	go func() { // want `this goroutine uses the context of the node`
		defer cancel()
		notify(timeout, "x")
	}()
	return desk.StateUpdate{}, nil
}

func stateInGoroutine(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	go print(s.Log[0], len(s.Log))
	go func() { // want `this goroutine uses s\.Log, which belongs to the run`
		print(s.Log)
	}()
	go func(facts map[string]desk.Fact) { // want `this goroutine uses s\.Facts, which belongs to the run`
		print(facts)
	}(s.Facts)
	return desk.StateUpdate{}, nil
}

func timers(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	time.AfterFunc(time.Second, func() { print(s.Plan) })         // want `this function uses s\.Plan, which belongs to the run`
	context.AfterFunc(ctx, func() { notify(ctx, "done") })        // want `this function uses the context of the node`
	time.AfterFunc(time.Second, func() { notify(ctx, s.Status) }) // want `this function uses the context of the node`
	return desk.StateUpdate{}, nil
}

type house struct {
	ctx  context.Context
	last desk.State
	plan *desk.Plan
	logs map[string][]string
}

func (h *house) keeps(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	h.ctx = ctx                 // want `h\.ctx keeps the context of the node after the node has returned`
	h.last = s                  // want `h\.last keeps s, which belongs to the run`
	h.plan = s.Plan             // want `h\.plan keeps s\.Plan`
	h.logs["a"] = s.Log         // want `h\.logs keeps s\.Log`
	lastLog = s.Log             // want `lastLog keeps s\.Log`
	byName["a"] = s.Order.Items // want `byName keeps s\.Order\.Items`
	h.last.Facts = s.Facts      // want `h\.last\.Facts keeps s\.Facts`
	return desk.StateUpdate{}, nil
}

func planOf(s desk.State) *desk.Plan { return s.Plan }

func (h *house) keepsResult(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	p := planOf(s)
	lastPlan = p       // want `lastPlan keeps p, which belongs to the run`
	h.plan = planOf(s) // want `h\.plan keeps planOf\(\.\.\.\), which belongs to the run`
	return desk.StateUpdate{}, nil
}

func (h *house) task(_ context.Context, _ desk.State, d desk.Doc) (desk.StateUpdate, error) {
	h.logs[d.Name] = d.Pages // want `h\.logs keeps d\.Pages`
	return desk.StateUpdate{}, nil
}

func selectsDone(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	select {
	case <-ctx.Done():
		return desk.StateUpdate{}, ctx.Err()
	default:
	}
	go print(s.Log) // want `this goroutine uses s\.Log, which belongs to the run, and can outlive the node`
	<-time.After(time.Second)
	return desk.StateUpdate{}, nil
}

func group(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	var wg sync.WaitGroup
	wg.Go(func() { print(s.Log) }) // want `this goroutine uses s\.Log`
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { // want `this goroutine uses the context of the node`
		notify(ctx, "x")
		return nil
	})
	return desk.StateUpdate{}, nil
}

// book is memory that outlives its nodes.
type book struct {
	ch     chan []string
	plans  []*desk.Plan
	items  []*desk.Item
	entry  *entry
	cache  sync.Map
	plan   atomic.Pointer[desk.Plan]
	list   list.List
	group  sync.WaitGroup
	hidden *book
}

type entry struct{ plan *desk.Plan }

func (b *book) stores(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	b.plans = append(b.plans, s.Plan)              // want `b\.plans keeps s\.Plan`
	b.items = append(b.items, s.Items...)          // want `b\.items keeps s\.Items`
	b.entry = &entry{plan: s.Plan}                 // want `b\.entry keeps s\.Plan`
	b.cache.Store("a", s.Plan)                     // want `b\.cache keeps s\.Plan`
	b.cache.LoadOrStore("b", s.Facts)              // want `b\.cache keeps s\.Facts`
	b.hidden.plan.Store(s.Plan)                    // want `b\.hidden\.plan keeps s\.Plan`
	b.list.PushBack(s.Log)                         // want `b\.list keeps s\.Log`
	func() { b.plans = append(b.plans, s.Plan) }() // want `b\.plans keeps s\.Plan`
	return desk.StateUpdate{}, nil
}

func (b *book) sends(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	b.ch <- s.Log // want `the receiver of b\.ch gets s\.Log, which belongs to the run, and can outlive the node; send a copy`
	select {
	case b.ch <- s.Lines: // want `the receiver of b\.ch gets s\.Lines`
	case <-ctx.Done():
	}
	return desk.StateUpdate{}, nil
}

func (b *book) sharedGroup(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	b.group.Go(func() { notify(ctx, s.Status) }) // want `this goroutine uses the context of the node`
	return desk.StateUpdate{}, nil
}

// start starts a goroutine for its caller.
func (b *book) start(ctx context.Context, log []string) {
	go func() {
		notify(ctx, log[0])
	}()
}

func startTwice(b *book, log []string) { b.start(context.Background(), log) }

// remember keeps its argument.
func (b *book) remember(p *desk.Plan) { b.plans = append(b.plans, p) }

func (b *book) calls(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	b.start(ctx, nil)    // want `in start, this goroutine uses the context of the node, and can outlive the node`
	startTwice(b, s.Log) // want `in startTwice, this goroutine uses log, which belongs to the run`
	b.remember(s.Plan)   // want `in remember, b\.plans keeps p, which belongs to the run`
	return desk.StateUpdate{}, nil
}

type handle struct{ ch chan []string }

func (h handle) sends(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	h.ch <- s.Log // want `the receiver of h\.ch gets s\.Log`
	return desk.StateUpdate{}, nil
}

// BadGraph has nodes that keep memory in variables around them.
func BadGraph(h *house) {
	g := graph.New("bad", desk.StateSchema)
	graph.TaskNode(g, "a", h.task)
	var last desk.State
	g.Node("b", func(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
		last = s // want `last keeps s`
		return desk.StateUpdate{}, nil
	})
	g.Route("b", func(ctx context.Context, s desk.State) (graph.Next, error) {
		go notify(ctx, last.Status) // want `this goroutine uses the context of the node`
		return graph.To("a"), nil
	}, "a")
}
