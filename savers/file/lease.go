package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// lease is a run's hold on a thread: a lock on a file beside the thread's own. That file is only made, locked anew
// and removed under the lock of the thread's file, so that nobody locks one that has no name any more.
type lease struct {
	f     *os.File // nil for none
	fence checkpoint.ID
	until time.Time
	timer *time.Timer
}

// alive reports whether this Saver holds the lease.
func (l *lease) alive(now time.Time) bool { return l.f != nil && now.Before(l.until) }

// leasedElsewhere reports whether another process, or another Saver, holds the lease of a thread. It takes no lock
// that a writer could mistake for a lease.
func (v *volume) leasedElsewhere() (bool, error) {
	f, err := os.Open(v.s.beside(v.base, leaseName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("file: %w", err)
	}
	free, err := tryLock(f, false)
	if err != nil {
		err = fmt.Errorf("file: %w", err)
	}
	return !free && err == nil, errors.Join(err, f.Close())
}

// holds says whether a run's lease lives, and until when if that is known.
func (v *volume) holds(now time.Time) (leased bool, until time.Time, err error) {
	if v.v == nil || v.v.Ended {
		return false, time.Time{}, nil
	}
	if v.lease.f != nil && v.lease.fence == v.v.Fence {
		if v.lease.alive(now) {
			return true, v.lease.until, nil
		}
		return false, time.Time{}, nil
	}
	leased, err = v.leasedElsewhere()
	return leased, time.Time{}, err
}

// busy returns a *BusyError, or nil, as busy, when a run's lease lives.
func (v *volume) busy(now time.Time) (busy, err error) {
	leased, until, err := v.holds(now)
	if err != nil || !leased {
		return nil, err
	}
	return &checkpoint.BusyError{Thread: v.id, Holder: v.v.Holder, Until: until}, nil
}

// take takes the lease for a fence, from whoever has it. The lock of the thread's file must be held, and the caller
// must know that it may.
func (l *lease) take(v *volume, fence checkpoint.ID) error {
	if l.f != nil {
		mine, err := l.named(v)
		if err != nil {
			return err
		}
		if mine {
			l.fence = fence
			return nil
		}
		if err := l.drop(v); err != nil {
			return err
		}
	}
	path := v.s.beside(v.base, leaseName)
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("file: %w", err)
		}
		ok, err := tryLock(f, true)
		if ok {
			l.f, l.fence = f, fence
			v.leased.Store(true)
			return nil
		}
		// Whoever has it keeps its lock, on a file without a name, until it finds out that it lost the fence.
		err = errors.Join(err, f.Close())
		if err == nil {
			err = v.s.disk.remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("file: take over %s: %w", path, err)
		}
	}
}

// named reports whether the file that is locked still has its name.
func (l *lease) named(v *volume) (bool, error) {
	mine, err := l.f.Stat()
	if err != nil {
		return false, fmt.Errorf("file: %w", err)
	}
	now, err := os.Stat(v.s.beside(v.base, leaseName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("file: %w", err)
	}
	return os.SameFile(mine, now), nil
}

// renew lets the lease live for a while from now.
func (l *lease) renew(v *volume, now time.Time, d time.Duration) {
	if d == 0 {
		d = checkpoint.DefaultLease
	}
	early := l.timer != nil && now.Add(d).Before(l.until)
	l.until = now.Add(d)
	switch {
	case l.timer == nil:
		l.timer = time.AfterFunc(d, v.expire)
	case early:
		l.timer.Reset(d)
	}
}

// expire drops the lease if it was not renewed; else it looks again later.
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
	_ = v.lease.drop(v) // only closing can fail, and the lock is gone all the same
}

// end gives the lease up and takes its file away. The lock of the thread's file must be held.
func (l *lease) end(v *volume) error {
	if l.f == nil {
		return nil
	}
	mine, err := l.named(v)
	if err == nil && mine {
		err = os.Remove(v.s.beside(v.base, leaseName))
	}
	return errors.Join(err, l.drop(v))
}

// drop gives the lease up. The file stays, unlocked, for whoever comes next.
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
