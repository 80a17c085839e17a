package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// rollOut replaces the processes of each release by those of the next, one at a time, while
// customers send orders. Between two replacements, old and new processes share the work. The pool
// is last, because only an old process packs the parcels of an old replica.
func (f *fleet) rollOut(ctx context.Context) error {
	processes, phases := f.replicas+f.pool, 2*len(f.programs)-1
	for next := 1; next < len(f.programs); next++ {
		// A release works alone for as long as it then works with the next one.
		alone := 2*next - 1
		for i := range processes {
			f.awaitSent(ctx, f.orders*(alone*processes+i)/(phases*processes))
			if err := f.upgrade(ctx, next, i >= f.replicas); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitSent waits until so many orders have been sent, or until ctx ends.
func (f *fleet) awaitSent(ctx context.Context, orders int) {
	for ctx.Err() == nil {
		f.mu.Lock()
		sent := f.sent
		f.mu.Unlock()
		if sent >= orders {
			return
		}
		wait(ctx, 10*time.Millisecond)
	}
}

// upgrade starts a process of a release, and stops an older one with SIGTERM.
func (f *fleet) upgrade(ctx context.Context, release int, pool bool) error {
	old := f.takeOlder(ctx, release, pool)
	if old == nil {
		return ctx.Err()
	}
	if err := f.add(ctx, pool, release); err != nil {
		return err
	}
	_ = old.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-old.ended
	if old.err != nil {
		return fmt.Errorf("a replica of release %d that was stopped: %w", old.release+1, old.err)
	}
	return nil
}

// takeOlder removes a replica, or a process of the pool, of an older release from those that are
// alive. It waits for one, because all of them may be starting again after a kill.
func (f *fleet) takeOlder(ctx context.Context, release int, pool bool) *replica {
	for ctx.Err() == nil {
		f.mu.Lock()
		i := slices.IndexFunc(f.alive, func(r *replica) bool { return r.release < release && r.pool == pool })
		var old *replica
		if i >= 0 {
			old = f.alive[i]
			f.alive = slices.Delete(f.alive, i, i+1)
		}
		f.mu.Unlock()
		if old != nil {
			return old
		}
		wait(ctx, 10*time.Millisecond)
	}
	return nil
}
