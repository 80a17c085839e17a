package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Engine is a worker.Engine by publish and subscribe. NewEngine makes it. An Engine is safe for
// concurrent use.
type Engine struct {
	client  goredis.UniversalClient
	prefix  string
	sharded bool
}

// The times after which a listener checks its connection, and for which it waits for the answer.
const (
	engineIdle  = 30 * time.Second
	engineLimit = 10 * time.Second
)

// NewEngine returns an engine on the server of client. Processes share hints if they use the same
// server and prefix, such as "graphgen:". The threads can be in any saver. The server stores
// nothing, so its durability does not matter.
//
// On a cluster, hints stay in the shard of the prefix. That needs Redis 7. Each Listen takes a
// connection of its own.
func NewEngine(client goredis.UniversalClient, prefix string) *Engine {
	_, cluster := client.(*goredis.ClusterClient)
	return &Engine{client: client, prefix: prefix, sharded: cluster}
}

// channel returns the channel of a graph. The channels of an engine are in one slot of a cluster,
// so that one connection can subscribe to them all.
func (e *Engine) channel(graph string) string { return "{" + e.prefix + "hints}:" + graph }

// Wake sends a hint, as worker.Engine says.
func (e *Engine) Wake(ctx context.Context, graph, thread string) error {
	publish := e.client.Publish
	if e.sharded {
		publish = e.client.SPublish
	}
	if err := publish(ctx, e.channel(graph), thread).Err(); err != nil {
		return fmt.Errorf("redis: publish a hint: %w", err)
	}
	return nil
}

// Listen calls hint for the hints of graphs, as worker.Engine says. It returns an error if the
// connection is lost, or if the shard has moved.
func (e *Engine) Listen(ctx context.Context, graphs []string, hint func(graph, thread string)) error {
	names, channels := make(map[string]string, len(graphs)), make([]string, len(graphs))
	for i, graph := range graphs {
		channels[i] = e.channel(graph)
		names[channels[i]] = graph
	}
	err := ctx.Err()
	if err == nil {
		err = e.listen(ctx, channels, names, hint)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	} else if c, ok := e.client.(*goredis.ClusterClient); ok {
		c.ReloadState(ctx) // the shard may have moved
	}
	return fmt.Errorf("redis: listen: %w", err)
}

// listen listens until an error.
func (e *Engine) listen(ctx context.Context, channels []string, names map[string]string, hint func(graph, thread string)) error {
	subscribe := e.client.Subscribe
	if e.sharded {
		subscribe = e.client.SSubscribe
	}
	sub := subscribe(ctx, channels...)
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() }) // the client does not look at ctx while it reads
	defer func() {
		stop()
		_ = sub.Close() // an error of reading says what was wrong
	}()
	asked := true // an answer is in progress
	for left := len(names); ; {
		limit := engineIdle
		if asked {
			limit = engineLimit
		}
		got, err := sub.ReceiveTimeout(ctx, limit)
		var network net.Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !asked && errors.As(err, &network) && network.Timeout():
			asked = true
			if err := sub.Ping(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		switch got := got.(type) {
		case *goredis.Message:
			hint(names[got.Channel], got.Payload)
		case *goredis.Pong:
			asked = false
		case *goredis.Subscription:
			if got.Kind != "subscribe" && got.Kind != "ssubscribe" {
				return fmt.Errorf("the server ended the subscription of %q", got.Channel)
			}
			if left--; left == 0 {
				asked = false
				hint("", "")
			}
		}
	}
}
