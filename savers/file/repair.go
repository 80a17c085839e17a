package file

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Repaired is the report of a Repair.
type Repaired struct {
	Damage  error  // the damage; nil if nothing was damaged, and so nothing changed
	Version int    // the number of the version whose file was repaired
	Kept    string // the path of the damaged file, as it was
	At      int64  // the size of the readable part, and so of the thread's file now
	Lost    int64  // how many bytes followed the readable part
	Calls   int    // how many whole calls of Append and PutWrites are among those bytes
}

// Repair makes a thread usable again whose file is damaged. It keeps the part of the file before
// the damage and drops the rest. The thread is then in an earlier state. If even the header is
// damaged, the version is empty afterwards. The damaged file stays in the folder under a name that
// the Saver ignores; Kept is its path. Version 0 is the open one.
//
// Repair of a thread that is not damaged changes nothing. Repair returns a *BusyError if a run
// holds the lease, ErrNotFound if there is no such version, and ErrDamaged for a file of another
// format.
func (s *Saver) Repair(ctx context.Context, thread string, version int) (done Repaired, err error) {
	err = s.inFolder(ctx, checkpoint.Ref{Thread: thread, Version: version}, func(v *volume) error {
		lock := v.lockUnder
		if version == 0 {
			lock = v.lockDamaged
		}
		err := lock(ctx)
		if errors.Is(err, errAbsent) {
			err = ledger.NoVersion(thread, version)
		}
		if err != nil {
			return err
		}
		defer v.unlock()
		done, err = v.repair(version)
		return err
	})
	return done, err
}

// repair repairs the file, whose lock is held.
func (v *volume) repair(version int) (r Repaired, err error) {
	info, err := v.h.Stat()
	if err != nil {
		return r, fmt.Errorf("file: %w", err)
	}
	v.forget()
	defer v.forget()
	err = v.scan(info.Size())
	if !errors.Is(err, checkpoint.ErrDamaged) || errors.Is(err, errFormat) {
		return r, err
	}
	r = Repaired{Damage: err, Version: version, At: v.end, Lost: info.Size() - v.end}
	if r.Calls, err = v.callsAfter(info.Size()); err != nil {
		return r, err
	}
	if r.Kept, err = v.keep(info.Size()); err != nil {
		return r, err
	}
	if v.v == nil {
		return v.restart(r)
	}
	r.Version = v.v.Number
	if err := v.cut(v.end); err != nil {
		return r, err
	}
	return r, v.persist()
}

// callsAfter counts the whole frames after the readable part.
func (v *volume) callsAfter(size int64) (n int, err error) {
	fr := newFrames(v.path, v.h, v.end, size, v.salt)
	for at := v.end; ; n++ {
		found, err := fr.later(at)
		if err != nil || found < 0 {
			return n, err
		}
		at = found + frameHead
	}
}

// keep copies the file to a new one in the same folder.
func (v *volume) keep(size int64) (path string, err error) {
	f, err := newFile(v.s.dir, filepath.Base(v.path)+".damaged-", "")
	if err != nil {
		return "", fmt.Errorf("file: %w", err)
	}
	b := make([]byte, min(size, batch))
	for at := int64(0); at < size && err == nil; at += int64(len(b)) {
		b = b[:min(int64(len(b)), size-at)]
		if _, err = v.h.ReadAt(b, at); err == nil {
			err = v.s.disk.write(f, b, at)
		}
	}
	if err == nil {
		err = v.s.disk.sync(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = v.s.disk.syncDir(v.s.dir)
	}
	if err != nil {
		return "", fmt.Errorf("file: keep %s as %s: %w", v.path, f.Name(), err)
	}
	return f.Name(), nil
}

// restart replaces a file whose header cannot be read with an empty version.
func (v *volume) restart(r Repaired) (Repaired, error) {
	if r.Version == 0 {
		numbers, err := v.scanNumbers()
		if err != nil {
			return r, err
		}
		r.Version = 1
		if len(numbers) > 0 {
			r.Version = slices.Max(numbers) + 1
		}
	}
	header, err := appendHeader(nil, v.id, r.Version, newSalt())
	if err != nil {
		return r, err
	}
	r.At = int64(len(header))
	next := v.s.siblingPath(v.base, nextName)
	if err := v.s.writeFile(next, header); err != nil {
		return r, err
	}
	if err := v.move(next, v.path); err != nil {
		return r, err
	}
	return r, v.reopen(r.At)
}
