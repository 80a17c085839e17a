// Package rows (experimental) implements the commit protocol of package checkpoint once, over a
// small contract: a [Store] of rows. A [Saver] keeps all that it knows in rows, and decides what a
// call may change. A Store only compares revisions, and stores a [Change] whole or not at all.
//
// # How to write a backend
//
// Implement [Store] on your storage: three methods, some 150 lines. Test it by package rowstest.
// [New] makes a saver of it, which package savertest tests. The page docs/backends.md explains a
// backend on etcd.
//
// The storage must have transactions over several keys with conditions, ordered keys, and one
// clock.
//
// # How a write is stored
//
// The row of a thread has its fence, its lease and its inbox's counters. A write checks the
// revision of that row, so a write of a run that lost its thread changes nothing. A Saver first
// tries a write with what it knows of the thread. If the check fails, the Saver reads and decides
// again. So most writes of a run are one round trip, and read nothing.
//
// A record has the key of the record before it, and its put is New. So only one record can follow
// a head, and the rows of a log are in its order, because the ids of a log increase.
//
// A pending write counts until its base is committed: the record after its base commits it, or a
// mark says so. Rows of writes that count no more are ignored, and removed later.
package rows

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Saver is a checkpoint.Saver over a Store. New makes it. It is safe for concurrent use. Savers of
// several processes may use the same rows.
type Saver struct {
	name  string
	store Store

	calls  sync.RWMutex // held for reading by every call; Close takes it whole
	closed bool

	options Options
	packing pack.Policy
	packer  *pack.Queue[job]

	changes, removals joiner

	posters [256]sync.Mutex // those who post to one thread take turns, by a hash of the thread

	mu    sync.Mutex
	order uint64 // the greatest order of a pending write that was seen or given
	known map[string]*known
	clock clock
	low   map[string]lowMark // by graph
}

var _ checkpoint.Saver = (*Saver)(nil)

// Options are the settings of a Saver. The zero Options are the defaults.
type Options struct {
	// ReadOnly makes all calls fail that write, with checkpoint.ErrReadOnly.
	ReadOnly bool
	// Readable keeps the state of each version in the table States, as the newest run that ended
	// left it. The change that ends a run also stores the state.
	Readable bool
	// Decode returns the payload of a record from what is stored, for a readable state. nil
	// returns its argument.
	Decode func(stored []byte) ([]byte, error)
	// Join makes a change wait while one of another thread is in progress. The Saver joins those
	// that wait to one Change, of up to 256 threads. That saves round trips and syncs. A change
	// waits at most 10 ms for each Change before it.
	Join bool
}

// New returns a Saver over store, which the Close of the Saver closes. New reads nothing. name is
// the word with which errors begin, such as "etcd".
func New(name string, store Store, o Options) *Saver {
	s := &Saver{name: name, store: store, options: o, packing: pack.Default, known: make(map[string]*known), low: make(map[string]lowMark)}
	s.changes.s, s.removals.s = s, s
	if p, ok := store.(interface{ Packing() pack.Policy }); ok && p.Packing().Every != 0 { // in tests
		s.packing = p.Packing()
	}
	s.packer = pack.NewQueue(s.pack)
	return s
}

// clock is the newest time of the storage that was read, and when it came here.
type clock struct{ there, here time.Time }

// known is what the process knows of a thread, from its newest call. It may be out of date.
type known struct {
	t     thread
	heads map[string]head // by namespace
	held  bool            // a run that this saver opened has not ended

	open    map[checkpoint.ID]bool     // bases that no record commits, while the fence stays
	written map[checkpoint.ID]struct{} // bases with pending writes, which no record commits yet
	spent   []checkpoint.ID            // committed bases with pending writes; the end of the run removes these

	mail map[uint64]checkpoint.Message // untaken messages of t, without their payloads
}

// head is the newest record of a log. The zero head is that of an empty log.
type head struct {
	id     checkpoint.ID
	seq    uint64
	step   int
	packed uint64 // of a known head: the seq when packing was last considered
	pack   []byte // of a known head: the key of the newest pack, as far as this process has made it
	chain  int    // how many records restore its state; 0 if that is unknown
}

// headOf returns the head of a log that begins with r.
func headOf(r *checkpoint.Record) head { return head{packed: r.Seq, seq: r.Seq - 1}.then(r) }

// then returns the head after r.
func (h head) then(r *checkpoint.Record) head {
	next := head{id: r.ID, seq: h.seq + 1, step: r.Step, packed: h.packed, pack: h.pack}
	switch {
	case r.Snapshot:
		next.chain = 1
	case h.chain > 0:
		next.chain = h.chain + 1
	}
	return next
}

// mostKnown is how many threads are known at most, besides those that are held.
const mostKnown = 4096

// wrap says which saver failed. Conflicts and invalid arguments say it themselves. A thread that
// has moved is forgotten, also if a run that s opened holds it.
func (s *Saver) wrap(err error) error {
	for _, moved := range Moved(err) {
		s.forget(moved.Thread)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, checkpoint.ErrConflict), errors.Is(err, checkpoint.ErrNotFound), errors.As(err, new(*checkpoint.InvalidError)):
		return err
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// call runs f as a call whose arguments are checked: again while f returns ErrChanged, unless ctx
// ends. A call that was refused mostTries times ends with checkpoint.ErrUnavailable.
func (s *Saver) call(ctx context.Context, invalid error, f func() error) error {
	if invalid != nil {
		return invalid
	}
	if err := ctx.Err(); err != nil {
		return s.wrap(err)
	}
	s.calls.RLock()
	defer s.calls.RUnlock()
	if s.closed {
		return s.wrap(checkpoint.ErrClosed)
	}
	for tries := 1; ; tries++ {
		err := f()
		if !errors.Is(err, ErrChanged) {
			return s.wrap(err)
		}
		if tries == mostTries {
			return s.wrap(fmt.Errorf("%w: others changed the thread at each of %d tries; if nobody writes to it, its rows contradict each other: %w",
				checkpoint.ErrUnavailable, tries, err))
		}
		if err := pause(ctx, tries); err != nil {
			return s.wrap(err)
		}
	}
}

// mostTries is how often a call tries. All tries but the first few wait before, so they take about
// 10 s.
const mostTries = 1000

// pause waits before another try, after some tries for a random time, so that calls that changed
// the same rows do not meet again.
func pause(ctx context.Context, tries int) error {
	if tries < 4 {
		return ctx.Err()
	}
	timer := time.NewTimer(rand.N(time.Duration(min(tries, 20)) * time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// change is call for a call that writes.
func (s *Saver) change(ctx context.Context, invalid error, f func() error) error {
	if invalid == nil && s.options.ReadOnly {
		invalid = s.wrap(checkpoint.ErrReadOnly)
	}
	return s.call(ctx, invalid, f)
}

// Close ends the leases that s took, and closes the Store. It waits for calls in progress.
func (s *Saver) Close() error {
	s.packer.Close(closeTimeout)
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	held := make(map[string]checkpoint.ID)
	s.mu.Lock()
	for id, k := range s.known {
		if k.held {
			held[id] = k.t.Fence
		}
	}
	s.mu.Unlock()
	for id, fence := range held {
		for {
			if err := s.letGo(ctx, id, fence); !errors.Is(err, ErrChanged) {
				break // a lease that cannot be ended ends by itself
			}
		}
	}
	s.changes.running.Wait()
	s.removals.running.Wait()
	return s.wrap(s.store.Close())
}

// closeTimeout bounds how long Close waits for packs, and how long it tries to end leases.
const closeTimeout = 5 * time.Second

// letGo ends the lease of a run that this process leaves behind. The thread is due now.
func (s *Saver) letGo(ctx context.Context, id string, fence checkpoint.ID) error {
	t, err := s.thread(ctx, id)
	if err != nil || t.Fence != fence || t.Until.IsZero() {
		return err
	}
	w := newWriter(s, t)
	next := &w.next
	if _, err := w.rest(ctx, nil); err != nil {
		return err
	}
	if !next.Wake.IsZero() {
		next.Wake = t.now
	}
	w.c.changeThread(t, next)
	_, _, err = s.store.Apply(ctx, &w.c)
	return err
}

// read reads ranges, and notes the time.
func (s *Saver) read(ctx context.Context, ranges ...Range) ([][]Row, time.Time, error) {
	rows, now, err := s.store.Read(ctx, ranges...)
	here := time.Now() // after the reply: so estimate is never later than the clock of the storage
	if err != nil {
		return nil, now, err
	}
	now = ledger.Micro(now)
	s.mu.Lock()
	s.clock = clock{now, here}
	s.mu.Unlock()
	return rows, now, nil
}

// mostRanges is how many ranges readInParts reads by one Read. SQLite has a limit of 500.
const mostRanges = 400

// readInParts reads ranges that need not be from one moment. There may be several for each pending
// write of a thread.
func (s *Saver) readInParts(ctx context.Context, ranges []Range) (all [][]Row, err error) {
	for part := range slices.Chunk(ranges, mostRanges) {
		rows, _, err := s.read(ctx, part...)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// estimate returns a time that is not later than the clock of the storage; ok is false before the
// first read.
func (s *Saver) estimate() (now time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ledger.Micro(s.clock.there.Add(time.Since(s.clock.here))), !s.clock.there.IsZero()
}

// thread reads the row of a thread.
func (s *Saver) thread(ctx context.Context, id string) (*thread, error) {
	rows, now, err := s.read(ctx, point(threadKey(id)))
	if err != nil {
		return nil, err
	}
	return asThread(id, rows[0], now)
}

// readOf reads a range of a thread, and after it the row of the thread. It returns a *MovedError
// if the thread is elsewhere. So an empty range says that there is nothing.
func (s *Saver) readOf(ctx context.Context, id string, r Range) ([][]Row, error) {
	rows, now, err := s.read(ctx, r, point(threadKey(id)))
	if err != nil {
		return nil, err
	}
	if len(rows[1]) == 0 || rows[1][0].Rev == s.revOf(id) { // a known row is not one that moves
		return rows, nil
	}
	if _, err := asThread(id, rows[1], now); errors.As(err, new(*MovedError)) {
		return nil, err
	}
	return rows, nil
}

// asThread returns the thread of a row that was read at a time. If the thread moves or has moved,
// it also returns a *MovedError, which all calls return.
func asThread(id string, rows []Row, now time.Time) (*thread, error) {
	if len(rows) == 0 {
		return &thread{threadRow: threadRow{ID: id}, now: now}, nil
	}
	t, err := rows[0].thread()
	if err != nil {
		return nil, of(id, err)
	}
	all := &thread{threadRow: *t, rev: rows[0].Rev, now: now}
	return all, all.moved()
}

// of adds the id of the thread to an error.
func of(id string, err error) error {
	if err == nil || errors.Is(err, ErrChanged) {
		return err
	}
	if len(id) > 64 {
		id = id[:64] + "..."
	}
	return fmt.Errorf("thread %q: %w", id, err)
}

// apply stores the change c of a thread, which is next after it.
func (s *Saver) apply(ctx context.Context, c *Change, old *thread, next *threadRow) (stored thread, rows [][]Row, err error) {
	c.changeThread(old, next)
	rev, rows, err := s.applyChange(ctx, c)
	if err != nil {
		return thread{}, nil, of(old.ID, err)
	}
	stored = thread{threadRow: *next, rev: old.rev, now: old.now}
	if old.rev == 0 || !next.equal(&old.threadRow) {
		stored.rev = rev
	}
	return stored, rows, nil
}

// keep notes what a call has read or written of a thread. h is the head of a namespace, or nil.
func (s *Saver) keep(t *thread, namespace string, h *head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[t.ID]
	switch {
	case k == nil:
		if len(s.known) >= mostKnown {
			s.evict()
		}
		k = &known{t: *t}
		s.known[t.ID] = k
	case k.t.Fence != t.Fence || k.t.Root != t.Root:
		if t.rev < k.t.rev {
			return
		}
		*k = known{t: *t, held: k.held && k.t.Fence == t.Fence}
	case t.rev > k.t.rev:
		k.mail = nil
		fallthrough
	case t.rev == k.t.rev:
		k.t = *t
	}
	if h != nil {
		if k.heads == nil {
			k.heads = make(map[string]head)
		}
		before, found := k.heads[namespace]
		switch {
		case !found:
			k.heads[namespace] = *h
		case h.seq >= before.seq:
			next := *h
			if next.packed, next.pack = before.packed, before.pack; next.id == before.id && next.chain == 0 {
				next.chain = before.chain
			}
			k.heads[namespace] = next
		}
	}
}

// note calls f with what is known of a thread, if something is.
func (s *Saver) note(id string, f func(k *known)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.known[id]; k != nil {
		f(k)
	}
}

// hold notes whether a run that s opened holds the thread.
func (s *Saver) hold(id string, held bool) { s.note(id, func(k *known) { k.held = held }) }

// mostSpent is how many bases the end of a run rids of their writes at most. Others keep rows that
// count no more.
const mostSpent = 64

// noteWrites notes the bases of writes that were stored, and which of them records commit.
func (s *Saver) noteWrites(id string, writes []checkpoint.Write, records []checkpoint.Record) {
	s.note(id, func(k *known) {
		if k.written == nil && len(writes) > 0 {
			k.written = make(map[checkpoint.ID]struct{})
		}
		for i := range writes {
			if base := writes[i].Base; !base.IsZero() && len(k.written) < mostSpent {
				k.written[base] = struct{}{}
			}
		}
		for i := range records {
			base := records[i].Commits
			delete(k.open, base)
			if _, found := k.written[base]; found {
				delete(k.written, base)
				k.spent = append(k.spent, base)
			}
		}
	})
}

// noteOpen notes that no record commits a base, of a thread that was read.
func (s *Saver) noteOpen(t *thread, base checkpoint.ID) {
	s.note(t.ID, func(k *known) {
		if k.t.Fence != t.Fence || len(k.open) >= mostSpent {
			return
		}
		if k.open == nil {
			k.open = make(map[checkpoint.ID]bool)
		}
		k.open[base] = true
	})
}

// noteSpent notes that bases are committed, whose pending writes the end of a run can remove.
func (s *Saver) noteSpent(id string, bases []checkpoint.ID) {
	s.note(id, func(k *known) { k.spent = append(k.spent, bases...) })
}

// spent returns the committed bases whose pending writes the end of a run removes, with those that
// records commit.
func (s *Saver) spent(id string, records []checkpoint.Record) (all []checkpoint.ID) {
	s.note(id, func(k *known) {
		all = slices.Clone(k.spent[:min(len(k.spent), mostSpent)])
		k.spent = k.spent[len(all):]
		for i := range records {
			if _, found := k.written[records[i].Commits]; found {
				all = append(all, records[i].Commits)
			}
		}
	})
	return all
}

// evict forgets some thread that is not held. The caller must hold s.mu.
func (s *Saver) evict() {
	for id, k := range s.known {
		if !k.held {
			delete(s.known, id)
			return
		}
	}
}

// forget removes what is known of a thread.
func (s *Saver) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}

// recall returns what is known of a thread, and of the head of a namespace; found reports whether
// the head is known. The time of the thread is an estimate. t is nil if nothing is known.
func (s *Saver) recall(id, namespace string) (t *thread, h head, found bool) {
	now, ok := s.estimate()
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[id]
	if k == nil || !ok {
		return nil, h, false
	}
	t = new(thread)
	*t = k.t
	t.now = now
	h, found = k.heads[namespace]
	return t, h, found
}

// nextOrder returns a number greater than those of all pending writes that s has read or stored.
func (s *Saver) nextOrder() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = max(s.order+1, uint64(time.Now().UnixNano()))
	return s.order
}

// sawOrder notes the order of a pending write.
func (s *Saver) sawOrder(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = max(s.order, n)
}
