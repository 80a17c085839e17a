package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Append stores records, as [checkpoint.Saver] says.
func (s *Saver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if err := a.Check(); err != nil {
		return checkpoint.AppendResult{}, err
	}
	if p, ok := s.plain(&a); ok {
		done, stored, err := s.commit(ctx, &a, p)
		if err != nil || stored {
			if err == nil {
				err = s.packAtOnce(ctx, job{thread: a.Thread, namespace: a.Namespace})
			}
			return done, err
		}
	}
	since := time.Now()
	c := announced{s: s, thread: a.Thread, script: s.script.append, args: s.appendArgs(&a), notice: 16, stamp: 7}
	if a.Open == nil {
		s.tellEnd(&c, a.End && !a.Release, a.Wake)
	} else {
		s.tellOpening(&c, &a)
	}
	r, err := s.announce(ctx, "append", &c)
	if err != nil {
		return checkpoint.AppendResult{}, err
	}
	done, err := s.appended(ctx, &a, r, &c, since)
	if err == nil {
		err = s.packAtOnce(ctx, job{thread: a.Thread, namespace: a.Namespace})
	}
	return done, err
}

// tellOpening makes an opening put its thread in the index, with its next wake.
func (s *Saver) tellOpening(c *announced, a *checkpoint.Append) {
	wake := "in" + strconv.FormatInt(leaseArg(a.Lease), 10)
	if a.End && !a.Wake.IsZero() {
		wake = "at" + wakeArg(a.Wake)
	}
	graph := a.Records[0].Graph
	c.sets, c.over, c.fresh = s.setsOf(graph, a.Open.Labels), s.takeOver(), a.After.IsZero()
	c.tell(queue(a.Open.Priority.Or(s.priorityOf(a.Thread)), graph), wake)
}

// tellEnd makes the end of a run lower the wake in the index. It knows the queue of runs that this
// saver opened; of the other threads, the server says it.
func (s *Saver) tellEnd(c *announced, ends bool, wake time.Time) {
	s.mu.Lock()
	l, found := s.leases[c.thread]
	s.mu.Unlock()
	if ends && found && !wake.IsZero() {
		c.tell(l.queue, "at"+wakeArg(wake))
	} else {
		c.silent()
	}
}

// appendArgs returns the arguments of append.lua.
func (s *Saver) appendArgs(a *checkpoint.Append) []any {
	flags, holder, graph, title := "", "", "", ""
	var labels []byte
	var priority any = ""
	var birth checkpoint.ID
	if a.Open != nil {
		priority, birth = priorityArg(a.Open.Priority), a.Open.Birth
		flags, holder, graph, title, labels = "o", a.Open.Holder, a.Records[0].Graph, a.Open.Title, encodeLabels(a.Open.Labels)
		if a.Open.TakeOver {
			flags += "t"
		}
		if a.Open.Retry {
			flags += "a"
		}
	}
	if a.End {
		flags += "e"
	}
	if a.Release {
		flags += "r"
	}
	if a.Progress {
		flags += "p"
	}
	args := make([]any, 0, 21+6*len(a.Records)+4*len(a.Writes))
	args = append(args, flags, a.Namespace, a.After[:], a.Fence[:], statusArg(a.Status), leaseArg(a.Lease), holder, "", s.ttl,
		a.Thread, s.likely(a.Thread), graph, title, labels, wakeArg(a.Wake), len(a.Records), "", strconv.FormatUint(a.Messages.Seen, 10), priority,
		birth[:])
	for i := range a.Records {
		r := &a.Records[i]
		args = append(args, r.ID[:], r.Base[:], r.Commits[:], flag(r.Snapshot), r.Step, encodeRecord(place{a.Thread, a.Namespace}, *r))
	}
	return writeArgs(handledArgs(args, a.Thread, &a.Messages), a.Thread, a.Writes)
}

func statusArg(status checkpoint.Status) any {
	if status == 0 {
		return ""
	}
	return int(status)
}

func priorityArg(p checkpoint.Priority) any {
	if p == 0 {
		return ""
	}
	return int(p)
}

func leaseArg(lease time.Duration) int64 {
	if lease == 0 {
		lease = checkpoint.DefaultLease
	}
	return lease.Microseconds()
}

func flag(is bool) string {
	if is {
		return "1"
	}
	return ""
}

// appended reads the answer of append.lua, which c has called after since.
func (s *Saver) appended(ctx context.Context, a *checkpoint.Append, r *reply, c *announced, since time.Time) (checkpoint.AppendResult, error) {
	switch outcome := r.text(); outcome {
	case "ok":
	case "labels":
		return checkpoint.AppendResult{}, tooManyLabels("open.Labels", r)
	case "missing":
		want, reason := a.Fence, "fence"
		if a.Open != nil {
			want, reason = a.After, "head"
		}
		released := r.text() == "1"
		s.lost(a.Thread, a.Fence)
		return checkpoint.AppendResult{}, ledger.Missing(a.Thread, a.Namespace, want, reason, released)
	default:
		return checkpoint.AppendResult{}, s.refused(a, outcome, r)
	}
	done := checkpoint.AppendResult{Version: r.int(), Head: r.seq()}
	revived, stamp := r.text() == "1", r.id()
	done.Writes = r.writes(a.Thread)
	stored := r.text()
	if n, now := r.int(), r.time(); a.Open != nil {
		done.Attempts, done.Now = n, now
	}
	h, err := parseHead(stored)
	r.check(err)
	done.Posted = r.seq()
	due, made := r.text() == "1", r.number()
	done.Birth = r.id()
	if r.err != nil {
		return checkpoint.AppendResult{}, r.err
	}
	s.created(a.Thread, c.id, made)
	if a.Open != nil && !a.End {
		s.opened(a.Thread, lease{fence: a.Records[0].ID, queue: strings.Clone(c.queue), version: done.Version, renewed: since, length: leaseArg(a.Lease)}, done.Writes)
	}
	if last := &a.Records[len(a.Records)-1]; h.id == last.ID { // otherwise it was stored before
		k := known{head: stored, entry: h.entry(last), id: h.id, seq: h.seq}
		s.keep(a, k)
		if k.opened = h.seq - uint64(len(a.Records)); a.Open != nil && a.End && !a.Release {
			s.packSoon(a.Thread, a.Namespace, k)
		}
	}
	if a.Open == nil {
		s.renewed(a.Thread, a.Fence, leaseArg(a.Lease), since, a.End, a.Writes)
	}
	switch {
	case due:
	case a.Release:
		s.finished(listed{id: a.Thread, stamp: stamp, gone: true})
	case a.End && a.Status == checkpoint.Done:
		s.finished(listed{id: a.Thread, stamp: stamp})
	case revived:
		return done, s.relist(ctx, a.Thread)
	}
	return done, nil
}

// refused returns the error of a write that was not accepted.
func (s *Saver) refused(a *checkpoint.Append, outcome string, r *reply) error {
	if outcome == "busy" {
		return busy(a.Thread, r)
	}
	conflict := &checkpoint.ConflictError{Thread: a.Thread, Namespace: a.Namespace, Want: a.After, Reason: r.text(), Found: r.id()}
	switch conflict.Reason {
	case "fence":
		conflict.Want = a.Fence
		s.lost(a.Thread, a.Fence)
	case "birth":
		conflict.Want = a.Open.Birth
	}
	if outcome != "conflict" {
		r.fail("the outcome %q", outcome)
	}
	if r.err != nil {
		return r.err
	}
	return conflict
}

// tooManyLabels reads how many labels a thread would have.
func tooManyLabels(field string, r *reply) error {
	n := r.int()
	if r.err != nil {
		return r.err
	}
	return checkpoint.TooManyLabels(field, n)
}

// busy reads who holds a thread.
func busy(thread string, r *reply) error {
	e := &checkpoint.BusyError{Thread: thread, Holder: r.text(), Until: r.time()}
	if r.err != nil {
		return r.err
	}
	return e
}

// PutWrites stores pending writes, as [checkpoint.Saver] says.
func (s *Saver) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if err := w.Check(); err != nil {
		return checkpoint.PutResult{}, err
	}
	flags := ""
	if w.End {
		flags = "e"
	}
	if w.Progress {
		flags += "p"
	}
	args := make([]any, 0, 10+4*len(w.Writes))
	args = append(args, flags, w.Fence[:], statusArg(w.Status), leaseArg(w.Lease), s.ttl, wakeArg(w.Wake), "", "", strconv.FormatUint(w.Messages.Seen, 10))
	args = writeArgs(handledArgs(args, w.Thread, &w.Messages), w.Thread, w.Writes)
	c := announced{s: s, thread: w.Thread, script: s.script.put, args: args, notice: 6, stamp: 7}
	s.tellEnd(&c, w.End, w.Wake)
	since := time.Now()
	r, err := s.announce(ctx, "put writes", &c)
	if err != nil {
		return checkpoint.PutResult{}, err
	}
	switch outcome := r.text(); outcome {
	case "ok":
	case "missing":
		s.lost(w.Thread, w.Fence)
		return checkpoint.PutResult{}, ledger.Missing(w.Thread, "", w.Fence, "fence", r.text() == "1")
	default:
		return checkpoint.PutResult{}, s.refused(&checkpoint.Append{Thread: w.Thread, Fence: w.Fence}, outcome, r)
	}
	revived, stamp := r.text() == "1", r.id()
	done, due := checkpoint.PutResult{Posted: r.seq()}, r.text() == "1"
	if r.err != nil {
		return checkpoint.PutResult{}, r.err
	}
	s.renewed(w.Thread, w.Fence, leaseArg(w.Lease), since, w.End, w.Writes)
	switch {
	case due:
	case w.End && w.Status == checkpoint.Done:
		s.finished(listed{id: w.Thread, stamp: stamp})
	case revived:
		return done, s.relist(ctx, w.Thread)
	}
	return done, nil
}

// micro returns a time as it is kept; the zero time is 0.
func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
