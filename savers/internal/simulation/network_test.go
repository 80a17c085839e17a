//go:build deterministic

package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/internal/intercept"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/internal/memrows/strict"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/shards"
)

// The errors of calls that go wrong. The outcome of a call that failed is unknown to the caller.
var (
	errNetwork = errors.New("the connection is lost")
	errDead    = errors.New("the process is dead")
)

// server is the storage of one shard. It outlives all processes. Either saver or store is set.
type server struct {
	name  string
	saver *memory.Saver  // all processes use it
	store *memrows.Store // each process has a saver over it
	skew  time.Duration  // of the clock of store
}

// skewed is a rows.Store with another clock.
type skewed struct {
	rows.Store
	by time.Duration
}

func (s skewed) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	read, now, err := s.Store.Read(ctx, ranges...)
	return read, now.Add(s.by), err
}

// process is one process of the fleet: a worker, or a client.
type process struct {
	s    *sim
	name string

	// s.mu guards the following.
	dead    bool
	over    chan struct{}     // closed when the process dies
	stopped time.Time         // it does nothing before this time
	cut     map[int]time.Time // it does not reach a shard before this time
	drawn   map[string]int    // how often each draw was made
	opened  map[string]time.Time
	blind   time.Time     // when it last did not reach a shard
	knows   int           // how many changes of the layout its list has
	fuse    int           // it dies or stops after so many more calls; 0 for never
	sleeps  time.Duration // how long it stops then; 0 if it dies
}

// newProcess starts a process.
func (s *sim) newProcess(name string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &process{
		s: s, name: name, knows: s.announced, over: make(chan struct{}), cut: map[int]time.Time{}, drawn: map[string]int{}, opened: map[string]time.Time{},
	}
}

// kill ends the process. Its goroutines live on, but have no effect any more.
func (p *process) kill() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if !p.dead {
		p.dead = true
		close(p.over)
	}
}

// draw returns a source of random numbers that depends on the seed, the process, what, and how
// often the process has drawn for it. So it does not depend on the order of goroutines.
func (p *process) draw(what string) *rand.Rand {
	p.s.mu.Lock()
	p.drawn[what]++
	n := p.drawn[what]
	p.s.mu.Unlock()
	return p.s.draw(p.name, what, n)
}

// draw returns a source of random numbers that depends on the seed and on what.
func (s *sim) draw(what ...any) *rand.Rand { return rand.New(rand.NewPCG(s.seed, hash(what...))) }

func hash(parts ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, parts...) // a hash takes everything
	return h.Sum64()
}

// latency draws how long a message travels. No two messages travel equally long, so that one
// goroutine after the other continues.
func (s *sim) latency(r *rand.Rand) time.Duration {
	d := 100*time.Microsecond + time.Duration(r.Int64N(int64(3*time.Millisecond)))
	if s.calm() {
		return d
	}
	switch n := r.IntN(1000); {
	case n < s.slow/10:
		d += time.Duration(r.Int64N(int64(20 * time.Second)))
	case n < s.slow:
		d += time.Duration(r.Int64N(int64(time.Second)))
	}
	return d
}

// call makes a call of a process to a shard. It may fail before or after it happens.
func (p *process) call(ctx context.Context, shard int, op, thread string, doIt func(context.Context) error) error {
	do := func(ctx context.Context) error {
		if p.s.announced > 0 && late(ctx) {
			return errNetwork
		}
		defer p.burn()
		return doIt(ctx)
	}
	p.burn()
	r := p.draw(fmt.Sprint(shard, op, thread))
	at := fmt.Sprintf("%s %s.%s %s", p.name, p.s.servers[shard].name, op, p.s.short(thread))
	there, back, fault := p.s.latency(r), p.s.latency(r), r.IntN(1000)
	if p.s.calm() {
		fault = 1000
	}
	frozen := (op == "ready" || op == "append" || op == "put" || strings.HasPrefix(op, "apply")) && r.IntN(1000) < p.s.freezes
	freeze := []time.Duration{4*time.Second + time.Duration(r.Int64N(int64(6*time.Second))), time.Duration(r.Int64N(int64(40 * time.Second)))}[r.IntN(2)]
	if frozen && r.IntN(2) == 0 {
		frozen = false
		p.stop(freeze)
	}
	if err := p.travel(ctx, shard, there); err != nil {
		if r.IntN(2) == 0 || ctx.Err() == nil {
			p.s.note("%s does not arrive: %v", at, err)
			return err
		}
		err := do(context.WithoutCancel(ctx)) // it arrives as the caller gives up
		p.s.note("%s arrives too late -> %v", at, err)
		return ctx.Err()
	}
	switch {
	case fault < p.s.faults:
		p.s.note("%s fails", at)
		return errNetwork
	case fault < p.s.faults+p.s.faults/2 && op != "ready" && op != "news":
		delay := time.Duration(r.Int64N(int64(lateBy)))
		p.s.all.Go(func() {
			time.Sleep(delay)
			err := do(context.WithoutCancel(ctx))
			p.s.note("%s arrives after %v -> %v", at, delay, err)
		})
		return errNetwork
	}
	err := do(ctx)
	lost := fault >= 2*p.s.faults && fault < 3*p.s.faults
	p.s.note("%s -> %.200v%s", at, err, map[bool]string{true: ", and the reply is lost"}[lost])
	if frozen {
		p.stop(freeze)
	}
	if failed := p.travel(ctx, shard, back); failed != nil {
		return failed
	}
	if lost {
		return errNetwork
	}
	return err
}

// lateBy is how late a call can happen after its caller got an error.
const lateBy = 5 * time.Second

// travel waits until a message has arrived.
func (p *process) travel(ctx context.Context, shard int, d time.Duration) error {
	for {
		timer := time.NewTimer(d)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-p.over:
		}
		timer.Stop()
		p.resume()
		p.s.mu.Lock()
		dead, cut := p.dead, time.Until(p.cut[shard])
		p.s.mu.Unlock()
		switch {
		case dead:
			return errDead
		case ctx.Err() != nil:
			return ctx.Err()
		case cut > 0 && p.draw("refused").IntN(2) == 0:
			return errNetwork
		case cut > 0: // no packet arrives
			d = cut
			continue
		}
		return nil
	}
}

// stop stops the process for some time.
func (p *process) stop(d time.Duration) {
	if p.s.calm() {
		return
	}
	p.s.note("%s is stopped for %s", p.name, d)
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.stopped = time.Now().Add(d)
}

// resume waits while the process is stopped.
func (p *process) resume() {
	for {
		p.s.mu.Lock()
		d := time.Until(p.stopped)
		p.s.mu.Unlock()
		if d <= 0 {
			return
		}
		select {
		case <-time.After(d):
		case <-p.over:
			return
		}
	}
}

// open returns the saver of a process over all shards. A process may begin with the list that was
// in force before the newest change of the layout.
func (p *process) open(ctx context.Context) (checkpoint.Saver, error) {
	old := p.draw("list").IntN(4) == 0
	for {
		p.s.mu.Lock()
		from := p.s.done
		if p.knows = p.s.announced; old {
			p.knows = from
		}
		p.s.mu.Unlock()
		s, err := shards.Open(ctx, p.s.listOf(from, p.knows, p.connect)...)
		switch {
		case err == nil:
			return timed(s), nil
		case ctx.Err() != nil || errors.Is(err, errDead):
			return nil, err
		}
		old = old && !errors.As(err, new(*shards.LayoutError))
		time.Sleep(time.Second)
	}
}

// connect returns the saver of a process over one shard. A nil process has no network.
func (p *process) connect(i int, sv *server) checkpoint.Saver {
	switch {
	case sv.saver != nil:
		return &intercept.Saver{Saver: unclosed{sv.saver}, By: func(ctx context.Context, op, thread string, do func(context.Context) error) error {
			return p.call(ctx, i, op, thread, do)
		}}
	default:
		return rows.New("rows", &remote{skewed{strict.Store{Store: unclosedRows{sv.store}}, sv.skew}, p, i}, rows.Options{Join: p.s.join})
	}
}

// direct returns a saver over all shards without a network.
func (s *sim) direct(ctx context.Context) (*shards.Saver, error) {
	return shards.Open(ctx, s.listOf(s.done, s.announced, func(_ int, sv *server) checkpoint.Saver {
		if sv.saver != nil {
			return unclosed{sv.saver}
		}
		return rows.New("rows", skewed{unclosedRows{sv.store}, sv.skew}, rows.Options{})
	})...)
}

// unclosed is a saver that outlives the process that closes it.
type unclosed struct{ checkpoint.Saver }

func (unclosed) Close() error { return nil }

type unclosedRows struct{ rows.Store }

func (unclosedRows) Close() error { return nil }

// remote is a rows.Store behind the network.
type remote struct {
	rows.Store
	p     *process
	shard int
}

func (r *remote) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	type result struct {
		read [][]rows.Row
		now  time.Time
	}
	var op strings.Builder
	for i := range ranges {
		op.WriteString(ranges[i].Table.String() + " ")
	}
	got, err := intercept.Call(func(do func(context.Context) error) error {
		thread := ""
		if len(ranges) > 0 {
			thread = ranges[0].Thread
		}
		return r.p.call(ctx, r.shard, "read "+op.String(), thread, do)
	}, func(ctx context.Context) (result, error) {
		read, now, err := r.Store.Read(ctx, ranges...)
		return result{read, now}, err
	})
	return got.read, got.now, err
}

func (r *remote) Apply(ctx context.Context, c *rows.Change) (uint64, [][]rows.Row, error) {
	type result struct {
		rev  uint64
		read [][]rows.Row
	}
	op, thread := "apply", ""
	for i := range c.Puts {
		op += " " + c.Puts[i].Table.String()
		thread = c.Puts[i].Thread
	}
	got, err := intercept.Call(func(do func(context.Context) error) error {
		return r.p.call(ctx, r.shard, op, thread, do)
	}, func(ctx context.Context) (result, error) {
		rev, read, err := r.Store.Apply(ctx, c)
		return result{rev, read}, err
	})
	return got.rev, got.read, err
}
