package graphhttp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// stream is one client that follows a thread.
type stream[S, U any] struct {
	hub      *Hub[S, U]
	thread   string
	follower *follower
	out      *writer
	after    checkpoint.ID          // the newest checkpoint that the client has; zero for none
	from     checkpoint.ID          // the first that it is to have, when it has none
	behind   bool                   // what comes next is to be read from the store
	seen     map[checkpoint.ID]bool // what was read from the store the last time
	asked    map[string]bool        // the questions that the client has, by id
}

// errEnded: the stream has told the end. It never leaves the package.
var errEnded = errors.New("ended")

// follow writes events until the run ends, the client leaves or the Hub closes.
func (s *stream[S, U]) follow(ctx context.Context) {
	err := s.out.begin()
	heartbeat := time.NewTicker(s.hub.opt.heartbeat)
	defer heartbeat.Stop()
	poll := time.NewTicker(s.hub.opt.poll)
	defer poll.Stop()
	for err == nil {
		if s.behind {
			if err = s.catchUp(ctx); err != nil {
				break
			}
		}
		select {
		case <-s.follower.wake:
			err = s.live()
		case <-poll.C:
			s.behind = !s.hub.running(s.thread)
			continue
		case <-heartbeat.C:
			err = s.out.comment()
		case <-ctx.Done():
			return
		case <-s.hub.closing:
			return
		}
	}
	if errors.Is(err, errEnded) || ctx.Err() != nil {
		return
	}
	if gone := (*goneError)(nil); !errors.As(err, &gone) {
		s.hub.opt.report(s.thread, fmt.Errorf("graphhttp: thread %q: stream: %w", s.thread, err))
		_ = s.out.send(broken) // the stream ends either way
	}
}

// broken tells a client that the stream ends for a reason that is not the run's. It will connect again.
var broken = []message{{broken: true, Message: Message{Name: "broken", Data: []byte("the stream broke off; connect again")}}}

// live writes what the run told.
func (s *stream[S, U]) live() error {
	queue, behind, from := s.hub.take(s.follower)
	if s.behind = behind; behind && !from.IsZero() {
		s.from = from
	}
	// What was told before a checkpoint that the store has already given is of the past.
	for i, m := range slices.Backward(queue) {
		if s.seen[m.id] {
			queue = queue[i+1:]
			break
		}
	}
	for i, m := range queue {
		switch {
		case m.broken:
			return errors.Join(s.send(queue[:i]), s.out.send(broken), errEnded)
		case m.end:
			return errors.Join(s.send(queue[:i+1]), errEnded)
		case !m.id.IsZero():
			s.after = m.id
		}
	}
	return s.send(queue)
}

// send writes messages, of questions those that the client does not have.
func (s *stream[S, U]) send(ms []message) error {
	if !slices.ContainsFunc(ms, func(m message) bool { return m.asks != "" }) {
		return s.out.send(ms)
	}
	if s.asked == nil {
		s.asked = make(map[string]bool)
	}
	return s.out.send(slices.DeleteFunc(slices.Clone(ms), func(m message) bool {
		has := s.asked[m.asks]
		if m.asks != "" {
			s.asked[m.asks] = true
		}
		return has
	}))
}

// catchUp writes the checkpoints that the client does not have, and what the run under way asks, or the end if there is none.
func (s *stream[S, U]) catchUp(ctx context.Context) error {
	s.behind = false
	running := s.hub.running(s.thread) // looked at before the store: its end is still to be told then
	t := s.hub.app.Thread(s.thread)
	head, err := t.State(ctx)
	if err != nil {
		return err
	}
	ids, err := s.missed(ctx)
	if err != nil {
		return err
	}
	for len(ids) > 0 {
		n := min(len(ids), page)
		if err := s.replay(ctx, ids[len(ids)-n:]); err != nil {
			return err
		}
		ids = ids[:len(ids)-n]
	}
	if head.Status == checkpoint.Running {
		out := s.questions(head)
		if slices.ContainsFunc(out, func(m message) bool { return m.broken }) {
			return errors.Join(s.out.send(broken), errEnded)
		}
		return s.send(out)
	}
	if running {
		return nil
	}
	return s.end(head)
}

// page is how many states are in memory at once while missed checkpoints are read.
const page = 16

// missed returns the checkpoints that the client does not have, newest first: the newest alone when it is not known what
// the client has, or too much is missing.
func (s *stream[S, U]) missed(ctx context.Context) ([]checkpoint.ID, error) {
	var ids []checkpoint.ID
	s.seen = map[checkpoint.ID]bool{}
	if !s.after.IsZero() {
		s.seen[s.after] = true
	}
	known := false
	for snap, err := range s.hub.app.Thread(s.thread).History(ctx, checkpoint.Query{Limit: s.hub.opt.replay + 1}) {
		if err != nil {
			return nil, err
		}
		if known = snap.Checkpoint == s.after; known {
			break
		}
		known = s.after.IsZero() && snap.Checkpoint == s.from
		if snap.Next == nil || snap.Next[0] != graph.Start { // an input that is yet to be merged is no news
			ids = append(ids, snap.Checkpoint)
			s.seen[snap.Checkpoint] = true
		}
		if known {
			break
		}
	}
	if !known && len(ids) > 1 {
		ids = ids[:1]
	}
	return ids, nil
}

// replay writes stored checkpoints, given newest first and following each other.
func (s *stream[S, U]) replay(ctx context.Context, ids []checkpoint.ID) error {
	t := s.hub.app.Thread(s.thread)
	newest, err := t.At(ids[0]).State(ctx)
	if err != nil {
		return err
	}
	snaps := []graph.Snapshot[S]{newest}
	if len(ids) > 1 {
		for snap, err := range t.History(ctx, checkpoint.Query{Before: ids[0]}) {
			if err != nil {
				return err
			}
			if snap.Checkpoint == ids[len(snaps)] {
				snaps = append(snaps, snap)
			}
			if len(snaps) == len(ids) {
				break
			}
		}
	}
	out := make([]message, 0, len(snaps))
	for _, snap := range slices.Backward(snaps) {
		e := graph.Event[S, U]{Kind: graph.EventCheckpoint, Step: snap.Step, Checkpoint: snap.Checkpoint, Next: snap.Next}
		if s.hub.opt.kinds&graph.EventValue != 0 {
			e.State = snap.State
		}
		m := s.hub.message(s.thread, e, nil)
		if m.broken {
			return errors.Join(s.out.send(out), s.out.send(broken), errEnded)
		}
		out = append(out, m)
		s.after = m.id
	}
	return s.out.send(out)
}

// questions are the messages of what a thread waits for.
func (s *stream[S, U]) questions(head graph.Snapshot[S]) []message {
	var out []message
	for _, w := range head.Waiting {
		out = append(out, s.hub.message(s.thread, graph.Event[S, U]{
			Kind: graph.EventQuestion, Step: head.Step + 1, Checkpoint: head.Checkpoint, Node: w.Node, Index: w.Index, Question: &w,
		}, nil))
	}
	return out
}

// end tells what a thread that nobody runs waits for, and how its run ended.
func (s *stream[S, U]) end(head graph.Snapshot[S]) error {
	res := graph.Result[S]{State: head.State, Waiting: head.Waiting, Next: head.Next, Checkpoint: head.Checkpoint, Status: graph.Paused}
	var failed error
	switch head.Status {
	case checkpoint.Done:
		res.Status = graph.Finished
	case checkpoint.Waiting:
		res.Status = graph.Asked
	case checkpoint.Failed:
		failed = fmt.Errorf("graphhttp: thread %q: %w", s.thread, ErrFailed)
		for _, t := range head.Tasks {
			if t.Failure != "" {
				failed = fmt.Errorf("%w: node %q: %s", failed, string(t.Node), t.Failure)
			}
		}
	}
	out := append(s.questions(head), s.hub.message(s.thread, graph.Event[S, U]{Kind: graph.EventEnd, Result: &res}, failed))
	if i := slices.IndexFunc(out, func(m message) bool { return m.broken }); i >= 0 {
		out = append(out[:i], broken...)
	}
	return errors.Join(s.send(out), errEnded)
}
