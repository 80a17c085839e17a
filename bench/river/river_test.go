package river

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// Each round has this number of jobs. At most slots of them run at the same time.
const jobs, slots = 512, 16

// BenchmarkJobs runs jobs that each write one row. They are threads of one node, tasks of a queue
// that one thread has handed out, and jobs of River. All have 16 slots and are stored before
// the round begins, on the same PostgreSQL. They take turns. The round of the tasks ends when
// their thread is Done.
func BenchmarkJobs(b *testing.B) {
	ctx := b.Context()
	dsn := testenv.Postgres(b)
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE rows (id BIGSERIAL PRIMARY KEY, text TEXT)"); err != nil {
		b.Fatal(err)
	}
	saver, err := postgres.Open(ctx, dsn, postgres.PrepareStatements())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = saver.Close() })
	threads, tasks, river := newThreads(b, saver, pool), newTasks(b, saver, pool), newRiver(b, pool)
	var took [3]time.Duration
	for round := range b.N {
		took[0] += threads(round)
		took[1] += tasks(round)
		took[2] += river(round)
	}
	for i, unit := range []string{"graphgen-ns/thread", "graphgen-ns/task", "river-ns/job"} {
		b.ReportMetric(float64(took[i].Nanoseconds())/float64(b.N*jobs), unit)
	}
	b.ReportMetric(took[0].Seconds()/took[2].Seconds(), "thread/job")
	b.ReportMetric(took[1].Seconds()/took[2].Seconds(), "task/job")
}

func insert(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, "INSERT INTO rows (text) VALUES ('a row')")
	return err
}

// newThreads returns a function that measures one round of threads.
func newThreads(b *testing.B, saver checkpoint.Saver, pool *pgxpool.Pool) func(round int) time.Duration {
	b.Helper()
	g := graph.New("jobs", flow.ConversationSchema)
	g.Node("write", func(ctx context.Context, _ flow.Conversation) (flow.ConversationUpdate, error) {
		return flow.ConversationUpdate{}, insert(ctx, pool)
	})
	g.Chain(graph.Start, "write", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		b.Fatal(err)
	}
	return func(round int) time.Duration {
		var all []graph.Submission[flow.ConversationUpdate]
		for i := range jobs {
			all = append(all, graph.Submission[flow.ConversationUpdate]{Thread: fmt.Sprintf("%d-%d", round, i)})
		}
		if _, err := app.SubmitMany(b.Context(), all...); err != nil {
			b.Fatal(err)
		}
		return work(b, saver, app, worker.Options{Slots: slots}, jobs)
	}
}

// work runs a worker until n threads are done, and returns how long that took.
func work(b *testing.B, saver checkpoint.Saver, app worker.App, o worker.Options, n int64) time.Duration {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var left atomic.Int64
	left.Store(n)
	o.OnEvent = func(e worker.Event) {
		if e.Kind == worker.EventEnded && e.Status == graph.Done && left.Add(-1) == 0 {
			cancel()
		}
	}
	began := time.Now()
	if err := worker.New(saver, o, app).Run(ctx); err != nil || left.Load() != 0 {
		b.Fatal(left.Load(), err)
	}
	return time.Since(began)
}

// newTasks returns a function that measures one round of tasks of a queue.
func newTasks(b *testing.B, saver checkpoint.Saver, pool *pgxpool.Pool) func(round int) time.Duration {
	b.Helper()
	g := graph.New("tasks", flow.ConversationSchema)
	each := graph.TaskNode(g, "write", func(ctx context.Context, _ flow.Conversation, _ wire.Int) (flow.ConversationUpdate, error) {
		return flow.ConversationUpdate{}, insert(ctx, pool)
	}, graph.Queue("rows"))
	g.Route(graph.Start, func(context.Context, flow.Conversation) (graph.Next, error) {
		var next graph.Next
		for i := range jobs {
			next.Add(each.Send(wire.Int(i)))
		}
		return next, nil
	}, "write")
	g.Edge("write", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		b.Fatal(err)
	}
	return func(round int) time.Duration {
		if res, err := app.Thread(fmt.Sprint("tasks-", round)).Invoke(b.Context(), flow.ConversationUpdate{}); err != nil || res.Status != graph.Waiting {
			b.Fatal(res.Status, err)
		}
		return work(b, saver, app, worker.Options{Queues: map[string]int{"rows": slots}}, 1)
	}
}

// writeArgs are the arguments of a job of River.
type writeArgs struct{}

func (writeArgs) Kind() string { return "write" }

// newRiver returns a function that measures one round of jobs.
func newRiver(b *testing.B, pool *pgxpool.Pool) func(round int) time.Duration {
	b.Helper()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := migrator.Migrate(b.Context(), rivermigrate.DirectionUp, nil); err != nil {
		b.Fatal(err)
	}
	return func(int) time.Duration {
		workers := river.NewWorkers()
		river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, _ *river.Job[writeArgs]) error { return insert(ctx, pool) }))
		client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
			Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: slots}}, Workers: workers,
			FetchCooldown: time.Millisecond, FetchPollInterval: 10 * time.Millisecond, // by default it fetches ten times a second
		})
		if err != nil {
			b.Fatal(err)
		}
		all := make([]river.InsertManyParams, jobs)
		for i := range all {
			all[i].Args = writeArgs{}
		}
		if _, err := client.InsertMany(b.Context(), all); err != nil {
			b.Fatal(err)
		}
		done, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: 2 * jobs, Kinds: []river.EventKind{river.EventKindJobCompleted}})
		defer unsubscribe()
		began := time.Now()
		if err := client.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		for range jobs {
			<-done
		}
		took := time.Since(began)
		if err := client.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		return took
	}
}
