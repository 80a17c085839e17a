package rows

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// joiner applies changes. While one is in progress, it joins those that wait, and applies them as
// one: a group commit. If the joint change fails, each of its members is applied alone. So a
// member that fails, or whose thread is locked, does not fail the others.
type joiner struct {
	s       *Saver
	running sync.WaitGroup // the joint changes in progress

	mu      sync.Mutex
	busy    int // the changes in progress that are not stuck
	waiting []*joint
}

// member is a change that can join others. One with decide has ranges in place of c, as many as
// the other members of its joiner. A joint change first reads the ranges of all members.
type member struct {
	c      *Change
	checks []Check // their threads are those that the change has
	bytes  int     // of its values

	ranges []Range
	decide func(rows [][]Row, now time.Time) *Change // returns an empty one to change nothing
	left   bool                                      // its call has returned; the mutex of the joiner protects it
}

// joint is a change that is several others, its members. No two of them have one thread.
type joint struct {
	members []*member
	threads map[string]bool
	bytes   int // of the values of members

	end  context.CancelFunc // ends the calls of the Store; nil until they begin
	left int                // how many members wait for done; the last one to give up calls end
	done chan struct{}      // closed when rev, read and err are set

	alone chan struct{} // holds a value for each member that is applied alone, and is not stuck

	rev  uint64
	read [][]Row
	err  error
}

const (
	mostJoined  = 256                   // the maximum number of members of a joint change
	mostDecided = 64                    // the same for members with decide, whose ranges are one Read
	mostAlone   = 8                     // the maximum number of members that are applied alone at a time
	jointBytes  = 512 << 10             // the maximum size of their values
	memberBytes = 64 << 10              // the maximum size of the values of a member
	stuckAfter  = 10 * time.Millisecond // how long others wait for a change in progress
)

// applyChange is Store.Apply for a change that joins others if the options say so. A change with a
// row of States is not joined: Stores may store one such row in a change.
func (s *Saver) applyChange(ctx context.Context, c *Change) (rev uint64, read [][]Row, err error) {
	n, state := 0, false
	for i := range c.Puts {
		n += len(c.Puts[i].Value)
		state = state || c.Puts[i].Table == States
	}
	if !s.options.Join || c.Once || state || n > memberBytes {
		return s.store.Apply(ctx, c)
	}
	return s.changes.apply(ctx, &member{c: c, checks: c.Checks, bytes: n})
}

// apply applies a change, alone or in a joint change.
func (g *joiner) apply(ctx context.Context, m *member) (rev uint64, read [][]Row, err error) {
	g.mu.Lock()
	if g.busy == 0 {
		end := g.turn()
		g.mu.Unlock()
		defer end()
		return g.store(ctx, m)
	}
	j := g.join(m)
	g.mu.Unlock()
	select {
	case <-j.done:
	case <-ctx.Done():
		g.leave(j, m)
		return 0, nil, ctx.Err()
	}
	var part *PartError
	switch {
	case j.err == nil:
		return j.rev, j.readOf(m), nil
	case m.decide != nil && errors.As(j.err, &part) && slices.Contains(part.Stored, m.checks[0].Thread):
		return 0, nil, nil
	case len(j.members) > 1 && !errors.Is(j.err, checkpoint.ErrUnavailable):
		return g.alone(ctx, j, m)
	}
	return 0, nil, j.err
}

// alone applies a member of a joint change that has failed. Few do so at a time, so that they do
// not take all connections of the Store.
func (g *joiner) alone(ctx context.Context, j *joint, m *member) (rev uint64, read [][]Row, err error) {
	select {
	case j.alone <- struct{}{}:
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	give := sync.OnceFunc(func() { <-j.alone })
	defer give()
	defer time.AfterFunc(stuckAfter, give).Stop()
	return g.store(ctx, m)
}

// store applies changes as one.
func (g *joiner) store(ctx context.Context, all ...*member) (rev uint64, read [][]Row, err error) {
	if err := g.decide(ctx, all); err != nil {
		return 0, nil, err
	}
	c := all[0].c
	if len(all) > 1 {
		c = new(Change)
		for _, m := range all {
			c.add(m.c)
		}
		c.Joint = len(c.Checks) > 1
	}
	if len(c.Checks) == 0 {
		return 0, nil, nil
	}
	return g.s.store.Apply(ctx, c)
}

// decide lets members decide what they change, after one Read. The ranges of one table are
// together in it, which a Store may read by one statement. A member that has left changes nothing,
// because its thread may be one that was made since.
func (g *joiner) decide(ctx context.Context, all []*member) error {
	var ranges []Range
	for k := range all[0].ranges {
		for _, m := range all {
			ranges = append(ranges, m.ranges[k])
		}
	}
	if len(ranges) == 0 {
		return nil
	}
	found, now, err := g.s.read(ctx, ranges...)
	if err != nil {
		return err
	}
	for i, m := range all {
		rows := make([][]Row, len(m.ranges))
		for k := range rows {
			rows[k] = found[k*len(all)+i]
		}
		g.mu.Lock()
		left := m.left
		g.mu.Unlock()
		if m.c = new(Change); !left {
			m.c = m.decide(rows, now)
		}
	}
	return nil
}

// add adds what another change does to c.
func (c *Change) add(other *Change) {
	c.Checks, c.Deletes = append(c.Checks, other.Checks...), append(c.Deletes, other.Deletes...)
	c.Puts, c.Reads = append(c.Puts, other.Puts...), append(c.Reads, other.Reads...)
}

// turn counts a change in progress, until end is called or the change is stuck. The caller must
// hold g.mu.
func (g *joiner) turn() (end func()) {
	g.busy++
	give := sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.busy--; g.busy == 0 && len(g.waiting) > 0 {
			g.begin()
		}
	})
	stuck := time.AfterFunc(stuckAfter, give)
	return func() {
		stuck.Stop()
		give()
	}
}

// join adds a member to a joint change that waits, or to a new one. The caller must hold g.mu.
func (g *joiner) join(m *member) *joint {
	for _, j := range g.waiting {
		if j.add(m) {
			return j
		}
	}
	j := &joint{threads: make(map[string]bool), done: make(chan struct{}), alone: make(chan struct{}, mostAlone)}
	j.add(m)
	g.waiting = append(g.waiting, j)
	return j
}

// add adds a member, unless j is full or has one of its threads.
func (j *joint) add(m *member) bool {
	most := mostJoined
	if m.decide != nil {
		most = mostDecided
	}
	known := func(k Check) bool { return j.threads[k.Thread] }
	if len(j.members) == most || j.bytes+m.bytes > jointBytes || slices.ContainsFunc(m.checks, known) {
		return false
	}
	for _, k := range m.checks {
		j.threads[k.Thread] = true
	}
	j.members, j.bytes, j.left = append(j.members, m), j.bytes+m.bytes, j.left+1
	return true
}

// readOf returns what a member has read.
func (j *joint) readOf(m *member) [][]Row {
	n := 0
	for _, other := range j.members[:slices.Index(j.members, m)] {
		n += len(other.c.Reads)
	}
	return j.read[n : n+len(m.c.Reads)]
}

// leave removes a member whose context has ended. If the joint change is in progress already, the
// member may be stored.
func (g *joiner) leave(j *joint, m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	j.left--
	m.left = true
	switch {
	case j.end == nil:
		j.members = slices.DeleteFunc(j.members, func(other *member) bool { return other == m })
	case j.left == 0:
		j.end()
	}
}

// begin begins the joint change that has waited for longest. The caller must hold g.mu.
func (g *joiner) begin() {
	j := g.waiting[0]
	g.waiting = g.waiting[1:]
	var ctx context.Context
	ctx, j.end = context.WithCancel(context.Background())
	end := g.turn()
	g.running.Go(func() {
		defer j.end()
		defer end()
		defer close(j.done)
		if len(j.members) > 0 {
			j.rev, j.read, j.err = g.store(ctx, j.members...)
		}
	})
}
