package graph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
)

// MaxConcurrentGlobal returns a Limiter that lets n attempts run at the same time in several
// processes. Each of them makes it with the same n and name, and a saver of the same storage.
// Compile reports an n below 1, an empty name and a nil saver.
//
// A permit is the lease of a thread with a reserved id. The process renews it while the attempt
// runs. So the permit of a process that dies returns when the lease ends, within 20 s. A process
// that cannot renew a lease for 15 s can lose the permit, although its attempt still runs.
//
// Attempts of one process wait in a queue. Those of several processes have no order. A process
// whose attempts wait looks for a permit up to four times a second. An attempt costs four calls of
// the saver. So use it for attempts that take much longer, such as calls of a model. While the
// saver does not answer, attempts wait.
func MaxConcurrentGlobal(saver checkpoint.Saver, name string, n int) Limiter {
	return &permits{saver: saver, name: name, most: n, queue: MaxConcurrent(1)}
}

// permits is a semaphore of several processes.
type permits struct {
	saver checkpoint.Saver
	name  string
	most  int
	queue Limiter // of the attempts of this process that look for a permit
}

// The pauses between two polls for a permit, and the bound of a call of the saver.
const (
	leastPoll   = 20 * time.Millisecond
	mostPoll    = 250 * time.Millisecond
	permitCall  = 10 * time.Second
	permitLease = 20 * time.Second // a write leaves at least 15 s: savers renew a lease when a quarter is over
	permitGraph = ReservedPrefix + "limit"
)

// Acquire implements Limiter.
func (p *permits) Acquire(ctx context.Context) (release func(), err error) {
	leave, err := p.queue.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for pause := leastPoll; ; pause = min(2*pause, mostPoll) {
		release, err := p.poll(ctx)
		switch {
		case release != nil:
			return release, nil
		case lasts(err):
			return nil, fmt.Errorf("graph: MaxConcurrentGlobal %s: %w", quoted(ID(p.name)), err)
		case !exec.Rest(ctx, pause/2+rand.N(pause)):
			return nil, ctx.Err()
		}
	}
}

// lasts reports whether an error of a saver stays, so that a limiter need not try again.
func lasts(err error) bool {
	return errors.Is(err, checkpoint.ErrClosed) || errors.Is(err, checkpoint.ErrReadOnly) || errors.Is(err, checkpoint.ErrDamaged) ||
		errors.As(err, new(*checkpoint.InvalidError))
}

// poll takes a permit that is free. It returns nil if there is none, with the error of the saver.
func (p *permits) poll(ctx context.Context) (release func(), err error) {
	prefix := permitGraph + "/" + p.name + "/"
	heads, held := make(map[string]checkpoint.ID), make(map[string]bool)
	call, cancel := context.WithTimeout(ctx, permitCall)
	defer cancel()
	for t, failed := range p.saver.Threads(call, checkpoint.ThreadQuery{Prefix: prefix}) {
		if err = failed; err != nil {
			continue
		}
		heads[t.ID], held[t.ID] = t.Head, t.Holder != ""
	}
	if err != nil && !errors.Is(err, checkpoint.ErrPartial) { // the permits of other shards are free or not
		return nil, err
	}
	for _, i := range rand.Perm(p.most) {
		id := fmt.Sprint(prefix, i)
		if held[id] {
			continue
		}
		if release, err = p.take(ctx, id, heads[id]); release != nil {
			return release, nil
		}
	}
	return nil, err
}

// take takes the permit of a thread with a head. It returns nil if another attempt has it.
func (p *permits) take(ctx context.Context, id string, head checkpoint.ID) (release func(), err error) {
	fence, err := checkpoint.NewIDAfter(head)
	if err != nil {
		return nil, err
	}
	call, cancel := context.WithTimeout(ctx, permitCall)
	defer cancel()
	_, err = p.saver.Append(call, checkpoint.Append{
		Thread: id, After: head, Lease: permitLease, Open: &checkpoint.Opening{Holder: processName(), Title: "limit " + p.name},
		Records: []checkpoint.Record{{
			ID: fence, Parent: head, Base: fence, Line: fence, Source: checkpoint.Input, Graph: permitGraph, Snapshot: true, Payload: []byte{0x80},
			Created: time.Now().UTC(),
		}},
	})
	if err != nil {
		return nil, err
	}
	kept, stop := context.WithCancel(context.WithoutCancel(ctx))
	var renewals sync.WaitGroup
	renewals.Go(func() { p.renew(kept, id, fence) })
	return func() {
		stop()
		renewals.Wait()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), permitCall)
		defer cancel()
		_, err := p.saver.PutWrites(end, checkpoint.PutWrites{Thread: id, Fence: fence, End: true, Status: checkpoint.Done})
		if err == nil { // else the lease ends by itself
			_ = p.saver.Delete(end, id) // another attempt can have taken it
		}
	}, nil
}

// renew renews a lease until ctx ends.
func (p *permits) renew(ctx context.Context, id string, fence checkpoint.ID) {
	tick := time.NewTicker(checkpoint.DefaultLease / 5)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		call, cancel := context.WithTimeout(ctx, permitCall)
		_, _ = p.saver.PutWrites(call, checkpoint.PutWrites{Thread: id, Fence: fence, Lease: permitLease}) // the next one tries again
		cancel()
	}
}
