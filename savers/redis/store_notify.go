package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/store"
)

var _ store.Notifier = (*itemStore)(nil)

// Notify calls changed after writes in a namespace and those below it. It subscribes to a channel
// on a connection of its own, which the client opens again if it is lost.
func (t *itemStore) Notify(ctx context.Context, n store.Namespace, changed func()) (stop func(), err error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	sub := t.s.server.client.Subscribe(ctx, t.keys[changesChannel])
	if _, err := sub.Receive(ctx); err != nil {
		_ = sub.Close() // the first error says what was wrong
		return nil, t.wrap(ctx, "notify", fmt.Errorf("redis: notify: %w", err))
	}
	var done sync.WaitGroup
	watched := string(n.Append(nil))
	done.Go(func() {
		for message := range sub.Channel() {
			if message.Payload == "" || strings.HasPrefix(message.Payload, watched) {
				changed()
			}
		}
	})
	return func() {
		_ = sub.Close() // ends the channel
		done.Wait()
	}, nil
}
