package graph_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// distant is a saver whose calls take time, and whose clock is ahead of that of the process.
type distant struct {
	checkpoint.Saver
	request, reply func() time.Duration // how long the ways take; a request is a write
	ahead          time.Duration
}

func (d *distant) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := d.Saver.Load(ctx, p)
	time.Sleep(d.reply())
	c.Thread.Now = c.Thread.Now.Add(d.ahead)
	return c, err
}

func (d *distant) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	time.Sleep(d.request())
	r, err := d.Saver.Append(ctx, a)
	time.Sleep(d.reply())
	r.Now = r.Now.Add(d.ahead)
	return r, err
}

// starts are the times at which attempts began.
type starts struct {
	mu  sync.Mutex
	all []time.Time
}

func (s *starts) note() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, time.Now())
}

// check fails the test if more than n attempts began in a period.
func (s *starts) check(tb testing.TB, n int, period time.Duration) {
	tb.Helper()
	slices.SortFunc(s.all, time.Time.Compare)
	for i := range len(s.all) - n {
		if took := s.all[i+n].Sub(s.all[i]); took < period {
			tb.Errorf("attempts %d to %d began in %s, want at least %s", i, i+n, took, period)
		}
	}
}

// TestAGlobalRateIsExact has ten processes, with attempts that come at random, and some that are
// cancelled while they wait. The clock of the storage is not that of the processes.
func TestAGlobalRateIsExact(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"one clock": 0, "ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				var ran starts
				var all sync.WaitGroup
				began := time.Now()
				request := func() time.Duration { return rand.N(time.Millisecond) }
				for process := range 10 {
					reply := func() time.Duration { return time.Duration(2*process) * time.Millisecond }
					limit := graph.RateGlobal(&distant{s, request, reply, ahead}, "model", 50, time.Second)
					for i := range 10 {
						all.Go(func() {
							for range 20 {
								time.Sleep(rand.N(100 * time.Millisecond))
								if i == 0 {
									ctx, cancel := context.WithTimeout(t.Context(), rand.N(time.Second)+time.Millisecond)
									if _, err := limit.Acquire(ctx); err == nil {
										ran.note()
									}
									cancel()
									continue
								}
								acquire(t, limit)
								ran.note()
							}
						})
					}
				}
				all.Wait()
				ran.check(t, 50, time.Second)
				if len(ran.all) < 1800 {
					t.Errorf("%d attempts began, want 1,800 and some of the cancelled ones", len(ran.all))
				}
				if took := time.Since(began); took > time.Minute { // 2,000 at 21 ms are 42 s
					t.Errorf("took %s, want the rate used", took)
				}
			})
		})
	}
}

// TestAStartIsLostWhenItsReplyIsLate has a process that learns of its start after the slack of 50
// ms. It sees the clock of the storage 20 ms late. Two other processes use the next starts.
func TestAStartIsLostWhenItsReplyIsLate(t *testing.T) {
	for _, late := range []time.Duration{60 * time.Millisecond, 400 * time.Millisecond} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, reply := memory.New(), 20*time.Millisecond
				far := &distant{Saver: s, request: func() time.Duration { return 0 }, reply: func() time.Duration { return reply }}
				one := graph.RateGlobal(far, "model", 2, time.Second)
				acquire(t, one)
				time.Sleep(10 * time.Second)
				reply = late
				began := time.Now()
				var ran starts
				var all sync.WaitGroup
				for _, limit := range []graph.Limiter{one, graph.RateGlobal(s, "model", 2, time.Second), graph.RateGlobal(s, "model", 2, time.Second)} {
					all.Go(func() {
						acquire(t, limit)
						ran.note()
					})
					synctest.Wait() // it has reserved its start
				}
				all.Wait()
				ran.check(t, 2, time.Second)
				same(t, "the first start of another process", ran.all[0].Sub(began), 525*time.Millisecond)
			})
		})
	}
}

// TestAGlobalRateIsSpacedAfterRest: what nobody has used for a minute does not add up.
func TestAGlobalRateIsSpacedAfterRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		one, other := graph.RateGlobal(s, "model", 3, time.Minute), graph.RateGlobal(s, "model", 3, time.Minute)
		var ran starts
		for range 4 {
			acquire(t, one)
			ran.note()
			acquire(t, other)
			ran.note()
			time.Sleep(time.Hour)
		}
		ran.check(t, 1, time.Minute/3)
	})
}

// TestADeadProcessLosesOnlyItsReservedStarts has a process that dies with nine of them.
func TestADeadProcessLosesOnlyItsReservedStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		dying, other := graph.RateGlobal(s, "model", 10, time.Second), graph.RateGlobal(s, "model", 10, time.Second)
		acquire(t, other)
		ctx, die := context.WithCancel(t.Context())
		var dead sync.WaitGroup
		for range 30 {
			dead.Go(func() { _, _ = dying.Acquire(ctx) })
		}
		synctest.Wait()
		time.Sleep(150 * time.Millisecond) // it has begun its first attempt
		began := time.Now()
		die()
		dead.Wait()
		var ran starts
		for range 30 {
			acquire(t, other)
			ran.note()
		}
		if lost := ran.all[0].Sub(began); lost > 10*105*time.Millisecond {
			t.Errorf("the first start of the other process came after %s, want it within 9 starts", lost)
		}
		same(t, "time of 29 starts", ran.all[29].Sub(ran.all[0]), 29*105*time.Millisecond)
	})
}

// TestTheCallsOfAGlobalRate counts the calls of the saver.
func TestTheCallsOfAGlobalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New()
		s := &counting{Saver: shared}
		limit := graph.RateGlobal(s, "model", 100, time.Second)
		calls := func(what string, loads, appends int32, f func()) {
			t.Helper()
			s.loads.Store(0)
			s.appends.Store(0)
			f()
			same(t, "loads: "+what, s.loads.Load(), loads)
			same(t, "appends: "+what, s.appends.Load(), appends)
			time.Sleep(time.Minute)
		}
		calls("the first attempt", 1, 2, func() { acquire(t, limit) })
		calls("an attempt of the only process", 0, 1, func() { acquire(t, limit) })
		calls("an attempt, one that waits, and 50 behind it", 0, 3, func() {
			acquire(t, limit)
			var all sync.WaitGroup
			all.Go(func() { acquire(t, limit) })
			synctest.Wait() // its start is reserved
			for range 50 {
				all.Go(func() { acquire(t, limit) })
			}
			all.Wait()
		})
		other := graph.RateGlobal(shared, "model", 100, time.Second)
		acquire(t, other)
		calls("another process has come", 1, 2, func() { acquire(t, limit) })
		acquire(t, other)
		calls("another process reserves, too", 1, 1, func() { acquire(t, limit) })
		calls("the other process rests", 1, 1, func() { acquire(t, limit) })
		calls("alone", 0, 1, func() { acquire(t, limit) })
	})
}

// TestAGlobalRateDoesNotGrow counts the records that many starts leave.
func TestAGlobalRateDoesNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		one, other := graph.RateGlobal(s, "model", 10, time.Second), graph.RateGlobal(s, "model", 10, time.Second)
		for range 200 {
			acquire(t, one)
			acquire(t, other)
		}
		threads := 0
		for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			threads++
			records := 0
			for _, err := range s.History(t.Context(), checkpoint.Ref{Thread: th.ID}, checkpoint.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				records++
			}
			if records > 64 || th.ID != "__rate/model" {
				t.Errorf("thread %s has %d records, want thread __rate/model and at most 64", th.ID, records)
			}
		}
		same(t, "threads", threads, 1)
	})
}

func TestAGlobalRateSurvivesTheDeleteOfItsThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		limit := graph.RateGlobal(s, "model", 10, time.Second)
		var ran starts
		for range 20 {
			acquire(t, limit)
			ran.note()
			if err := s.Delete(t.Context(), "__rate/model"); err != nil {
				t.Fatal(err)
			}
		}
		ran.check(t, 10, time.Second)
	})
}

// TestAGlobalRateIsNotStuckBehindASlowSaver: calls take longer than the slack of the period.
func TestAGlobalRateIsNotStuckBehindASlowSaver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trip := func() time.Duration { return 150 * time.Millisecond }
		s := &distant{Saver: memory.New(), request: trip, reply: trip}
		limit := graph.RateGlobal(s, "model", 10, time.Second)
		began := time.Now()
		for range 20 {
			acquire(t, limit)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("20 attempts took %s, want one a call or so", took)
		}
	})
}

func TestAGlobalRateWaitsForItsSaver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &deadSaver{Saver: memory.New()}
		s.dead.Store(true)
		began := time.Now()
		time.AfterFunc(time.Minute, func() { s.dead.Store(false) })
		limit := graph.RateGlobal(s, "model", 2, time.Second)
		acquire(t, limit)
		if took := time.Since(began); took < time.Minute {
			t.Errorf("got a start after %s, want it when the saver answers", took)
		}
		s.dead.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := limit.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := graph.RateGlobal(s, "model", 2, time.Second).Acquire(t.Context()); !errors.Is(err, checkpoint.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

func TestAGlobalRateRefusesARecordThatIsNotItsOwn(t *testing.T) {
	s := memory.New()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(t.Context(), checkpoint.Append{
		Thread: "__rate/model", End: true, Status: checkpoint.Done, Open: &checkpoint.Opening{Holder: "test"},
		Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: "__rate", Snapshot: true, Payload: []byte{0x80}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph.RateGlobal(s, "model", 2, time.Second).Acquire(t.Context()); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}

func TestGlobalRatesInCompile(t *testing.T) {
	for _, l := range []graph.Limiter{
		graph.RateGlobal(nil, "model", 1, time.Second), graph.RateGlobal(memory.New(), "", 1, time.Second),
		graph.RateGlobal(memory.New(), "model", 0, time.Second), graph.RateGlobal(memory.New(), "model", 1, 0),
	} {
		if _, err := wide(1, say("a"), graph.Limit(l)).Compile(); err == nil || !strings.Contains(err.Error(), "its Limit is RateGlobal") {
			t.Errorf("got %v, want a fault of the Limit", err)
		}
	}
}
