// Package nats (experimental) carries the hints of workers over NATS.
//
//	conn, err := nats.Connect("nats://localhost:4222", nats.MaxReconnects(-1)) // github.com/nats-io/nats.go
//	engine := graphgennats.NewEngine(conn, "graphgen")
//	saver := worker.Announce(db, engine, nil)
//	w := worker.New(saver, worker.Options{Engine: engine}, apps...)
//
// Threads stay in the saver. A hint is a plain message without JetStream: the server stores
// nothing, and sends each hint to all workers that are connected. So no setting of the server's
// storage matters, nothing has to be acknowledged, and a hint cannot be stuck. A worker that
// connects, or connects again, looks for the threads whose hints it has missed.
package nats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Engine is a worker.Engine over NATS. NewEngine makes it. An Engine is safe for concurrent use.
type Engine struct {
	conn   *nats.Conn
	prefix string
}

// The limits of an Engine.
const (
	timeout  = 2 * time.Second // of an answer of the server
	buffered = 1024            // messages of a listener that wait; further ones are lost
)

// NewEngine returns an engine on conn. Processes share hints if they use the same server, account
// and prefix. The subjects are prefix.hints.<hash of the name of a graph>. A client needs the
// permission to publish and to subscribe to prefix.hints.*.
//
// The caller closes conn. Connect with nats.MaxReconnects(-1), because the default gives up after
// two minutes. After that, the worker reports each attempt to listen as EventEngineFailed, and
// polls.
func NewEngine(conn *nats.Conn, prefix string) *Engine { return &Engine{conn, prefix} }

// subject returns the subject of a graph. It is a hash, because names may have any bytes.
func (e *Engine) subject(graph string) string {
	sum := sha256.Sum256([]byte(graph))
	return e.prefix + ".hints." + hex.EncodeToString(sum[:16])
}

// Wake sends a hint, as worker.Engine says. It waits up to two seconds until the server has it. A
// thread id that exceeds the maximum payload of the server is left out.
func (e *Engine) Wake(ctx context.Context, graph, thread string) error {
	if int64(len(thread)) > e.conn.MaxPayload() {
		thread = ""
	}
	err := ctx.Err()
	if err == nil && !e.conn.IsConnected() {
		err = nats.ErrDisconnected // the client would keep the hint
	}
	if err == nil {
		err = e.conn.Publish(e.subject(graph), []byte(thread))
	}
	if err == nil {
		err = e.flush(ctx)
	}
	if err != nil {
		return fmt.Errorf("nats: publish a hint: %w", err)
	}
	return nil
}

// flush waits until the server has processed what was sent.
func (e *Engine) flush(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return e.conn.FlushWithContext(call)
}

// Listen calls hint for the hints of graphs, as worker.Engine says. The client of NATS connects
// again by itself; Listen returns an error if the client gives up.
func (e *Engine) Listen(ctx context.Context, graphs []string, hint func(graph, thread string)) error {
	err := ctx.Err()
	if err == nil {
		err = e.listen(ctx, graphs, hint)
	}
	return fmt.Errorf("nats: listen: %w", err)
}

func (e *Engine) listen(ctx context.Context, graphs []string, hint func(graph, thread string)) error {
	changes := e.conn.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer e.conn.RemoveStatusListener(changes)
	messages, names := make(chan *nats.Msg, buffered), make(map[string]string, len(graphs))
	for _, graph := range graphs {
		names[e.subject(graph)] = graph
		sub, err := e.conn.ChanSubscribe(e.subject(graph), messages)
		if err != nil {
			return err
		}
		defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is closed
	}
	if err := e.begin(ctx, hint); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-messages:
			hint(names[m.Subject], string(m.Data))
		case status := <-changes:
			if status == nats.CLOSED {
				return nats.ErrConnectionClosed
			}
			if err := e.begin(ctx, hint); err != nil {
				return err
			}
		}
	}
}

// begin calls hint when the server knows the subscriptions. The client subscribes again before it
// reports that it is connected. If the connection is lost meanwhile, another report follows.
func (e *Engine) begin(ctx context.Context, hint func(graph, thread string)) error {
	err := e.flush(ctx)
	if err == nil {
		hint("", "")
	}
	if e.conn.IsReconnecting() && ctx.Err() == nil {
		return nil
	}
	return err
}
