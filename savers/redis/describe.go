package redis

import (
	"context"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// describeAll reads the threads of a page in one round trip.
func (s *Saver) describeAll(ctx context.Context, page []candidate) error {
	if len(page) == 0 {
		return nil
	}
	keys := make([]string, len(page))
	for i := range page {
		keys[i] = s.key(page[i].ID)
	}
	replies, err := s.all(ctx, "threads", s.script.describe, keys)
	if err != nil {
		return err
	}
	for i, r := range replies {
		c := &page[i]
		id := c.ID
		switch r.text() {
		case "ok":
			c.described, c.open = r.thread(id), true
		case "none":
			c.described = r.thread(id)
			if c.Status = checkpoint.Ready; c.Updated.IsZero() {
				c.Updated = c.Created
			}
		}
		if r.err != nil {
			c.ID, c.damage = id, fmt.Errorf("redis: threads: thread %q: %w", short(id), r.err)
		}
	}
	return nil
}

// runAll runs a script on many keys, sent together.
func (s *Saver) runAll(ctx context.Context, script *goredis.Script, keys []string) ([]*reply, error) {
	pipe := s.client.Pipeline()
	commands := make([]*goredis.Cmd, len(keys))
	for i, key := range keys {
		commands[i] = pipe.EvalSha(ctx, script.Hash(), []string{key})
	}
	_, err := pipe.Exec(ctx)
	if err != nil && !eachOwn(commands) {
		return nil, err
	}
	replies := make([]*reply, len(keys))
	for i, c := range commands {
		values, err := c.Slice()
		if goredis.HasErrorPrefix(err, "NOSCRIPT") {
			values, err = script.Run(ctx, s.client, keys[i:i+1]).Slice()
		}
		replies[i] = &reply{values: values, err: damage(err)}
		if err != nil && replies[i].err == nil {
			return nil, err
		}
	}
	return replies, nil
}

// eachOwn reports whether each command failed for a reason of its own: the server did not have
// the script, or the data is damaged.
func eachOwn(commands []*goredis.Cmd) bool {
	for _, c := range commands {
		if err := c.Err(); err != nil && !goredis.HasErrorPrefix(err, "NOSCRIPT") && damage(err) == nil {
			return false
		}
	}
	return true
}

// damage returns an error that is ErrDamaged, or nil if err is of another kind.
func damage(err error) error {
	if err == nil {
		return nil
	}
	if err = damaged(err); errors.Is(err, checkpoint.ErrDamaged) {
		return err
	}
	return nil
}
