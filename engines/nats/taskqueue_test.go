package nats_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	graphgennats "github.com/graphgen-go/graphgen/engines/nats"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// never is an AckWait that does not pass in a test.
const never = time.Hour

// queueOn returns a queue with a connection of its own.
func (p *process) queueOn(tb testing.TB, wait time.Duration) (*graphgennats.TaskQueue, jetstream.JetStream) {
	tb.Helper()
	js, err := jetstream.New(p.connect(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return graphgennats.NewTaskQueue(js, "acme.graphs", graphgennats.TaskQueueOptions{AckWait: wait}), js
}

// newTask returns a task of the queue gpu of the graph g.
func newTask(tb testing.TB, name string) graph.QueuedTask {
	tb.Helper()
	base, err := checkpoint.NewID()
	if err != nil {
		tb.Fatal(err)
	}
	return graph.QueuedTask{
		Queue: "gpu", Graph: "g", Thread: "t", At: base, Base: base, Task: name, Execution: "0.0.1", Round: 2, Attempt: 3,
	}
}

// do calls Do, whose result is sent.
func do(ctx context.Context, q *graphgennats.TaskQueue, t graph.QueuedTask) <-chan error {
	done := make(chan error, 1)
	go func() { done <- q.Do(ctx, t) }()
	return done
}

// serveQueue calls Serve until the test ends or the returned function is called, which returns the
// error of Serve.
func serveQueue(
	tb testing.TB, q *graphgennats.TaskQueue, graphName, queue string, slots int, run func(context.Context, graph.QueuedTask) error,
) (stop func() error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Serve(ctx, graphName, queue, slots, run) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	tb.Cleanup(func() { _ = stop() })
	return stop
}

// handOuts counts the tasks that are published from now on, also those that the stream refuses.
func handOuts(tb testing.TB, conn *nats.Conn) *nats.Subscription {
	tb.Helper()
	sub, err := conn.SubscribeSync("acme.graphs.tasks.>")
	if err == nil {
		err = conn.Flush()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return sub
}

func await(tb testing.TB, published *nats.Subscription) {
	tb.Helper()
	if _, err := published.NextMsg(time.Minute); err != nil {
		tb.Fatal(err)
	}
}

func returnNil(context.Context, graph.QueuedTask) error { return nil }

func TestDoReturnsWhenAWorkerOfAnotherProcessHasReturned(t *testing.T) {
	p := startServer(t)
	q, _ := p.queueOn(t, never)
	w, _ := p.queueOn(t, never)
	want := newTask(t, "a")
	began, leave := make(chan graph.QueuedTask, 1), make(chan struct{})
	done := do(t.Context(), q, want)
	serveQueue(t, w, "g", "gpu", 1, func(_ context.Context, got graph.QueuedTask) error {
		began <- got
		<-leave
		return nil
	})
	if got := <-began; got != want {
		t.Errorf("the worker got %+v, want %+v", got, want)
	}
	select {
	case err := <-done:
		t.Errorf("Do returned %v before the worker", err)
	default:
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSeveralCallsForOneTaskRunItOnce(t *testing.T) {
	p := startServer(t)
	a, _ := p.queueOn(t, never)
	b, _ := p.queueOn(t, never)
	w, js := p.queueOn(t, never)
	published := handOuts(t, js.Conn())
	task := newTask(t, "a")
	first := do(t.Context(), a, task)
	await(t, published)
	second := do(t.Context(), b, task)
	await(t, published)
	runs := make(chan struct{}, 10)
	serveQueue(t, w, "g", "gpu", 2, func(context.Context, graph.QueuedTask) error {
		runs <- struct{}{}
		return nil
	})
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	if len(runs) != 1 {
		t.Errorf("got %d runs of the task, want 1", len(runs))
	}
	// A task that has left the stream can be handed out again immediately.
	if err := a.Do(t.Context(), task); err != nil {
		t.Error(err)
	}
	if len(runs) != 2 {
		t.Errorf("got %d runs of the task, want 2", len(runs))
	}
}

func TestACopyOfAThreadHasTasksOfItsOwn(t *testing.T) {
	p := startServer(t)
	q, js := p.queueOn(t, never)
	published := handOuts(t, js.Conn())
	task := newTask(t, "a")
	copied := task
	copied.Thread = "copy of t"
	first, second := do(t.Context(), q, task), do(t.Context(), q, copied)
	await(t, published)
	await(t, published)
	threads := make(chan string, 10)
	serveQueue(t, q, "g", "gpu", 1, func(_ context.Context, got graph.QueuedTask) error {
		threads <- got.Thread
		return nil
	})
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	if got := map[string]bool{<-threads: true, <-threads: true}; !got["t"] || !got["copy of t"] {
		t.Errorf("got tasks of %v, want of both threads", got)
	}
}

func TestNamesOfTasksAreAnyBytes(t *testing.T) {
	p := startServer(t)
	q, _ := p.queueOn(t, never)
	names := []string{"", "a", "ab", "a.b", "*", ">", "$JS.API", "a b\r\nPUB x 0\r\n", "\xff\x00\xfe", "ü", strings.Repeat("x", 5000)}
	for i, name := range names {
		got := make(chan graph.QueuedTask, 10)
		for _, other := range names[i:] { // "a" and "ab" is not "aa" and "b"
			serveQueue(t, q, name, "b"+other, 1, func(_ context.Context, task graph.QueuedTask) error {
				got <- task
				return nil
			})
		}
		want := newTask(t, name)
		want.Graph, want.Queue, want.Thread, want.Execution = name, "b"+name, name, name
		if err := q.Do(t.Context(), want); err != nil {
			t.Errorf("names %.20q: %v", name, err)
		}
		if task := <-got; task != want {
			t.Errorf("got %.200q, want %.200q", fmt.Sprint(task), fmt.Sprint(want))
		}
		if len(got) > 0 {
			t.Errorf("names %.20q: another queue got the task, too", name)
		}
	}
}

func TestAWorkerHoldsAtMostItsSlots(t *testing.T) {
	p := startServer(t)
	q, _ := p.queueOn(t, never)
	w, _ := p.queueOn(t, never)
	var done []<-chan error
	for i := range 20 {
		done = append(done, do(t.Context(), q, newTask(t, fmt.Sprint(i))))
	}
	held, leave := make(chan string, 20), make(chan struct{})
	serveQueue(t, w, "g", "gpu", 3, func(_ context.Context, task graph.QueuedTask) error {
		held <- task.Task
		<-leave
		return nil
	})
	stuck := map[string]bool{<-held: true, <-held: true, <-held: true}
	serveQueue(t, q, "g", "gpu", 1, returnNil) // it gets all others, else this test does not end
	for i := range done {
		if !stuck[fmt.Sprint(i)] {
			if err := <-done[i]; err != nil {
				t.Error(err)
			}
		}
	}
	if len(held) > 0 {
		t.Errorf("a worker with 3 slots ran %d tasks at the same time", 3+len(held))
	}
	close(leave)
	for i := range done {
		if stuck[fmt.Sprint(i)] {
			if err := <-done[i]; err != nil {
				t.Error(err)
			}
		}
	}
}

func TestATaskWhoseWorkerFailsIsHandedOutAgain(t *testing.T) {
	faults := map[string]func() error{
		"an error": func() error { return errors.New("the saver is down") },
		"an ended goroutine": func() error {
			runtime.Goexit()
			return nil
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			p := startServer(t)
			q, _ := p.queueOn(t, never)
			runs := make(chan struct{}, 10)
			serveQueue(t, q, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
				if runs <- struct{}{}; len(runs) < 3 {
					return fault()
				}
				return nil
			})
			if err := q.Do(t.Context(), newTask(t, "a")); err != nil || len(runs) != 3 {
				t.Errorf("got %v after %d runs, want no error after 3", err, len(runs))
			}
		})
	}
}

func TestAWorkerThatLeavesReturnsItsTasksAtOnce(t *testing.T) {
	p := startServer(t)
	q, _ := p.queueOn(t, never)
	w, _ := p.queueOn(t, never)
	ctx, cancel := context.WithCancel(t.Context())
	began, leave, stopped := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	finished := false
	go func() {
		stopped <- w.Serve(ctx, "g", "gpu", 1, func(ctx context.Context, _ graph.QueuedTask) error {
			close(began)
			<-leave
			finished = true
			return ctx.Err()
		})
	}()
	done := do(t.Context(), q, newTask(t, "a"))
	<-began
	cancel()
	close(leave)
	if err := <-stopped; !errors.Is(err, context.Canceled) || !finished {
		t.Errorf("got %v and a finished task %v, want the end of the context after the task", err, finished)
	}
	if err := <-done; err != nil { // the context of the task has not ended
		t.Error(err)
	}

	refused := make(chan struct{}, 1)
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		stopped <- w.Serve(ctx, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
			refused <- struct{}{}
			cancel()
			return errors.New("cancelled")
		})
	}()
	done = do(t.Context(), q, newTask(t, "b"))
	<-refused
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	serveQueue(t, q, "g", "gpu", 1, returnNil)
	if err := <-done; err != nil { // AckWait does not pass in this test
		t.Error(err)
	}
}

func TestDoEndsWithItsContextAndLeavesTheTask(t *testing.T) {
	p := startServer(t)
	q, js := p.queueOn(t, never)
	published := handOuts(t, js.Conn())
	task := newTask(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	first := do(ctx, q, task)
	await(t, published)
	other, _ := p.queueOn(t, never)
	second := do(t.Context(), other, task)
	await(t, published)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if err := q.Do(ctx, task); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: got %v, want the end of the context", err)
	}
	serveQueue(t, q, "g", "gpu", 1, returnNil)
	if err := <-second; err != nil {
		t.Error(err)
	}
}

func TestDoNoticesThatTheStreamHasLostTheTask(t *testing.T) {
	p := startServer(t)
	q, js := p.queueOn(t, 50*time.Millisecond)
	published := handOuts(t, js.Conn())
	losses := map[string]func(jetstream.Stream) error{
		"the task":   func(s jetstream.Stream) error { return s.Purge(t.Context()) },
		"the stream": func(jetstream.Stream) error { return js.DeleteStream(t.Context(), "acme-graphs-tasks") },
	}
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			task := newTask(t, "a")
			done := do(t.Context(), q, task)
			await(t, published)
			s, err := js.Stream(t.Context(), "acme-graphs-tasks")
			if err != nil {
				t.Fatal(err)
			}
			if err := lose(s); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err == nil {
				t.Error("got no error from Do, want one")
			}
			done = do(t.Context(), q, task)
			await(t, published)
			stop := serveQueue(t, q, "g", "gpu", 1, returnNil)
			if err := <-done; err != nil {
				t.Error(err)
			}
			_ = stop()
		})
	}
}

// A stopped worker A wakes and acknowledges a task that B runs meanwhile.
func TestALateAcknowledgementLosesNoTask(t *testing.T) {
	p := startServer(t)
	const wait = 100 * time.Millisecond
	q, js := p.queueOn(t, wait)
	stop := serveQueue(t, q, "g", "gpu", 1, returnNil)
	if err := q.Do(t.Context(), newTask(t, "first")); err != nil { // now the stream has a consumer
		t.Fatal(err)
	}
	_ = stop()
	task := newTask(t, "a")
	done := do(t.Context(), q, task)
	late := fetch(t, js)
	b, conn := p.queueOn(t, wait)
	began, leave := make(chan struct{}, 1), make(chan struct{})
	serveQueue(t, b, "g", "gpu", 1, func(context.Context, graph.QueuedTask) error {
		began <- struct{}{}
		<-leave
		return nil
	})
	<-began // AckWait of A has passed
	if err := late.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn.Conn().Close() // B dies
	close(leave)
	if err := <-done; err == nil {
		t.Error("got no error, want one: the stream does not have the task")
	}
	serveQueue(t, q, "g", "gpu", 1, returnNil)
	if err := q.Do(t.Context(), task); err != nil {
		t.Error(err)
	}
}

// fetch takes a message as a worker without a sign of life.
func fetch(tb testing.TB, js jetstream.JetStream) jetstream.Msg {
	tb.Helper()
	s, err := js.Stream(tb.Context(), "acme-graphs-tasks")
	if err != nil {
		tb.Fatal(err)
	}
	names := s.ConsumerNames(tb.Context())
	c, err := s.Consumer(tb.Context(), <-names.Name())
	if err != nil {
		tb.Fatal(err)
	}
	for {
		batch, err := c.Fetch(1)
		if err != nil {
			tb.Fatal(err)
		}
		if m, found := <-batch.Messages(); found {
			return m
		}
	}
}

func TestAMessageThatIsNoTaskBlocksNobody(t *testing.T) {
	p := startServer(t)
	q, js := p.queueOn(t, never)
	published := handOuts(t, js.Conn())
	serveQueue(t, q, "g", "gpu", 1, returnNil)
	if err := q.Do(t.Context(), newTask(t, "a")); err != nil {
		t.Fatal(err)
	}
	m, err := published.NextMsg(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	place := m.Subject[:strings.LastIndexByte(m.Subject, '.')]
	if _, err := js.Publish(t.Context(), place+".x", []byte("no task")); err != nil {
		t.Fatal(err)
	}
	if err := q.Do(t.Context(), newTask(t, "b")); err != nil {
		t.Error(err)
	}
}

func TestAQueueWithoutAServerReturnsErrors(t *testing.T) {
	p := startServer(t)
	q, js := p.queueOn(t, 50*time.Millisecond)
	published := handOuts(t, js.Conn())
	done := do(t.Context(), q, newTask(t, "a"))
	await(t, published)
	lost := js.Conn().StatusChanged(nats.RECONNECTING)
	p.kill(t)
	<-lost
	if err := <-done; err == nil {
		t.Error("got no error from Do while the server is down, want one")
	}
	if err := q.Do(t.Context(), newTask(t, "b")); !errors.Is(err, nats.ErrDisconnected) {
		t.Errorf("Do: got %v, want ErrDisconnected", err)
	}
	if err := q.Serve(t.Context(), "g", "gpu", 1, returnNil); !errors.Is(err, nats.ErrDisconnected) {
		t.Errorf("Serve: got %v, want ErrDisconnected", err)
	}
	p.start(t)
}

func TestAServerWithoutJetStreamIsAnError(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready after a minute")
	}
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	q := graphgennats.NewTaskQueue(js, "g", graphgennats.TaskQueueOptions{})
	if err := q.Do(t.Context(), newTask(t, "a")); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("Do: got %v, want ErrNoResponders", err)
	}
	if err := q.Serve(t.Context(), "g", "gpu", 1, returnNil); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("Serve: got %v, want ErrNoResponders", err)
	}
}
