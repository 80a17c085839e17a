package graphkeep

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func waits(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	var wg sync.WaitGroup
	for _, line := range s.Log {
		wg.Add(1)
		go func() {
			defer wg.Done()
			notify(ctx, line)
		}()
	}
	wg.Wait()
	return desk.StateUpdate{}, nil
}

func waitsGroup(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	var wg sync.WaitGroup
	wg.Go(func() { notify(ctx, s.Log[0]) })
	wg.Wait()
	return desk.StateUpdate{}, nil
}

func receives(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	done := make(chan int)
	go func() {
		done <- len(s.Log)
	}()
	var u desk.StateUpdate
	u.Total.Add(int64(<-done))
	return u, nil
}

func selects(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	done := make(chan struct{})
	go func() {
		notify(ctx, s.Log[0])
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return desk.StateUpdate{}, nil
}

func ranges(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for _, line := range s.Log {
			lines <- line
		}
	}()
	var u desk.StateUpdate
	for line := range lines {
		u.Log.Append(line)
	}
	return u, nil
}

func copies(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	status, log := s.Status, slices.Clone(s.Log)
	go func() { print(status, log) }()
	go print(s.Status, s.Total, s.At)
	go notify(context.WithoutCancel(ctx), s.Status)
	go notify(context.Background(), s.Status)
	return desk.StateUpdate{}, nil
}

func (h *house) keepsCopies(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	h.logs["a"] = slices.Clone(s.Log)
	h.last.Status = s.Status
	h.last = desk.State{Status: s.Status}
	lastLog = append([]string(nil), s.Log...)
	return desk.StateUpdate{}, nil
}

func local(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	h := house{last: s}
	h.plan = s.Plan
	logs := map[string][]string{}
	logs["a"] = s.Log
	return desk.StateUpdate{}, nil
}

func waitsErrGroup(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		notify(ctx, s.Log[0])
		return nil
	})
	return desk.StateUpdate{}, g.Wait()
}

func (b *book) waitsInCallee(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		print(s.Log)
	}()
	b.join(done)
	var wg sync.WaitGroup
	wg.Go(func() { print(s.Log) })
	wait(&wg)
	return desk.StateUpdate{}, nil
}

func (b *book) join(done chan struct{}) { <-done }

func wait(wg *sync.WaitGroup) { wg.Wait() }

// heartbeat returns a function that ends its goroutine.
func heartbeat(ctx context.Context) func() {
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(done)
		<-ctx.Done()
	}()
	return func() {
		cancel()
		<-done
	}
}

func beats(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	defer heartbeat(ctx)()
	stop := context.AfterFunc(ctx, func() { print(s.Log) })
	defer stop()
	t := time.AfterFunc(time.Second, func() { print(s.Log) })
	defer t.Stop()
	return desk.StateUpdate{}, nil
}

func (b *book) asks(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	b.ch <- s.Log
	<-b.ch // the answer
	return desk.StateUpdate{}, nil
}

func (b *book) storesCopies(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	p := *s.Plan
	p.Steps = slices.Clone(p.Steps)
	p.Next = nil
	b.plans = append(b.plans, &p)
	lastLog = append(lastLog, s.Log...)
	lastLog = append(lastLog, s.Status, s.Log[0])
	b.cache.Store(s.Status, slices.Clone(s.Log))
	b.cache.Store("total", s.Total)
	b.plan.Store(&p)
	b.ch <- slices.Clone(s.Log)
	b.start(context.Background(), slices.Clone(s.Log))
	b.start(context.WithoutCancel(ctx), nil)
	b.remember(&p)
	return desk.StateUpdate{}, nil
}

func (b *book) storesMeanwhile(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	b.cache.Store("a", s.Plan)
	defer b.cache.Delete("a")
	b.entry = &entry{plan: s.Plan}
	defer func() { b.entry = nil }()
	return desk.StateUpdate{}, nil
}

// collect keeps contexts for a test.
//
//graphvet:ignore graphkeep the test uses them after the run
func (h *house) collect(ctx context.Context) { h.ctx = ctx }

func (h *house) collects(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	h.collect(ctx)
	return desk.StateUpdate{}, nil
}

func (b *book) localMemory(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	var own book
	own.remember(s.Plan)
	own.cache.Store("a", s.Plan)
	own.plans = append(own.plans, s.Plan)
	lines := make(chan []string, 1)
	lines <- s.Log
	plans := map[string]*desk.Plan{}
	func() { plans["a"] = s.Plan }()
	return desk.StateUpdate{}, nil
}

// start is no node.
func start(ctx context.Context, s desk.State) {
	go notify(ctx, s.Log[0])
	lastLog = s.Log
}

// GoodGraph has a node that collects copies.
func GoodGraph() {
	g := graph.New("good", desk.StateSchema)
	var seen []string
	g.Node("a", func(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
		seen = append(seen, s.Status)
		return desk.StateUpdate{}, nil
	})
}
