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

// stream sends the events of a thread to one client.
type stream[S, U any] struct {
	hub      *Hub[S, U]
	thread   string
	follower *follower
	out      *writer
	after    checkpoint.ID          // the newest checkpoint that the client has; zero for none
	seq      uint64                 // the newest message of a run that the client has; 0 for none
	from     checkpoint.ID          // the first checkpoint to send if the client has none
	behind   bool                   // read the next messages from the store
	replay   *replay[S]             // the replay in progress
	seen     map[checkpoint.ID]bool // the checkpoints of the last replay
	asked    map[string]bool        // the questions that the client has, by id
}

// errEnded means that the stream has sent the EventRunEnded. It never leaves the package.
var errEnded = errors.New("ended")

// follow writes events until the run ends, the client disconnects or the Hub closes.
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

// broken ends a stream for a reason other than the end of the run. The client reconnects.
var broken = []message{{broken: true, Message: Message{Name: "broken", Data: []byte("the stream broke off; connect again")}}}

// live writes the messages in the queue.
func (s *stream[S, U]) live() error {
	queue, behind, from := s.hub.take(s.follower)
	if s.behind = behind; behind && !from.IsZero() {
		s.from = from
	}
	// Skip messages that precede a checkpoint which the client already has from the store.
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
		}
	}
	return s.send(queue)
}

// send writes messages, and notes which ones the client has then. It skips questions that the
// client already has.
func (s *stream[S, U]) send(ms []message) error {
	for i := range ms {
		m := &ms[i]
		s.seq = max(s.seq, m.seq)
		switch {
		case !m.id.IsZero():
			s.after = m.id
		case m.custom:
			m.at = eventID(s.after, s.hub.name, m.seq)
		}
	}
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

// catchUp writes checkpoints that the client lacks, as many as a client's queue holds. After the
// last one it writes the end, unless a run is in progress. The caller must hold a replay slot of
// the Hub. catchUp releases the slot before it writes, because a client may be slow.
func (s *stream[S, U]) catchUp(ctx context.Context) error {
	out, err := s.toCatchUp(ctx)
	return errors.Join(s.send(out), err)
}

// toCatchUp returns the messages that catchUp writes.
func (s *stream[S, U]) toCatchUp(ctx context.Context) (out []message, err error) {
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
			if err == nil && !s.behind {
				last = append(last, s.hub.kept(s.thread, s.follower, s.seq)...)
			}
			return append(out, last...), err
		case errors.Is(err, checkpoint.ErrNotFound) && !r.newest.IsZero():
			r.stop()
			s.newest(ctx, r)
			continue
		case err != nil:
			return out, err
		case snap.Checkpoint == s.after, snap.Next != nil && snap.Next[0] == graph.Start: // skip an input that has not been merged
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

// questions returns messages for the pending questions of a thread.
func (s *stream[S, U]) questions(head graph.Snapshot[S]) []message {
	var out []message
	for _, w := range head.Questions {
		out = append(out, s.hub.message(s.thread, graph.Event[S, U]{RunEvent: graph.RunEvent{
			Kind: graph.EventQuestion, Thread: s.thread, Step: head.Step + 1, Checkpoint: head.Checkpoint, Node: w.Node, Index: w.Index,
		}, Question: w}, nil))
	}
	return out
}

// replay is the sequence of checkpoints that a client reads from the store. Its state is kept
// between writes.
type replay[S any] struct {
	running bool              // a run was in progress here when the replay began
	head    checkpoint.Thread // the head when the replay began
	newest  checkpoint.ID     // the only checkpoint sent if the client's checkpoint is unknown; zero once sent
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

// missed begins the replay of the checkpoints that the client lacks. It replays only the newest
// checkpoint if the client's checkpoint is unknown or if the client lacks too many.
func (s *stream[S, U]) missed(ctx context.Context) (*replay[S], error) {
	r := &replay[S]{running: s.hub.running(s.thread)} // read before the store, because a run that ends meanwhile publishes its end
	s.seen = map[checkpoint.ID]bool{}
	first := s.from
	if !s.after.IsZero() {
		s.seen[s.after], first = true, s.after
	}
	t := s.hub.app.Thread(s.thread)
	var err error
	if r.head, err = t.Describe(ctx); err != nil {
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
		r.next, r.stop = iter.Pull2(t.At(first).HistoryForward(ctx, s.hub.opt.replay+1))
	}
	return r, nil
}

// newest begins the replay of the newest checkpoint and all later ones.
func (s *stream[S, U]) newest(ctx context.Context, r *replay[S]) {
	r.next, r.stop = iter.Pull2(s.hub.app.Thread(s.thread).At(r.newest).HistoryForward(ctx, 0))
	r.newest = checkpoint.ID{}
}

// checkpoint returns the message for a stored checkpoint.
func (s *stream[S, U]) checkpoint(snap *graph.Snapshot[S]) message {
	e := graph.Event[S, U]{RunEvent: graph.RunEvent{
		Kind: graph.EventCheckpoint, Thread: s.thread, Step: snap.Step, Checkpoint: snap.Checkpoint, Next: snap.Next,
	}}
	if s.hub.opt.kinds&graph.EventState != 0 {
		e.State = snap.State
	}
	return s.hub.message(s.thread, e, nil)
}

// over returns the end of the run after the last checkpoint of r, or the pending questions of a
// run in progress. If the thread has changed meanwhile, it returns nothing, and the new
// checkpoints must be read first.
func (s *stream[S, U]) over(ctx context.Context, r *replay[S]) ([]message, error) {
	goesOn := r.head.Status == checkpoint.Running
	if r.head.Version == 0 {
		return nil, nil // a worker has not begun the first input yet
	}
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

// end returns the pending questions and the EventRunEnded of a thread without a run.
func (s *stream[S, U]) end(head graph.Snapshot[S]) []message {
	res := graph.Result[S]{State: head.State, Questions: head.Questions, Next: head.Next, Checkpoint: head.Checkpoint, Status: head.Status}
	var failed error
	if head.Status == graph.Failed {
		failed = &graph.FailedError{Graph: s.hub.app.Describe().Graph, Thread: s.thread, Reason: head.Reason}
	}
	out := append(s.questions(head), s.hub.message(s.thread, graph.Event[S, U]{
		RunEvent: graph.RunEvent{Kind: graph.EventRunEnded, Thread: s.thread, Status: head.Status}, Result: &res,
	}, failed))
	if i := slices.IndexFunc(out, func(m message) bool { return m.broken }); i >= 0 {
		out = append(out[:i], broken...)
	}
	return out
}
