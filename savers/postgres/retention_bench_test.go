package postgres_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/internal/proof"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// BenchmarkRetention measures how long threads of one node take from Submit to Done. Rounds of
// five seconds take turns: without a Retention, and with one that removes ended threads of another
// graph. Worker, clients and the server share the machine. The server syncs each commit. A client
// submits an input when the one before is done: 32 clients load the machine fully, and 2 do not.
// GRAPHGEN_RATE is the rate of removals; the default is 2,000.
func BenchmarkRetention(b *testing.B) {
	rate := 2000
	if wanted := os.Getenv("GRAPHGEN_RATE"); wanted != "" {
		var err error
		if rate, err = strconv.Atoi(wanted); err != nil {
			b.Fatal(err)
		}
	}
	for _, clients := range []int{32, 2} {
		b.Run(fmt.Sprint(clients, " clients"), func(b *testing.B) { retentionBeside(b, clients, rate) })
	}
}

// retentionBeside is BenchmarkRetention with a number of clients.
func retentionBeside(b *testing.B, clients, rate int) {
	b.Helper()
	const round = 5 * time.Second
	s, err := postgres.Open(b.Context(), testenv.StartPostgres(b, true).DSN, postgres.PrepareStatements())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	hub := new(worker.Hub)
	announced := worker.Announce(s, hub, nil)
	l := &load{TB: b, done: make(map[string]chan struct{})}
	orders, old := l.compile(announced, "orders"), l.compile(announced, "old")
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() {
		defer stop() // with it, clients wait no longer
		ended <- worker.New(announced, worker.Options{Slots: 32, Engine: hub, OnEvent: l.event}, orders).Run(ctx)
	}()
	var took [2][]time.Duration // without and with the Retention
	var removed int
	for n := range b.N {
		b.StopTimer()
		sqltest.FillEnded(b, sqlsaver.RowsOf(s.Saver), "old", fmt.Sprint("old-", n), int(round.Seconds())*rate*3/2)
		b.StartTimer()
		took[0] = append(took[0], l.run(ctx, orders, clients, fmt.Sprint("without-", n), round)...)
		removing, over := context.WithCancel(ctx)
		keeps := make(chan error, 1)
		go func() {
			keeps <- worker.New(announced, worker.Options{OnEvent: l.event, Retention: []worker.Retention{{
				Graph: "old", Ended: time.Minute, Rate: rate,
			}}}, old).Run(removing)
		}()
		before := l.removals()
		took[1] = append(took[1], l.run(ctx, orders, clients, fmt.Sprint("with-", n), round)...)
		removed += l.removals() - before
		over()
		if err := <-keeps; err != nil {
			b.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	for i, name := range []string{"", "-beside-retention"} {
		slices.Sort(took[i])
		seconds := round.Seconds() * float64(b.N)
		b.ReportMetric(float64(len(took[i]))/seconds, "threads/s"+name)
		b.ReportMetric(float64(took[i][len(took[i])/2].Microseconds())/1000, "p50-ms"+name)
		b.ReportMetric(float64(took[i][len(took[i])*99/100].Microseconds())/1000, "p99-ms"+name)
	}
	b.ReportMetric(float64(removed)/(round.Seconds()*float64(b.N)), "removals/s")
}

// load is clients that submit threads and wait for their ends.
type load struct {
	testing.TB

	mu      sync.Mutex
	done    map[string]chan struct{} // by thread
	removed int
}

// compile returns a graph of one node.
func (l *load) compile(s checkpoint.Saver, name string) *graph.Graph[proof.State, proof.StateUpdate] {
	l.Helper()
	g := graph.New(name, proof.StateSchema)
	g.Node("run", func(context.Context, proof.State) (u proof.StateUpdate, err error) { return u, nil })
	g.Chain(graph.Start, "run", graph.End)
	app, err := g.Compile(graph.Saver(s))
	if err != nil {
		l.Fatal(err)
	}
	return app
}

// event notes the ends of threads and how many were removed.
func (l *load) event(e worker.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removed += e.Deleted
	if done := l.done[e.Thread]; e.Kind == worker.EventEnded && done != nil {
		delete(l.done, e.Thread)
		close(done)
	}
}

func (l *load) removals() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.removed
}

// run runs clients for some time, and returns how long each of their threads took.
func (l *load) run(ctx context.Context, app *graph.Graph[proof.State, proof.StateUpdate], clients int, prefix string, d time.Duration) (took []time.Duration) {
	l.Helper()
	var all sync.WaitGroup
	end := time.Now().Add(d)
	for c := range clients {
		all.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				id, done := fmt.Sprintf("%s-%d-%d", prefix, c, n), make(chan struct{})
				l.mu.Lock()
				l.done[id] = done
				l.mu.Unlock()
				began := time.Now()
				if _, err := app.Thread(id).Submit(ctx, proof.StateUpdate{}); err != nil {
					l.Error(err)
					return
				}
				select {
				case <-done:
				case <-ctx.Done():
					l.Error("the worker has ended")
					return
				}
				l.mu.Lock()
				took = append(took, time.Since(began))
				l.mu.Unlock()
			}
		})
	}
	all.Wait()
	return took
}
