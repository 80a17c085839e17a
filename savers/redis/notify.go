package redis

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/graphgen-go/graphgen/savers/rows"
)

var _ rows.Notifier = (*rowStore)(nil)

// changes returns the channel of notifications.
func (s *rowStore) changes() string { return s.items + ":changes" }

// publishes adds a notification of a change of items. It says what all their keys begin with, up
// to 00 00, or nothing if that differs.
func (s *rowStore) publishes(r *request, c *rows.Change) {
	var common []byte
	n := 0
	for i := range c.Puts {
		if p := &c.Puts[i]; p.Table == rows.Items {
			namespace, _, _ := bytes.Cut(p.Bytes, []byte{0, 0})
			if n++; n > 1 && !bytes.Equal(namespace, common) {
				namespace = nil
			}
			common = namespace
		}
	}
	if n == 0 {
		r.add(0)
		return
	}
	r.add(1, s.changes(), common)
}

// Notify calls changed after changes of items whose keys begin with a prefix. It subscribes to a
// channel on a connection of its own, which the client opens again if it is lost.
func (s *rowStore) Notify(ctx context.Context, prefix []byte, changed func()) (stop func(), err error) {
	sub := s.client.Subscribe(ctx, s.changes())
	if _, err := sub.Receive(ctx); err != nil {
		_ = sub.Close() // the first error says what was wrong
		return nil, fmt.Errorf("notify: %w", err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for message := range sub.Channel() {
			if message.Payload == "" || bytes.HasPrefix([]byte(message.Payload), prefix) {
				changed()
			}
		}
	})
	return func() {
		_ = sub.Close() // ends the channel
		done.Wait()
	}, nil
}
