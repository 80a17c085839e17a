package journal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
)

// Sync is the Log that has stored an entry when Write returns. NewSync returns one.
type Sync struct {
	Config
	fence checkpoint.ID
	base  checkpoint.ID // that of the newest record of the run itself that is stored
	ended bool          // the lease is given up
	wake  time.Time     // of the newest write with End, which may be stored although it failed
	tried bool          // there was a write with End
	acts  bool          // a write with End handles messages
	timer leaseTimer
	now   time.Time // on the saver's clock, when the run opened the thread
	since time.Time // the same instant or later, on the clock of this process

	opened uint64        // see Opened
	birth  checkpoint.ID // see Birth
	seat   *news.Seat    // nil before the run has joined the Room

	mu       sync.Mutex
	gone     error // why a write was refused: another run has the thread
	attempts attempts
	lateness lateness

	posted atomic.Uint64 // the newest message that is known
	seen   atomic.Uint64 // see See
	waits  atomic.Int32  // see See
}

// NewSync returns a Log that has not been opened.
func NewSync(c Config) *Sync { return &Sync{Config: c} }

// Thread implements Log.
func (s *Sync) Thread() string { return s.ThreadID }

// Open implements Log.
func (s *Sync) Open(ctx context.Context, o checkpoint.Opening, e Entry) ([]checkpoint.Write, error) {
	call := s.calling(ctx, time.Now())
	defer call.end()
	a := s.append(&e)
	a.Open = &o
	done, err := s.Saver.Append(call, a)
	if err != nil {
		return nil, err
	}
	s.fence, s.ended, s.attempts.opened = e.Records[0].ID, e.End, done.Attempts
	s.keepBase(&e)
	s.now, s.since = done.Now, time.Now()
	s.Tail.add(&e)
	s.opened, s.birth = done.Posted, done.Birth
	s.reportRefused(&e)
	s.learned(done.Posted)
	s.prune(ctx, &e, done.Head)
	if !s.ended {
		s.timer.start(s.Lease/3, func() { s.renew(ctx) }, func() time.Duration { return s.tick(ctx) })
	}
	return done.Writes, nil
}

// append returns the saver's form of an entry with records.
func (s *Sync) append(e *Entry) checkpoint.Append {
	return checkpoint.Append{
		Thread: s.ThreadID, Namespace: e.Namespace, After: e.After, Records: e.Records, Writes: e.Writes, Fence: s.fence,
		Status: e.Status, Lease: s.Lease, End: e.End, Release: s.releases(e),
		Wake: e.Wake, Messages: s.messages(e), Labels: e.Labels,
	}
}

// releases reports whether the write of e releases the version.
func (s *Sync) releases(e *Entry) bool {
	return e.End && (e.Closes || e.Status == checkpoint.Done && s.Release && !e.Change.Keep)
}

// Write implements Log.
func (s *Sync) Write(ctx context.Context, e Entry) error {
	if !e.End {
		return s.store(ctx, e)
	}
	s.quit()
	defer s.lateness.set(false, s.Late)
	if e.Status == 0 {
		e.Wake = cmp.Or(s.wake, e.Wake)
	}
	s.wake, s.tried, s.acts = e.Wake, true, s.acts || !e.Messages.Empty()
	err := s.store(ctx, e)
	s.ended = err == nil
	return err
}

// Now implements Log.
func (s *Sync) Now() time.Time {
	if s.fence.IsZero() {
		return time.Time{}
	}
	return s.now.Add(time.Since(s.since))
}

// WaitStored implements Log.
func (s *Sync) WaitStored() error { return nil }

// store makes the saver call for e.
func (s *Sync) store(ctx context.Context, e Entry) error {
	if gone := s.Lost(); gone != nil {
		return gone
	}
	now := time.Now()
	head, err := s.save(s.calling(ctx, now), &e)
	s.timer.written(now)
	if err == nil {
		s.lateness.set(false, s.Late)
		s.prune(ctx, &e, head)
	}
	s.refused(err)
	return err
}

// save stores e under ctx, and ends that. It returns the Seq of the last record of e.
func (s *Sync) save(ctx *saverCall, e *Entry) (head uint64, err error) {
	defer ctx.end()
	defer s.rescue(&err)
	progress := s.note(e)
	var posted uint64
	if len(e.Records) > 0 {
		var done checkpoint.AppendResult
		a := s.append(e)
		a.Progress = progress
		if done, err = s.Saver.Append(ctx, a); err == nil {
			s.Tail.add(e)
			s.keepBase(e)
		}
		posted, head = done.Posted, done.Head
	} else {
		var done checkpoint.PutResult
		notes, stored := s.Beats.unstored()
		done, err = s.Saver.PutWrites(ctx, checkpoint.PutWrites{
			Thread: s.ThreadID, Fence: s.fence, Writes: append(slices.Clip(e.Writes), notes...), Status: e.Status, Lease: s.Lease, End: e.End, Wake: e.Wake, Progress: progress,
			Messages: s.messages(e),
		})
		if posted = done.Posted; err == nil {
			stored()
		}
	}
	s.learned(posted)
	if err == nil {
		s.reportRefused(e)
	}
	if progress && err == nil {
		s.noted()
	}
	return head, err
}

// keepBase notes the base of the newest record of a stored entry.
func (s *Sync) keepBase(e *Entry) {
	if e.Namespace == "" {
		s.base = e.Records[len(e.Records)-1].Base
	}
}

// bare returns the last entry of a run whose records or writes the storage has refused for their
// size. Of e it has the outcome, and the reason for that, at the newest record that is stored.
func (s *Sync) bare(e *Entry) Entry {
	end := Entry{Change: e.Change}
	for _, w := range e.Writes {
		if w.Task == RunTask {
			w.Base = s.base
			end.Writes = append(end.Writes, w)
		}
	}
	return end
}

// renew extends the lease. A run that finds its lease gone is stopped. Its next write meets and
// reports any other failure.
func (s *Sync) renew(ctx context.Context) {
	// The write before this one, which renewed the lease too, began a third of the lease ago.
	over := s.lateness.watch(s.Lease/3, s.Late)
	_, err := s.save(s.calling(ctx, time.Now()), &Entry{})
	over(err != nil)
	if s.refused(err) {
		s.Config.Lost(err)
	}
}

// refused notes a write that was refused because another run has the thread, and reports whether
// err is that.
func (s *Sync) refused(err error) bool {
	if !errors.Is(err, checkpoint.ErrConflict) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = err
	return true
}

// Load implements Log.
func (s *Sync) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	return s.Saver.Load(ctx, p)
}

// Keeps implements Log.
func (s *Sync) Keeps() bool { return false }

// Eager implements Log.
func (s *Sync) Eager() bool { return true }

// Holds implements Log.
func (s *Sync) Holds() bool { return !s.fence.IsZero() && !s.ended }

// Lost implements Log.
func (s *Sync) Lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// Broken implements Log.
func (s *Sync) Broken() error { return nil }

// Over implements Log.
func (s *Sync) Over(string) {}

// LetGo implements Log. If it fails, the lease ends by itself.
func (s *Sync) LetGo(ctx context.Context) {
	_ = s.Close() // else a lease that is left to run out would be renewed
	if s.Abandon || s.ended || s.Lost() != nil {
		return
	}
	call := s.calling(ctx, time.Now())
	defer call.end()
	end := checkpoint.PutWrites{Thread: s.ThreadID, Fence: s.fence, Lease: s.Lease, End: true, Wake: s.wake}
	if s.tried && !s.acts { // else messages that the run has seen may still wait
		end.Messages.Seen = s.seen.Load()
	}
	_, err := s.Saver.PutWrites(call, end)
	s.ended = err == nil
}

// Close implements Log.
func (s *Sync) Close() error {
	s.quit()
	s.lateness.set(false, s.Late)
	return nil
}
