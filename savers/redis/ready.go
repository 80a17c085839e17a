package redis

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// The wakes of a graph's threads are in a sorted set, in another slot than the threads. Each is
// a hint, and never later than the wake of the thread: a call lowers it before it changes the
// thread. Only Ready raises or removes one, after it has looked at the thread, and if nobody
// else has changed it meanwhile. A call that is about to change the thread has left its stamp in
// the index, and the thread does not have that stamp yet. Then the wake stays as it is, until
// the call has been made, or was not for a minute.

// doubt is how long the index believes a call that has not changed its thread, in seconds.
const doubt = 60

// wakeArg returns a wake as scripts have it.
func wakeArg(wake time.Time) string {
	if wake.IsZero() {
		return "0"
	}
	return strconv.FormatInt(max(ledger.Wake(wake).UnixMicro(), 1), 10)
}

// rounds bounds how often Ready looks for more threads after it has found some that are not due.
// Each round looks at twice as many threads as the one before, up to mostLooked. So the entries of
// many threads that are gone do not hold up one that is due.
const (
	rounds     = 64
	mostLooked = 1024
)

// Ready returns threads that are due, as [checkpoint.Saver] says. It reads the index of wakes, and
// each thread that the index names.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if err := q.Check(); err != nil {
		return checkpoint.ReadyThreads{}, err
	}
	r := readyCall{s: s, q: &q}
	graphs := q.Graphs
	if len(graphs) == 0 {
		graphs = []string{""} // for the time
	}
	for _, graph := range graphs {
		if err := r.graph(ctx, graph); err != nil {
			return checkpoint.ReadyThreads{}, err
		}
	}
	if len(q.Graphs) == 0 {
		return checkpoint.ReadyThreads{Now: r.result.Now}, nil
	}
	return r.result, nil
}

// readyCall is one call of Ready.
type readyCall struct {
	s      *Saver
	q      *checkpoint.ReadyQuery
	result checkpoint.ReadyThreads
}

// graphCall is the part of a call of Ready that reads the index of one graph.
type graphCall struct {
	*readyCall
	graph   string
	due     ledger.ByPriority[indexedWake]
	from    [checkpoint.Priorities]string // where the index is read from
	todo    [checkpoint.Priorities]bool   // priorities that may have more due threads
	seen    map[string]bool               // by priority and id
	held    []any                         // the ids of those that ready.lua has moved
	changes []any                         // of wakes.lua
}

// indexedWake is a thread with its wake in the index.
type indexedWake struct {
	candidate
	priority checkpoint.Priority // in whose set it is
	before   string              // its wake before the call
	now      string              // its wake after the reservation
}

// graph adds the due threads of a graph.
func (r *readyCall) graph(ctx context.Context, graph string) error {
	if r.s.unrepaired(graph) {
		if err := r.s.repair(ctx, r.q.Graphs, r.result.Now); err != nil {
			return err
		}
	}
	g := graphCall{readyCall: r, graph: graph, seen: make(map[string]bool)}
	for i := range g.todo {
		g.from[i], g.todo[i] = "-inf", true
	}
	for n := range rounds {
		lost, err := g.round(ctx, n)
		if err == nil && lost {
			err = r.s.repair(ctx, r.q.Graphs, r.result.Now)
		}
		if err != nil {
			return err
		}
		if !slices.Contains(g.todo[:], true) {
			break
		}
	}
	g.choose()
	return g.correct(ctx)
}

// round reads threads that may be due, and looks at them. n counts the rounds of a call. It
// reports whether the index has been lost.
func (g *graphCall) round(ctx context.Context, n int) (lost bool, err error) {
	want := g.q.Limit - len(g.result.Threads)
	page := want + len(g.q.Except)
	for ; n > 0 && page > 0 && page < mostLooked; n-- {
		page *= 2
	}
	if want == 0 || len(g.q.Graphs) == 0 {
		page = 0
	}
	found, lost, err := g.find(ctx, page)
	if err != nil || lost {
		return lost, err
	}
	var counts [checkpoint.Priorities]int
	for i := range found {
		f, class := &found[i], found[i].priority-1
		counts[class]++
		if g.from[class] = "(" + f.before; g.q.Reserve > 0 {
			g.from[class] = "-inf"
		}
		if entry := queue(f.priority, f.ID); !g.seen[entry] {
			g.seen[entry] = true
			g.judge(f)
		}
	}
	for i := range g.todo {
		g.todo[i] = counts[i] == page && page > 0 && len(g.due[i]) < want
	}
	return false, nil
}

// find reads up to page threads of each priority that may be due, and reserves them.
func (g *graphCall) find(ctx context.Context, page int) (found []indexedWake, lost bool, err error) {
	every := repairEvery
	if len(g.q.Graphs) == 0 {
		every = math.MaxInt64 // for the time alone
	}
	args := []any{g.q.Reserve.Microseconds(), every.Microseconds(), repairClaim.Microseconds()}
	for i := range g.todo {
		n := 0
		if g.todo[i] {
			n = page
		}
		args = append(args, g.from[i], n)
	}
	reply, err := g.s.call(ctx, "ready", g.s.script.ready, g.keys(), args...)
	if err != nil {
		return nil, false, err
	}
	reply.text()
	var to string
	g.result.Now, lost, to = reply.time(), reply.text() == "1", reply.text()
	var threads []candidate
	for reply.more() {
		w := indexedWake{priority: checkpoint.Priority(reply.int())}
		c := candidate{described: described{Thread: checkpoint.Thread{ID: reply.text()}}}
		w.before = reply.text()
		if w.now = w.before; g.q.Reserve > 0 {
			w.now, g.held = to, append(g.held, c.ID)
		}
		c.indexed, c.age = reply.id(), reply.number()
		threads, found = append(threads, c), append(found, w)
	}
	if reply.err != nil {
		return nil, false, reply.err
	}
	if err := g.s.describeAll(ctx, threads); err != nil {
		return nil, false, err
	}
	for i := range threads {
		found[i].candidate = threads[i]
	}
	return found, lost, nil
}

// keys are those of ready.lua and wakes.lua.
func (g *graphCall) keys() []string {
	return append(g.s.allWakes(g.graph), g.s.indexKeys()[keyStamps], g.s.held(g.graph))
}

// judge looks at a thread. If it is not due, judge notes the wake that the index must have.
func (g *graphCall) judge(f *indexedWake) {
	switch right := f.next(g.graph, f.priority); {
	case slices.Contains(g.q.Except, f.ID):
		g.change(f, f.before)
	case f.damage != nil: // it is looked at again after the reservation
	case right != "" && f.due(g.result.Now):
		g.due.Add(f.priority, *f)
	case f.indexed != f.stamp && f.age <= doubt: // a call is about to change the thread
		if right != "" && !earlier(f.now, right) {
			g.change(f, right)
		}
	default:
		g.change(f, right)
	}
}

// change notes the wake that the index must have, "" for none.
func (g *graphCall) change(f *indexedWake, right string) {
	if right != f.now {
		g.changes = append(g.changes, int(f.priority), f.ID, f.now, f.indexed[:], right)
	}
}

// choose adds due threads to the result. The others get back the wakes from before the call.
func (g *graphCall) choose() {
	turn, want := g.s.turns.Next(g.graph), g.q.Limit-len(g.result.Threads)
	chosen := g.due.Take(turn, want, func(a, b *indexedWake) bool { return earlier(a.before, b.before) })
	for i := range chosen {
		c := &chosen[i]
		g.result.Threads = append(g.result.Threads, checkpoint.ReadyThread{
			ID: c.ID, Graph: g.graph, Priority: c.Priority, Status: c.Status, Wake: c.Wake, Fence: c.fence, Attempts: c.Attempts,
			Posted: c.Posted, Labels: c.Labels, Birth: c.birth,
		})
		g.s.notePriority(c.ID, c.Priority)
	}
	if g.q.Reserve > 0 {
		g.s.turns.Given(g.graph, len(chosen))
	}
	for _, left := range g.due {
		for i := range left {
			g.change(&left[i], left[i].before)
		}
	}
}

// next returns when a thread becomes due as one of a graph and a priority; "" is never.
func (c *candidate) next(graph string, priority checkpoint.Priority) string {
	switch {
	case c.Graph != graph || c.Priority != priority || c.Wake.IsZero():
		return ""
	case c.leased:
		return wakeArg(c.Lease)
	}
	return wakeArg(c.Wake)
}

// earlier reports whether a wake, as scripts have it, is before another.
func earlier(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// due reports whether the thread is due.
func (c *candidate) due(now time.Time) bool {
	return !c.leased && !c.Wake.IsZero() && !c.Wake.After(now)
}

// correct changes the index of wakes, and notes the earliest one.
func (g *graphCall) correct(ctx context.Context) error {
	if g.q.Reserve == 0 {
		g.changes = nil
	}
	args := slices.Concat([]any{len(g.q.Except) + 1, len(g.held)}, g.held, g.changes)
	reply, err := g.s.call(ctx, "ready", g.s.script.wakes, g.keys(), args...)
	if err != nil {
		return err
	}
	reply.text()
	for reply.more() {
		id, wake := reply.text(), reply.time()
		if id != "" && !slices.Contains(g.q.Except, id) && (g.result.Next.IsZero() || wake.Before(g.result.Next)) {
			g.result.Next = wake
		}
	}
	return reply.err
}

// maxPriorities is how many threads of another priority than Normal are remembered.
const maxPriorities = 1000

// notePriority remembers the priority of a thread, so that its next opening announces the right
// queue.
func (s *Saver) notePriority(thread string, p checkpoint.Priority) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p == checkpoint.Normal {
		delete(s.priorities, thread)
		return
	}
	if len(s.priorities) >= maxPriorities {
		clear(s.priorities)
	}
	s.priorities[strings.Clone(thread)] = p
}

// priorityOf returns the priority of a thread, as far as is known here.
func (s *Saver) priorityOf(thread string) checkpoint.Priority {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.priorities[thread].Or(checkpoint.Normal)
}

// Rewake sets when a thread is due, as [checkpoint.Saver] says.
func (s *Saver) Rewake(ctx context.Context, w checkpoint.Rewake) error {
	if err := w.Check(); err != nil {
		return err
	}
	args := []any{w.Fence[:], strconv.FormatUint(w.Posted, 10), wakeArg(w.Wake), s.ttl, "", "", w.Birth[:]}
	r, err := s.announce(ctx, "rewake", &announced{s: s, thread: w.Thread, script: s.script.rewake, args: args, notice: 4, stamp: 5})
	if err != nil {
		return err
	}
	switch outcome := r.text(); outcome {
	case "ok":
		return r.err
	case "missing":
		return ledger.Missing(w.Thread, "", w.Fence, "fence", r.text() == "1")
	case "posted":
		return &checkpoint.ConflictError{Thread: w.Thread, Want: w.Fence, Found: w.Fence, Reason: "mail"}
	default:
		return s.refused(&checkpoint.Append{Thread: w.Thread, Fence: w.Fence, Open: &checkpoint.Opening{Birth: w.Birth}}, outcome, r)
	}
}
