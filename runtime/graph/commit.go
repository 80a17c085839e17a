package graph

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/delta"
)

// A chain of deltas gets a snapshot when what it holds in vain outgrows the state: restoring then reads at
// most twice the state and the slack. A record's header counts as so many bytes held in vain.
const (
	headerSize   = 48
	snapshotOver = 64 << 10
)

// held is what an OnExit run has yet to store: its newest checkpoint, and how it came from the last stored one.
type held struct {
	record checkpoint.Record
	deltas [][]byte
	whole  []byte             // the state itself: of a subgraph that was stored under another schema
	parts  []checkpoint.Write // of the outer result, which are true once the record is stored
	writes []checkpoint.Write // that go with the record
	last   *lastWrite         // nil until it has been tried
}

// lastWrite is what an OnExit run stores with its newest checkpoint. Tried again, it must be the same.
type lastWrite struct {
	writes  []checkpoint.Write
	outcome outcome
}

// commit stores where the run stands as one record, with writes in the same act, as durable as the run asked for.
func (r *run[S, U]) commit(source checkpoint.Source, writes []checkpoint.Write, o outcome) error {
	if r.log == nil {
		return nil
	}
	rec, err := r.record(source)
	if err != nil {
		return err
	}
	parts, err := r.tellOuter(o)
	if err != nil {
		return err
	}
	writes = append(writes, r.halts(rec.ID, o)...)
	if r.opt.durability == OnExit {
		if err := r.sayNext(&rec, o); err != nil {
			return err
		}
		return r.hold(rec, parts, writes, o)
	}
	if err := r.fillPayload(&rec, false); err != nil {
		return err
	}
	if err := r.log.append(r.ctx, rec, append(parts, writes...), o); err != nil {
		return r.saving("commit", err)
	}
	r.base = rec.ID
	return nil
}

// record returns the record of where the run stands, all but its payload. It is the base of what is due.
func (r *run[S, U]) record(source checkpoint.Source) (checkpoint.Record, error) {
	id, err := checkpoint.NewID()
	if err != nil {
		return checkpoint.Record{}, err
	}
	rec := checkpoint.Record{
		ID: id, Parent: r.log.head, Base: id, Line: r.line.id, Commits: r.base,
		Step: r.plan.Step, Source: source,
		Due: r.dueTasks(), Owed: r.names(r.plan.Pending), Joins: r.halfJoins(), Pass: r.names(r.plan.Cleared), Meta: r.meta(),
		Fingerprint: r.g.schema.Fingerprint, Graph: r.g.name,
		Created: time.Now().UTC().Truncate(time.Microsecond),
	}
	return rec, nil
}

// fillPayload gives rec the change since the last payload, or the whole state where that must or had better be.
func (r *run[S, U]) fillPayload(rec *checkpoint.Record, whole bool) (err error) {
	live, dead := r.live.Sizes()
	whole = whole || r.stale || dead+r.chained*headerSize > live+snapshotOver
	b := r.buf[:0]
	if b, err = appendState(r.live, b, whole); err != nil {
		return fmt.Errorf("%s: encode the state: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	if r.chained++; whole {
		r.chained = 0
	}
	r.stale = false
	rec.Snapshot, rec.Payload = whole, b
	if r.opt.durability == Sync {
		r.buf = b // the saver is done with it when it returns
	}
	return nil
}

func (r *run[S, U]) dueTasks() []checkpoint.Task {
	if len(r.plan.Due) == 0 {
		return nil
	}
	tasks := make([]checkpoint.Task, len(r.plan.Due))
	for i, d := range r.plan.Due {
		tasks[i] = checkpoint.Task{Node: string(r.g.nodes[d.Node].id), Index: uint32(d.Index), Payload: d.Raw}
	}
	return tasks
}

func (r *run[S, U]) names(nodes []int) []string {
	var names []string
	for _, n := range nodes {
		if n == end {
			names = append(names, string(End))
			continue
		}
		names = append(names, string(r.g.nodes[n].id))
	}
	return names
}

// halfJoins are the joins that some of their sources have reached.
func (r *run[S, U]) halfJoins() []checkpoint.Join {
	var joins []checkpoint.Join
	for i, fired := range r.plan.Joins {
		j := checkpoint.Join{To: string(r.g.nodes[r.g.plan.Joins[i].To].id)}
		for k, yes := range fired {
			if yes {
				j.Fired = append(j.Fired, string(r.g.nodes[r.g.plan.Joins[i].From[k]].id))
			}
		}
		if len(j.Fired) > 0 {
			joins = append(joins, j)
		}
	}
	return joins
}

// hold keeps rec, with the change that led to it, for the run's last write; when that is due, it makes it.
func (r *run[S, U]) hold(rec checkpoint.Record, parts, writes []checkpoint.Write, o outcome) error {
	h := r.held
	if h == nil {
		h = &held{record: rec}
	}
	if err := r.holdPayload(h); err != nil { // what is held stays as it was
		return fmt.Errorf("%s: encode the state: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	rec.Commits = h.record.Commits // of the last stored record: nothing between is known to anybody
	h.record, r.held = rec, h
	r.held.parts = append(r.held.parts, parts...)
	r.held.writes = append(r.held.writes, writes...)
	if r.outer != nil && r.outer.stored {
		r.held.writes = append(r.held.writes, parts...)
	}
	r.base = rec.ID
	if !o.end || r.ns != "" && o.status == checkpoint.Done && !r.keeps {
		return nil // a subgraph that is done is in the result of its node
	}
	return r.flush(nil, o)
}

// flush makes the run's last write: what it holds, and the given writes.
func (r *run[S, U]) flush(writes []checkpoint.Write, o outcome) error {
	if r.held == nil {
		return r.saving("put writes", r.log.put(r.ctx, writes, o))
	}
	h := r.held
	if h.last == nil {
		if err := r.flushPayload(h); err != nil {
			return err
		}
		h.last = &lastWrite{append(writes, h.writes...), o}
	}
	if err := r.log.append(r.ctx, h.record, h.last.writes, h.last.outcome); err != nil {
		return r.saving("commit", err)
	}
	if r.outer != nil {
		r.outer.parts = h.parts
	}
	r.held = nil
	return nil
}

func (r *run[S, U]) holdPayload(h *held) error {
	b, err := appendState(r.live, nil, r.stale)
	switch {
	case err != nil:
		return err
	case r.stale:
		h.whole = b
	default:
		h.deltas = append(h.deltas, b)
	}
	return nil
}

func (r *run[S, U]) flushPayload(h *held) error {
	if h.whole != nil {
		h.record.Snapshot, h.record.Payload = true, h.whole
		r.stale, r.chained = false, 0
		return nil
	}
	live, dead := r.live.Sizes()
	if !r.spoiled && dead+r.chained*headerSize > live+snapshotOver {
		return r.fillPayload(&h.record, true)
	}
	payload, err := delta.Concat(h.deltas...)
	if err != nil {
		return fmt.Errorf("%s: join the changes of the run: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	h.record.Payload = payload
	r.chained++
	return nil
}

// acknowledge stores the results and the questions of the given slots, those of them that have any.
func (r *run[S, U]) acknowledge(slots []int) error {
	writes := make([]checkpoint.Write, 0, len(slots))
	for _, i := range slots {
		sl := &r.slots[i]
		writes = append(writes, r.questionsOf(sl)...)
		if sl.progress != succeeded {
			continue
		}
		w, err := r.resultOf(sl)
		if err != nil {
			sl.progress, sl.err = failed, err
			return r.nodeError(sl, err)
		}
		writes = append(writes, w)
	}
	if len(writes) == 0 {
		return nil
	}
	if err := r.log.put(r.ctx, writes, outcome{}); err != nil {
		return r.saving("put writes", err)
	}
	for _, i := range slots {
		r.slots[i].stored = r.slots[i].progress == succeeded || r.slots[i].progress == asking
	}
	return nil
}

// questionsOf are the writes of the questions that a task waits for, unless they are stored.
func (r *run[S, U]) questionsOf(sl *slot[U]) []checkpoint.Write {
	if sl.asks == nil || sl.progress != asking || sl.stored {
		return nil
	}
	var writes []checkpoint.Write
	for _, o := range sl.asks.Open() {
		writes = append(writes, checkpoint.Write{
			Namespace: r.ns, Base: r.base, Task: r.slotKey(sl), Kind: checkpoint.Question, Name: o.Place, Payload: o.Payload,
		})
	}
	return writes
}

// resultOf is the write of a task's result: its update and, of a node that routes, what it chose.
func (r *run[S, U]) resultOf(sl *slot[U]) (w checkpoint.Write, err error) {
	defer rescue(&err)
	var payload []byte
	if r.g.nodes[sl.Node].same {
		payload, err = r.appendChanges(sl.call.changes)
	} else {
		payload, err = r.g.schema.AppendUpdate(nil, &sl.update)
	}
	if err == nil && r.g.nodes[sl.Node].routes {
		payload, err = appendChoice(payload, *sl.next)
	}
	return checkpoint.Write{Namespace: r.ns, Base: r.base, Task: r.slotKey(sl), Kind: checkpoint.Result, Payload: payload}, err
}

// results are the writes of a superstep that cannot commit: what finished and is not stored, and why the rest
// failed. A result that cannot be encoded is left out; its node runs again.
func (r *run[S, U]) results(cause error) []checkpoint.Write {
	var writes []checkpoint.Write
	blamed := blames(cause)
	for i := range r.slots {
		sl := &r.slots[i]
		if sl.progress == succeeded && !sl.stored {
			if w, err := r.resultOf(sl); err == nil {
				writes = append(writes, w)
				if sl.call != nil {
					writes = append(writes, sl.call.along...)
				}
			}
		}
		if sl.call != nil && sl.progress != succeeded && sl.progress != beaten {
			writes = append(writes, sl.call.parts...)
		}
		writes = append(writes, r.questionsOf(sl)...)
		if why := r.failureOf(sl, blamed); why != nil {
			writes = append(writes, checkpoint.Write{
				Namespace: r.ns, Base: r.base, Task: r.slotKey(sl), Kind: checkpoint.Failure, Payload: failureText(why.Error()),
			})
		}
	}
	return writes
}

// blame says which task's failure the error of merging or leaving a superstep is.
type blame struct {
	cause error
	node  ID
	index int
	done  bool // only a task that succeeded is meant
}

// blames returns whose failure cause is: the same error may be that of several tasks.
func blames(cause error) []blame {
	var all []blame
	var node *NodeError
	var route *RouteError
	var conflict *ConflictError
	if errors.As(cause, &node) {
		all = append(all, blame{cause, node.Node, node.Index, true})
	}
	if errors.As(cause, &route) {
		all = append(all, blame{cause, route.Node, 0, false})
	}
	if errors.As(cause, &conflict) {
		all = append(all, blame{cause, conflict.Nodes[1], conflict.Indexes[1], false})
	}
	var over *OverflowError
	if errors.As(cause, &over) {
		last := len(over.Nodes) - 1
		all = append(all, blame{cause, over.Nodes[last], over.Indexes[last], false})
	}
	return all
}

// failureOf is the error that the task in a slot ended with: its own, or that of merging or leaving its node.
func (r *run[S, U]) failureOf(sl *slot[U], blamed []blame) error {
	if sl.progress == failed {
		return sl.err
	}
	id := r.g.nodes[sl.Node].id
	for _, b := range blamed {
		if b.node == id && b.index == sl.Index && (!b.done || sl.progress == succeeded) {
			return b.cause
		}
	}
	return nil
}

// recall gives the tasks of the superstep their acknowledged results.
func (r *run[S, U]) recall() error {
	for i := range r.slots {
		r.mayAsk(&r.slots[i])
	}
	r.asked = nil
	if r.stored == nil {
		return nil
	}
	for i := range r.slots {
		sl := &r.slots[i]
		payload, ok := r.stored[r.slotKey(sl)]
		if !ok {
			continue
		}
		if err := r.readResult(sl, payload); err != nil {
			return r.resultChanged(err, "the stored result of node %q", string(r.g.nodes[sl.Node].id))
		}
		sl.progress, sl.stored = succeeded, true
		r.finish(i)
	}
	r.stored = nil
	r.endRaces()
	return nil
}

// readResult reads what resultOf wrote.
func (r *run[S, U]) readResult(sl *slot[U], payload []byte) (err error) {
	defer rescue(&err)
	n := &r.g.nodes[sl.Node]
	if n.routes {
		sl.next = new(Next)
		if payload, *sl.next, err = r.readChoice(n, payload); err != nil {
			return err
		}
	}
	if !n.same {
		return r.g.schema.DecodeUpdate(payload, &sl.update)
	}
	sl.call = new(call[U])
	sl.call.changes, err = r.readChanges(payload)
	return err
}

// saving wraps an error of the journal.
func (r *run[S, U]) saving(op string, err error) error {
	if err == nil {
		return nil
	}
	return &SaverError{Graph: r.g.name, Thread: r.thread, Step: r.plan.Step, Op: op, Err: err}
}
