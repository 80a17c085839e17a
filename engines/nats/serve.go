package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/graphgen-go/graphgen/engines/internal/carry"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// serving is a call of Serve.
type serving struct {
	q            *TaskQueue
	graph, queue string
	run          func(context.Context, graph.QueuedTask) error
	slots        chan struct{}      // one value for each task that runs, or that is awaited
	consumer     jetstream.Consumer // nil until it is known to exist
	wg           sync.WaitGroup
}

// errNoOutcome is the error of a task whose node ended the goroutine.
var errNoOutcome = errors.New("the call of the worker ended its goroutine, so the task has no outcome; another call runs the task again")

// Serve implements graph.TaskQueue. The server keeps each task until a slot is free. Serve
// acknowledges a task after run has returned nil. If run returns an error, another worker gets the
// task after a pause, which grows up to 5 seconds. There is no pause if ctx has ended. If the
// server fails, Serve tries again while a task runs, and then returns an error.
//
// A worker that the server took for dead can acknowledge its task late, and so delete the message
// of a task that another worker runs. That is harmless: the outcome is stored before. If the
// server has lost the stream meanwhile, the acknowledgement can meet another task. If the worker
// of that one dies, Do notices that the task is missing.
func (q *TaskQueue) Serve(
	ctx context.Context, graph, queue string, slots int, run func(context.Context, graph.QueuedTask) error,
) error {
	s := &serving{q: q, graph: graph, queue: queue, run: run, slots: make(chan struct{}, slots)}
	err := s.receive(ctx)
	s.wg.Wait()
	return fmt.Errorf("nats: serve a queue: %w", err)
}

// receive begins tasks until ctx ends or the server fails.
func (s *serving) receive(ctx context.Context) error {
	failures := 0
	for {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		m, err := s.next(ctx)
		if m != nil {
			failures = 0
			s.wg.Go(func() {
				defer func() { <-s.slots }()
				s.perform(ctx, m)
			})
			continue
		}
		<-s.slots
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			failures = 0
			continue
		}
		s.consumer = nil
		failures++ // at the first one, the server may have lost the consumer
		if failures > 1 && len(s.slots) == 0 {
			return err
		}
		if failures > 1 {
			rest(ctx, timeout)
		}
	}
}

// rest waits for a time, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// next asks for one task. It returns nil if there was none for some time. If ctx has ended, it
// asks for none: the server would send the task to nobody, and another worker would get it after
// AckWait.
func (s *serving) next(ctx context.Context) (jetstream.Msg, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.consumer == nil {
		var err error
		if s.consumer, err = s.open(ctx); err != nil {
			return nil, err
		}
	}
	batch, err := s.consumer.Fetch(1, jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(min(s.q.opt.AckWait, pullFor)/2))
	if err != nil {
		return nil, err
	}
	m, found := <-batch.Messages()
	if !found {
		return nil, batch.Error()
	}
	if ctx.Err() != nil {
		_ = m.Nak() // else another worker gets it after AckWait
		return nil, ctx.Err()
	}
	return m, nil
}

// open returns the consumer of the queue, which it creates if the server has none.
func (s *serving) open(ctx context.Context) (jetstream.Consumer, error) {
	for again := false; ; again = true {
		stream, err := s.q.open(ctx)
		if err != nil {
			return nil, err
		}
		call, cancel := context.WithTimeout(ctx, timeout)
		c, err := s.q.js.CreateOrUpdateConsumer(call, s.q.config().Name, jetstream.ConsumerConfig{
			Durable:       carry.Hash(s.graph, s.queue),
			Description:   fmt.Sprintf("workers of queue %+q of graph %+q", short(s.queue), short(s.graph)),
			FilterSubject: s.q.tasks(s.graph, s.queue) + ".*",
			AckPolicy:     jetstream.AckExplicitPolicy,
			AckWait:       s.q.opt.AckWait,
			MaxDeliver:    -1,
			MaxAckPending: -1,
		})
		cancel()
		if errors.Is(err, jetstream.ErrStreamNotFound) && !again {
			s.q.forget(ctx, stream)
			continue
		}
		return c, err
	}
}

// short returns the beginning of a name. The server limits descriptions.
func short(name string) string { return name[:min(len(name), 100)] }

// perform runs a task, and reports its end.
func (s *serving) perform(ctx context.Context, m jetstream.Msg) {
	over := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() { s.beat(m, over) })
	err := errNoOutcome
	defer func() {
		close(over)
		beats.Wait()
		s.settle(ctx, m, err)
	}()
	t, broken := carry.Decode(m.Data())
	if broken != nil {
		err = fmt.Errorf("nats: read a task: %w; update the worker to the version that handed the task out", broken)
		return
	}
	err = s.run(context.WithoutCancel(ctx), t)
}

// beat sends signs of life until the task has ended.
func (s *serving) beat(m jetstream.Msg, over <-chan struct{}) {
	tick := time.NewTicker(s.q.opt.AckWait/4 + 1)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = m.InProgress() // if it does not arrive, the task runs twice
		case <-over:
			return
		}
	}
}

// settle gives the message back if the task has no outcome. Else it removes the message and then
// reports the end, so that a Do that follows the report can publish the task again. If one of the
// two is lost, the next worker or the next look of Do finds the outcome.
func (s *serving) settle(ctx context.Context, m jetstream.Msg, err error) {
	if err != nil {
		_ = m.NakWithDelay(pause(ctx, m))
		return
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	_ = m.DoubleAck(call)
	key := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
	_ = s.q.js.Conn().Publish(s.q.ended(key), nil)
}

// pause returns the time until another worker gets the task; 0 if this one leaves.
func pause(ctx context.Context, m jetstream.Msg) time.Duration {
	about, err := m.Metadata()
	if ctx.Err() != nil || err != nil {
		return 0
	}
	return min(100*time.Millisecond<<min(about.NumDelivered-1, 10), longest)
}
