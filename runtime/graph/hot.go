package graph

import (
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/live"
)

// A run with input that ended as Done leaves the head of its thread in memory. The next input then needs no Load.
//
// User code holds on to what it was shown: a caller to a Result, a node to what it returned. So what is kept is a state of its
// own, which is made of the stored bytes alone, and a run gets a deep copy of it. SharedState keeps the state of the run instead.

// newTail returns what takes note of the records of a run whose head may be kept; nil if none is kept.
func (g *Graph[S, U]) newTail() *journal.Tail {
	switch {
	case g.heads.most == 0 || g.opt.releaseOnDone:
		return nil
	case g.opt.sharedState:
		return &journal.Tail{}
	}
	return &journal.Tail{Most: g.heads.most / share}
}

// hot returns the head that a call with input can begin with; nil for none.
func (t Thread[S, U]) hot(o runOptions) *head[S, U] {
	if !t.at.IsZero() {
		return nil
	}
	return t.g.heads.take(t.id, o.request)
}

// openHot is openInput on a head that was kept: it loads nothing.
func (t Thread[S, U]) openHot(r *opening, a *adapter[S, U], h *head[S, U]) error {
	if err := a.continueFrom(h, r.dropUnknown()); err != nil {
		return err
	}
	last := &h.tail.Last
	r.known, r.log.Head = knownSchemas(last), last.ID
	r.restoring().stand(last, h.chained)
	return r.enter(false)
}

// stale reports whether an error of openHot may come of a head that is not the newest any more, or that could not be used: with what
// is stored the call may succeed. An error of the saver says what is so, unless it is a conflict.
func (r *opening) stale(err error) bool {
	var saver *SaverError
	switch {
	case err == nil || r.ctx.Err() != nil:
		return false
	case errors.As(err, &saver):
		return errors.Is(err, checkpoint.ErrConflict)
	}
	return true
}

// continueFrom makes the state that of a head.
func (a *adapter[S, U]) continueFrom(h *head[S, U], dropUnknown bool) (err error) {
	defer rescue(&err)
	if h.shared {
		a.live = h.state
		a.live.DropUntracked()
		return nil
	}
	if a.apart = h.state; a.apart == nil {
		a.apart = a.g.schema.New(live.Options{Record: true, DropUnknown: dropUnknown})
	}
	if err := h.tail.Fold(a.apart.Decode, a.apart.Apply); err != nil {
		return err
	}
	a.live = a.apart.Clone()
	return nil
}

// setApart implements typedState.
func (a *adapter[S, U]) setApart() (err error) {
	defer rescue(&err)
	clone := a.live.Clone()
	a.apart, a.live = a.live, clone
	return nil
}

// setApart keeps the state that was loaded apart from the run, for the head that the run may leave.
func (r *opening) setApart(empty bool) {
	if r.tail == nil || empty || r.g.opt.sharedState {
		return
	}
	size, _ := r.state.Sizes()
	if headSize(size, 0) > r.g.opt.hot/share || r.state.setApart() != nil {
		r.tail = nil
	}
}

// keep keeps the head that a run has left, whose state a has.
func (t Thread[S, U]) keep(r *opening, a *adapter[S, U], err error) {
	if err != nil || r.tail == nil || !r.tail.Done || r.health != sound {
		return
	}
	h := &head[S, U]{thread: t.id, request: r.opt.request, tail: r.tail, chained: r.tail.Chained(r.chained), shared: t.g.opt.sharedState}
	size, dead := a.live.Sizes()
	switch {
	case h.shared:
		h.state, dead = a.live, 0
	case !r.tail.Complete():
		return
	case !r.tail.Whole():
		h.state = a.apart
	}
	h.bytes = headSize(size, dead+r.tail.Size()) + len(t.id) + len(h.request)
	t.g.heads.put(h)
}

// headSize returns about how many bytes of memory a head takes whose state is encoded in size bytes. Strings of the state keep the
// payloads that they are part of, and so superseded bytes, in memory.
func headSize(size, superseded int) int { return 2*size + superseded + 1024 }
