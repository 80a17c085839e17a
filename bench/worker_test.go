package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// BenchmarkWorker runs 512 due threads of one node through a worker with 16 slots. The baseline
// resumes them by Resume on 16 goroutines, which know the ids.
func BenchmarkWorker(b *testing.B) {
	for name, open := range map[string]func() (checkpoint.Saver, error){
		"memory": func() (checkpoint.Saver, error) { return memory.New(), nil },
		"file":   func() (checkpoint.Saver, error) { return file.Open(b.TempDir()) },
		"sqlite": func() (checkpoint.Saver, error) { return sqlite.Open(filepath.Join(b.TempDir(), "threads.db")) },
	} {
		for _, side := range []struct {
			name string
			run  func(b *testing.B, s checkpoint.Saver, app *graph.Graph[flow.Conversation, flow.ConversationUpdate], ids []string)
		}{{"graphgen", byWorker}, {"baseline_Resume_in_a_loop", byResume}} {
			b.Run(name+"/"+side.name, func(b *testing.B) {
				saver, err := open()
				if err != nil {
					b.Fatal(err)
				}
				defer saver.Close()
				for round := range b.N {
					b.StopTimer()
					app, ids := due(b, saver, round)
					b.StartTimer()
					side.run(b, saver, app, ids)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*dueThreads), "ns/thread")
			})
		}
	}
}

const dueThreads, slots = 512, 16

// due stores threads that are due now.
func due(b *testing.B, s checkpoint.Saver, round int) (app *graph.Graph[flow.Conversation, flow.ConversationUpdate], ids []string) {
	b.Helper()
	stop := func() {}
	g := graph.New("due", flow.ConversationSchema)
	g.Node("a", func(ctx context.Context, _ flow.Conversation) (flow.ConversationUpdate, error) {
		stop()
		return flow.ConversationUpdate{}, ctx.Err()
	})
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	app, err := g.Compile(graph.Saver(s))
	if err != nil {
		b.Fatal(err)
	}
	for i := range dueThreads {
		id := fmt.Sprintf("%d-%d", round, i)
		ctx, cancel := context.WithCancel(context.Background())
		stop = cancel
		if _, err := app.Thread(id).Invoke(ctx, flow.ConversationUpdate{}); !errors.Is(err, context.Canceled) {
			b.Fatal(err)
		}
		var moved *checkpoint.ConflictError // it names the fence
		if err := s.Rewake(context.Background(), checkpoint.Rewake{Thread: id, Fence: checkpoint.ID{1}}); !errors.As(err, &moved) {
			b.Fatal(err)
		}
		if err := s.Rewake(context.Background(), checkpoint.Rewake{Thread: id, Fence: moved.Found, Wake: time.Unix(1, 0)}); err != nil {
			b.Fatal(err)
		}
		ids = append(ids, id)
	}
	stop = func() {}
	return app, ids
}

func byWorker(b *testing.B, s checkpoint.Saver, app *graph.Graph[flow.Conversation, flow.ConversationUpdate], ids []string) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	left := len(ids)
	w := worker.New(s, worker.Options{Slots: slots, OnEvent: func(e worker.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == worker.EventEnded && e.Status == graph.Done {
			if left--; left == 0 {
				cancel()
			}
		}
	}}, app)
	if err := w.Run(ctx); err != nil || left != 0 {
		b.Fatal(left, err)
	}
}

func byResume(b *testing.B, _ checkpoint.Saver, app *graph.Graph[flow.Conversation, flow.ConversationUpdate], ids []string) {
	b.Helper()
	var all sync.WaitGroup
	for first := range slots {
		all.Go(func() {
			for i := first; i < len(ids); i += slots {
				if res, err := app.Thread(ids[i]).Resume(context.Background()); err != nil || res.Status != graph.Done {
					b.Error(res.Status, err)
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkQueueInPlace runs a thread of 100 nodes with a queue in a worker that serves the queue,
// and the same thread without a queue.
func BenchmarkQueueInPlace(b *testing.B) {
	saver, err := sqlite.Open(filepath.Join(b.TempDir(), "threads.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer saver.Close()
	for _, side := range []struct {
		name string
		opts []graph.NodeOption
		o    worker.Options
	}{
		{"graphgen", []graph.NodeOption{graph.Queue("gpu")}, worker.Options{Queues: map[string]int{"gpu": 1}}},
		{"baseline_no_queue", nil, worker.Options{}},
	} {
		b.Run("sqlite/"+side.name, func(b *testing.B) {
			const nodes = 100
			g := graph.New(side.name, flow.ConversationSchema)
			path := []graph.ID{graph.Start}
			for i := range nodes {
				path = append(path, g.Node(graph.ID(fmt.Sprint("n", i)), func(context.Context, flow.Conversation) (u flow.ConversationUpdate, _ error) {
					u.Step.Set(i)
					return u, nil
				}, side.opts...))
			}
			g.Chain(append(path, graph.End)...)
			app, err := g.Compile(graph.Saver(saver), graph.MaxSteps(2*nodes))
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error)
			go func() { ended <- worker.New(saver, side.o, app).Run(ctx) }()
			for n := range b.N {
				t := app.Thread(fmt.Sprint(side.name, b.N, "-", n))
				if _, err := t.Submit(ctx, flow.ConversationUpdate{}); err != nil {
					b.Fatal(err)
				}
				if _, err := t.Result(ctx); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*nodes), "ns/node")
			cancel()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		})
	}
}
