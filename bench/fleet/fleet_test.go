//go:build unix

package fleet_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/open"
)

const (
	slots = 16 // of each process
	queue = "parts"
	lease = 2 * time.Second
)

// savers are those that several processes can share, on servers that sync every commit.
var savers = []struct {
	name string
	url  func(b *testing.B) string
}{
	{"file", func(b *testing.B) string { b.Helper(); return "file:" + filepath.Join(b.TempDir(), "threads") }},
	{"sqlite", func(b *testing.B) string { b.Helper(); return "sqlite:" + filepath.Join(b.TempDir(), "threads.db") }},
	{"redis", func(b *testing.B) string { b.Helper(); return "redis://" + testenv.StartRedis(b, true).Addr }},
	{"mysql", func(b *testing.B) string {
		b.Helper()
		config, err := mysql.ParseDSN(testenv.StartMySQL(b, true).DSN)
		if err != nil {
			b.Fatal(err)
		}
		db, err := sql.Open("mysql", config.FormatDSN())
		if err == nil {
			_, err = db.ExecContext(b.Context(), "CREATE DATABASE fleet")
		}
		if err = errors.Join(err, db.Close()); err != nil {
			b.Fatal(err)
		}
		return "mysql://" + config.User + ":" + config.Passwd + "@" + config.Addr + "/fleet"
	}},
	{"postgres", func(b *testing.B) string { b.Helper(); return testenv.StartPostgres(b, true).DSN }},
}

type app = graph.Graph[flow.Counter, flow.CounterUpdate]

// compile returns the graph of all processes. A thread runs one node. If its input is a number
// above zero, it also runs that number of tasks of the queue, which wait for 2 ms each.
func compile(s checkpoint.Saver, node func(context.Context) error) (*app, error) {
	g := graph.New("fleet", flow.CounterSchema)
	one := g.Node("one", func(ctx context.Context, _ flow.Counter) (flow.CounterUpdate, error) {
		return flow.CounterUpdate{}, node(ctx)
	})
	part := graph.TaskNode(g, "part", func(ctx context.Context, _ flow.Counter, n wire.Int) (u flow.CounterUpdate, _ error) {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return u, ctx.Err()
		}
		u.N.Add(int(n))
		return u, nil
	}, graph.Queue(queue))
	g.Edge(graph.Start, one)
	g.Route(one, func(_ context.Context, s flow.Counter) (graph.Next, error) {
		if s.N == 0 {
			return graph.To(graph.End), nil
		}
		var next graph.Next
		for range s.N {
			next.Add(part.Send(1))
		}
		return next, nil
	}, part.ID, graph.End)
	g.Edge(part.ID, graph.End)
	return g.Compile(graph.Saver(s), graph.Lease(lease))
}

// connect opens the saver in this process.
func connect(b *testing.B, url string) (checkpoint.Saver, *app) {
	b.Helper()
	s, err := open.Saver(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() }) // the process ends anyway
	a, err := compile(s, func(context.Context) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	return s, a
}

// BenchmarkThreads runs 1,024 submitted threads of one node, by one process and by three.
func BenchmarkThreads(b *testing.B) {
	const threads = 1024
	for _, on := range savers {
		b.Run(on.name, func(b *testing.B) {
			url := on.url(b)
			_, a := connect(b, url)
			var took [4]time.Duration
			for round := 0; b.Loop(); round++ {
				for _, n := range []int{1, 3} {
					took[n] += runThreads(b, url, a, n, threads, fmt.Sprintf("%d %d", round, n))
				}
			}
			for _, n := range []int{1, 3} {
				b.ReportMetric(float64(threads*b.N)/took[n].Seconds(), fmt.Sprintf("threads/s-by-%d", n))
			}
		})
	}
}

func runThreads(b *testing.B, url string, a *app, n, threads int, name string) time.Duration {
	b.Helper()
	all := make([]graph.Submission[flow.CounterUpdate], threads)
	for i := range all {
		all[i].Thread = fmt.Sprintf("thread %s %d", name, i)
	}
	workers := make([]*process, n)
	for i := range workers {
		workers[i] = begin(b, url, serves)
	}
	if _, err := a.SubmitMany(b.Context(), all...); err != nil {
		b.Fatal(err)
	}
	ended := make(chan string)
	start := time.Now()
	for _, w := range workers {
		w.run(b)
		go func() {
			for line := range w.lines {
				ended <- line
			}
		}()
	}
	for range threads {
		<-ended
	}
	took := time.Since(start)
	for _, w := range workers {
		w.end(b)
	}
	return took
}

// BenchmarkTakeOver kills a worker in the middle of a node, and measures the time until another
// worker runs the node. The lease is 2 s.
func BenchmarkTakeOver(b *testing.B) {
	for _, on := range savers {
		b.Run(on.name, func(b *testing.B) {
			url := on.url(b)
			_, a := connect(b, url)
			var sum, most time.Duration
			for round := 0; b.Loop(); round++ {
				id := fmt.Sprint("held ", round)
				first := begin(b, url, holds)
				first.run(b)
				if _, err := a.Thread(id).Submit(b.Context(), flow.CounterUpdate{}); err != nil {
					b.Fatal(err)
				}
				first.expect(b, "ran "+id)
				other := begin(b, url, serves)
				other.run(b)
				<-time.After(lease) // so that the lease was renewed
				first.kill(b)
				killed := time.Now()
				other.expect(b, "ran "+id)
				took := time.Since(killed)
				sum, most = sum+took, max(most, took)
				other.expect(b, "done "+id)
				other.end(b)
			}
			b.ReportMetric((sum / time.Duration(b.N)).Seconds(), "s/take-over")
			b.ReportMetric(most.Seconds(), "s-longest")
		})
	}
}

// BenchmarkQueue runs 10,000 sends of 2 ms in one superstep, by the workers of a queue in one
// process and in three.
func BenchmarkQueue(b *testing.B) {
	const sends = 10_000
	for _, on := range savers {
		b.Run(on.name, func(b *testing.B) {
			url := on.url(b)
			s, a := connect(b, url)
			ended := make(chan worker.Event, 1)
			ctx, stop := context.WithCancel(b.Context())
			over := make(chan error, 1)
			go func() {
				over <- worker.New(s, worker.Options{Poll: 50 * time.Millisecond, OnEvent: func(e worker.Event) {
					if e.Kind == worker.EventEnded && e.Status != graph.Waiting {
						ended <- e
					}
				}}, a).Run(ctx)
			}()
			var took [4]time.Duration
			for round := 0; b.Loop(); round++ {
				for _, n := range []int{1, 3} {
					workers := make([]*process, n)
					for i := range workers {
						workers[i] = begin(b, url, pools)
						workers[i].run(b)
					}
					var in flow.CounterUpdate
					in.N.Add(sends)
					start := time.Now()
					th := a.Thread(fmt.Sprintf("sends %d %d", round, n))
					if _, err := th.Submit(b.Context(), in); err != nil {
						b.Fatal(err)
					}
					if e := <-ended; e.Err != nil {
						b.Fatal(e.Err)
					}
					if got, err := th.State(b.Context()); err != nil || got.State.N != 2*sends {
						b.Fatal(got.State, err)
					}
					took[n] += time.Since(start)
					for _, w := range workers {
						w.end(b)
					}
				}
			}
			for _, n := range []int{1, 3} {
				b.ReportMetric(float64(sends*b.N)/took[n].Seconds(), fmt.Sprintf("tasks/s-by-%d", n))
			}
			stop()
			if err := <-over; err != nil {
				b.Error(err)
			}
		})
	}
}
