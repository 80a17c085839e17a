package redis

import (
	"context"
	"math"
	"slices"
	"strconv"
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
	return strconv.FormatInt(max(wake.UnixMicro(), 1), 10)
}

// rounds bounds how often Ready looks for more threads after it has found some that are not due.
const rounds = 64

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

// graph adds the due threads of a graph.
func (r *readyCall) graph(ctx context.Context, graph string) error {
	if r.s.unrepaired(graph) {
		if err := r.s.repair(ctx, r.q.Graphs, r.result.Now); err != nil {
			return err
		}
	}
	from, changes := "-inf", []any{}
	for range rounds {
		want := r.q.Limit - len(r.result.Threads)
		found, to, lost, err := r.find(ctx, graph, from, max(want, 0)+len(r.q.Except))
		if err == nil && lost {
			if err = r.s.repair(ctx, r.q.Graphs, r.result.Now); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		for i := range found {
			c, was := &found[i].candidate, found[i].wake
			if r.q.Reserve > 0 {
				was = to
			}
			if right := r.judge(c, graph, found[i].wake, was); right != was {
				changes = append(changes, c.ID, was, c.indexed[:], right)
			}
		}
		if len(found) == 0 || r.q.Limit == len(r.result.Threads) {
			break
		}
		from = "(" + found[len(found)-1].wake
		if r.q.Reserve > 0 {
			from = "-inf"
		}
	}
	if r.q.Reserve == 0 {
		changes = nil
	}
	return r.correct(ctx, graph, changes)
}

// indexed is a thread with its wake in the index.
type indexedWake struct {
	candidate
	wake string
}

// find reads threads that may be due, and reserves them until to.
func (r *readyCall) find(ctx context.Context, graph, from string, n int) (found []indexedWake, to string, lost bool, err error) {
	every := repairEvery
	if len(r.q.Graphs) == 0 {
		every = math.MaxInt64 // for the time alone
	}
	reply, err := r.s.call(ctx, "ready", r.s.script.ready, []string{r.s.wakes(graph), r.s.indexKeys()[2]}, r.q.Reserve.Microseconds(), from, n,
		every.Microseconds(), repairClaim.Microseconds())
	if err != nil {
		return nil, "", false, err
	}
	reply.text()
	r.result.Now, lost, to = reply.time(), reply.text() == "1", reply.text()
	var page []candidate
	for reply.more() {
		c := candidate{described: described{Thread: checkpoint.Thread{ID: reply.text()}}}
		w := indexedWake{wake: reply.text()}
		c.indexed, c.age = reply.id(), reply.number()
		page, found = append(page, c), append(found, w)
	}
	if reply.err != nil {
		return nil, "", false, reply.err
	}
	if err := r.s.describeAll(ctx, page); err != nil {
		return nil, "", false, err
	}
	for i := range page {
		found[i].candidate = page[i]
	}
	return found, to, lost, nil
}

// judge adds a thread to the result if it is due. It returns the wake that the index must have, or
// "" for none. before is that from before the call, and was the one that the index has now.
func (r *readyCall) judge(c *candidate, graph, before, was string) (right string) {
	switch {
	case slices.Contains(r.q.Except, c.ID):
		return before
	case c.damage != nil:
		return was // it is looked at again after the reservation
	case c.Graph == graph && c.due(r.result.Now):
	case c.indexed != c.stamp && c.age <= doubt: // a call is about to change the thread
		if right = c.next(graph); right == "" || earlier(was, right) {
			return was
		}
		return right
	default:
		return c.next(graph)
	}
	if len(r.result.Threads) == r.q.Limit {
		return before
	}
	r.result.Threads = append(r.result.Threads, checkpoint.ReadyThread{
		ID: c.ID, Graph: graph, Status: c.Status, Wake: c.Wake, Fence: c.fence, Attempts: c.Attempts, Posted: c.Posted,
		Labels: c.Labels,
	})
	return was
}

// next returns when a thread that is not due becomes due; "" is never.
func (c *candidate) next(graph string) string {
	switch {
	case c.Graph != graph || c.Wake.IsZero():
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
func (r *readyCall) correct(ctx context.Context, graph string, changes []any) error {
	args := append([]any{len(r.q.Except) + 1}, changes...)
	reply, err := r.s.call(ctx, "ready", r.s.script.wakes, []string{r.s.wakes(graph), r.s.indexKeys()[2]}, args...)
	if err != nil {
		return err
	}
	reply.text()
	for reply.more() {
		id, wake := reply.text(), reply.time()
		if id != "" && !slices.Contains(r.q.Except, id) && (r.result.Next.IsZero() || wake.Before(r.result.Next)) {
			r.result.Next = wake
		}
	}
	return reply.err
}

// Rewake sets when a thread is due, as [checkpoint.Saver] says.
func (s *Saver) Rewake(ctx context.Context, w checkpoint.Rewake) error {
	if err := w.Check(); err != nil {
		return err
	}
	args := []any{w.Fence[:], strconv.FormatUint(w.Posted, 10), wakeArg(w.Wake), s.ttl, "", ""}
	r, err := s.announce(ctx, "rewake", announced{s: s, thread: w.Thread, script: s.script.rewake, args: args, notice: 4, stamp: 5})
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
		return s.refused(&checkpoint.Append{Thread: w.Thread, Fence: w.Fence}, outcome, r)
	}
}
