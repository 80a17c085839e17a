package rows

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// joiner applies the changes of a Saver. While one is in progress, it joins those that wait, and
// applies them as one: a group commit. If the joint change fails, each of its members is applied
// alone. So a member that fails, or whose thread is locked, does not fail the others. A change
// with a row of States is not joined: Stores may store one such row in a change.
type joiner struct {
	store   Store
	joins   bool
	running sync.WaitGroup // the joint changes in progress

	mu      sync.Mutex
	busy    int // the changes in progress that are not stuck
	waiting []*joint
}

// joint is a change that is several others, its members. No two of them have one thread.
type joint struct {
	members []*Change
	threads map[string]bool
	bytes   int // of the values of members

	c    Change             // the members as one, from begin on
	end  context.CancelFunc // ends the call of the Store
	left int                // how many members wait for done; the last one to give up calls end
	done chan struct{}      // closed when rev, read and err are set

	rev  uint64
	read [][]Row
	err  error
}

const (
	mostJoined  = 256                   // the maximum number of members of a joint change
	jointBytes  = 512 << 10             // the maximum size of their values
	memberBytes = 64 << 10              // the maximum size of the values of a member
	stuckAfter  = 10 * time.Millisecond // how long others wait for a change in progress
)

// apply is Store.Apply.
func (g *joiner) apply(ctx context.Context, c *Change) (rev uint64, read [][]Row, err error) {
	n, state := 0, false
	for i := range c.Puts {
		n += len(c.Puts[i].Value)
		state = state || c.Puts[i].Table == States
	}
	if !g.joins || c.Once || state || n > memberBytes {
		return g.store.Apply(ctx, c)
	}
	g.mu.Lock()
	if g.busy == 0 {
		end := g.turn()
		g.mu.Unlock()
		defer end()
		return g.store.Apply(ctx, c)
	}
	j := g.join(c, n)
	g.mu.Unlock()
	select {
	case <-j.done:
	case <-ctx.Done():
		g.leave(j, c)
		return 0, nil, ctx.Err()
	}
	switch {
	case j.err == nil:
		return j.rev, j.readOf(c), nil
	case j.c.Joint && !errors.Is(j.err, checkpoint.ErrUnavailable):
		return g.store.Apply(ctx, c)
	}
	return 0, nil, j.err
}

// turn counts a change in progress, until end is called or the change is stuck. The caller must
// hold g.mu.
func (g *joiner) turn() (end func()) {
	g.busy++
	over := false
	give := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if over {
			return
		}
		over = true
		if g.busy--; g.busy == 0 && len(g.waiting) > 0 {
			g.begin()
		}
	}
	stuck := time.AfterFunc(stuckAfter, give)
	return func() {
		stuck.Stop()
		give()
	}
}

// join adds c, whose values have n bytes, to the last joint change that waits, or to a new one.
// The caller must hold g.mu.
func (g *joiner) join(c *Change, n int) *joint {
	if last := len(g.waiting) - 1; last >= 0 && g.waiting[last].add(c, n) {
		return g.waiting[last]
	}
	j := &joint{threads: make(map[string]bool), done: make(chan struct{})}
	j.add(c, n)
	g.waiting = append(g.waiting, j)
	return j
}

// add adds a member whose values have n bytes, unless j is full or has one of its threads.
func (j *joint) add(c *Change, n int) bool {
	known := func(k Check) bool { return j.threads[k.Thread] }
	if len(j.members) == mostJoined || j.bytes+n > jointBytes || slices.ContainsFunc(c.Checks, known) {
		return false
	}
	for _, k := range c.Checks {
		j.threads[k.Thread] = true
	}
	j.members, j.bytes, j.left = append(j.members, c), j.bytes+n, j.left+1
	return true
}

// readOf returns what a member has read.
func (j *joint) readOf(c *Change) [][]Row {
	n := 0
	for _, m := range j.members[:slices.Index(j.members, c)] {
		n += len(m.Reads)
	}
	return j.read[n : n+len(c.Reads)]
}

// leave removes a member whose context has ended. If the joint change is in progress already, the
// member may be stored.
func (g *joiner) leave(j *joint, c *Change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	j.left--
	switch {
	case j.end == nil:
		j.members = slices.DeleteFunc(j.members, func(m *Change) bool { return m == c })
	case j.left == 0:
		j.end()
	}
}

// begin begins the joint change that has waited for longest. The caller must hold g.mu.
func (g *joiner) begin() {
	j := g.waiting[0]
	g.waiting = g.waiting[1:]
	for _, m := range j.members {
		j.c.Checks, j.c.Deletes = append(j.c.Checks, m.Checks...), append(j.c.Deletes, m.Deletes...)
		j.c.Puts, j.c.Reads = append(j.c.Puts, m.Puts...), append(j.c.Reads, m.Reads...)
	}
	j.c.Joint = len(j.members) > 1
	var ctx context.Context
	ctx, j.end = context.WithCancel(context.Background())
	end := g.turn()
	g.running.Go(func() {
		defer j.end()
		defer end()
		defer close(j.done)
		if len(j.members) > 0 {
			j.rev, j.read, j.err = g.store.Apply(ctx, &j.c)
		}
	})
}
