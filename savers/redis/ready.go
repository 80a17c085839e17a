package redis

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// The wakes of a graph's threads are in a sorted set, in another slot than the threads. Each is
// a hint, and never later than the wake of the thread: a call lowers it before it changes the
// thread. Only Ready raises or removes one, after it has looked at the thread, and if nobody
// else has changed it meanwhile.

// wakeArg returns a wake as scripts have it.
func wakeArg(wake time.Time) string {
	if wake.IsZero() {
		return "0"
	}
	return strconv.FormatInt(max(wake.UnixMicro(), 1), 10)
}

// lower lowers the wake in the index before a run ends with a wake. It knows the graph of runs
// that this saver opened. The other threads are found at the end of their leases.
func (s *Saver) lower(ctx context.Context, thread string, ends bool, wake time.Time) error {
	if !ends || wake.IsZero() {
		return nil
	}
	s.mu.Lock()
	l, found := s.leases[thread]
	s.mu.Unlock()
	if !found {
		return nil
	}
	return s.lowerTo(ctx, thread, l.graph, wake)
}

func (s *Saver) lowerTo(ctx context.Context, thread, graph string, wake time.Time) error {
	_, err := s.call(ctx, "index", s.script.wakes, []string{s.wakes(graph)}, "0", thread, wakeArg(wake), "lower")
	return err
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
	from, changes := "-inf", []any{}
	for range rounds {
		want := r.q.Limit - len(r.result.Threads)
		found, to, err := r.find(ctx, graph, from, max(want, 0)+len(r.q.Except))
		if err != nil {
			return err
		}
		for i := range found {
			c, was := &found[i].candidate, found[i].wake
			if r.q.Reserve > 0 {
				was = to
			}
			if right := r.judge(c, graph, found[i].wake, was); right != was {
				changes = append(changes, c.ID, was, right)
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
func (r *readyCall) find(ctx context.Context, graph, from string, n int) (found []indexedWake, to string, err error) {
	reply, err := r.s.call(ctx, "ready", r.s.script.ready, []string{r.s.wakes(graph)}, r.q.Reserve.Microseconds(), from, n)
	if err != nil {
		return nil, "", err
	}
	reply.text()
	r.result.Now, to = reply.time(), reply.text()
	var page []candidate
	for reply.more() {
		page = append(page, candidate{described: described{Thread: checkpoint.Thread{ID: reply.text()}}})
		found = append(found, indexedWake{wake: reply.text()})
	}
	if reply.err != nil {
		return nil, "", reply.err
	}
	if err := r.s.describeAll(ctx, page); err != nil {
		return nil, "", err
	}
	for i := range page {
		found[i].candidate = page[i]
	}
	return found, to, nil
}

// judge adds a thread to the result if it is due. It returns the wake that the index must have, or
// "" for none. before is that from before the call, and was the one that the index has now.
func (r *readyCall) judge(c *candidate, graph, before, was string) (right string) {
	switch {
	case slices.Contains(r.q.Except, c.ID):
		return before
	case c.damage != nil:
		return was // it is looked at again after the reservation
	case !c.open || c.Graph != graph || c.Wake.IsZero():
		return ""
	case c.leased:
		return wakeArg(c.Lease)
	case c.Wake.After(r.result.Now):
		return wakeArg(c.Wake)
	case len(r.result.Threads) == r.q.Limit:
		return before
	}
	r.result.Threads = append(r.result.Threads, checkpoint.ReadyThread{
		ID: c.ID, Graph: graph, Status: c.Status, Wake: c.Wake, Fence: c.fence, Attempts: c.Attempts,
	})
	return was
}

// correct changes the index of wakes, and notes the earliest one.
func (r *readyCall) correct(ctx context.Context, graph string, changes []any) error {
	args := append([]any{len(r.q.Except)}, changes...)
	reply, err := r.s.call(ctx, "ready", r.s.script.wakes, []string{r.s.wakes(graph)}, args...)
	if err != nil {
		return err
	}
	reply.text()
	for reply.more() {
		id, wake := reply.text(), reply.time()
		if !slices.Contains(r.q.Except, id) && (r.result.Next.IsZero() || wake.Before(r.result.Next)) {
			r.result.Next = wake
		}
	}
	return reply.err
}

// Rewake sets when a thread is due, as [checkpoint.Saver] says. It lowers the wake in the index
// first.
func (s *Saver) Rewake(ctx context.Context, w checkpoint.Rewake) error {
	if err := w.Check(); err != nil {
		return err
	}
	if !w.Wake.IsZero() {
		page := []candidate{{described: described{Thread: checkpoint.Thread{ID: w.Thread}}}}
		if err := s.describeAll(ctx, page); err != nil {
			return err
		}
		if c := &page[0]; c.damage != nil {
			return c.damage
		} else if c.open {
			if err := s.lowerTo(ctx, w.Thread, c.Graph, w.Wake); err != nil {
				return err
			}
		}
	}
	r, err := s.call(ctx, "rewake", s.script.rewake, []string{s.key(w.Thread)}, w.Fence[:], wakeArg(w.Wake))
	if err != nil {
		return err
	}
	switch outcome := r.text(); outcome {
	case "ok":
		return r.err
	case "missing":
		return ledger.Missing(w.Thread, "", w.Fence, "fence", r.text() == "1")
	default:
		return s.refused(&checkpoint.Append{Thread: w.Thread, Fence: w.Fence}, outcome, r)
	}
}
