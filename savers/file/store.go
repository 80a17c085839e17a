package file

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// store is a rows.Store in the segments of a folder.
type store struct {
	root  *os.Root
	trust bool // accept a folder that others may write to
	disk  disk
	least int64 // size of a segment
	most  int64
	limit int  // maxFrame, or less in a test
	next  lock // whose holder is the next to get lock; so processes take turns. turn guards both
	lock  lock // whose holder writes

	open   lock  // each Saver of the folder has it, together with the others
	absent error // why this one has not; then it cannot write

	view    atomic.Pointer[view]
	leading atomic.Bool // this process holds lock, and view is current

	mu     sync.Mutex // held to change what follows, view and leading
	oldest uint64     // no segment before it has a file
	torn   tail       // the newest one that was searched

	writing sync.Mutex // held while a frame is written, and before mu

	turn    chan struct{} // holds a value while a call writes for all that wait
	asked   time.Time     // when this process had next; turn guards it
	uncut   uncut         // turn guards it
	moved   cursor        // turn guards it
	mq      sync.Mutex
	waiting []*request

	mc  sync.Mutex
	now time.Time // the newest time that was returned
}

var _ rows.Store = (*store)(nil)

// request is a change that waits.
type request struct {
	c    *rows.Change
	done chan struct{} // closed when the others are set
	rev  uint64
	read [][]rows.Row
	err  error

	found [][]found
}

// Read returns rows, and the time of the system. It waits for no writer of another process.
func (s *store) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, time.Time{}, err
		}
		v, err := s.current()
		if err != nil {
			return nil, time.Time{}, err
		}
		all, err := v.load(v.find(ranges))
		if errors.Is(err, os.ErrClosed) && s.view.Load() != v { // its segment was removed
			continue
		}
		if is, bad := v.compare(); bad == nil && is == another && len(v.segments) > 0 {
			continue // a writer has cut off the last frame, and may have written others in its place
		}
		return all, s.clock(), err
	}
}

// clock returns the time of the system, or the newest one that it returned before.
func (s *store) clock() time.Time {
	s.mc.Lock()
	defer s.mc.Unlock()
	if now := time.Now().Round(0); now.After(s.now) {
		s.now = now
	}
	return s.now
}

// current returns a view that has all changes that were stored before the call.
func (s *store) current() (*view, error) {
	leading := s.leading.Load() // before the view
	v := s.view.Load()
	if leading {
		if is, err := v.compare(); err == nil && is == same {
			return v, nil
		}
		// Another process may have shown the frame that is being written.
		s.writing.Lock()
		defer s.writing.Unlock()
		return s.view.Load(), nil
	}
	if is, err := v.compare(); err == nil && is == same {
		return v, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leading.Load() {
		return s.view.Load(), nil
	}
	return s.catchUp()
}

// catchUp makes the view current. The caller holds s.mu.
func (s *store) catchUp() (*view, error) {
	v := s.view.Load()
	next, err := s.follow(v)
	if err != nil {
		return nil, err
	}
	s.publish(next)
	return next, nil
}

// publish makes a view the current one, without the oldest segments that have no rows. The caller
// holds s.mu.
func (s *store) publish(next *view) {
	for len(next.segments) > 1 && next.segments[0].rows == 0 {
		next.segments = next.segments[1:]
	}
	old := s.view.Swap(next)
	if old != nil && old != next {
		old.close(next)
	}
}

// mostJoined is how many bytes of values the changes have that are joined to one frame, about.
const mostJoined = 1 << 20

// Apply stores a change. Changes that wait meanwhile are stored together: one call writes and
// syncs the frame of all.
func (s *store) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	if err := s.fits(c); err != nil {
		return 0, nil, err
	}
	r := &request{c: c, done: make(chan struct{})}
	s.mq.Lock()
	s.waiting = append(s.waiting, r)
	s.mq.Unlock()
	for {
		select {
		case <-r.done:
			return r.rev, r.read, r.err
		default:
		}
		select {
		case <-r.done:
		case s.turn <- struct{}{}:
			err := s.lead(ctx)
			<-s.turn
			if err != nil && s.withdraw(r) {
				return 0, nil, err
			}
		case <-ctx.Done():
			if s.withdraw(r) {
				return 0, nil, ctx.Err()
			}
			<-r.done
		}
	}
}

// withdraw removes a request that waits. It reports false if it is being stored.
func (s *store) withdraw(r *request) bool {
	s.mq.Lock()
	defer s.mq.Unlock()
	n := len(s.waiting)
	s.waiting = slices.DeleteFunc(s.waiting, func(other *request) bool { return other == r })
	return len(s.waiting) < n
}

// take removes the requests that wait, up to a size, and at least one.
func (s *store) take() []*request {
	s.mq.Lock()
	defer s.mq.Unlock()
	n, size := 0, 0
	for ; n < len(s.waiting) && (n == 0 || size < mostJoined); n++ {
		values, ops := sizeOf(s.waiting[n].c)
		if size += values + ops; n > 0 && size > s.limit {
			break
		}
	}
	taken := s.waiting[:n:n]
	s.waiting = slices.Clone(s.waiting[n:])
	return taken
}

// sizeOf returns the bytes of the values of a change, and at most those of its operations.
func sizeOf(c *rows.Change) (values, ops int) {
	for i := range c.Checks {
		ops += len(c.Checks[i].Thread) + 32
	}
	for i := range c.Deletes {
		ops += len(c.Deletes[i].Bytes) + len(c.Deletes[i].To) + 32
	}
	for i := range c.Puts {
		values, ops = values+len(c.Puts[i].Value), ops+len(c.Puts[i].Bytes)+32
	}
	return values, ops
}

// fits returns an error if a change is larger than a frame can be. It leaves some room for rows
// that are moved.
func (s *store) fits(c *rows.Change) error {
	limit := s.limit - s.limit/256
	if values, ops := sizeOf(c); max(values, ops) <= limit {
		return nil
	}
	largest := 0
	for i := range c.Puts {
		largest = max(largest, len(c.Puts[i].Value))
	}
	return &checkpoint.SizeError{Size: largest, Limit: int64(limit), Setting: "the format of the files"}
}

// lead stores the requests that wait. The error says why it has taken none.
func (s *store) lead(ctx context.Context) error {
	if err := s.lockFolder(ctx); err != nil {
		return err
	}
	defer s.unlockFolder()
	s.mu.Lock()
	v, err := s.ready()
	s.leading.Store(err == nil)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		s.mu.Lock()
		s.leading.Store(false)
		s.mu.Unlock()
	}()
	runtime.Gosched() // the callers of the frame before bring their next changes, to share this one
	taken := s.take()
	s.writing.Lock()
	err = s.commit(v, taken)
	s.writing.Unlock()
	for _, r := range taken {
		if err != nil {
			r.rev, r.read, r.err = 0, nil, err
		}
		close(r.done)
	}
	return nil
}

// commit stores requests as one frame after a view. Those whose demands do not hold get
// ErrChanged.
func (s *store) commit(v *view, taken []*request) error {
	next, f := v.clone(), newFrame()
	at := next.last().size
	for _, r := range taken {
		if !next.holds(r.c) {
			r.err = rows.ErrChanged
			continue
		}
		r.rev = next.apply(r.c, f, at)
		r.found = next.find(r.c.Reads)
	}
	if !f.empty() {
		s.move(next, f, at)
		if err := s.write(next, f, changes); err != nil {
			s.moved = cursor{}
			return err
		}
	}
	for _, r := range taken {
		if r.err == nil {
			r.read, r.err = next.load(r.found)
		}
	}
	s.mu.Lock()
	s.publish(next)
	s.mu.Unlock()
	s.removeOld(next)
	return nil
}

// yieldAfter is how long a process may write before it lets others go first that wait.
const yieldAfter = 2 * time.Millisecond

// lockFolder waits until this process may write. A process that waits has the lock next, which
// keeps others from taking lock again.
func (s *store) lockFolder(ctx context.Context) error {
	if time.Since(s.asked) < yieldAfter {
		if ok, err := s.tryLock(&s.lock); ok || err != nil {
			return err
		}
	}
	if err := s.poll(ctx, &s.next); err != nil {
		return err
	}
	err := s.poll(ctx, &s.lock)
	s.asked = time.Now()
	_ = s.next.unlock() // a failed one closes the file, which unlocks it
	return err
}

// poll waits for a lock.
func (s *store) poll(ctx context.Context, l *lock) error {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 2*time.Millisecond) {
		ok, err := s.tryLock(l)
		if ok || err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// unlockFolder lets other processes write.
func (s *store) unlockFolder() { _ = s.lock.unlock() } // a failed one closes the file

// Close closes the files.
func (s *store) Close() error {
	s.view.Load().close(nil)
	return errors.Join(s.next.close(), s.lock.close(), s.open.close(), s.root.Close())
}
