package graph

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/live"
)

// A run with input that ends as Done leaves the head of its thread in memory. The next input then
// needs no Load.
//
// User code can keep references to data of a run: the Result, or an update that a node returned.
// So the kept state is decoded from the stored bytes, and each run gets a deep copy. SharedState
// keeps the state of the run instead.

// newTail returns the Tail of a run whose head may be kept. It returns nil if the graph keeps no
// heads.
func (g *core) newTail() *journal.Tail {
	switch {
	case g.heads.most == 0 || g.opt.releaseOnDone:
		return nil
	case g.opt.sharedState:
		return &journal.Tail{}
	}
	return &journal.Tail{Most: g.heads.most / share}
}

// hot returns the kept head for a call with input; nil for none.
func (t threadCore) hot(o runOptions) *head {
	if !t.at.IsZero() || !o.ifHead.IsZero() || o.timeout > 0 {
		return nil
	}
	return t.g.heads.take(t.id, func(h *head) bool {
		// Storage decides whether the request is repeated, and which inputs wait.
		return (o.request == "" || o.request != h.request) && h.waits == journal.NoInputs
	})
}

// standing is the position of a finished thread at a kept head.
type standing struct {
	last    checkpoint.Record // without its payload
	chained int
	thread  checkpoint.Thread
}

// stands returns the position of a thread if storage still has the kept head, and makes s a copy
// of its state. It returns nil if the thread must be loaded.
func (t threadCore) stands(ctx context.Context, s typedState) (*standing, error) {
	if !t.at.IsZero() || t.version != 0 || t.inside != nil {
		return nil, nil
	}
	id := t.g.heads.id(t.id)
	if id.IsZero() {
		return nil, nil
	}
	c, err := loadChain(ctx, t.g, t.saver(), checkpoint.Ref{Thread: t.id, Namespace: checkpoint.NoCall})
	if err != nil {
		return nil, err
	}
	h := t.g.heads.take(t.id, func(h *head) bool { return h.tail.Last.ID == id })
	if h == nil || c.Thread.Head != id {
		return nil, nil // another call uses or has changed the thread, so the kept head is stale
	}
	if err := s.copyHead(h); err != nil {
		return nil, nil //nolint:nilerr // the load that follows returns the error
	}
	t.g.heads.giveBack(h)
	return &standing{last: h.tail.Last, chained: h.chained, thread: c.Thread}, nil
}

// resumeHot resumes a finished thread with a kept head: nothing runs. It reports whether there was
// one.
func (t threadCore) resumeHot(r *opener) (done bool, err error) {
	if r.edited || len(r.run.opt.answers)+len(r.run.opt.rerun) > 0 {
		return false, nil
	}
	s, err := t.stands(r.run.ctx, r.run.state)
	if err != nil || s == nil || !r.run.opt.ifHead.IsZero() && r.run.opt.ifHead != s.last.ID {
		return false, err
	}
	r.run.log.Head, r.run.status = s.last.ID, checkpoint.Done
	r.run.stand(&s.last, s.chained)
	return true, nil
}

// openHot opens the thread with input on a kept head. It loads nothing.
func (r *opener) openHot(h *head) error {
	if err := r.run.state.takeHead(h); err != nil {
		return err
	}
	label(r, h.labels)
	r.run.log.See(h.seen, h.waits)
	last := &h.tail.Last
	r.known, r.birth, r.run.log.Head = knownSchemas(last), h.birth, last.ID
	r.run.stand(last, h.chained)
	return r.enter(false)
}

// stale reports whether the kept head may have caused an error of openHot: the thread has changed
// since, or the state could not be copied. The call then opens the thread by a Load. The caller
// gets all other errors: those of the saver except a conflict, and those of an ended context.
func (r *run) stale(err error) bool {
	var saver *SaverError
	switch {
	case err == nil || r.ctx.Err() != nil:
		return false
	case errors.As(err, &saver):
		return errors.Is(err, checkpoint.ErrConflict)
	}
	return true
}

// copyHead implements typedState. The copy has no untracked fields.
func (a *adapter[S, U]) copyHead(h *head) (err error) {
	defer rescue(&err)
	if h.state == nil {
		h.state = a.g.schema.New(live.Options{Record: true, DropUnknown: a.g.core.opt.dropUnknown})
	}
	if err := h.update(); err != nil {
		return err
	}
	a.live = h.state.(live.Live[S, U]).Clone()
	a.live.DropUntracked()
	return nil
}

// takeHead implements typedState.
func (a *adapter[S, U]) takeHead(h *head) error {
	if h.shared {
		a.live = h.state.(live.Live[S, U])
		a.live.DropUntracked()
		return nil
	}
	err := a.copyHead(h)
	if err == nil {
		a.apart = h.state.(live.Live[S, U])
	}
	return err
}

// leaveHead implements typedState. whole says that the records of the run have the whole state, so
// the head needs no state from its opening.
func (a *adapter[S, U]) leaveHead(h *head, whole bool) {
	switch {
	case h.shared:
		h.state = a.live
	case !whole && a.apart != nil:
		h.state = a.apart
	}
}

// setApart implements typedState.
func (a *adapter[S, U]) setApart() (err error) {
	defer rescue(&err)
	clone := a.live.Clone()
	a.apart, a.live = a.live, clone
	return nil
}

// setApart keeps the loaded state for the head that the run may leave, and gives the run a copy.
func (r *opener) setApart(empty bool) {
	if r.tail == nil || empty || r.run.g.opt.sharedState {
		return
	}
	size, _ := r.run.state.Sizes()
	if headSize(size, 0) > r.run.g.opt.hot/share || r.run.state.setApart() != nil {
		r.tail = nil
	}
}

// keep keeps the head that a run has left.
func (t threadCore) keep(r *opener, err error) {
	if err != nil || r.tail == nil || !r.tail.Done || r.run.health != sound {
		return
	}
	h := &head{
		thread: t.id, birth: r.run.log.Birth(), request: r.run.opt.request, labels: r.labels,
		tail: r.tail, chained: r.tail.Chained(r.chained), shared: t.g.opt.sharedState,
	}
	h.seen, h.waits = r.run.log.Seen()
	size, dead := r.run.state.Sizes()
	switch {
	case h.shared:
		dead = 0
	case !r.tail.Complete():
		return
	}
	r.run.state.leaveHead(h, r.tail.Whole())
	h.bytes = headSize(size, dead+r.tail.Size()) + len(t.id) + len(h.request) + h.labels.Size()
	t.g.heads.put(h)
}

// headSize estimates the memory of a head in bytes. size is the size of the encoded state. Strings
// of the state share the memory of payloads, so superseded bytes stay in memory too.
func headSize(size, superseded int) int { return 2*size + superseded + 1024 }
