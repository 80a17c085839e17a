package graphhttp

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
	replay   *replay[S]             // that, while it is being read
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
	defer s.leave()
	for err == nil {
		wake, turn := s.follower.wake, chan<- struct{}(nil)
		if s.behind {
			wake, turn = nil, s.hub.replays
		}
		select {
		case turn <- struct{}{}:
			err = s.catchUp(ctx)
		case <-wake:
			err = s.live()
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

// catchUp writes checkpoints that the client does not have, as many as a client's queue holds, and the end, when those were all and
// no run is under way. It is called with a turn of the Hub's, which it gives up before it writes: a client may be slow.
func (s *stream[S, U]) catchUp(ctx context.Context) error {
	out, err := s.stored(ctx)
	return errors.Join(s.send(out), err)
}

// stored returns what catchUp writes.
func (s *stream[S, U]) stored(ctx context.Context) (out []message, err error) {
	defer func() { <-s.hub.replays }()
	if s.replay == nil {
		if s.replay, err = s.missed(ctx); err != nil {
			return nil, err
		}
	}
	r := s.replay
	for size := 0; size < s.hub.opt.buffer; {
		snap, err, more := r.next()
		switch {
		case !more:
			s.leave()
			s.behind = false
			last, err := s.over(ctx, r)
			return append(out, last...), err
		case errors.Is(err, checkpoint.ErrNotFound) && !r.newest.IsZero():
			r.stop()
			s.newest(ctx, r)
			continue
		case err != nil:
			return out, err
		case snap.Checkpoint == s.after, snap.Next != nil && snap.Next[0] == graph.Start: // an input that is yet to be merged is no news
			continue
		}
		m := s.checkpoint(&snap)
		if m.broken {
			return append(out, broken...), errEnded
		}
		s.after, s.seen[m.id] = m.id, true
		out, size = append(out, m), size+m.size()
	}
	return out, nil
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

// replay is the checkpoints that a client is given from the store. Its state is kept between the pieces that are written.
type replay[S any] struct {
	running bool              // here, when it began
	head    checkpoint.Thread // likewise
	newest  checkpoint.ID     // the only one that is given when it is not known what the client has; then zero
	next    func() (graph.Snapshot[S], error, bool)
	stop    func()
}

// leave ends the replay.
func (s *stream[S, U]) leave() {
	if s.replay != nil {
		s.replay.stop()
		s.replay = nil
	}
}

// missed begins the replay of what the client does not have: of the newest checkpoint alone when it is not known what the client
// has, or too much is missing.
func (s *stream[S, U]) missed(ctx context.Context) (*replay[S], error) {
	r := &replay[S]{running: s.hub.running(s.thread)} // looked at before the store: its end is still to be told then
	s.seen = map[checkpoint.ID]bool{}
	first := s.from
	if !s.after.IsZero() {
		s.seen[s.after], first = true, s.after
	}
	t := s.hub.app.Thread(s.thread)
	var err error
	if r.head, err = t.Status(ctx); err != nil {
		return nil, err
	}
	if r.newest, err = s.hub.newest(ctx, s.thread); err != nil {
		return nil, err
	}
	switch {
	case r.newest == s.after:
		r.next, r.stop = func() (none graph.Snapshot[S], err error, more bool) { return none, nil, false }, func() {}
	case first.IsZero() || first == r.newest:
		s.newest(ctx, r)
	default:
		r.next, r.stop = iter.Pull2(t.At(first).Forward(ctx, s.hub.opt.replay+1))
	}
	return r, nil
}

// newest begins the replay of the newest checkpoint, and what comes after it meanwhile.
func (s *stream[S, U]) newest(ctx context.Context, r *replay[S]) {
	r.next, r.stop = iter.Pull2(s.hub.app.Thread(s.thread).At(r.newest).Forward(ctx, 0))
	r.newest = checkpoint.ID{}
}

// checkpoint returns a stored checkpoint as it is sent.
func (s *stream[S, U]) checkpoint(snap *graph.Snapshot[S]) message {
	e := graph.Event[S, U]{Kind: graph.EventCheckpoint, Step: snap.Step, Checkpoint: snap.Checkpoint, Next: snap.Next}
	if s.hub.opt.kinds&graph.EventValue != 0 {
		e.State = snap.State
	}
	return s.hub.message(s.thread, e, nil)
}

// over returns how the run ended after all that r has of it, or what it asks while it is in progress. When the thread has moved on
// meanwhile, that is to be read first.
func (s *stream[S, U]) over(ctx context.Context, r *replay[S]) ([]message, error) {
	goesOn := r.head.Status == checkpoint.Running
	if goesOn && len(r.head.Questions) == 0 || !goesOn && r.running {
		return nil, nil
	}
	head, err := s.hub.app.Thread(s.thread).State(ctx)
	switch {
	case err != nil:
		return nil, err
	case goesOn:
		out := s.questions(head)
		if slices.ContainsFunc(out, func(m message) bool { return m.broken }) {
			return broken, errEnded
		}
		return out, nil
	case head.Checkpoint != r.head.Head || head.Status == checkpoint.Running:
		s.behind = true
		return nil, nil
	}
	return s.end(head), errEnded
}

// end returns what a thread that nobody runs waits for, and how its run ended.
func (s *stream[S, U]) end(head graph.Snapshot[S]) []message {
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
	return out
}
