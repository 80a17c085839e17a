package rows

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// A move takes a thread from a source to a target, which are different Stores. The thread has all
// of its rows there, and the lease of a run. The rows of the thread at both places have the state
// of the move. Each move has a token. Each step is one Change, which checks the revision of a row.
//
//	   source         target           owner    next, and by which process
//	1  normal         none             source   fence: any mover
//	2  Leaving(x)     none             source   copy: the mover of x. Abort after the deadline: any
//	3  Leaving(x)     Arriving(x)      source   compare and switch: the mover of x. Abort: any
//	4  Left(x)        Arriving(x)      target   admit: any
//	5  Left(x)        normal           target   the thread is in use at the target
//	6  Left(x)        none             nobody   the thread was deleted, or never existed
//	   no token x     Arriving(x)      source   discard the rows at the target: any
//
// A row in the stages Leaving, Arriving or Left refuses each call by a *MovedError. So nobody
// writes to the thread in the states 2 to 4. The switch from 3 to 4 changes the owner, by one
// Change at the source. A mover that has slept checks revisions that have changed, or stores a
// copy under a token that the source does not have. Such a copy is never admitted, so a thread
// that was deleted meanwhile stays deleted. The fence comes before the copy, and tokens are not
// used again. So one that reads the target first and then finds another token at the source can
// discard the copy.
//
// A crash in state 2 or 3 leaves a Leaving row, and one in state 4 an Arriving row. Both have a
// deadline, at which the index of wakes has them. Ready reports those that are overdue, also
// without a thread. Settle then aborts, admits or discards. The source keeps its rows until Sweep,
// so a call that has read the row of the thread before the fence finds the others.
//
// A thread without a row can be claimed: its source gets the row of state 6 directly, so that
// nobody creates it there.

// Stage is a part of a move that the row of a thread is in.
type Stage uint8

// The stages of a row of a thread.
const (
	Leaving  Stage = iota + 1 // at the source: no call writes to the thread
	Left                      // at the source: the thread lives at the target, or nowhere
	Arriving                  // at the target: the copy of a thread that is at its source until that has Left it
)

// String returns the stage as a word.
func (s Stage) String() string {
	if names := [...]string{"normal", "leaving", "left", "arriving"}; int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// transit is what the row of a thread says of a move. The zero transit is that of a normal row.
type transit struct {
	stage Stage
	place string // the name of the other place
	token checkpoint.ID
	until time.Time // the deadline of a move that is in progress, by the clock of the row's storage
	again bool      // the thread is arriving at a place that it had left before
}

// maxTransit is how long a move may take before others abort it.
const maxTransit = 30 * time.Second

// MovedError is the error of a call for a thread that moves, or has moved, to another place. The
// call has stored nothing. It is checkpoint.ErrUnavailable, unless the thread has left.
type MovedError struct {
	Thread  string
	Stage   Stage
	Place   string // the name of the target; of the source if the thread is arriving
	Overdue bool   // the move should have ended: Settle ends it
}

func (e *MovedError) Error() string {
	switch e.Stage {
	case Left:
		return fmt.Sprintf("rows: thread %q has moved to %q; open the savers as package shards does", e.Thread, e.Place)
	case Arriving:
		return fmt.Sprintf("rows: thread %q is moving here from %q; try again", e.Thread, e.Place)
	}
	return fmt.Sprintf("rows: thread %q is moving to %q; try again", e.Thread, e.Place)
}

// Moved returns the *MovedErrors that err has.
func Moved(err error) (all []*MovedError) {
	if err == nil {
		return nil
	}
	switch e := err.(type) { //nolint:errorlint // errors.As finds one of them only
	case *MovedError:
		return []*MovedError{e}
	case interface{ Unwrap() error }:
		return Moved(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			all = append(all, Moved(err)...)
		}
	}
	return all
}

// Is reports whether target is checkpoint.ErrUnavailable, and the call may succeed later.
func (e *MovedError) Is(target error) bool {
	return target == checkpoint.ErrUnavailable && e.Stage != Left
}

// moved returns the *MovedError of a row that is in a stage of a move, or nil.
func (t *thread) moved() error {
	if t.transit.stage == 0 {
		return nil
	}
	overdue := t.transit.stage != Left && !t.now.Before(t.transit.until)
	return &MovedError{t.ID, t.transit.stage, t.transit.place, overdue}
}

// due returns when Ready must see the thread; zero for never.
func (t *threadRow) due() time.Time {
	switch t.transit.stage {
	case 0:
		return t.Wake
	case Left:
		return time.Time{}
	}
	return t.transit.until
}

// Rows returns s. It makes a *Saver known that another saver embeds.
func (s *Saver) Rows() *Saver { return s }

// Place is a Saver with the name that rows have of it.
type Place struct {
	Name  string
	Saver *Saver

	// Check is called by Move and Sweep from this place, after they have fenced or read the thread
	// there. If it returns an error, the thread stays where it is. So a mover that has slept finds
	// out that the thread goes elsewhere. The default is no check.
	Check func(ctx context.Context) error
}

// check calls Check, if there is one.
func (p Place) check(ctx context.Context) error {
	if p.Check == nil {
		return nil
	}
	return p.Check(ctx)
}

// errAborted is the error of a mover whose move others have aborted.
var errAborted = fmt.Errorf("%w: others have ended the move, because it took too long", checkpoint.ErrUnavailable)

// Move moves a thread from src to dst, as it is, with the lease of a run that holds it. Nothing
// happens if the thread does not exist, or has left. If Move fails, the thread is normal at src,
// or a later Move or Settle ends the move.
//
// Move returns a *MovedError while another process moves the thread. The error is
// checkpoint.ErrTooLarge if dst cannot store the rows of the thread as one Change.
func Move(ctx context.Context, src, dst Place, id string) error {
	token, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	t, err := src.fence(ctx, id, transit{stage: Leaving, place: dst.Name, token: token})
	if err == nil && t.transit.stage == Leaving {
		if err = src.check(ctx); err == nil {
			err = carry(ctx, src, dst, t)
		}
		if err == nil {
			err = src.hand(ctx, t)
		}
	}
	if err == nil {
		return Settle(ctx, src, dst, id)
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxTransit/6)
	defer cancel()
	if src.abort(after, id, token) == nil { // if the thread is left behind, it is overdue later
		_ = Settle(after, src, dst, id)
	}
	return fmt.Errorf("move thread %q from %q to %q: %w", id, src.Name, dst.Name, err)
}

// Claim makes src refuse to create a thread that does not exist, which is created at the place dst
// then. exists reports that src has the thread, or moves it.
func Claim(ctx context.Context, src Place, id, dst string) (exists bool, err error) {
	token, err := checkpoint.NewID()
	if err != nil {
		return false, err
	}
	t, err := src.Saver.alter(ctx, id, func(t *thread) (*threadRow, error) {
		if t.exists() {
			return nil, nil
		}
		next := t.threadRow
		next.transit = transit{stage: Left, place: dst, token: token}
		return &next, nil
	})
	return err == nil && t.transit.stage != Left, err
}

// Settle ends a move of a thread that its mover may have left: it admits, aborts or discards. It
// returns a *MovedError if the mover still has time.
func Settle(ctx context.Context, src, dst Place, id string) error {
	there, err := dst.Saver.inAnyStage(ctx, id) // before the source
	if err != nil {
		return err
	}
	here, err := src.Saver.inAnyStage(ctx, id)
	if err != nil {
		return err
	}
	if here.transit.stage == Leaving {
		moved := here.moved()
		if m := (*MovedError)(nil); errors.As(moved, &m) && !m.Overdue {
			return moved
		}
		if err := src.abort(ctx, id, here.transit.token); err != nil {
			return err
		}
		return Settle(ctx, src, dst, id)
	}
	switch {
	case there.transit.stage != Arriving || there.transit.place != src.Name:
		return nil
	case here.transit.stage == Left && here.transit.token == there.transit.token:
		return dst.admit(ctx, there)
	}
	return dst.Saver.discard(ctx, there)
}

// Sweep removes the rows of a thread that has left src for dst. No process may look for it there.
func Sweep(ctx context.Context, src, dst Place, id string) error {
	t, err := src.Saver.inAnyStage(ctx, id)
	if err != nil || t.transit.stage != Left {
		return err
	}
	if err := src.check(ctx); err != nil {
		return err
	}
	if err := Settle(ctx, src, dst, id); err != nil {
		return err
	}
	return src.Saver.discard(ctx, t) // unless a later move has changed the row
}

// Standee is a thread that has a row, and its stage. Err is set if the row is damaged.
type Standee struct {
	ID    string
	Stage Stage
	Place string // the other place, unless the stage is zero
	Err   error
}

// Walk returns the threads that have a row, in the order of their ids, and at most limit of them:
// those after an id. Lists leave out some of them.
func Walk(ctx context.Context, s *Saver, id string, limit int) (all []Standee, err error) {
	err = s.call(ctx, nil, func() error {
		all = nil
		rows, now, err := s.read(ctx, Range{Key: Key{Table: Threads, Bytes: append([]byte(id), 0)}, To: after(nil), Limit: limit})
		if err != nil {
			return err
		}
		for i := range rows[0] {
			at := Standee{ID: string(rows[0][i].Key)}
			t, err := asThread(at.ID, rows[0][i:i+1], now)
			if t == nil {
				at.Err = err
			} else {
				at.Stage, at.Place = t.transit.stage, t.transit.place
			}
			all = append(all, at)
		}
		return nil
	})
	return all, err
}

// Follow notes that calls for threads of src now go to dst in this process. So the pending writes
// of a run that continues at dst stay in order.
func Follow(src, dst *Saver) {
	src.mu.Lock()
	order := src.order
	src.mu.Unlock()
	dst.sawOrder(order)
}

// inAnyStage reads the row of a thread that may be in a stage of a move.
func (s *Saver) inAnyStage(ctx context.Context, id string) (t *thread, err error) {
	err = s.call(ctx, checkpoint.CheckThread(id), func() error {
		t, err = s.thread(ctx, id)
		if errors.As(err, new(*MovedError)) {
			return nil
		}
		return err
	})
	return t, err
}

// alter reads the row of a thread in any stage, and stores the row that f returns, unless that is
// nil. It returns the thread as it is then.
func (s *Saver) alter(ctx context.Context, id string, f func(t *thread) (*threadRow, error)) (t *thread, err error) {
	err = s.change(ctx, checkpoint.CheckThread(id), func() error {
		var failed error
		if t, failed = s.thread(ctx, id); failed != nil && !errors.As(failed, new(*MovedError)) {
			return failed
		}
		next, err := f(t)
		if err != nil || next == nil {
			return err
		}
		stored, _, err := s.apply(ctx, new(Change), t, next)
		t = &stored
		return err
	})
	if err == nil {
		s.forget(id)
	}
	return t, err
}

// fence makes a thread leave, unless it does not exist or has left. It returns a *MovedError while
// others move the thread.
func (p Place) fence(ctx context.Context, id string, move transit) (*thread, error) {
	return p.Saver.alter(ctx, id, func(t *thread) (*threadRow, error) {
		switch {
		case !t.exists(), t.transit.stage == Left, t.transit.token == move.token: // the last: a repeated Change
			return nil, nil
		case t.transit.stage == Arriving, t.transit.stage == Leaving && t.now.Before(t.transit.until):
			return nil, t.moved()
		}
		next := t.threadRow
		next.transit = move
		next.transit.until = ledger.Micro(t.now.Add(maxTransit))
		return &next, nil
	})
}

// abort makes a thread normal that a move with a token has fenced.
func (p Place) abort(ctx context.Context, id string, token checkpoint.ID) error {
	_, err := p.Saver.alter(ctx, id, func(t *thread) (*threadRow, error) {
		if t.transit.stage != Leaving || t.transit.token != token {
			return nil, nil
		}
		next := t.threadRow
		next.transit = transit{}
		return &next, nil
	})
	return err
}

// hand makes the target the owner of a thread whose rows it has. t is the fenced thread.
func (p Place) hand(ctx context.Context, t *thread) error {
	token := t.transit.token
	_, err := p.Saver.alter(ctx, t.ID, func(t *thread) (*threadRow, error) {
		switch {
		case t.transit.token != token || t.transit.stage == 0:
			return nil, errAborted
		case t.transit.stage == Left:
			return nil, nil
		}
		next := t.threadRow
		next.transit.stage, next.transit.until = Left, time.Time{}
		return &next, nil
	})
	return err
}

// admit makes a thread normal that has arrived. If p keeps readable states, it gets that of the
// open version. If a run holds the thread, the end of the run stores the state.
func (p Place) admit(ctx context.Context, there *thread) error {
	w := newWriter(p.Saver, there)
	w.next.transit = transit{}
	err := p.Saver.change(ctx, nil, func() error {
		if there.Open != 0 && !there.runs() {
			l := logOf(there.ID, there.Root, "")
			rows, _, err := p.Saver.read(ctx, l.head())
			if err != nil {
				return err
			}
			if len(rows[0]) > 0 {
				if r, err := l.last(&rows[0][0]); err == nil {
					_ = w.readable(ctx, headOf(r), nil) // for people: the thread does not need it
				}
			}
		}
		_, _, err := p.Saver.apply(ctx, &w.c, there, &w.next)
		if errors.Is(err, checkpoint.ErrTooLarge) { // because of the readable state
			_, _, err = p.Saver.apply(ctx, new(Change), there, &w.next)
		}
		if errors.Is(err, ErrChanged) {
			return nil // others have admitted it
		}
		return err
	})
	p.Saver.forget(there.ID)
	return err
}

// discard removes all rows of a thread, unless others have changed it since it was read. If the
// thread was arriving again, it has left again then.
func (s *Saver) discard(ctx context.Context, t *thread) error {
	gone := errors.New("others have discarded it")
	err := s.change(ctx, checkpoint.CheckThread(t.ID), func() error {
		c, err := s.cleared(ctx, t)
		switch {
		case errors.Is(err, ErrChanged):
			return gone
		case err != nil:
			return err
		case t.transit.stage == Arriving && t.transit.again:
			left := transit{stage: Left, place: t.transit.place, token: t.transit.token}
			c.changeThread(t, &threadRow{ID: t.ID, transit: left})
		default:
			c.removeThread(t)
		}
		_, _, err = s.store.Apply(ctx, c)
		return err
	})
	if s.forget(t.ID); errors.Is(err, gone) {
		return nil
	}
	return err
}

// cleared returns a Change that removes the rows of a thread but its own and those of the index.
// It returns ErrChanged if the thread has changed since it was read.
func (s *Saver) cleared(ctx context.Context, t *thread) (*Change, error) {
	rows, _, err := s.read(ctx, point(threadKey(t.ID)), versionsOf(t.ID))
	if err != nil {
		return nil, err
	}
	if len(rows[0]) == 0 || rows[0][0].Rev != t.rev {
		return nil, ErrChanged
	}
	released, err := asVersions(t.ID, rows[1])
	if err != nil {
		return nil, err
	}
	c := new(Change)
	c.removeRows(t, released)
	return c, nil
}

// rowsOf reads all rows of a thread that nobody changes, by table: those of the tables Records,
// Logs, Writes, Messages and Versions. It returns errAborted if the thread has changed since it
// was read.
func (s *Saver) rowsOf(ctx context.Context, t *thread) (all [Tables][]Row, err error) {
	err = s.call(ctx, nil, func() error {
		all = [Tables][]Row{}
		rows, _, err := s.read(ctx, point(threadKey(t.ID)), versionsOf(t.ID), within(Key{Messages, t.ID, threadHash(t.ID)}))
		switch {
		case err != nil:
			return err
		case len(rows[0]) == 0 || rows[0][0].Rev != t.rev:
			return errAborted
		}
		all[Versions], all[Messages] = rows[1], rows[2]
		released, err := asVersions(t.ID, rows[1])
		if err != nil {
			return err
		}
		var ranges []Range
		for _, r := range t.roots(released) {
			for _, table := range [...]Table{Records, Logs, Writes} {
				ranges = append(ranges, within(Key{table, t.ID, r[:]}))
			}
		}
		rows, err = s.readInParts(ctx, ranges)
		for i := range rows {
			all[ranges[i].Table] = append(all[ranges[i].Table], rows[i]...)
		}
		return err
	})
	return all, err
}

// roots returns the roots of the versions of a thread.
func (t *thread) roots(released []version) (all []root) {
	for _, v := range released {
		all = append(all, v.root)
	}
	if t.Open != 0 {
		all = append(all, t.Root)
	}
	return all
}

// carry copies the rows of a thread that is leaving to dst, and compares them.
func carry(ctx context.Context, src, dst Place, t *thread) error {
	all, err := src.Saver.rowsOf(ctx, t)
	if err != nil {
		return err
	}
	if err := dst.arrive(ctx, src, t, &all); err != nil {
		return err
	}
	there, err := dst.Saver.inAnyStage(ctx, t.ID)
	if err != nil {
		return err
	}
	copied, err := dst.Saver.rowsOf(ctx, there)
	if err != nil {
		return err
	}
	same := func(a, b Row) bool { return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) }
	want := arriving(src, t, there)
	want.transit.until, want.transit.again = there.transit.until, there.transit.again
	if there.transit.token != t.transit.token || !want.equal(&there.threadRow) {
		return errAborted
	}
	for table := range all {
		if slices.EqualFunc(all[table], copied[table], same) {
			continue
		}
		if after, err := dst.Saver.inAnyStage(ctx, t.ID); err != nil || after.rev != there.rev {
			return cmp.Or(err, errAborted) // others have removed the copy meanwhile
		}
		return fmt.Errorf("%w: the rows of the table %s differ after the copy", checkpoint.ErrDamaged, Table(table))
	}
	return nil
}

// arriving returns the row of a thread that leaves src, for a target that has the row old.
func arriving(src Place, t, old *thread) *threadRow {
	next := t.threadRow
	next.transit.stage, next.transit.place = Arriving, src.Name
	next.transit.until, next.transit.again = ledger.Micro(old.now.Add(maxTransit)), old.transit.stage == Left
	return &next
}

// arrive stores the rows of a thread that is leaving src.
func (p Place) arrive(ctx context.Context, src Place, t *thread, all *[Tables][]Row) error {
	return p.Saver.change(ctx, nil, func() error {
		old, err := p.Saver.thread(ctx, t.ID)
		c := new(Change)
		switch {
		case old == nil:
			return err
		case old.transit.stage == Arriving && old.transit.token == t.transit.token:
			return nil
		case old.exists():
			if err := p.occupied(ctx, src, t, old); err != nil {
				return err
			}
			if c, err = p.Saver.cleared(ctx, old); err != nil {
				return err
			}
		}
		for table := range all {
			for _, row := range all[table] {
				c.Puts = append(c.Puts, Put{Key: Key{Table(table), t.ID, row.Key}, Value: row.Value})
			}
		}
		_, _, err = p.Saver.apply(ctx, c, old, arriving(src, t, old))
		return err
	})
}

// occupied returns why a place that has a row of a thread cannot take the thread that leaves src.
// It returns nil if the thread had left the place before. It discards a copy that no move needs,
// and returns ErrChanged then.
func (p Place) occupied(ctx context.Context, src Place, t, old *thread) error {
	here, err := src.Saver.inAnyStage(ctx, t.ID) // after old was read
	switch {
	case err != nil:
		return err
	case here.transit.stage != Leaving || here.transit.token != t.transit.token:
		return errAborted
	case old.transit.stage == Left:
		return nil
	case old.transit.stage != Arriving || old.transit.place != src.Name:
		return fmt.Errorf("%w: both places have a thread with this id; look at both, and delete one", errTwice)
	}
	if err := p.Saver.discard(ctx, old); err != nil {
		return err
	}
	return ErrChanged
}

// errTwice is the error of a move to a place that has another thread with the same id.
var errTwice = errors.New("the thread exists twice")
