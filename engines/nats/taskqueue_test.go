package nats_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/graphgen-go/graphgen/engines/enginetest"
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

// handedOut are the tasks that are published from some time on.
type handedOut struct {
	all       *nats.Subscription // to all subjects
	published map[string]string  // the subject of a task by the subject of the answer
}

func handOuts(tb testing.TB, conn *nats.Conn) *handedOut {
	tb.Helper()
	sub, err := conn.SubscribeSync(">")
	if err == nil {
		err = conn.Flush()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return &handedOut{sub, make(map[string]string)}
}

// next waits until the stream has stored or refused a task, and returns the subject of the task.
func (h *handedOut) next(tb testing.TB) string {
	tb.Helper()
	for {
		m, err := h.all.NextMsg(5 * time.Minute)
		if err != nil {
			tb.Fatal(err)
		}
		if strings.HasPrefix(m.Subject, "acme.graphs.tasks.") && m.Reply != "" {
			h.published[m.Reply] = m.Subject
		} else if task := h.published[m.Subject]; task != "" {
			delete(h.published, m.Subject)
			return task
		}
	}
}

func returnNil(context.Context, graph.QueuedTask) error { return nil }

func TestTaskQueue(t *testing.T) {
	enginetest.RunQueue(t, func(testing.TB) enginetest.QueuePlace {
		p := startServer(t)
		return enginetest.QueuePlace{
			Open: func(tb testing.TB) graph.TaskQueue {
				tb.Helper()
				q, _ := p.queueOn(tb, never)
				return q
			},
			HandOuts: func(tb testing.TB) func() {
				tb.Helper()
				published := handOuts(tb, p.connect(tb))
				return func() { published.next(tb) }
			},
		}
	})
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
			published.next(t)
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
			published.next(t)
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
	subject := published.next(t)
	place := subject[:strings.LastIndexByte(subject, '.')]
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
	published.next(t)
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

// TestValuesOfATaskReachTheProcessThatHandedItOut emits from another connection. The values arrive
// in their order, before DoEmitting returns, and those of other tasks do not.
func TestValuesOfATaskReachTheProcessThatHandedItOut(t *testing.T) {
	p := startServer(t)
	q, _ := p.queueOn(t, never)
	w, _ := p.queueOn(t, never)
	other := newTask(t, "other")
	serveQueue(t, w, "g", "gpu", 1, func(_ context.Context, got graph.QueuedTask) error {
		w.Emit(other, []byte("not for it"))
		for i := range 100 {
			w.Emit(got, fmt.Append(nil, i))
		}
		return nil
	})
	var got []string
	err := q.DoEmitting(t.Context(), newTask(t, "a"), func(value []byte) { got = append(got, string(value)) })
	if err != nil || len(got) != 100 {
		t.Fatalf("got %d values and %v, want 100", len(got), err)
	}
	for i := range got {
		if got[i] != fmt.Sprint(i) {
			t.Fatalf("value %d: got %q", i, got[i])
		}
	}
}

// TestASlowStreamDoesNotStopTheWorkerOfATask takes no value until the worker has returned.
func TestASlowStreamDoesNotStopTheWorkerOfATask(t *testing.T) {
	p := startServer(t)
	q, _ := p.queueOn(t, never)
	w, _ := p.queueOn(t, never)
	over := make(chan struct{})
	serveQueue(t, w, "g", "gpu", 1, func(_ context.Context, got graph.QueuedTask) error {
		defer close(over)
		for i := range 10_000 {
			w.Emit(got, fmt.Append(nil, i))
		}
		return nil
	})
	got := 0
	err := q.DoEmitting(t.Context(), newTask(t, "a"), func([]byte) {
		<-over
		got++
	})
	if err != nil || got == 0 || got == 10_000 {
		t.Errorf("got %d values of 10,000 and %v, want some", got, err)
	}
}
