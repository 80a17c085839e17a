package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// A change of the layout goes through phases, which each shard stores. The source of a thread is
// the shard that the old layout names, and its target is that of the new one. A call for a thread
// begins at one of them, by the phase of the source.
//
//	phase      a call begins at   a new thread is created at          the rows of the source
//	Announced  the source         the source                          as ever
//	Moving     the source         the target, claimed at the source   as ever, or it has left
//	Moved      the target         the target, claimed at the source   it has left
//	Sweeping   the target         the target                          it has left, or none
//	Done       the target, which is the owner in the only layout      none
//
// A call that finds a thread that has left, or moves, continues at the place that the row names.
// Processes of neighbouring phases agree on the owner of each thread. So Rebalance waits before it
// relies on a phase that it has stored: for longer than a process uses what it has read.

// Phase is a part of a change of the layout.
type Phase int

// The phases of a change, in their order. A layout that has never changed has the phase zero.
const (
	Announced Phase = iota + 1 // nothing moves: processes get the new list of shards
	Moving                     // threads move to their new places
	Moved                      // all have moved; strays of slow processes follow
	Sweeping                   // the old places are emptied
	Done                       // the new layout is the only one
)

// String returns the phase as a word.
func (p Phase) String() string {
	if names := [...]string{"stable", "announced", "moving", "moved", "sweeping", "done"}; p >= 0 && int(p) < len(names) {
		return names[p]
	}
	return "unknown"
}

// fresh is how long a process uses a layout that it has read. settled is how long Rebalance waits
// before it relies on a phase. The difference is the time that a call may take to store.
const (
	fresh   = 10 * time.Second
	settled = 30 * time.Second
)

// Layout says where threads live, and where they move to.
type Layout struct {
	Shards []Place // by name
	To     []Place // the layout that replaces Shards; nil if none does
	Phase  Phase   // the one that all shards have reached
}

// Layout reads the layout of all shards.
func (s *Saver) Layout(ctx context.Context) (Layout, error) {
	l, err := s.least(ctx)
	if err != nil {
		return Layout{}, err
	}
	return Layout{l.Shards, l.To, l.Phase}, nil
}

// least reads the layouts of all shards, and returns the one that is least advanced.
func (s *Saver) least(ctx context.Context) (least *stored, err error) {
	v := s.view.Load()
	for _, sh := range v.withThreads() {
		sh.stale.Store(nil)
		if err := sh.known(ctx); err != nil {
			return nil, err
		}
	}
	if s.view.Load() != v {
		return s.least(ctx)
	}
	least = v.all[0].stored.Load()
	for _, sh := range v.all {
		l := sh.stored.Load()
		if l.Change != least.Change {
			return nil, fmt.Errorf("shards: shard %q has not got the change %d of the layout, because Announce was interrupted; call it again", sh.Name, max(l.Change, least.Change))
		}
		if l.before(least) {
			least = l
		}
	}
	return least, nil
}

// known opens a shard that a layout names, and returns an error if the shard has no layout.
func (sh *shard) known(ctx context.Context) error {
	if _, err := sh.saver(ctx); err != nil {
		return err
	}
	if sh.stored.Load() == nil {
		return fmt.Errorf("shards: shard %q has no layout, although that of the others names it; open the list with the storage that the shard had", sh.Name)
	}
	return nil
}

// Announce begins a change of the layout: it stores the new layout in all shards, next to the one
// that is in force. The list has the shards of both. The new layout has their weights, without
// those of the weight Drained. The savers of all must be of package rows, as all but memory are.
//
// Nothing moves yet. Start all processes with the same list now, because a process with the old
// list cannot reach new shards. Then call Rebalance. Until then, Announce replaces the new layout
// by another one. It can be repeated after an error. If processes call Announce at the same time,
// or Announce and Rebalance, one of them changes the layout. The others return ErrChanging, or an
// error that names what their list lacks.
func Announce(ctx context.Context, all ...Shard) (err error) {
	to, err := layoutOf(all)
	if err != nil {
		return err
	}
	s := newSaver(all, to)
	defer func() { err = errors.Join(err, s.Close()) }()
	var before *stored
	read := make(map[string]*stored)
	for _, sh := range s.shards {
		sh.layout = nil // any layout
		if _, err := sh.place(ctx); err != nil {
			return err
		}
		l := sh.stored.Load()
		read[sh.Name] = l
		switch {
		case l == nil:
		case l.Phase > Announced && l.Phase < Done:
			return fmt.Errorf("shards: %w: shard %q is in the phase %q of a change to %s; end it by Rebalance", ErrChanging, sh.Name, l.Phase, list(l.To))
		case before == nil || before.before(l):
			before = l
		}
	}
	if before == nil {
		return errors.New("shards: no shard has a layout; open the new list, and copy threads to it")
	}
	for _, p := range before.Shards {
		if _, err := s.named(p.Name); err != nil {
			return fmt.Errorf("shards: the list does not have shard %q of the layout in force; give it the weight Drained to move its threads away", p.Name)
		}
	}
	if slices.Equal(before.Shards, to) {
		return &checkpoint.InvalidError{Field: "shards", Found: list(to), Want: "another layout than the one in force"}
	}
	for _, sh := range before.order(s.shards) {
		old := slices.ContainsFunc(before.Shards, func(p Place) bool { return p.Name == sh.Name })
		next, after := &stored{Name: sh.Name, Shards: before.Shards, To: to, Phase: Announced, Change: before.Change + 1}, (*stored)(nil)
		if sh.Name == before.Shards[0].Name {
			after = read[sh.Name]
		}
		if err := sh.announce(ctx, next, after, old); errors.Is(err, ErrChanging) {
			return fmt.Errorf("shards: %w; read the layout, and call Announce again if it has not begun to change", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// order returns shards in the order in which they get the layout that follows l. The first shard
// of the layout in force is the first: it decides which of several processes begins a change. New
// shards follow, because no process can use one without a layout.
func (l *stored) order(all []*shard) []*shard {
	rank := func(sh *shard) int {
		switch i := slices.IndexFunc(l.Shards, func(p Place) bool { return p.Name == sh.Name }); i {
		case 0:
			return 0
		case -1:
			return 1
		default:
			return 2
		}
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *shard) int { return rank(a) - rank(b) })
	return all
}

// announce stores the first phase of a change. old says that the layout in force has the shard.
// after is that of store.
func (sh *shard) announce(ctx context.Context, next, after *stored, old bool) error {
	in, err := sh.saver(ctx)
	if err != nil {
		return err
	}
	if !old {
		if err := empty(ctx, in); err != nil {
			return sh.other(nil, err)
		}
	}
	return sh.put(ctx, next, after)
}

// Rebalancing are the settings of Rebalance. The zero value has the defaults.
type Rebalancing struct {
	// Rate is how many threads move in a second at most, on average over a page of 256 threads.
	// The default is no limit.
	Rate int
	// Parallel is how many threads move at the same time. The default is 8.
	Parallel int
	// Report is called after each page of threads: with the phase, and how many threads the phase
	// has moved or removed so far. The default calls nothing.
	Report func(phase Phase, threads int)
}

// Rebalance moves threads to the places that the announced layout gives them, while they are in
// use. It returns when the new layout is the only one. That takes 90 seconds and the time of the
// moves. A call after an error continues. Several processes may call it at the same time.
//
// All shards must be up. A thread that cannot move stays where it is. Examples are one that is
// damaged, and one that is too large for one change of its new shard. Rebalance moves the others,
// and returns errors that name such threads. Delete or mend them, and call Rebalance again.
func (s *Saver) Rebalance(ctx context.Context, o Rebalancing) error {
	for begun := (*stored)(nil); ; {
		l, err := s.least(ctx)
		switch {
		case err != nil || l.To == nil:
			return err
		case begun != nil && begun.Change != l.Change && begun.Phase > Announced:
			return nil // another process has ended the change, and announced the next one
		case begun != nil && begun.Change != l.Change:
			return fmt.Errorf("shards: %w, to %s; call Rebalance again once all processes have its list", ErrChanging, list(l.To))
		}
		begun = l
		v := s.viewOf(l) // also once some shards have the last phase, and the process has adopted that
		for _, sh := range slices.Concat(v.all, v.lacked) {
			if err := sh.known(ctx); err != nil {
				return err
			}
		}
		if l.Phase > Announced {
			if err := wait(ctx, settled); err != nil {
				return err
			}
			w := &walk{s: s, o: o, layout: l, view: v}
			if err := w.run(ctx); errors.Is(err, errEnded) {
				continue
			} else if err != nil {
				return fmt.Errorf("shards: phase %q: %w", l.Phase, err)
			}
		}
		if err := s.advance(ctx, l); err != nil && !errors.Is(err, ErrChanging) {
			return err
		}
	}
}

// advance stores the phase after that of l in all shards.
func (s *Saver) advance(ctx context.Context, l *stored) error {
	all := l.order(s.viewOf(l).all)
	stays := func(sh *shard) bool {
		return slices.ContainsFunc(l.To, func(p Place) bool { return p.Name == sh.Name })
	}
	last := func(a, b *shard) int { // when the others are done, no view has the shards that do not stay
		switch {
		case stays(a) == stays(b):
			return 0
		case stays(a):
			return 1
		}
		return -1
	}
	if l.Phase+1 == Done {
		slices.SortStableFunc(all, last)
	}
	for _, sh := range all {
		next := *l
		next.Name, next.Phase = sh.Name, l.Phase+1
		if next.Phase == Done {
			next.Shards, next.To = l.To, nil
		}
		if err := sh.put(ctx, &next, l); err != nil {
			return err
		}
	}
	return nil
}

// put stores a layout in a shard. after is that of store.
func (sh *shard) put(ctx context.Context, l, after *stored) error {
	in, err := sh.saver(ctx)
	if err != nil {
		return err
	}
	select {
	case sh.turn <- struct{}{}:
		defer func() { <-sh.turn }()
	case <-ctx.Done():
		return sh.failed(ctx.Err())
	}
	return sh.failed(sh.store(ctx, in, l, after))
}

// wait waits for a time.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// walk visits all threads of all shards in one phase of a change.
type walk struct {
	s      *Saver
	o      Rebalancing
	layout *stored
	view   *view // of layout
	count  int   // threads that were moved or removed

	mu     sync.Mutex
	failed []error
}

// errEnded is the error of a walk whose phase another process has ended.
var errEnded = errors.New("another process has ended the phase")

// walkPage is how many threads a walk reads at a time. mostFailed is how many threads it names
// that could not move.
const (
	walkPage   = 256
	mostFailed = 10
)

// run visits the threads.
func (w *walk) run(ctx context.Context) error {
	for _, sh := range w.view.all {
		for after, more := "", true; more; {
			here, err := sh.during(ctx, w.layout.Change)
			if err != nil {
				return err
			}
			if w.ended(sh) {
				return errEnded
			}
			page, err := rows.Walk(ctx, here.Saver, after, walkPage)
			if err != nil {
				return sh.failed(err)
			}
			if err := w.page(ctx, here, page); err != nil {
				return err
			}
			if more = len(page) == walkPage; more {
				after = page[len(page)-1].ID
			}
		}
	}
	return errors.Join(w.failed...)
}

// ended reports whether another process has ended the phase. While it does so, some shards have
// the next phase.
func (w *walk) ended(sh *shard) bool {
	next := *w.layout
	next.Phase++
	later := func(sh *shard) bool { return w.layout.before(sh.stored.Load()) }
	return next.before(sh.stored.Load()) || !slices.ContainsFunc(w.view.all, func(sh *shard) bool { return !later(sh) })
}

// page visits a page of threads of a shard.
func (w *walk) page(ctx context.Context, here rows.Place, page []rows.Standee) error {
	began, before := time.Now(), w.count
	slots := make(chan struct{}, cmp.Or(max(w.o.Parallel, 0), 8))
	var calls sync.WaitGroup
	for i := range page {
		visit := w.visit(here, &page[i])
		if visit == nil {
			continue
		}
		w.count++
		slots <- struct{}{}
		calls.Go(func() {
			defer func() { <-slots }()
			if err := visit(ctx); err != nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.failed = append(w.failed, err); len(w.failed) > mostFailed {
					w.failed = w.failed[:mostFailed]
				}
			}
		})
	}
	calls.Wait()
	if w.o.Report != nil {
		w.o.Report(w.layout.Phase, w.count)
	}
	if w.o.Rate > 0 {
		if err := wait(ctx, time.Duration(w.count-before)*time.Second/time.Duration(w.o.Rate)-time.Since(began)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// visit returns what the walk does with a thread; nil for nothing.
func (w *walk) visit(here rows.Place, t *rows.Standee) func(ctx context.Context) error {
	dst := ownerOf(w.view.to, t.ID)
	switch {
	case t.ID == layoutThread:
	case t.Stage == rows.Arriving:
		return w.with(t.Place, func(ctx context.Context, there rows.Place) error { return rows.Settle(ctx, there, here, t.ID) })
	case w.layout.Phase == Sweeping && t.Stage == rows.Left:
		return w.with(t.Place, func(ctx context.Context, there rows.Place) error { return rows.Sweep(ctx, here, there, t.ID) })
	case w.layout.Phase == Sweeping, t.Stage == rows.Left, dst.Name == here.Name:
	case t.Err != nil:
		return func(context.Context) error { return fmt.Errorf("shard %q: %w", here.Name, t.Err) }
	default:
		return w.with(dst.Name, func(ctx context.Context, there rows.Place) error { return rows.Move(ctx, here, there, t.ID) })
	}
	return nil
}

// with returns a function that calls f patiently with the shard of a name.
func (w *walk) with(name string, f func(context.Context, rows.Place) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		sh, err := w.s.named(name)
		if err != nil {
			return err
		}
		there, err := sh.place(ctx)
		if err != nil {
			return err
		}
		return patiently(ctx, func() error { return f(ctx, there) })
	}
}

// patiently makes a call again while another process moves the thread, or the shards are
// unavailable.
func patiently(ctx context.Context, call func() error) error {
	for tries := 4; ; tries++ {
		err := call()
		if !errors.Is(err, checkpoint.ErrUnavailable) || tries == mostMoved {
			return err
		}
		if err := pause(ctx, tries); err != nil {
			return err
		}
	}
}

// mostMoved is how often a move is tried: for some seconds.
const mostMoved = 200
