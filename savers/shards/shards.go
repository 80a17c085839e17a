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
// Each shard stores the list of names and weights with which it was first used: the layout. A
// saver with another layout is refused with a [*LayoutError], because it would look for threads
// where they are not. A layout cannot change. So choose enough shards at the beginning. Several of
// them can be schemas or databases of one server, and move to servers of their own later.
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
	shards []*shard // by name
}

var _ checkpoint.Saver = (*Saver)(nil)

// Open returns a saver over shards, and opens them. It returns a *checkpoint.InvalidError for a
// list that cannot be a layout, and a *LayoutError if a shard stores another layout. A shard that
// cannot be opened for another reason is opened later, unless no shard can be opened: then Open
// returns the errors of all.
func Open(ctx context.Context, shards ...Shard) (*Saver, error) {
	places, err := layoutOf(shards)
	if err != nil {
		return nil, err
	}
	s := new(Saver)
	for _, given := range shards {
		s.shards = append(s.shards, &shard{Shard: given, seeds: seeds(given.Name, given.Weight), layout: places, turn: make(chan struct{}, 1)})
	}
	slices.SortFunc(s.shards, func(a, b *shard) int { return strings.Compare(a.Name, b.Name) })
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

// shard is a Shard and its saver, once it is open.
type shard struct {
	Shard
	seeds  []uint64 // one for each unit of the weight
	layout []Place

	turn   chan struct{} // has an element while a call opens or closes the saver
	opened atomic.Pointer[checkpoint.Saver]
	closed bool

	mu    sync.Mutex
	rests time.Time // calls over all shards leave the shard out before this time
	cause error     // why
}

// saver returns the saver of the shard. It opens it if it is not open.
func (sh *shard) saver(ctx context.Context) (checkpoint.Saver, error) {
	if s := sh.opened.Load(); s != nil {
		return *s, nil
	}
	select {
	case sh.turn <- struct{}{}:
		defer func() { <-sh.turn }()
	case <-ctx.Done():
		return nil, sh.failed(ctx.Err())
	}
	if s := sh.opened.Load(); s != nil {
		return *s, nil
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
		errors.As(err, new(*checkpoint.InvalidError)), errors.As(err, new(*ShardError)), errors.As(err, new(*LayoutError)):
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

// Shard returns the name of the shard on which a thread lives, or will live.
func (s *Saver) Shard(thread string) string { return s.of(thread).Name }

// of returns the shard of a thread.
func (s *Saver) of(thread string) *shard {
	key, most, best := checkpoint.ThreadHash(thread), uint64(0), s.shards[0]
	for _, sh := range s.shards {
		for _, seed := range sh.seeds {
			if score := mix(key ^ seed); score > most {
				most, best = score, sh
			}
		}
	}
	return best
}

// Via returns a Poster that posts by p to threads of one shard. p is InTx of the saver of that
// shard: so messages are part of a transaction of the caller. A Post to a thread of another shard
// is a *checkpoint.InvalidError, and nothing is posted. Saver.Shard says where a thread lives.
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
		if found := p.s.Shard(posts[i].Thread); found != p.shard {
			return nil, &checkpoint.InvalidError{
				Field: "thread", Found: fmt.Sprintf("%.64q, which lives on shard %q", posts[i].Thread, found),
				Want: fmt.Sprintf("a thread of shard %q, whose transaction posts", p.shard),
			}
		}
	}
	if len(posts) == 0 {
		return nil, nil
	}
	sh := p.s.of(posts[0].Thread)
	inner, err := sh.saver(ctx)
	if err != nil {
		return nil, err
	}
	posted, err := checkpoint.PostVia(inner, p.by).Post(ctx, posts...)
	return posted, sh.failed(err)
}

// on makes a call for one thread.
func on[R any](ctx context.Context, s *Saver, thread string, call func(checkpoint.Saver) (R, error)) (result R, err error) {
	if err := checkThread(thread); err != nil {
		return result, err
	}
	sh := s.of(thread)
	inner, err := sh.saver(ctx)
	if err != nil {
		return result, err
	}
	result, err = call(inner)
	return result, sh.failed(err)
}

// do is on for a call without a result.
func do(ctx context.Context, s *Saver, thread string, call func(checkpoint.Saver) error) error {
	_, err := on(ctx, s, thread, func(in checkpoint.Saver) (struct{}, error) { return struct{}{}, call(in) })
	return err
}

// yielding is on for a call that yields values.
func yielding[V any](ctx context.Context, s *Saver, thread string, call func(checkpoint.Saver) iter.Seq2[V, error]) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		seq, err := on(ctx, s, thread, func(in checkpoint.Saver) (iter.Seq2[V, error], error) { return call(in), nil })
		if err != nil {
			var none V
			yield(none, err)
			return
		}
		for v, err := range seq {
			if !yield(v, s.of(thread).failed(err)) {
				return
			}
		}
	}
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
	return on(ctx, s, a.Thread, func(in checkpoint.Saver) (checkpoint.AppendResult, error) { return in.Append(ctx, a) })
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
	return yielding(ctx, s, p.Thread, func(in checkpoint.Saver) iter.Seq2[checkpoint.Record, error] { return in.History(ctx, p, q) })
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
	})
}

// Import makes the next version of a thread, as checkpoint.Saver says.
func (s *Saver) Import(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	return do(ctx, s, thread, func(in checkpoint.Saver) error { return in.Import(ctx, thread, items) })
}

// Mail returns messages, as checkpoint.Inbox says.
func (s *Saver) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	return on(ctx, s, q.Thread, func(in checkpoint.Saver) ([]checkpoint.Message, error) { return in.Mail(ctx, q) })
}
