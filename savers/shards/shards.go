// Package shards (experimental) is one saver over several named savers of any kind: the shards. A
// thread lives on one of them. So the threads of one program can use several databases.
//
//	saver, err := shards.Open(ctx,
//		shards.Shard{Name: "a", Open: func(ctx context.Context) (checkpoint.Saver, error) { return postgres.Open(ctx, urlOfA) }},
//		shards.Shard{Name: "b", Open: func(ctx context.Context) (checkpoint.Saver, error) { return postgres.Open(ctx, urlOfB) }},
//	)
//
// # Where a thread lives
//
// The shard of a thread follows from its id, the names of the shards and their weights, by
// rendezvous hashing. [Saver.Shard] returns it. A task of a queue lives on the shard of the thread
// that waits for it. The order of the shards has no effect.
//
// Each shard stores the list of names and weights: the layout. A saver with another layout is
// refused with a [*LayoutError], because it would look for threads where they are not.
//
// # Changing the layout
//
// A change adds shards, drains some, or changes weights, while the threads are in use. It needs
// shards whose savers are of package rows, as all but memory are. Wrappers such as encrypt belong
// over the shards, not inside.
//
//  1. [Announce] stores the new layout next to the one in force. The list has those of both.
//  2. Start all processes with the same list. A process with the old list cannot reach new shards.
//  3. [Saver.Rebalance] moves the threads, and makes the new layout the only one.
//
// A thread moves with all it has, also with the lease of a run, which continues without notice. A
// call for a thread that is moving waits for a few round trips. Until the change is done, a call
// for a thread that has moved takes one more round trip, and a Post, too. Lists have each thread
// once. The old shard keeps the rows of its threads until the last phase, so a change needs their
// space twice. If a mover dies, the next call, or the next Ready of a worker, ends its move after
// 30 seconds. SQL queries of people on the tables of a shard also find the rows that threads have
// left behind.
//
// A process reads the layout of a shard again when it is older than 10 seconds, and each phase
// waits for 30. So only a call that is stopped in the middle for longer than 20 seconds can be too
// late. If it reads a thread that was removed from its old place, it does not find the thread. If
// it changes a thread that has moved, it is refused and continues at the new place. If it creates
// a thread, that is at its old place, where others do not find it. The walk of the next phase
// moves the thread. One that is created after the last walk stays there until the next change of
// the layout. That moves it, or fails because the new place has a thread with that id. If the call
// is stopped until another change is done, the thread can be on a shard that was drained. Calls
// for its id do not find it, or fail with a [*ShardError] while the list lacks that shard.
//
// # Calls
//
// A call for one thread goes to its shard, and takes the same round trips as without shards. Lists
// merge the lists of all shards, and stay in order. A page of a list reads a page of each shard,
// so its cost grows with the number of shards. Ready asks all shards which threads are due, and
// then reserves the first ones: two round trips if a thread is due, else one.
//
// Each shard has its own clock. Leases and times of one thread are by the clock of its shard. The
// clocks must agree to a fraction of a second, as servers with NTP do.
//
// # A shard that is down
//
// A call for a thread of a shard that does not answer fails with a [*ShardError], which names the
// shard. Other threads are not affected:
//
//   - A list yields the threads of the other shards, and then an error that is
//     checkpoint.ErrPartial.
//   - Ready and News return the threads of the other shards with such an error. They ask a shard
//     that has failed again after a pause.
//   - Post stores the messages for threads of the other shards. Each of the others has an Err.
//   - A shard that could not be opened is opened at a later call.
package shards

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// Shard is one of the savers that keep the threads.
type Shard struct {
	// Name identifies the shard in the layout, in errors and in Saver.Shard. It never changes,
	// although the address of its storage may. It has 1 to 100 bytes.
	Name string
	// Weight is the share of the threads, in proportion to the other weights: 1 to 100. The
	// default is 1.
	Weight int
	// Open opens the saver of the shard. ctx applies only to the opening. Open is called again at
	// a later call if it failed. Close of the Saver closes what Open returned.
	Open func(ctx context.Context) (checkpoint.Saver, error)
}

// Saver keeps each thread in one of several shards. Open makes it. It is safe for concurrent use.
type Saver struct {
	shards []*shard // by name: all that were given
	view   atomic.Pointer[view]
}

var _ checkpoint.Saver = (*Saver)(nil)

// Open returns a saver over shards, and opens them. It returns a *checkpoint.InvalidError for a
// list that cannot be a layout, and a *LayoutError if a shard stores another layout. While the
// layout changes, the list must have the shards of both layouts, with any weights. The old list
// will do until threads move. A shard that cannot be opened for another reason is opened later,
// unless no shard can be opened: then Open returns the errors of all.
func Open(ctx context.Context, shards ...Shard) (*Saver, error) {
	places, err := layoutOf(shards)
	if err != nil {
		return nil, err
	}
	s := newSaver(shards, places)
	errs := s.each(s.shards, func(_ int, sh *shard) error {
		_, err := sh.saver(ctx)
		return err
	})
	err = join(errs)
	if layout := (*LayoutError)(nil); errors.As(err, &layout) || len(errs) == len(shards) {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newSaver returns a saver over shards that are not open. The list has the layout places.
func newSaver(shards []Shard, places []Place) *Saver {
	s := new(Saver)
	var names []string
	for _, given := range shards {
		names = append(names, given.Name)
		s.shards = append(s.shards, &shard{Shard: given, layout: places, adopt: s.adopt, turn: make(chan struct{}, 1)})
	}
	for _, sh := range s.shards {
		sh.names = names
	}
	slices.SortFunc(s.shards, func(a, b *shard) int { return strings.Compare(a.Name, b.Name) })
	s.view.Store(s.viewOf(&stored{Shards: places}))
	return s
}

// shard is a Shard and its saver, once it is open.
type shard struct {
	Shard
	layout []Place       // that of the given list; nil fits all
	names  []string      // of the given list
	adopt  func(*stored) // gets each layout that is read

	turn   chan struct{} // has an element while a call opens or closes the saver, or reads the layout
	opened atomic.Pointer[checkpoint.Saver]
	closed bool

	stored atomic.Pointer[stored]    // the newest layout that was read
	stale  atomic.Pointer[time.Time] // when the layout must be read again; nil for now

	mu    sync.Mutex
	rests time.Time // calls over all shards leave the shard out before this time
	cause error     // why
}

// ready returns the saver of the shard if it is open, and if its layout was read lately. The
// layout of threads that cannot move is read once.
func (sh *shard) ready() checkpoint.Saver {
	s := sh.opened.Load()
	if s == nil {
		return nil
	}
	if stale := sh.stale.Load(); rowsOf(*s) != nil && (stale == nil || !time.Now().Before(*stale)) {
		return nil
	}
	return *s
}

// saver returns the saver of the shard. It opens it if it is not open. It reads the layout again
// if it is not fresh.
func (sh *shard) saver(ctx context.Context) (checkpoint.Saver, error) {
	if s := sh.ready(); s != nil {
		return s, nil
	}
	select {
	case sh.turn <- struct{}{}:
		defer func() { <-sh.turn }()
	case <-ctx.Done():
		return nil, sh.failed(ctx.Err())
	}
	if s := sh.ready(); s != nil {
		return s, nil
	}
	if s := sh.opened.Load(); s != nil {
		return *s, sh.failed(sh.refresh(ctx, *s))
	}
	if sh.closed {
		return nil, sh.failed(checkpoint.ErrClosed)
	}
	s, err := sh.Open(ctx)
	if err != nil {
		return nil, sh.failed(err)
	}
	if err := sh.agree(ctx, s); err != nil {
		return nil, errors.Join(sh.failed(err), s.Close())
	}
	sh.opened.Store(&s)
	return s, nil
}

// still returns errEnded if the shard stores a later change of the layout.
func (sh *shard) still(ctx context.Context, change int) error {
	in, err := sh.saver(ctx)
	if err != nil {
		return err
	}
	newer, err := in.Mail(ctx, checkpoint.MailQuery{Thread: layoutThread, After: sh.stored.Load().number, Limit: 1})
	if err != nil {
		return sh.failed(err)
	}
	if len(newer) > 0 {
		sh.stale.Store(nil)
		if _, err := sh.saver(ctx); err != nil {
			return err
		}
	}
	if sh.stored.Load().Change > change {
		return errEnded
	}
	return nil
}

// close closes the saver of the shard.
func (sh *shard) close() error {
	sh.turn <- struct{}{}
	defer func() { <-sh.turn }()
	s := sh.opened.Load()
	if sh.closed || s == nil {
		sh.closed = true
		return nil
	}
	sh.closed = true
	return sh.failed((*s).Close())
}

// failed says which shard has failed. Refusals of the contract say which thread they are about.
func (sh *shard) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, checkpoint.ErrConflict), errors.Is(err, checkpoint.ErrNotFound),
		errors.As(err, new(*checkpoint.InvalidError)), errors.As(err, new(*ShardError)), errors.As(err, new(*LayoutError)),
		errors.As(err, new(*rows.MovedError)):
		return err
	}
	return &ShardError{Shard: sh.Name, Err: err}
}

// ShardError is the error of a call that a shard failed, or of a shard that cannot be opened. It
// wraps the error of the shard.
type ShardError struct {
	Shard string // the name
	Err   error
}

func (e *ShardError) Error() string { return fmt.Sprintf("shard %q: %s", e.Shard, e.Err) }

// Unwrap returns Err.
func (e *ShardError) Unwrap() error { return e.Err }

// Close closes the savers of all shards, and returns their errors.
func (s *Saver) Close() error {
	return join(s.each(s.shards, func(_ int, sh *shard) error { return sh.close() }))
}

// Shard returns the name of the shard on which a thread lives, or will live. While the layout
// changes, this is the shard that the old layout names until all threads have moved.
func (s *Saver) Shard(thread string) string { return s.of(thread).Name }

// Via returns a Poster that posts by p to threads of one shard. p is InTx of the saver of that
// shard: so messages are part of a transaction of the caller. A Post to a thread of another shard
// is a *checkpoint.InvalidError that names it, and nothing is posted. Saver.Shard says where a
// thread lives. While the layout changes, a Post can fail with checkpoint.ErrUnavailable because
// the thread has moved: begin another transaction then.
//
//	saver.Via("a", a.InTx(tx))
func (s *Saver) Via(shard string, p checkpoint.Poster) checkpoint.Poster { return poster{s, shard, p} }

// poster posts to the threads of one shard.
type poster struct {
	s     *Saver
	shard string
	by    checkpoint.Poster
}

// Post implements checkpoint.Poster.
func (p poster) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	for i := range posts {
		sh, _, err := p.s.home(ctx, posts[i].Thread)
		if err != nil {
			return nil, err
		}
		if found := sh.Name; found != p.shard {
			return nil, &checkpoint.InvalidError{
				Field: "thread", Found: fmt.Sprintf("%.64q, which lives on shard %q", posts[i].Thread, found),
				Want: fmt.Sprintf("a thread of shard %q, whose transaction posts", p.shard),
			}
		}
	}
	if len(posts) == 0 {
		return nil, nil
	}
	sh, err := p.s.named(p.shard)
	if err != nil {
		return nil, err
	}
	inner, err := sh.saver(ctx)
	if err != nil {
		return nil, err
	}
	posted, err := checkpoint.PostVia(inner, p.by).Post(ctx, posts...)
	for i := range posted {
		posted[i].Err = sh.failed(again(posted[i].Err))
	}
	return posted, sh.failed(again(err))
}

// checkThread returns an error for an id that no thread can have here.
func checkThread(id string) error {
	if id == layoutThread {
		return &checkpoint.InvalidError{Field: "thread", Found: fmt.Sprintf("%q, with which shards store their layout", id), Want: "another id"}
	}
	return nil
}

// Append stores records, as checkpoint.Saver says.
func (s *Saver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	return at(ctx, s, a.Thread, a.Open != nil && a.After.IsZero(), func(in checkpoint.Saver) (checkpoint.AppendResult, error) { return in.Append(ctx, a) })
}

// PutWrites stores pending writes, as checkpoint.Saver says.
func (s *Saver) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	return on(ctx, s, w.Thread, func(in checkpoint.Saver) (checkpoint.PutResult, error) { return in.PutWrites(ctx, w) })
}

// Load returns the data that restores a checkpoint, as checkpoint.Saver says.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	return on(ctx, s, p.Thread, func(in checkpoint.Saver) (checkpoint.Chain, error) { return in.Load(ctx, p) })
}

// History yields records, as checkpoint.Saver says.
func (s *Saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		left := q // of the query, when the thread moves
		seen := func(r checkpoint.Record) {
			if left.Before = r.ID; left.Limit > 0 {
				left.Limit--
			}
		}
		yielding(ctx, s, p.Thread, func(in checkpoint.Saver) iter.Seq2[checkpoint.Record, error] { return in.History(ctx, p, left) }, seen)(yield)
	}
}

// Rewake sets when a thread is due, as checkpoint.Saver says.
func (s *Saver) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	return do(ctx, s, r.Thread, func(in checkpoint.Saver) error { return in.Rewake(ctx, r) })
}

// Schemas returns descriptions of schemas, as checkpoint.Saver says.
func (s *Saver) Schemas(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
	return on(ctx, s, thread, func(in checkpoint.Saver) (map[uint64][]byte, error) { return in.Schemas(ctx, thread, version) })
}

// Versions returns the versions of a thread, as checkpoint.Saver says.
func (s *Saver) Versions(ctx context.Context, thread string) ([]checkpoint.Version, error) {
	return on(ctx, s, thread, func(in checkpoint.Saver) ([]checkpoint.Version, error) { return in.Versions(ctx, thread) })
}

// Release closes the open version, as checkpoint.Saver says.
func (s *Saver) Release(ctx context.Context, thread string, ifHead checkpoint.ID) (checkpoint.Version, error) {
	return on(ctx, s, thread, func(in checkpoint.Saver) (checkpoint.Version, error) { return in.Release(ctx, thread, ifHead) })
}

// Delete removes a thread, as checkpoint.Saver says.
func (s *Saver) Delete(ctx context.Context, thread string) error {
	return do(ctx, s, thread, func(in checkpoint.Saver) error { return in.Delete(ctx, thread) })
}

// Prune removes old records and versions, as checkpoint.Saver says.
func (s *Saver) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	return on(ctx, s, thread, func(in checkpoint.Saver) (checkpoint.PruneResult, error) { return in.Prune(ctx, thread, keep) })
}

// Export yields a version, as checkpoint.Saver says.
func (s *Saver) Export(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	return yielding(ctx, s, thread, func(in checkpoint.Saver) iter.Seq2[checkpoint.ExportItem, error] {
		return in.Export(ctx, thread, version)
	}, nil)
}

// Import makes the next version of a thread, as checkpoint.Saver says.
func (s *Saver) Import(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if err := checkThread(thread); err != nil {
		return err
	}
	sh, in, err := s.home(ctx, thread) // items may be yielded only once
	if err != nil {
		return err
	}
	return sh.failed(again(in.Import(ctx, thread, items)))
}

// Mail returns messages, as checkpoint.Inbox says.
func (s *Saver) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	return on(ctx, s, q.Thread, func(in checkpoint.Saver) ([]checkpoint.Message, error) { return in.Mail(ctx, q) })
}
