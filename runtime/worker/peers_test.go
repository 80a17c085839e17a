package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// crowd is workers that share a saver and a Hub. Each of them can die.
type crowd struct {
	*looked
	hub     worker.Hub
	client  *app // of the process that submits
	members []*member
	ran     counter
	node    node

	greetings atomic.Int64
}

// member is the process of one worker: its saver and its engine.
type member struct {
	checkpoint.Saver
	*crowd
	*started
	dead, cut atomic.Bool   // cut: from the saver
	deaf      chan struct{} // closed if its engine can send hints only
}

var errDead = errors.New("the process is dead, or cut off")

func (m *member) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if m.dead.Load() || m.cut.Load() {
		return checkpoint.ReadyThreads{}, errDead
	}
	return m.crowd.Ready(ctx, q)
}

func (m *member) Wake(ctx context.Context, name, thread string) error {
	if m.dead.Load() {
		return errDead
	}
	if strings.HasPrefix(name, graph.ReservedPrefix) {
		m.greetings.Add(1)
	}
	return m.hub.Wake(ctx, name, thread)
}

func (m *member) Listen(ctx context.Context, graphs []string, hint func(name, thread string)) error {
	select {
	case <-m.deaf:
		return errDead
	default:
	}
	listening, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-m.deaf:
			end()
		case <-listening.Done():
		}
	}()
	return m.hub.Listen(listening, graphs, func(name, thread string) {
		if !m.dead.Load() {
			hint(name, thread)
		}
	})
}

// newCrowd starts n workers of a graph with one node, and waits until they know each other.
func newCrowd(t *testing.T, n int, o worker.Options) *crowd {
	t.Helper()
	c := &crowd{looked: &looked{Saver: quiet{memory.New()}}, node: say("a")}
	s := worker.Announce(c.looked, &c.hub, nil)
	c.client = line(t, "orders", s, c.run)
	for range n {
		c.join(t, o)
	}
	time.Sleep(5 * time.Second)
	return c
}

// run is the node of all threads.
func (c *crowd) run(ctx context.Context, j Job) (JobUpdate, error) {
	c.ran.Add(graph.CurrentTask(ctx).Thread)
	return c.node(ctx, j)
}

// join starts another worker.
func (c *crowd) join(t *testing.T, o worker.Options, more ...string) *member {
	t.Helper()
	m := &member{Saver: c.looked, crowd: c, deaf: make(chan struct{})}
	o.Engine = m
	s := worker.Announce(m, m, nil)
	apps := []worker.App{line(t, "orders", s, c.run)}
	for _, name := range more {
		apps = append(apps, line(t, name, s, c.run))
	}
	m.started = start(t, s, o, apps...)
	c.members = append(c.members, m)
	return m
}

// submit submits inputs to threads of the client, and does not wait.
func (c *crowd) submit(t *testing.T, threads ...string) {
	t.Helper()
	for _, id := range threads {
		if _, err := c.client.Thread(id).Submit(t.Context(), JobUpdate{}); err != nil {
			t.Fatal(err)
		}
	}
}

// wait returns how long it takes until threads have begun; about a minute if they do not.
func (c *crowd) wait(threads ...string) time.Duration {
	began := time.Now()
	waits := func(id string) bool { return c.ran.Of(id) == 0 }
	for synctest.Wait(); time.Since(began) < time.Minute && slices.ContainsFunc(threads, waits); synctest.Wait() {
		time.Sleep(time.Millisecond)
	}
	return time.Since(began)
}

// polls returns how often the workers poll during f.
func (c *crowd) polls(f func()) int {
	before := c.ready.Load()
	f()
	synctest.Wait()
	return int(c.ready.Load() - before)
}

// end stops the workers that live.
func (c *crowd) end(t *testing.T) {
	t.Helper()
	for _, m := range c.members {
		if err := m.stop(); err != nil {
			t.Error(err)
		}
	}
}

const (
	never = 24 * time.Hour         // no test waits for it
	soon  = 100 * time.Millisecond // of threads that become due together: hints after vain polls wait
)

// TestOneWorkerPollsForAHint counts the polls of a crowd for each thread: one for its hint.
func TestOneWorkerPollsForAHint(t *testing.T) {
	for _, workers := range []int{1, 3, 10, 30} {
		for name, pause := range map[string]time.Duration{"rare": time.Second, "frequent": 10 * time.Millisecond, "together": 0} {
			t.Run(fmt.Sprint(workers, " workers, ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCrowd(t, workers, worker.Options{Poll: never})
					all, longest := ids("t", 200), time.Duration(0)
					polls := c.polls(func() {
						for _, id := range all {
							c.submit(t, id)
							if time.Sleep(pause); pause > 0 {
								longest = max(longest, c.wait(id))
							}
						}
						longest = max(longest, c.wait(all...))
					})
					t.Logf("%d polls for %d threads; a thread waited for at most %s", polls, len(all), longest)
					if most := len(all) + len(all)/10; polls > most {
						t.Errorf("got %d polls for %d threads, want at most %d", polls, len(all), most)
					}
					if longest > soon || pause > 0 && longest > time.Millisecond {
						t.Errorf("a thread waited for %s, want none to wait for a poll", longest)
					}
					c.end(t)
				})
			})
		}
	}
}

// endingSaver calls a function before the first write that ends a run.
type endingSaver struct {
	checkpoint.Saver
	ends func()
}

func (s *endingSaver) end() {
	if ends := s.ends; ends != nil {
		s.ends = nil
		ends()
	}
}

func (s *endingSaver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.End {
		s.end()
	}
	return s.Saver.Append(ctx, a)
}

func (s *endingSaver) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if p.End {
		s.end()
	}
	return s.Saver.PutWrites(ctx, p)
}

// TestAnInputIsFoundThatComesAtTheEndOfARun submits a second input to a thread just before the
// write that ends its run. A worker does not poll after a run that is over, so it must remember
// the hint.
func TestAnInputIsFoundThatComesAtTheEndOfARun(t *testing.T) {
	for name, slots := range map[string]int{"one slot": 1, "free slots": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hub, ran := new(worker.Hub), new(counter)
				s := &endingSaver{Saver: quiet{memory.New()}}
				announced := worker.Announce(s, hub, nil)
				app := line(t, "orders", announced, func(context.Context, Job) (u JobUpdate, err error) { ran.Add("t"); return u, nil })
				submit := func() {
					if _, err := app.Thread("t").Submit(t.Context(), JobUpdate{}); err != nil {
						t.Error(err)
					}
				}
				s.ends = submit
				w := start(t, announced, worker.Options{Engine: hub, Poll: never, Slots: slots}, app)
				time.Sleep(time.Minute)
				submit()
				synctest.Wait()
				time.Sleep(time.Second)
				if got := ran.Of("t"); got != 2 || s.ends != nil {
					t.Errorf("got %d runs a second after the second input, want 2", got)
				}
				if err := w.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestTheDeathOfAWorkerDelaysItsHints kills a worker of three. The others find its threads at
// their polls, and forget it after a while.
func TestTheDeathOfAWorkerDelaysItsHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 3, worker.Options{})
		c.members[0].dead.Store(true)
		longest := time.Duration(0)
		for _, id := range ids("first", 100) {
			c.submit(t, id)
			if longest = c.wait(id); longest > 0 {
				break
			}
		}
		if longest == 0 || longest > 22500*time.Millisecond {
			t.Errorf("the thread of a dead worker waited for %s, want it to wait for the next poll of any worker", longest)
		}
		time.Sleep(time.Minute)
		for _, id := range ids("later", 100) {
			c.submit(t, id)
			if took := c.wait(id); took > 0 {
				t.Fatalf("after a minute a thread waited for %s, want none to wait for the dead worker", took)
			}
		}
		c.end(t)
	})
}

// TestAFullWorkerLeavesItsHintsToOthers fills the slots of two workers of three. The third one
// polls for all hints, and the others do again when they have room.
func TestAFullWorkerLeavesItsHintsToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2, worker.Options{Poll: never, Slots: 1})
		release := make(chan struct{})
		c.node = func(ctx context.Context, _ Job) (u JobUpdate, err error) { <-release; return u, nil }
		c.submit(t, "long 1")
		c.wait("long 1")
		c.submit(t, "long 2")
		c.wait("long 2")
		c.node = say("a")
		c.join(t, worker.Options{Poll: never})
		time.Sleep(5 * time.Second)
		all := ids("t", 100)
		for _, id := range all {
			c.submit(t, id)
			if took := c.wait(id); took > 0 {
				t.Fatalf("a thread waited for %s, want none to wait for a full worker", took)
			}
		}
		close(release)
		time.Sleep(5 * time.Second)
		more := ids("more", 100)
		polls := c.polls(func() {
			for _, id := range more {
				c.submit(t, id)
				c.wait(id)
				time.Sleep(time.Second)
			}
		})
		if polls > len(more)+len(more)/10 {
			t.Errorf("got %d polls for %d threads when the workers have room again, want about one for each", polls, len(more))
		}
		c.end(t)
	})
}

// TestFullWorkersGreetRarely sends many hints to workers without room, or to one of a crowd, or to
// one whose graph has reached its limit.
func TestFullWorkersGreetRarely(t *testing.T) {
	for name, full := range map[string]int{"one of five": 1, "four of five": 4, "all": 5} {
		for limit, o := range map[string]worker.Options{
			"slots": {Poll: never, Slots: 1},
			"limit": {Poll: never, Limits: []worker.Limit{{Graph: "orders", Max: 1}}},
		} {
			t.Run(name+", "+limit, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCrowd(t, full, o)
					release := make(chan struct{})
					c.node = func(ctx context.Context, _ Job) (u JobUpdate, err error) { <-release; return u, nil }
					defer c.end(t)
					defer close(release)
					for _, id := range ids("long", full) {
						c.submit(t, id)
						if took := c.wait(id); took > soon {
							t.Fatalf("a long thread waited for %s", took)
						}
					}
					c.node = say("a")
					for range 5 - full {
						c.join(t, worker.Options{Poll: never})
					}
					time.Sleep(5 * time.Second)
					before := c.greetings.Load()
					all := ids("t", 1000)
					for _, id := range all {
						c.submit(t, id)
						time.Sleep(10 * time.Millisecond)
						if full < 5 {
							if took := c.wait(id); took > soon {
								t.Fatalf("a thread waited for %s, want none to wait for a full worker", took)
							}
						}
					}
					got := c.greetings.Load() - before
					t.Logf("%d greetings in 10 s", got)
					if got > 5*2*11 {
						t.Errorf("got %d greetings of 5 workers in 10 s, want at most 2 a second of each", got)
					}
				})
			})
		}
	}
}

// TestAWorkerWithoutItsSaverLeavesItsHintsToOthers cuts one worker of two from the saver.
func TestAWorkerWithoutItsSaverLeavesItsHintsToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2, worker.Options{Poll: never})
		c.members[0].cut.Store(true)
		for _, id := range ids("t", 100) {
			c.submit(t, id)
			if took := c.wait(id); took > soon {
				t.Fatalf("a thread waited for %s, want none to wait for a worker that cannot poll", took)
			}
		}
		c.end(t)
	})
}

// TestAWorkerThatHearsNothingLeavesItsHintsToOthers breaks the Listen of one worker of two.
func TestAWorkerThatHearsNothingLeavesItsHintsToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2, worker.Options{Poll: never})
		close(c.members[0].deaf)
		for _, id := range ids("t", 100) {
			c.submit(t, id)
			if took := c.wait(id); took > soon {
				t.Fatalf("a thread waited for %s, want none to wait for a worker that hears no hints", took)
			}
		}
		c.end(t)
	})
}

// TestAWorkerThatStopsTakesNoHints stops one worker of two.
func TestAWorkerThatStopsTakesNoHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2, worker.Options{Poll: never})
		if err := c.members[0].stop(); err != nil {
			t.Error(err)
		}
		c.members = c.members[1:]
		all := ids("t", 100)
		c.submit(t, all...)
		if took := c.wait(all...); took > soon {
			t.Errorf("the last thread waited for %s, want none to wait for a worker that has left", took)
		}
		c.end(t)
	})
}

// TestAWorkerIsFirstOnlyForItsGraphs has a worker of another graph, and one of so many graphs that
// it sends no greetings.
func TestAWorkerIsFirstOnlyForItsGraphs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1, worker.Options{Poll: never})
		var names []string
		for i := range 60 {
			names = append(names, fmt.Sprint("graph ", i))
		}
		c.join(t, worker.Options{Poll: never}, names...)
		other := &member{Saver: c.looked, crowd: c}
		other.started = start(t, other, worker.Options{Engine: other, Poll: never}, line(t, "mails", checkpoint.Saver(other), c.run))
		c.members = append(c.members, other)
		time.Sleep(5 * time.Second)
		all := ids("t", 100)
		c.submit(t, all...)
		if took := c.wait(all...); took > soon {
			t.Errorf("the last thread waited for %s, want none to wait for a worker that does not serve its graph", took)
		}
		c.end(t)
	})
}

// TestAWorkerOfAnotherVersionPassesHintsOn has a worker whose graph cannot run the threads.
func TestAWorkerOfAnotherVersionPassesHintsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1, worker.Options{Poll: never})
		other := &member{Saver: c.looked, crowd: c}
		b := graph.New("orders", JobSchema)
		b.Node("renamed", say("x"))
		b.Chain(graph.Start, "renamed", graph.End)
		changed, err := b.Compile(graph.Saver(other))
		if err != nil {
			t.Fatal(err)
		}
		other.started = start(t, other, worker.Options{Engine: other, Poll: never}, changed)
		c.members = append(c.members, other)
		time.Sleep(5 * time.Second)
		for _, id := range ids("t", 50) {
			submit(t, c.looked, "orders", id)
			if err := c.hub.Wake(t.Context(), "orders", id); err != nil {
				t.Fatal(err)
			}
			if took := c.wait(id); took > soon {
				t.Fatalf("a thread waited for %s, want none to wait for a worker that cannot run it", took)
			}
		}
		if left := other.of(worker.EventLeft); len(left) == 0 {
			t.Error("the worker of the other version has left no thread, want it to be first for some")
		}
		c.end(t)
	})
}
