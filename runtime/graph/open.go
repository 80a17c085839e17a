package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// openInput begins a run with input: it loads the thread, merges in, and takes the thread with the records of
// both. Where a route decides on the entry, the input is stored first, as the result of Start: no user code
// runs on a thread that others may hold.
func (r *run[S, U]) openInput(at checkpoint.ID, in *U) error {
	if !at.IsZero() {
		return fmt.Errorf("%s: input goes to the head of a thread; use UpdateState to go on from a checkpoint", where(r.g.name, r.thread, -1))
	}
	c, err := r.load(at)
	if err != nil {
		return err
	}
	if again, err := r.repeats(&c); err != nil {
		return err
	} else if again {
		return r.resume(&c)
	}
	if err := r.restore(&c); err != nil {
		return err
	}
	if c.Unfinished() && !r.opt.abandon {
		if c.Thread.Holder != "" && !r.opt.takeOver {
			return r.saving("open", &checkpoint.BusyError{Thread: r.thread, Holder: c.Thread.Holder, Until: c.Thread.Lease})
		}
		return fmt.Errorf("%s: %w: %v is due; Resume it, or pass graph.Abandon to drop what is due",
			where(r.g.name, r.thread, r.step), ErrUnfinished, c.Next())
	}
	r.enter(in, r.step+1)
	first, err := r.inputRecord(len(c.Records) == 0)
	if err != nil {
		return err
	}
	if r.g.nodes[start].route != nil {
		return r.openRouted(first, in)
	}
	r.fill()
	if err := r.settle(); err != nil {
		return err
	}
	o := r.decide()
	second, err := r.record(checkpoint.Input)
	if err != nil {
		return err
	}
	second.Parent = first.ID
	r.buf = nil // the first record's payload is in it
	if err := r.fillPayload(&second, false); err != nil {
		return err
	}
	return r.opened([]checkpoint.Record{first, second}, nil, o)
}

// inputRecord is the record that makes Start due. Every run with input begins a line of its own.
func (r *run[S, U]) inputRecord(empty bool) (checkpoint.Record, error) {
	r.base = checkpoint.ID{}
	rec, err := r.record(checkpoint.Input)
	if err != nil {
		return rec, err
	}
	r.line.id, rec.Line, rec.Request = rec.ID, rec.ID, r.opt.request
	r.base = rec.ID
	return rec, r.fillPayload(&rec, empty)
}

// openRouted opens with the input stored, but not merged; the loop does the rest.
func (r *run[S, U]) openRouted(first checkpoint.Record, in *U) error {
	sl := slot[U]{node: start, update: *in}
	w, err := r.resultOf(&sl)
	if err != nil {
		return r.nodeError(&sl, err)
	}
	r.input = nil
	return r.opened([]checkpoint.Record{first}, []checkpoint.Write{w}, outcome{status: checkpoint.Running})
}

// openResume takes a run up where it was left, or from an older checkpoint.
func (r *run[S, U]) openResume(at checkpoint.ID) error {
	c, err := r.load(at)
	if err != nil {
		return err
	}
	if len(c.Records) == 0 {
		return fmt.Errorf("%s: %w; begin it with Invoke", where(r.g.name, r.thread, -1), checkpoint.ErrNotFound)
	}
	if !at.IsZero() && at != c.Head {
		return r.replay(&c)
	}
	return r.resume(&c)
}

// resume goes on from the head.
func (r *run[S, U]) resume(c *checkpoint.Chain) error {
	if err := r.restore(c); err != nil {
		return err
	}
	if !c.Unfinished() {
		r.status = checkpoint.Done
		r.log.head = c.Head
		return nil
	}
	if err := r.place(c); err != nil {
		return err
	}
	rec, err := r.resumeRecord(c)
	if err != nil {
		return err
	}
	discards, err := r.discards()
	if err != nil {
		return err
	}
	o := outcome{status: checkpoint.Running}
	if r.stops() {
		o = outcome{checkpoint.Paused, true}
	}
	return r.opened([]checkpoint.Record{rec}, discards, o)
}

// resumeRecord is the record of a run taken up again. Resuming a thread that stopped for people answers its
// stop; one that died before it got to stop has yet to.
func (r *run[S, U]) resumeRecord(c *checkpoint.Chain) (checkpoint.Record, error) {
	last := &c.Records[len(c.Records)-1]
	if c.Thread.Status == checkpoint.Paused && last.Source != checkpoint.Fork {
		r.pass = slices.DeleteFunc(slices.Clone(r.due), func(n int) bool { return !r.g.nodes[n].before })
	}
	rec, err := r.record(checkpoint.Resume)
	if err != nil {
		return rec, err
	}
	rec.Base, rec.Commits, rec.Due = r.base, checkpoint.ID{}, nil
	return rec, r.fillPayload(&rec, false)
}

// discards drop the stored results of the nodes that are to run again.
func (r *run[S, U]) discards() ([]checkpoint.Write, error) {
	var writes []checkpoint.Write
	for _, id := range r.opt.rerun {
		n, ok := r.g.index[id]
		if !ok || !slices.Contains(r.due, n) || n == start {
			return nil, fmt.Errorf("%s: Rerun: node %q is not due; due are %v", where(r.g.name, r.thread, r.step), string(id), r.dueIDs())
		}
		sl := slot[U]{node: n}
		writes = append(writes, checkpoint.Write{Base: r.base, Task: r.slotKey(&sl), Kind: checkpoint.Discard})
	}
	return writes, nil
}

// replay runs what was due at an older checkpoint again, as a branch: a fork that changes nothing, taken up at
// once.
func (r *run[S, U]) replay(c *checkpoint.Chain) error {
	if err := r.restore(c); err != nil {
		return err
	}
	if err := r.place(c); err != nil {
		return err
	}
	fork, err := r.forkRecord(c)
	if err != nil {
		return err
	}
	if len(r.due) == 0 && len(r.owed) == 0 {
		return r.opened([]checkpoint.Record{fork}, nil, outcome{checkpoint.Done, true})
	}
	o := outcome{status: checkpoint.Running}
	if !r.stops() {
		return r.opened([]checkpoint.Record{fork}, nil, o)
	}
	// A stop at that checkpoint holds the replay too. The resume record says that it has been seen.
	mark, err := r.record(checkpoint.Resume)
	if err != nil {
		return err
	}
	mark.Parent, mark.Base, mark.Commits, mark.Due = fork.ID, fork.ID, checkpoint.ID{}, nil
	r.buf = nil
	if err := r.fillPayload(&mark, false); err != nil {
		return err
	}
	return r.opened([]checkpoint.Record{fork, mark}, nil, outcome{checkpoint.Paused, true})
}

// forkRecord is a record that goes on from c's checkpoint on a line of its own.
func (r *run[S, U]) forkRecord(c *checkpoint.Chain) (checkpoint.Record, error) {
	if len(r.due) > 0 && r.due[0] == start {
		return checkpoint.Record{}, fmt.Errorf("%s: the input was not merged yet at that checkpoint, and is not kept: go on from the next one, or give another input by UpdateState as graph.Start",
			where(r.g.name, r.thread, r.step))
	}
	rec, err := r.record(checkpoint.Fork)
	if err != nil {
		return rec, err
	}
	parent := c.Records[len(c.Records)-1].ID
	rec.Parent, rec.Line, rec.Commits = parent, rec.ID, checkpoint.ID{}
	r.line.id, r.base = rec.ID, rec.ID
	return rec, r.fillPayload(&rec, parent != c.Head)
}

// openUpdate stores an edit: at the head, from an older checkpoint, or as node n.
func (r *run[S, U]) openUpdate(at checkpoint.ID, u *U, n int, asNode bool) error {
	c, err := r.load(at)
	if err != nil {
		return err
	}
	if len(c.Records) == 0 {
		return fmt.Errorf("%s: %w; begin it with Invoke", where(r.g.name, r.thread, -1), checkpoint.ErrNotFound)
	}
	if err := r.restore(&c); err != nil {
		return err
	}
	if asNode {
		return r.updateAs(&c, u, n)
	}
	if err := r.place(&c); err != nil {
		return err
	}
	r.slots = []slot[U]{{node: start, progress: succeeded, update: *u}}
	if err := r.merge(0); err != nil {
		return err
	}
	r.slots = nil
	if !at.IsZero() && at != c.Head {
		rec, err := r.forkRecord(&c)
		if err != nil {
			return err
		}
		return r.opened([]checkpoint.Record{rec}, nil, r.rests())
	}
	rec, err := r.record(checkpoint.Update)
	if err != nil {
		return err
	}
	rec.Base, rec.Commits, rec.Due = r.base, checkpoint.ID{}, nil
	if err := r.fillPayload(&rec, false); err != nil {
		return err
	}
	return r.opened([]checkpoint.Record{rec}, nil, outcome{end: true})
}

// updateAs stores u as what node n came to: a superstep of its own. Joins begin anew.
func (r *run[S, U]) updateAs(c *checkpoint.Chain, u *U, n int) error {
	step := r.step
	r.position = position{step: step, due: []int{n}, joins: newJoins(r.g.joins)}
	r.slots = []slot[U]{{node: n, progress: succeeded, update: *u}}
	if err := r.settle(); err != nil {
		return err
	}
	r.slots = nil
	rec, err := r.forkRecord(c)
	if err != nil {
		return err
	}
	rec.Node = string(r.g.nodes[n].id)
	return r.opened([]checkpoint.Record{rec}, nil, r.rests())
}

// rests is the outcome of a fork: nothing runs.
func (r *run[S, U]) rests() outcome {
	if len(r.due) == 0 && len(r.owed) == 0 {
		return outcome{checkpoint.Done, true}
	}
	return outcome{checkpoint.Paused, true}
}

// opened makes the opening Append, and takes note of the results that are stored already.
func (r *run[S, U]) opened(records []checkpoint.Record, writes []checkpoint.Write, o outcome) error {
	if o.status == 0 && !o.end {
		o.status = checkpoint.Running
	}
	opening := &checkpoint.Opening{Holder: r.g.opt.holder, TakeOver: r.opt.takeOver}
	stand, err := r.log.open(r.ctx, opening, records, writes, o)
	if err != nil {
		return r.saving("open", err)
	}
	r.buf = nil // payloads of several records may have grown side by side
	r.base = records[len(records)-1].Base
	r.status = 0
	if o.end {
		r.status = o.status
	}
	for _, w := range stand {
		if w.Base == r.base && w.Namespace == "" && w.Kind == checkpoint.Result {
			if r.stored == nil {
				r.stored = make(map[string][]byte)
			}
			r.stored[w.Task] = w.Payload
		}
	}
	return nil
}

// load reads a checkpoint with what leads to it.
func (r *run[S, U]) load(at checkpoint.ID) (checkpoint.Chain, error) {
	c, err := loadChain(r.ctx, r.g, r.thread, at)
	if err != nil {
		return c, err
	}
	r.log.head = c.Head
	if !r.opt.ifHead.IsZero() && r.opt.ifHead != c.Head {
		return c, r.saving("open", &checkpoint.ConflictError{Thread: r.thread, Want: r.opt.ifHead, Found: c.Head, Reason: "head"})
	}
	return c, nil
}

func loadChain[S, U any](ctx context.Context, g *Graph[S, U], thread string, at checkpoint.ID) (checkpoint.Chain, error) {
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	c, err := g.opt.saver.Load(call, checkpoint.Place{Thread: thread, At: at})
	if err != nil {
		return c, &SaverError{Graph: g.name, Thread: thread, Step: -1, Op: "load", Err: err}
	}
	return c, nil
}

// repeats reports whether the input that began the thread's newest run is the caller's, sent before.
func (r *run[S, U]) repeats(c *checkpoint.Chain) (bool, error) {
	if r.opt.request == "" || len(c.Records) == 0 {
		return false, nil
	}
	line := c.Records[len(c.Records)-1].Line
	for i := range c.Records {
		if c.Records[i].ID == line {
			return c.Records[i].Request == r.opt.request, nil
		}
	}
	first, err := loadChain(r.ctx, r.g, r.thread, line)
	if err != nil {
		return false, err
	}
	return first.Records[len(first.Records)-1].Request == r.opt.request, nil
}

// restore makes the run's state that of the chain's last record.
func (r *run[S, U]) restore(c *checkpoint.Chain) error {
	r.live = r.g.schema.New(state.Options{Record: true, DropUnknown: r.g.opt.dropUnknown})
	r.step = -1
	if len(c.Records) == 0 {
		return nil
	}
	if err := fold(r.live, c.Records); err != nil {
		return r.changed(err, "its state")
	}
	last := &c.Records[len(c.Records)-1]
	r.step, r.base, r.line.id = last.Step, last.Base, last.Line
	r.chained = len(c.Records) - 1
	r.stale = last.Fingerprint != r.g.schema.Fingerprint
	r.joins = newJoins(r.g.joins)
	return nil
}

// fold applies records to live, in the order of the log.
func fold[S, U any](live state.Live[S, U], records []checkpoint.Record) error {
	for i := range records {
		rec := &records[i]
		apply := live.Apply
		if rec.Snapshot {
			apply = live.Decode
		}
		if err := apply(rec.Payload); err != nil {
			return err
		}
	}
	return nil
}

// place finds the stored tasks, routes and joins in the graph as it is now.
func (r *run[S, U]) place(c *checkpoint.Chain) error {
	last := &c.Records[len(c.Records)-1]
	due := make([]string, len(c.Due))
	for i, t := range c.Due {
		due[i] = t.Node
	}
	var missing []string
	r.due = r.numbers(due, &missing)
	r.owed = r.numbers(last.Owed, &missing)
	r.pass = r.numbers(last.Pass, &missing)
	for _, j := range last.Joins {
		if !r.placeJoin(j) {
			missing = append(missing, j.To)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("%s: %w: it waits at %q, which the graph does not have; bring it back, or send the thread elsewhere by UpdateState as another node",
			where(r.g.name, r.thread, r.step), ErrGraphChanged, slices.Compact(missing))
	}
	return nil
}

func (r *run[S, U]) numbers(names []string, missing *[]string) []int {
	var numbers []int
	for _, name := range names {
		n, ok := r.g.index[ID(name)]
		if !ok {
			*missing = append(*missing, name)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// placeJoin takes up a half-reached join. Two joins to one node are told apart by their sources.
func (r *run[S, U]) placeJoin(stored checkpoint.Join) bool {
	for i, j := range r.g.joins {
		if string(r.g.nodes[j.to].id) != stored.To {
			continue
		}
		fired := make([]bool, len(j.from))
		found := 0
		for k, n := range j.from {
			if slices.Contains(stored.Fired, string(r.g.nodes[n].id)) {
				fired[k] = true
				found++
			}
		}
		if found == len(stored.Fired) && found < len(fired) && !slices.Contains(r.joins[i], true) {
			r.joins[i] = fired
			return true
		}
	}
	return false
}

// changed wraps an error of decoding what: data that the code does not have a place for is ErrGraphChanged.
func (r *run[S, U]) changed(err error, what string, args ...any) error {
	return decodeError(r.g.name, r.thread, err, fmt.Sprintf(what, args...))
}

func decodeError(graph, thread string, err error, what string) error {
	if errors.Is(err, wire.ErrUnknownField) {
		return fmt.Errorf("%s: %s: %w: %w; use the code that wrote it, or graph.DropUnknown to lose it", where(graph, thread, -1), what, ErrGraphChanged, err)
	}
	return fmt.Errorf("%s: %s: %w", where(graph, thread, -1), what, err)
}

// reload gives a result the thread's stored state, where the run's own is of no use.
func (r *run[S, U]) reload(res *Result[S]) error {
	ctx := context.WithoutCancel(r.ctx)
	snap, err := Thread[S, U]{g: r.g, id: r.thread}.State(ctx)
	if err != nil {
		return err
	}
	res.State, res.Next = snap.State, snap.Next
	return nil
}

// abort ends the run of a goroutine that is going away.
func (r *run[S, U]) abort() {
	if r.log.fence.IsZero() || r.log.ended {
		_ = r.log.close()
		return
	}
	_, err := r.failures()
	_ = r.giveUp(err) // there is nobody to tell
}
