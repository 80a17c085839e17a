//go:build deterministic

package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/internal/intercept"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/shards"
)

// moves are the changes of the layout in a simulation.
type moves struct {
	// layouts are the weights of the servers: first those in force, then those that replace them,
	// one after the other. The weight 0 is that of a server that the layout does not have.
	layouts [][]int

	// s.mu guards the following.
	announced, done int           // layouts
	again           chan struct{} // closed when the next layout is announced
}

// drawMoves draws the changes of the layout: none for most seeds. Only threads of rows can move.
func (s *sim) drawMoves() {
	r := s.draw("moves")
	s.again = make(chan struct{})
	if s.layouts = [][]int{slices.Repeat([]int{1}, len(s.servers))}; r.IntN(2) == 0 {
		return
	}
	for len(s.servers) < 3 {
		s.servers = append(s.servers, &server{name: string(rune('a' + len(s.servers)))})
	}
	for _, sv := range s.servers {
		if sv.saver = nil; sv.store == nil {
			sv.store = memrows.New()
		}
	}
	s.layouts = nil
	for range 2 + r.IntN(3) {
		s.storm += time.Duration(1+r.IntN(2)) * time.Minute
		next := make([]int, len(s.servers))
		for slices.Max(next) == 0 || len(s.layouts) > 0 && slices.Equal(next, s.layouts[len(s.layouts)-1]) {
			for i := range next {
				next[i] = r.IntN(3)
			}
		}
		s.layouts = append(s.layouts, next)
	}
}

// listOf returns the list of a change from one layout to another.
func (s *sim) listOf(from, to int, connect func(i int, sv *server) checkpoint.Saver) (all []shards.Shard) {
	for i, sv := range s.servers {
		sh := shards.Shard{Name: sv.name, Weight: s.layouts[to][i], Open: func(context.Context) (checkpoint.Saver, error) { return connect(i, sv), nil }}
		switch {
		case sh.Weight > 0:
		case s.layouts[from][i] > 0:
			sh.Weight = shards.Drained
		default:
			continue
		}
		all = append(all, sh)
	}
	return all
}

// outdated returns a channel that is closed when the process needs a new list of shards.
func (p *process) outdated() <-chan struct{} {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.knows < p.s.announced {
		return closed
	}
	return p.s.again
}

// closed is a closed channel.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// goesOn waits, and reports whether the simulation continues.
func (s *sim) goesOn(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.over:
		return false
	}
}

// move makes the changes of the layout, one after the other.
func (s *sim) move(ctx context.Context) {
	r := s.draw("move")
	var movers sync.WaitGroup // some outlive the change
	defer movers.Wait()
	for to := 1; to < len(s.layouts); to++ {
		if !s.goesOn(time.Duration(r.Int64N(int64(time.Minute)))) || !s.announce(ctx, to) {
			return
		}
		s.mu.Lock()
		s.announced = to
		close(s.again)
		s.again = make(chan struct{})
		s.mu.Unlock()
		if !s.goesOn(time.Duration(r.Int64N(int64(time.Minute)))) {
			return
		}
		ended := make(chan struct{}, 3)
		for i := range 1 + r.IntN(3) {
			sleeps := time.Minute
			if i > 0 { // the first one makes the change meanwhile
				sleeps = 20 * time.Minute
			}
			movers.Go(func() {
				s.rebalance(ctx, fmt.Sprintf("m%d.%d", to, i), to, sleeps)
				ended <- struct{}{}
			})
		}
		<-ended
		s.note("change %d of the layout is done", to)
		s.mu.Lock()
		s.done = to
		s.mu.Unlock()
	}
}

// announce announces a layout. The process may die at each of its calls; another one continues. It
// finds threads that move if the layout was stored, and a mover of the change before wakes up.
func (s *sim) announce(ctx context.Context, to int) bool {
	for n := 0; ; n++ {
		p := s.newMover(fmt.Sprintf("n%d.%d", to, n), time.Minute)
		err := shards.Announce(ctx, s.listOf(to-1, to, p.connect)...)
		s.note("%s announces the layout %v: %v", p.name, s.layouts[to], err)
		begun := n > 0 && errors.Is(err, shards.ErrChanging) // a mover that has slept moves the threads already
		if p.kill(); err == nil || begun {
			return true
		}
		if to > 1 || !strings.Contains(err.Error(), "no shard has a layout") { // no process has opened one yet
			s.explain(p, err)
		}
		if !s.goesOn(time.Second) {
			return false
		}
	}
}

// rebalance moves the threads to the places of a layout. The process may die, or stop for at most
// a time, at each of its calls. Another one continues.
func (s *sim) rebalance(ctx context.Context, name string, to int, sleeps time.Duration) {
	for n := 0; ; n++ {
		p := s.newMover(fmt.Sprint(name, ".", n), sleeps)
		saver, err := shards.Open(ctx, s.listOf(to-1, to, p.connect)...)
		if errors.As(err, new(*shards.LayoutError)) { // another process has made this change, or begun the next one
			p.kill()
			return
		}
		if err == nil {
			err = saver.Rebalance(ctx, shards.Rebalancing{Parallel: 1 + s.draw(p.name).IntN(8), Report: func(phase shards.Phase, n int) {
				s.note("%s: phase %s, %d threads", p.name, phase, n)
			}})
			s.note("%s rebalances: %v", p.name, err)
			_ = saver.Close() // with the error of a network
		}
		s.mu.Lock()
		done := err == nil || s.done >= to
		s.mu.Unlock()
		if p.kill(); done {
			return
		}
		s.explain(p, err)
		for _, wrong := range []string{"exists twice", "differ after the copy"} {
			if strings.Contains(err.Error(), wrong) {
				s.fail("%s: %v", p.name, err)
			}
		}
		if !s.goesOn(time.Second) {
			return
		}
	}
}

// newMover starts a process that changes the layout. Most die, or stop for at most a time, during
// one of their calls, while things go wrong.
func (s *sim) newMover(name string, sleeps time.Duration) *process {
	p := s.newProcess(name)
	if r := s.draw("mover", name); r.IntN(4) > 0 && !s.calm() {
		p.fuse = 1 + r.IntN([]int{20, 100, 300}[r.IntN(3)])
		if r.IntN(2) == 0 {
			p.sleeps = time.Duration(r.Int64N(int64(sleeps)))
		}
	}
	return p
}

// burn makes a mover die or stop at one of its calls. A call burns before and after it happens.
func (p *process) burn() {
	p.s.mu.Lock()
	p.fuse--
	now, sleeps := p.fuse == 0, p.sleeps
	p.s.mu.Unlock()
	switch {
	case !now:
	case sleeps > 0:
		p.stop(sleeps)
	default:
		p.s.note("%s is killed", p.name)
		p.kill()
	}
}

// patience is how long a process may stop in the middle of a call while the layout changes, as
// package shards says.
const patience = 20 * time.Second

// began is the key of the time when a call of a process began.
type began struct{}

// timed is a saver whose calls know when they began.
func timed(saver checkpoint.Saver) checkpoint.Saver {
	return &intercept.Saver{Saver: saver, By: func(ctx context.Context, _, _ string, do func(context.Context) error) error {
		return do(context.WithValue(ctx, began{}, time.Now()))
	}}
}

// late reports whether a call has taken longer than package shards allows while the layout
// changes. Such a call never arrives.
func late(ctx context.Context) bool {
	at, ok := ctx.Value(began{}).(time.Time)
	return ok && time.Since(at) > patience
}

// checkPlaces checks that each thread is on its shard and nowhere else, and that shards that were
// drained are empty. No change of the layout is left.
func (s *sim) checkPlaces(ctx context.Context, direct *shards.Saver) {
	if l, err := direct.Layout(ctx); err != nil || l.To != nil || s.done != len(s.layouts)-1 {
		s.fail("change %d of %d of the layout is done, and the layout is %+v: %v", s.done, len(s.layouts)-1, l, err)
	}
	for i, sv := range s.servers {
		if sv.store == nil {
			continue
		}
		all, err := rows.Walk(ctx, rows.New("rows", sv.store, rows.Options{}), "", 100_000)
		if err != nil {
			s.fail("walk: %v", err)
		}
		for _, t := range all {
			switch {
			case t.ID == "__shards":
			case t.Stage != 0 || t.Err != nil:
				s.fail("shard %s has the thread %s, which is %s: %v", sv.name, s.short(t.ID), t.Stage, t.Err)
			case s.layouts[s.done][i] == 0:
				s.fail("shard %s was drained, and has the thread %s", sv.name, s.short(t.ID))
			case direct.Shard(t.ID) != sv.name:
				s.fail("shard %s has the thread %s of shard %s", sv.name, s.short(t.ID), direct.Shard(t.ID))
			}
		}
	}
}
