package shards

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// view is what a process knows of the layout. A new one replaces it when the layout changes.
type view struct {
	change int     // how many changes there were, with the one in progress
	from   []owner // by name
	to     []owner // the layout that replaces from; nil if none does
	all    []*shard
	lacked []*shard // those of from and to that the process does not have; their calls fail
}

// owner is a shard that a layout names. sh is nil if the process has no such shard.
type owner struct {
	Place
	sh    *shard
	seeds []uint64
}

// viewOf returns the view that a stored layout gives.
func (s *Saver) viewOf(l *stored) *view {
	v := &view{change: l.Change}
	own := func(places []Place) (all []owner) {
		for _, p := range places {
			sh, err := s.named(p.Name)
			switch {
			case err != nil:
				open := func(context.Context) (checkpoint.Saver, error) { return nil, err }
				v.lacked = append(v.lacked, &shard{Shard: Shard{Name: p.Name, Open: open}, turn: make(chan struct{}, 1)})
			case !slices.Contains(v.all, sh):
				v.all = append(v.all, sh)
			}
			all = append(all, owner{p, sh, seeds(p.Name, p.Weight)})
		}
		return all
	}
	v.from, v.to = own(l.Shards), own(l.To)
	slices.SortFunc(v.all, func(a, b *shard) int { return strings.Compare(a.Name, b.Name) })
	return v
}

// withThreads returns the shards that may have threads. The first phase of a change has none on
// new shards, so a process needs them only later.
func (v *view) withThreads() []*shard {
	begun := func(sh *shard) bool { return sh.phase(v) >= Moving }
	if len(v.lacked) > 0 && (v.to == nil || slices.ContainsFunc(v.all, begun)) {
		return slices.Concat(v.all, v.lacked)
	}
	return v.all
}

// adopt makes a stored layout the view of the process, if it is newer.
func (s *Saver) adopt(l *stored) {
	for {
		v := s.view.Load()
		if l.Change < v.change || l.Change == v.change && (v.to == nil || l.To != nil) {
			return
		}
		if s.view.CompareAndSwap(v, s.viewOf(l)) {
			return
		}
	}
}

// named returns the shard with a name, or a *ShardError if the process has none.
func (s *Saver) named(name string) (*shard, error) {
	for _, sh := range s.shards {
		if sh.Name == name {
			return sh, nil
		}
	}
	return nil, &ShardError{name, fmt.Errorf("%w: the list of shards of this process does not have it; start the process with the new list", checkpoint.ErrUnavailable)}
}

// ownerOf returns the owner of a thread in a layout.
func ownerOf(layout []owner, thread string) *owner {
	key, most, best := checkpoint.ThreadHash(thread), uint64(0), &layout[0]
	for i := range layout {
		for _, seed := range layout[i].seeds {
			if score := mix(key ^ seed); score > most {
				most, best = score, &layout[i]
			}
		}
	}
	return best
}

// shard returns the shard of an owner.
func (o *owner) shard(s *Saver) (*shard, error) {
	if o.sh == nil {
		return s.named(o.Name)
	}
	return o.sh, nil
}

// of returns the shard at which a call for a thread begins, as far as the process knows.
func (s *Saver) of(thread string) *owner {
	v := s.view.Load()
	o := ownerOf(v.from, thread)
	if v.to != nil && o.sh != nil && o.sh.phase(v) >= Moved {
		return ownerOf(v.to, thread)
	}
	return o
}

// phase returns how far a shard is in the change of a view.
func (sh *shard) phase(v *view) Phase {
	if l := sh.stored.Load(); l != nil && l.Change == v.change {
		return l.Phase
	}
	return 0
}

// place returns the shard at which a call for a thread begins, and its saver. creates says that
// the call creates a thread that does not exist. If the new layout has another place for such a
// thread, place claims it: then the old place refuses to create it.
func (s *Saver) place(ctx context.Context, thread string, creates bool) (*shard, checkpoint.Saver, error) {
	for {
		v := s.view.Load()
		src, err := ownerOf(v.from, thread).shard(s)
		if err != nil {
			return nil, nil, err
		}
		in, err := src.saver(ctx)
		switch {
		case err != nil:
			return src, nil, err
		case s.view.Load() != v: // the saver has read another layout
			continue
		case v.to == nil:
			return src, in, nil
		}
		phase, next := src.phase(v), ownerOf(v.to, thread)
		if phase < Moving || next.sh == src {
			return src, in, nil
		}
		dst, err := next.shard(s)
		if err != nil && (creates || phase >= Moved) {
			return src, nil, err
		}
		if creates && phase <= Moved {
			err := src.claim(ctx, dst, thread, v.change, phase)
			switch {
			case errors.Is(err, errEnded):
				continue
			case err != nil:
				return src, nil, src.failed(err)
			}
		}
		if phase < Moved {
			return src, in, nil
		}
		in, err = dst.saver(ctx)
		if err == nil && s.view.Load() != v {
			continue
		}
		return dst, in, err
	}
}

// home returns the shard on which a thread lives, or on which it would be created, and its saver.
func (s *Saver) home(ctx context.Context, thread string) (*shard, checkpoint.Saver, error) {
	sh, in, err := s.place(ctx, thread, true)
	if err != nil || s.view.Load().to == nil {
		return sh, in, err
	}
	for tries := 0; ; tries++ {
		_, err := in.News(ctx, []string{thread})
		moved := movedOf(err)
		if moved == nil {
			return sh, in, sh.failed(err)
		}
		if sh, err = s.follow(ctx, sh, moved, tries); err == nil {
			in, err = sh.saver(ctx)
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// movedOf returns the *MovedError of an error, or nil.
func movedOf(err error) *rows.MovedError {
	if err == nil {
		return nil
	}
	var moved *rows.MovedError
	errors.As(err, &moved)
	return moved
}

// again makes the error of a thread that moved during a call ErrUnavailable.
func again(err error) error {
	if errors.As(err, new(*rows.MovedError)) && !errors.Is(err, checkpoint.ErrUnavailable) {
		return fmt.Errorf("%w: the thread has moved to another shard meanwhile: %w", checkpoint.ErrUnavailable, err)
	}
	return err
}

// claim claims a thread that does not exist at its old place. If the thread is there although all
// threads have moved, because a process created it that did not know of the change, claim moves
// it.
func (sh *shard) claim(ctx context.Context, dst *shard, thread string, change int, phase Phase) error {
	from, err := sh.during(ctx, change)
	if err != nil {
		return err
	}
	exists, err := rows.Claim(ctx, from, thread, dst.Name)
	if err != nil || !exists || phase < Moved {
		return err
	}
	to, err := dst.place(ctx)
	if err != nil {
		return err
	}
	return patiently(ctx, func() error { return rows.Move(ctx, from, to, thread) })
}

// place returns the shard as package rows has it.
func (sh *shard) place(ctx context.Context) (rows.Place, error) {
	in, err := sh.saver(ctx)
	if err != nil {
		return rows.Place{}, err
	}
	r := rowsOf(in)
	if r == nil {
		return rows.Place{}, sh.failed(errNotRows)
	}
	return rows.Place{Name: sh.Name, Saver: r}, nil
}

// during returns the shard as package rows has it. Threads move from there until another change of
// the layout has begun.
func (sh *shard) during(ctx context.Context, change int) (rows.Place, error) {
	p, err := sh.place(ctx)
	p.Check = func(ctx context.Context) error { return sh.still(ctx, change) }
	return p, err
}

// errNotRows is what is wrong with a saver whose threads cannot move.
var errNotRows = errors.New("threads of this saver cannot move: it is not one of package rows, as all but memory are, or it is wrapped; " +
	"wrap the saver over the shards instead")

// rowsOf returns the rows.Saver of a saver, or nil.
func rowsOf(s checkpoint.Saver) *rows.Saver {
	if r, ok := s.(interface{ Rows() *rows.Saver }); ok {
		return r.Rows()
	}
	return nil
}

// mostFollowed is how often a call for a thread that moves is tried. It is more than a move takes.
const mostFollowed = 5000

// follow returns the shard at which a call continues that a shard has refused, because the thread
// moves or has moved. While the thread moves, follow waits, and ends a move that is overdue.
func (s *Saver) follow(ctx context.Context, sh *shard, m *rows.MovedError, tries int) (*shard, error) {
	other, err := s.named(m.Place)
	if err != nil {
		return nil, err
	}
	if tries == mostFollowed {
		return nil, sh.failed(fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, m))
	}
	here, err := sh.place(ctx)
	if err != nil {
		return nil, err
	}
	there, err := other.place(ctx)
	if err != nil {
		return nil, err
	}
	switch m.Stage {
	case rows.Left:
		rows.Follow(here.Saver, there.Saver)
		return other, pause(ctx, tries)
	case rows.Arriving:
		err = rows.Settle(ctx, there, here, m.Thread)
	default:
		err = rows.Settle(ctx, here, there, m.Thread)
	}
	if errors.As(err, new(*rows.MovedError)) {
		err = pause(ctx, tries+4)
	}
	return sh, sh.failed(err)
}

// pause waits before a later try of a call.
func pause(ctx context.Context, tries int) error {
	if tries < 4 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(min(tries, 20)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle ends the overdue moves that a call of Ready has met, as far as it can. It returns the
// error of the call if there is another reason.
func (s *Saver) settle(ctx context.Context, sh *shard, err error) error {
	all := rows.Moved(err)
	for _, m := range all {
		_, _ = s.follow(ctx, sh, m, 0) // a later call of Ready tries again
	}
	if len(all) > 0 {
		return nil
	}
	return err
}

// on makes a call for one thread, which does not create it.
func on[R any](ctx context.Context, s *Saver, thread string, call func(checkpoint.Saver) (R, error)) (R, error) {
	return at(ctx, s, thread, false, call)
}

// at makes a call for one thread, where the thread lives. creates is that of place.
func at[R any](ctx context.Context, s *Saver, thread string, creates bool, call func(checkpoint.Saver) (R, error)) (result R, err error) {
	if err := checkThread(thread); err != nil {
		return result, err
	}
	sh, in, err := s.place(ctx, thread, creates)
	for tries := 0; err == nil; tries++ {
		result, err = call(in)
		moved := movedOf(err)
		if moved == nil {
			return result, sh.failed(err)
		}
		if sh, err = s.follow(ctx, sh, moved, tries); err == nil {
			in, err = sh.saver(ctx)
		}
	}
	return result, err
}

// do is on for a call without a result.
func do(ctx context.Context, s *Saver, thread string, call func(checkpoint.Saver) error) error {
	_, err := on(ctx, s, thread, func(in checkpoint.Saver) (struct{}, error) { return struct{}{}, call(in) })
	return err
}

// yielding is on for a call that yields values. If the thread moves meanwhile, it makes the call
// again. seen notes what was yielded, so that call yields what follows; it may be nil.
func yielding[V any](ctx context.Context, s *Saver, thread string, call func(checkpoint.Saver) iter.Seq2[V, error], seen func(V)) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		var sh *shard
		var in checkpoint.Saver
		err := checkThread(thread)
		if err == nil {
			sh, in, err = s.place(ctx, thread, false)
		}
		for tries := 0; err == nil; tries++ {
			var moved *rows.MovedError
			for v, err := range call(in) {
				if moved = movedOf(err); moved != nil {
					break
				}
				if !yield(v, sh.failed(err)) {
					return
				}
				if seen != nil && err == nil {
					seen(v)
				}
			}
			if moved == nil {
				return
			}
			if sh, err = s.follow(ctx, sh, moved, tries); err == nil {
				in, err = sh.saver(ctx)
			}
		}
		yield(none, err)
	}
}
