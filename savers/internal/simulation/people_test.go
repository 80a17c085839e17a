//go:build deterministic

package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// kept is how long a thread of items stays after its end. It is longer than any call can repeat
// an input.
const kept = time.Minute

// retention returns what workers remove.
func (s *sim) retention() []worker.Retention {
	if !s.prunes {
		return nil
	}
	r := s.draw("retention")
	return []worker.Retention{
		{Graph: "orders", Last: 1 + r.IntN(3), Rate: 1000, Every: time.Duration(1+r.IntN(20)) * time.Second},
		{Graph: "items", Ended: kept, Rate: 1000, Every: time.Duration(1+r.IntN(20)) * time.Second},
	}
}

// limit returns the ExecutionTimeout of an input; 0 for none.
func (s *sim) limit(name string) time.Duration {
	if r := s.draw("limit", name); s.limits && r.IntN(3) == 0 {
		return time.Duration(1+r.IntN(60)) * time.Second
	}
	return 0
}

// watch waits for the result of an input that was acknowledged.
func (s *sim) watch(ctx context.Context, prog *program, thread, name string) {
	ctx, cancel := context.WithDeadline(ctx, s.begun.Add(s.storm+hour))
	defer cancel()
	for {
		turn, end := context.WithTimeout(ctx, hour/4) // then ask another process, if the layout has changed
		res, err := prog.orders.Thread(thread).Result(turn, graph.RequestID(name))
		end()
		s.note("the result of %s is %v %v", name, res.Status, err)
		s.mu.Lock()
		_, cancels := s.cancels[thread]
		s.mu.Unlock()
		var saver *graph.SaverError
		switch {
		case err == nil:
			s.checkResult(name, res.State.Log)
			return
		case errors.Is(err, graph.ErrExecutionTimeout) && s.limit(name) > 0, errors.As(err, new(*graph.CancelledError)) && cancels:
			return
		case errors.Is(err, checkpoint.ErrNotFound) && (s.prunes || s.keeps > 0):
			return
		case errors.As(err, &saver) && ctx.Err() == nil:
			time.Sleep(time.Second)
		case s.announced > 0 && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		case errors.Is(err, errDead):
			return
		default:
			s.fail("the result of %s is an error that nothing explains: %v", name, err)
			return
		}
	}
}

// list lists the threads of orders in pages. A list without an error has each thread that existed
// before. No list has a thread twice.
func (s *sim) list(ctx context.Context) {
	prog, r := s.client(ctx, "list"), s.draw("list")
	for prog != nil && s.goesOn(time.Duration(r.Int64N(int64(20*time.Second)))) {
		s.mu.Lock()
		want := slices.Sorted(maps.Keys(s.there))
		s.mu.Unlock()
		q := checkpoint.ThreadQuery{Prefix: "t", Released: true, Brief: r.IntN(2) == 0, Limit: r.IntN(4)}
		if r.IntN(2) == 0 {
			q.Order = checkpoint.NewestFirst
		}
		var got []string
		var failed error
		turn, end := context.WithTimeout(ctx, time.Minute)
		for n := -1; failed == nil && (n < 0 || n == q.Limit && n > 0); {
			n = 0
			for th, err := range prog.saver.Threads(turn, q) {
				if failed = err; err != nil {
					break
				}
				got, n = append(got, th.ID), n+1
				q.After, q.AfterCreated = th.ID, th.Created
			}
		}
		end()
		s.note("a list has %q: %v", got, failed)
		for i, thread := range got {
			if slices.Contains(got[:i], thread) {
				s.fail("a list has the thread %s twice: %q", thread, got)
			}
		}
		for _, thread := range want {
			if failed == nil && !slices.Contains(got, thread) {
				s.fail("a list has no thread %s: %q", thread, got)
			}
		}
	}
}

// checkResult checks the lines of the state with which an input ended.
func (s *sim) checkResult(name string, lines []string) {
	for _, line := range s.wanted(name) {
		if !slices.Contains(lines, line) {
			s.fail("the result of input %s has no line %s: %q", name, line, lines)
		}
	}
	for _, line := range lines {
		if _, ok := inputOf(line); ok && line > name && len(line) == len(name) {
			s.fail("the result of input %s has that of a later input, %s", name, line)
		}
	}
}

// order runs a thread of items, which a worker removes after its end.
func (s *sim) order(ctx context.Context, thread string) {
	prog, r := s.client(ctx, "order "+thread), s.draw("order", thread)
	if prog == nil {
		return
	}
	select {
	case <-time.After(time.Duration(r.Int64N(int64(s.storm)))):
	case <-s.over:
		return
	}
	s.until(ctx, "item "+thread, func(ctx context.Context) error {
		_, err := prog.items.Thread(thread).Submit(ctx, input(thread), graph.RequestID(thread))
		return err
	})
}

// checkOrder checks that a thread of items has run, once, and is removed if workers do that.
func (s *sim) checkOrder(ctx context.Context, direct checkpoint.Saver, thread string) {
	for _, node := range []string{"item", "box"} {
		if len(s.effects[thread+"."+node]) == 0 {
			s.fail("%s of the thread %s has not run", node, thread)
		}
	}
	_, err := checkpoint.FindThread(ctx, direct, thread) // which finds no released one
	if gone, want := errors.Is(err, checkpoint.ErrNotFound), s.prunes || s.releases; gone != want {
		s.fail("the thread %s is gone: %t, want %t", thread, gone, want)
	}
}

// edit makes an edit of a thread. Sometimes it takes the place of the only due node, ask.
func (s *sim) edit(ctx context.Context, prog *program, thread, line string) {
	t := prog.orders.Thread(thread)
	snap, err := t.State(ctx)
	if err != nil || snap.Checkpoint.IsZero() {
		return
	}
	opts := []graph.UpdateOption{graph.IfHead(snap.Checkpoint)}
	if s.draw("as", line).IntN(2) == 0 && len(snap.Questions) == 1 && slices.Equal(snap.Next, []graph.ID{"ask"}) {
		asked, err := confirm.Decode(snap.Questions[0])
		if line = string(asked); err != nil {
			s.fail("a question: %v", err)
		}
		opts = append(opts, graph.AsNode("ask"))
	} else {
		s.mu.Lock()
		s.edited[line] = false
		s.mu.Unlock()
	}
	var u update
	u.Log.Append(line)
	_, err = t.UpdateState(ctx, u, opts...)
	s.note("edit %s: %v", line, err)
	if len(opts) > 1 && !s.until(ctx, "wake after "+line, func(ctx context.Context) error { return prog.orders.Thread(thread).Wake(ctx) }) { // it may have made a fork, which nobody runs by itself
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.edited[line]; ok {
		s.edited[line] = err == nil
	}
}

// checkEdits checks that each edit that was acknowledged is there.
func (s *sim) checkEdits(thread string, lines []string) {
	for line, acked := range s.edited {
		if acked && strings.HasPrefix(line, thread+".") && !slices.Contains(lines, line) {
			s.fail("the edit %s is lost", line)
		}
	}
}

// pause pauses graphs and a queue, and ends each pause.
func (s *sim) pause(ctx context.Context) {
	prog, r := s.client(ctx, "pause"), s.draw("pause")
	for prog != nil && !s.calm() {
		what := []string{"orders", "items", queue}[r.IntN(3)]
		begin, end := worker.Pause, worker.Resume
		if what == queue {
			begin, end = worker.PauseQueue, worker.ResumeQueue
		}
		if !s.until(ctx, "pause of "+what, func(ctx context.Context) error { return begin(ctx, prog.saver, what) }) {
			return
		}
		s.mu.Lock()
		s.paused[what] = time.Now()
		s.mu.Unlock()
		select {
		case <-time.After(time.Duration(1+r.IntN(120)) * time.Second):
		case <-s.over:
			return
		}
		s.mu.Lock()
		delete(s.paused, what)
		s.mu.Unlock()
		if !s.until(ctx, "end of the pause of "+what, func(ctx context.Context) error { return end(ctx, prog.saver, what) }) {
			return
		}
		time.Sleep(time.Duration(r.IntN(20)) * time.Second)
	}
}

// sees is how long a worker may take to see a pause.
const sees = 45 * time.Second

// begins checks that a process does not begin what is paused. A process that was stopped, or that
// did not reach all shards, can have missed the pause.
func (p *process) begins(what, thread string) {
	p.s.mu.Lock()
	since, ok := p.s.paused[what]
	late := ok && time.Since(since) > sees && time.Since(p.stopped) > sees && time.Since(p.blind) > sees
	p.s.mu.Unlock()
	if late {
		p.s.fail("%s begins %s, although %s is paused since %s", p.name, thread, what, since.Sub(p.s.begun))
	}
}

// again returns an error the first time that a node runs, after which it runs again later.
func (g *program) again(ctx context.Context, view state) (u update, err error) {
	line := view.Turn[0] + ".again"
	if graph.CurrentTask(ctx).Attempt == 1 {
		return u, graph.RetryAfter(errLater, time.Duration(1+g.p.s.draw(line).IntN(40))*time.Second)
	}
	return g.node(ctx, "again", view)
}

// errLater is the error of a node that wants to run later.
var errLater = fmt.Errorf("not yet")

// runner returns a node that races with others. The winner adds the line of the race.
func (g *program) runner(name string) func(context.Context, state) (update, error) {
	return func(ctx context.Context, view state) (u update, err error) {
		if err := g.work(ctx, view.Turn[0]+"."+name); err != nil {
			return u, err
		}
		u.Log.Append(view.Turn[0] + ".race")
		return u, nil
	}
}
