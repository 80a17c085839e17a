package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// leases is the folder of the leases. It has a file for each fence, which is locked and holds
// when the lease ends. A fence has one run, so a process that lost its fence cannot remove or
// change the file of another run. A process looks at a lease only after a frame names its fence.
// A run takes the lease first, so it holds the thread as soon as others can see its opening.
const leases = "leases"

// lease is a run's lease on a thread. The lock ends with its process. The end time is for a
// stopped process, which keeps its locks. The end time is not synced, because after a power cut
// no process holds a lock.
type lease struct {
	f     *os.File // nil for none
	fence checkpoint.ID
	until time.Time
	timer *time.Timer
}

// alive reports whether this Saver holds the lease.
func (l *lease) alive(now time.Time) bool { return l.f != nil && now.Before(l.until) }

// leasePath returns the path of the lease of a fence.
func (s *Saver) leasePath(base string, fence checkpoint.ID) string {
	return filepath.Join(s.dir, leases, base+"-"+fence.String())
}

// leasedUntil returns when a lease that another process or Saver holds ends, or zero if nobody
// holds it. It takes no lock that a writer could mistake for a lease.
func leasedUntil(path string, now time.Time) (until time.Time, err error) {
	f, err := openRegular(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("file: %w", err)
	}
	free, err := tryLock(f, false)
	var end [8]byte
	if err == nil && !free {
		// Otherwise the holder has not written the end yet, nor the frame that names the lease.
		if n, _ := f.ReadAt(end[:], 0); n == len(end) {
			until = time.UnixMicro(int64(binary.LittleEndian.Uint64(end[:])))
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return time.Time{}, fmt.Errorf("file: %w", err)
	}
	if !now.Before(until) {
		until = time.Time{}
	}
	return until, nil
}

// holds reports whether a run holds the lease, and until when.
func (v *volume) holds(now time.Time) (leased bool, until time.Time, err error) {
	if v.v == nil || v.v.Ended || v.v.Fence.IsZero() {
		return false, time.Time{}, nil
	}
	if v.lease.f != nil && v.lease.fence == v.v.Fence {
		if v.lease.alive(now) {
			return true, v.lease.until, nil
		}
		return false, time.Time{}, nil
	}
	until, err = leasedUntil(v.s.leasePath(v.base, v.v.Fence), now)
	return !until.IsZero(), until, err
}

// busy returns a *BusyError as busy if a run holds the lease, and nil otherwise.
func (v *volume) busy(now time.Time) (busy, err error) {
	leased, until, err := v.holds(now)
	if err != nil || !leased {
		return nil, err
	}
	return &checkpoint.BusyError{Thread: v.id, Holder: v.v.Holder, Until: until}, nil
}

// claim creates the file of a lease and locks it. If a call was sent twice, the earlier one may
// hold the lock. The last one wins.
func claim(path string, until time.Time) (*os.File, error) {
	for try := 0; ; try++ {
		f, err := openRegular(path, os.O_RDWR|os.O_CREATE)
		if errors.Is(err, fs.ErrNotExist) && try == 0 {
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, fmt.Errorf("file: %w", err)
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("file: %w", err)
		}
		ok, err := tryLock(f, true)
		if ok {
			ok, err = named(f, path)
		}
		if ok {
			err = writeUntil(f, until)
		}
		if ok && err == nil {
			return f, nil
		}
		err = errors.Join(err, f.Close())
		if err == nil && try > claims {
			err = removeLease(path)
		}
		if err != nil {
			return nil, fmt.Errorf("file: take the lease: %w", err)
		}
		<-time.After(50 * time.Microsecond)
	}
}

// claims is how often claim tries a locked file. Other processes lock it for a moment to look at
// it.
const claims = 100

// named reports whether an open file is still the file at path.
func named(f *os.File, path string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, now), err
}

// writeUntil stores the end of a lease in its file.
func writeUntil(f *os.File, until time.Time) error {
	_, err := f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(until.UnixMicro())), 0)
	return err
}

// adopt makes a claimed lease the lease of the volume, and ends the one before.
func (v *volume) adopt(f *os.File, fence checkpoint.ID, until time.Time) error {
	err := v.lease.end(v)
	v.lease.f, v.lease.fence, v.lease.until = f, fence, until
	v.lease.timer = time.AfterFunc(time.Until(until), v.expire)
	v.leased.Store(true)
	return err
}

// renew sets the end of the lease, to a later or an earlier time. It does not extend a lease that
// has more than three quarters of the new duration left.
func (l *lease) renew(until, now time.Time) error {
	early := until.Before(l.until)
	if !early && l.until.Sub(now) > until.Sub(now)/4*3 {
		return nil
	}
	l.until = until
	if early {
		l.timer.Reset(time.Until(until))
	}
	if err := writeUntil(l.f, until); err != nil {
		return fmt.Errorf("file: %w", err)
	}
	return nil
}

// expire drops the lease if it was not renewed. Otherwise it checks again when the lease ends.
func (v *volume) expire() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lease.f == nil {
		return
	}
	if now := time.Now(); v.lease.alive(now) {
		v.lease.timer.Reset(v.lease.until.Sub(now))
		return
	}
	_ = v.lease.drop(v) // only closing can fail, and the lock is free all the same
}

// end gives up the lease and removes its file.
func (l *lease) end(v *volume) error {
	if l.f == nil {
		return nil
	}
	err := removeLease(v.s.leasePath(v.base, l.fence))
	return errors.Join(err, l.drop(v))
}

// drop gives up the lease. The file stays, unlocked: the run may renew.
func (l *lease) drop(v *volume) error {
	if l.timer != nil {
		l.timer.Stop()
	}
	f := l.f
	*l = lease{}
	v.leased.Store(false)
	if f == nil {
		return nil
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("file: %w", err)
	}
	return nil
}

// removeLease removes the file of a lease, if it exists. The removal need not be durable.
func removeLease(path string) error {
	if err := removeFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file: %w", err)
	}
	return nil
}

// eachLease calls f with the path of every lease of a thread, or of all threads for an empty base.
func (s *Saver) eachLease(base string, f func(path string) error) error {
	dir := filepath.Join(s.dir, leases)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file: %w", err)
	}
	for _, e := range entries {
		if base != "" && !strings.HasPrefix(e.Name(), base+"-") {
			continue
		}
		if err := f(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// sweepLeases removes the leases that nobody has locked: their processes died, or will create
// them again.
func (s *Saver) sweepLeases() error {
	return s.eachLease("", func(path string) error {
		f, err := openRegular(path, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		free, err := tryLock(f, false)
		if free {
			err = removeLease(path)
		}
		return errors.Join(err, f.Close())
	})
}

// leasedUnread reports whether any run of a thread holds a lease. It serves a file that cannot be
// read.
func (v *volume) leasedUnread(now time.Time) (leased bool, err error) {
	err = v.s.eachLease(v.base, func(path string) error {
		until, err := leasedUntil(path, now)
		leased = leased || !until.IsZero()
		return err
	})
	return leased, err
}

// hold ends a call that the fence allows. It confirms that the call counts. It then renews the
// lease of the run, or gives up the lease if the run has ended.
func (v *volume) hold(d time.Duration, now time.Time) error {
	if err := v.confirm(); err != nil {
		return err
	}
	if v.v.Ended {
		return v.lease.end(v)
	}
	until := now.Add(ledger.LeaseOf(d))
	if v.lease.f != nil && v.lease.fence == v.v.Fence {
		return v.lease.renew(until, now)
	}
	f, err := claim(v.s.leasePath(v.base, v.v.Fence), until)
	if err != nil {
		return err
	}
	return v.adopt(f, v.v.Fence, until)
}

// storeOpening takes the lease of an opening, and then writes the opening. It removes the lease
// of the run before.
func (v *volume) storeOpening(a *checkpoint.Append, store func() error, now time.Time) error {
	fence, before := a.Records[0].ID, v.version().Fence
	path, until := v.s.leasePath(v.base, fence), now.Add(ledger.LeaseOf(a.Lease))
	f, err := claim(path, until)
	if err != nil {
		return err
	}
	err = store()
	if err == nil {
		err = v.confirm()
	}
	if err != nil {
		return errors.Join(err, removeLease(path), f.Close())
	}
	if before != fence && !before.IsZero() {
		err = removeLease(v.s.leasePath(v.base, before))
	}
	return errors.Join(err, v.adopt(f, fence, until))
}
