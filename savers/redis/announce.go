package redis

import (
	"context"
	"errors"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// announced is a call of a script on a thread that the index must know of first, because the
// thread may become due. The script answers "announce" and the queue of the thread if the index
// does not have that wake, and changes nothing.
type announced struct {
	s      *Saver
	thread string
	sets   []string // of the index, which the thread joins
	fresh  bool     // the call can create the thread
	script *goredis.Script
	args   []any
	notice int // which of args says what the index knows
	stamp  int // which of args is the stamp

	queue string // whose wakes the index knows
	wake  string // as index.lua has it; "" tells the index nothing
	id    checkpoint.ID
	over  []listed // threads that may leave the index
}

// maxAnnounced is how often a call is repeated because the queue of its thread was another.
const maxAnnounced = 10

var errQueues = errors.New("the graph or the priority of the thread changes all the time; try again")

// tell makes the call tell the index a wake of the thread, as index.lua has it; "" is now.
func (c *announced) tell(queue, wake string) {
	c.queue, c.wake, c.args[c.notice] = queue, wake, "w="+queue
	if wake == "" {
		c.wake, c.args[c.notice] = "at1", "n="+queue
	}
}

// silent makes the call tell the index nothing.
func (c *announced) silent() { c.wake, c.args[c.notice] = "", "" }

func (c *announced) newStamp() (err error) {
	c.id, err = checkpoint.NewID()
	c.args[c.stamp] = c.id[:]
	return err
}

func (c *announced) keys() []string { return []string{c.s.key(c.thread)} }

// indexKeys and indexArgs are those of index.lua.
func (c *announced) indexKeys() []string {
	return c.s.indexKeys(append(slices.Clone(c.sets), c.s.wakes(c.queue))...)
}

func (c *announced) indexArgs() []any { return indexArgs(c.thread, c.id, c.wake, c.fresh, c.over) }

// announce makes a call, and repeats it if the wake was not announced.
func (s *Saver) announce(ctx context.Context, what string, c *announced) (*reply, error) {
	for range maxAnnounced {
		if c.wake != "" && c.id.IsZero() {
			if err := c.newStamp(); err != nil {
				return nil, err
			}
		}
		r, err := s.asked(ctx, what, func(ctx context.Context) (*reply, error) {
			if c.wake == "" {
				return s.run(ctx, c.script, c.keys(), c.args...)
			}
			return s.both(ctx, c.indexKeys(), c.indexArgs(), c.args, c.script, s.key(c.thread))
		})
		if err != nil || !r.announce() {
			return r, err
		}
		c.tell(r.text(), "")
	}
	return nil, errQueues
}

// announce reports whether the script demands an announcement.
func (r *reply) announce() bool {
	if outcome, _ := r.peek().(string); outcome != "announce" {
		return false
	}
	r.text()
	return true
}

// announceAll makes many calls of one script together. On a single server it is one round trip.
//
// The index is notified a second time after each call. A caller of Ready may have looked at the
// thread before it was due. If a further call came then, that caller removed the entry. On a
// cluster, only the threads that became due are announced a second time.
func (s *Saver) announceAll(ctx context.Context, calls []announced) ([]*reply, error) {
	if single, ok := s.client.(*goredis.Client); ok {
		return s.announceTogether(ctx, single, calls)
	}
	if err := s.tellAll(ctx, calls, nil); err != nil {
		return nil, err
	}
	replies, err := s.pipelined(ctx, s.client.Pipeline(), calls)
	if err != nil {
		return nil, err
	}
	return replies, s.tellAll(ctx, calls, replies)
}

// tellAll tells the index of all calls, or of those whose thread became due.
func (s *Saver) tellAll(ctx context.Context, calls []announced, replies []*reply) error {
	pipe := s.client.Pipeline()
	var commands []*goredis.Cmd
	for i := range calls {
		if replies == nil || replies[i].due() {
			commands = append(commands, pipe.EvalSha(ctx, s.script.index.Hash(), calls[i].indexKeys(), calls[i].indexArgs()...))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	_, err := pipe.Exec(ctx)
	if err == nil || !eachOwn(commands) {
		return err
	}
	for i := range calls {
		if replies == nil || replies[i].due() {
			if _, err := s.run(ctx, s.script.index, calls[i].indexKeys(), calls[i].indexArgs()...); err != nil {
				return err
			}
		}
	}
	return nil
}

// due reports whether post.lua answered that the thread became due.
func (r *reply) due() bool {
	if r.err != nil || len(r.values) < 2 {
		return false
	}
	due, _ := r.values[1].(string)
	outcome, _ := r.values[0].(string)
	return outcome == "ok" && due == "1"
}

// announceTogether makes the calls on a single server, in one round trip.
func (s *Saver) announceTogether(ctx context.Context, single *goredis.Client, calls []announced) ([]*reply, error) {
	pipe := single.Pipeline()
	notices, commands := make([]*goredis.Cmd, 0, 2*len(calls)), make([]*goredis.Cmd, len(calls))
	tell := func(c *announced) {
		notices = append(notices, pipe.EvalSha(ctx, s.script.index.Hash(), c.indexKeys(), c.indexArgs()...))
	}
	for i := range calls {
		tell(&calls[i])
		commands[i] = pipe.EvalSha(ctx, calls[i].script.Hash(), calls[i].keys(), calls[i].args...)
		tell(&calls[i])
	}
	_, err := pipe.Exec(ctx)
	if err != nil && (!eachOwn(notices) || !eachOwn(commands)) {
		return nil, s.sizedAny(ctx, err, calls)
	}
	for _, c := range notices {
		if c.Err() != nil { // the server does not have the script of the index
			if err := s.tellAll(ctx, calls, nil); err != nil {
				return nil, err
			}
			return s.pipelined(ctx, single.Pipeline(), calls)
		}
	}
	return s.replies(ctx, commands, calls)
}

// pipelined makes the calls on the threads, which the index knows of.
func (s *Saver) pipelined(ctx context.Context, pipe goredis.Pipeliner, calls []announced) ([]*reply, error) {
	commands := make([]*goredis.Cmd, len(calls))
	for i := range calls {
		commands[i] = pipe.EvalSha(ctx, calls[i].script.Hash(), calls[i].keys(), calls[i].args...)
	}
	if _, err := pipe.Exec(ctx); err != nil && !eachOwn(commands) {
		return nil, s.sizedAny(ctx, err, calls)
	}
	return s.replies(ctx, commands, calls)
}

// replies returns the answers, and sends a script that the server did not have.
func (s *Saver) replies(ctx context.Context, commands []*goredis.Cmd, calls []announced) ([]*reply, error) {
	replies := make([]*reply, len(calls))
	for i, c := range commands {
		values, err := c.Slice()
		if goredis.HasErrorPrefix(err, "NOSCRIPT") {
			values, err = calls[i].script.Run(ctx, s.client, calls[i].keys(), calls[i].args...).Slice()
		}
		replies[i] = &reply{values: values, err: damage(err)}
		if err != nil && replies[i].err == nil {
			return nil, err
		}
	}
	return replies, nil
}
