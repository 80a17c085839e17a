package graphkeep

import (
	"context"
	"slices"
	"sync"

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
