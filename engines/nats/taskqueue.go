package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/graphgen-go/graphgen/engines/internal/carry"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// TaskQueue is a graph.TaskQueue over NATS JetStream, and a graph.Relay. NewTaskQueue makes it. A
// TaskQueue is safe for concurrent use.
//
// A stream contains one message for each task that has no outcome yet. A message refers to stored
// data, and contains none. The server redelivers it if the worker shows no sign of life for
// AckWait. The stream is in memory and need not survive: Do notices that its task is missing, and
// the run hands it out again.
type TaskQueue struct {
	js     jetstream.JetStream
	prefix string
	opt    TaskQueueOptions

	// held has room for one value. The goroutine that has put it there may use stream.
	held   chan struct{}
	stream jetstream.Stream // nil until it is known to exist
}

// TaskQueueOptions are the options of a TaskQueue.
type TaskQueueOptions struct {
	// AckWait is the time without a sign of life after which another worker gets a task. Workers
	// send four signs of life in this time. Do asks the server as often whether it still has the
	// task. The default is 5 seconds.
	AckWait time.Duration
	// Replicas is the number of servers with a copy of the stream. The default is 1, with which a
	// cluster hands out no tasks as long as the server of the stream is down.
	Replicas int
}

// The limits of a TaskQueue.
const (
	keep    = 24 * time.Hour   // of a task in the stream; after that, Do returns an error
	longest = 5 * time.Second  // of the pause after an error of a task
	pullFor = 30 * time.Second // of one request for a task
	waiting = 256              // values of a task that wait for their stream; further ones are lost
)

// storeFailed is the code with which the server refuses a message for which it has no room.
const storeFailed jetstream.ErrorCode = 10077

// errMissing is the error of a task whose message is not in the stream.
var errMissing = errors.New("the stream does not have the task: its worker has returned, or the server has lost it; " +
	"look for the outcome, and call Do again")

// NewTaskQueue returns a queue on js. Processes share tasks if they use the same server, account
// and prefix. The stream is <prefix>-tasks, with "-" for each dot of the prefix. The queue
// creates it when it is missing. The subjects are <prefix>.tasks.<queue>.<task>,
// <prefix>.ended.<task> and <prefix>.emitted.<task>, with hashes of the names. A client needs the
// permission to publish and to subscribe to <prefix>.> and to the subjects of JetStream:
// $JS.API.>, $JS.ACK.> and its inboxes.
//
// The caller closes the connection of js. Connect with nats.MaxReconnects(-1), because the default
// gives up after two minutes.
func NewTaskQueue(js jetstream.JetStream, prefix string, opt TaskQueueOptions) *TaskQueue {
	opt.AckWait = cmp.Or(opt.AckWait, 5*time.Second)
	opt.Replicas = cmp.Or(opt.Replicas, 1)
	return &TaskQueue{js: js, prefix: prefix, opt: opt, held: make(chan struct{}, 1)}
}

// tasks returns the subject of the tasks of a queue, without the hash of a task.
func (q *TaskQueue) tasks(graph, queue string) string {
	return q.prefix + ".tasks." + carry.Hash(graph, queue)
}

// ended returns the subject on which the worker reports the end of the task with that hash.
func (q *TaskQueue) ended(key string) string { return q.prefix + ".ended." + key }

// emitted returns the subject of the values that the task with that hash emits.
func (q *TaskQueue) emitted(key string) string { return q.prefix + ".emitted." + key }

// Do implements graph.TaskQueue. It returns an error soon after the task has left the stream
// without a report of its worker, and if the server does not answer. If ctx ends, the task stays
// in the stream, because another process may wait for it.
func (q *TaskQueue) Do(ctx context.Context, t graph.QueuedTask) error {
	return q.DoEmitting(ctx, t, nil)
}

// DoEmitting implements graph.Relay. If more than 256 values wait for take, further ones are
// dropped.
func (q *TaskQueue) DoEmitting(ctx context.Context, t graph.QueuedTask, take func(value []byte)) error {
	err := ctx.Err()
	if err == nil {
		err = q.do(ctx, t, take)
	}
	if err != nil {
		return fmt.Errorf("nats: hand out a task: %w", err)
	}
	return nil
}

// Emit implements graph.Relay. It drops the value if the server is not connected.
func (q *TaskQueue) Emit(t graph.QueuedTask, value []byte) {
	if q.js.Conn().IsConnected() {
		_ = q.js.Conn().Publish(q.emitted(carry.Key(t)), value) // a value that is too large is dropped, too
	}
}

func (q *TaskQueue) do(ctx context.Context, t graph.QueuedTask, take func(value []byte)) error {
	b, err := carry.Encode(t)
	if err != nil {
		return err
	}
	key := carry.Key(t)
	ended, values := make(chan *nats.Msg, 8), make(chan *nats.Msg, waiting)
	sub, err := q.js.Conn().ChanSubscribe(q.ended(key), ended)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is closed
	if take != nil {
		sub, err := q.js.Conn().ChanSubscribe(q.emitted(key), values)
		if err != nil {
			return err
		}
		defer func() { _ = sub.Unsubscribe() }()
	}
	subject := q.tasks(t.Graph, t.Queue) + "." + key
	if err := q.publish(ctx, subject, b); err != nil {
		return err
	}
	err = q.wait(ctx, subject, ended, values, take)
	for len(values) > 0 { // those before the end
		take((<-values).Data)
	}
	return err
}

// wait returns nil when the worker of a task has reported its end.
func (q *TaskQueue) wait(ctx context.Context, subject string, ended, values <-chan *nats.Msg, take func(value []byte)) error {
	every := q.opt.AckWait + rand.N(q.opt.AckWait/4+1) // not all tasks together
	look := time.NewTimer(every)
	defer look.Stop()
	for {
		select {
		case <-ended:
			return nil
		case m := <-values:
			take(m.Data)
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			if err := q.look(ctx, subject); err != nil {
				return err
			}
			look.Reset(every)
		}
	}
}

// publish adds a task to the stream, unless the stream has it.
func (q *TaskQueue) publish(ctx context.Context, subject string, b []byte) error {
	for again := false; ; again = true {
		stream, err := q.open(ctx)
		if err != nil {
			return err
		}
		call, cancel := context.WithTimeout(ctx, timeout)
		_, err = q.js.Publish(call, subject, b, jetstream.WithRetryAttempts(0))
		cancel()
		var refused *jetstream.APIError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused) && refused.ErrorCode == storeFailed: // the subject is full
			return q.look(ctx, subject)
		}
		q.forget(ctx, stream)
		if again || !errors.Is(err, jetstream.ErrNoStreamResponse) {
			return err
		}
	}
}

// look returns an error if the stream does not have the task of a subject.
func (q *TaskQueue) look(ctx context.Context, subject string) error {
	stream, err := q.open(ctx)
	if err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err = stream.GetLastMsgForSubject(call, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return errMissing
	case err != nil:
		q.forget(ctx, stream)
	}
	return err
}

// open returns the stream. It creates the stream at the first call, and after forget.
func (q *TaskQueue) open(ctx context.Context) (jetstream.Stream, error) {
	if !q.js.Conn().IsConnected() {
		return nil, nats.ErrDisconnected // the client would keep the message
	}
	select {
	case q.held <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-q.held }()
	if q.stream != nil {
		return q.stream, nil
	}
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	config := q.config()
	stream, err := q.js.CreateStream(call, config)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // with other options, for example more replicas
		stream, err = q.js.Stream(call, config.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("create the stream %q: %w; the server needs JetStream, and the client the permissions of NewTaskQueue", config.Name, err)
	}
	q.stream = stream
	return stream, nil
}

// forget makes the next open create the stream, if the server does not have it any longer.
func (q *TaskQueue) forget(ctx context.Context, failed jetstream.Stream) {
	select {
	case q.held <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-q.held }()
	if q.stream == failed {
		q.stream = nil
	}
}

// config returns the configuration of the stream. A subject has at most one message. So the
// stream has a task once, however often Do is called. Message ids cannot replace that. The server
// keeps the id of a message that has left the stream. So it would drop the next hand-out of the
// task.
func (q *TaskQueue) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                 strings.ReplaceAll(q.prefix, ".", "-") + "-tasks",
		Description:          "tasks of graphgen without an outcome",
		Subjects:             []string{q.prefix + ".tasks.*.*"},
		Retention:            jetstream.WorkQueuePolicy,
		Storage:              jetstream.MemoryStorage,
		Replicas:             q.opt.Replicas,
		MaxAge:               keep,
		MaxMsgsPerSubject:    1,
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		AllowDirect:          true,
	}
}
