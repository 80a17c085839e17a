package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// owns returns an error if rec, of the given thread, belongs to another graph. Its state and nodes
// would be mistaken for those of this graph.
func (g *core) owns(thread string, rec *checkpoint.Record) error {
	if rec.Graph == g.name || slices.Contains(g.opt.formerNames, rec.Graph) {
		return nil
	}
	return fmt.Errorf("%s: %w: the thread belongs to graph %q, and this is graph %q; use that graph, or list its name by graph.FormerNames if this graph had that name before",
		where(g.name, thread, -1), ErrGraphChanged, rec.Graph, g.name)
}

// restore sets the run's state to that of the chain's last record.
func (r *run) restore(c *checkpoint.Chain) error {
	r.state.start(true, r.dropUnknown())
	r.plan.Step = -1
	if c.Empty() {
		return nil
	}
	ctx := r.ctx
	if r.call != nil && r.g.queued { // see stops
		ctx = context.WithoutCancel(ctx)
	}
	if err := fold(ctx, r.state, c); err != nil {
		if ctx.Err() != nil {
			return r.cancelled()
		}
		return r.changed(err, "its state")
	}
	r.stand(&c.Last, c.Chained)
	return nil
}

// stand sets the position of the run to last, the head of its namespace. chained is the number of
// records since the last snapshot.
func (r *run) stand(last *checkpoint.Record, chained int) {
	r.plan.Step, r.log.Base = last.Step, last.Base
	r.keys.SetLine(last.Line)
	r.readMeta(last.Meta)
	r.log.Chained = chained
	r.log.Stale = last.Fingerprint != r.g.fingerprint
	r.plan.Joins = r.g.plan.NewJoins()
}

// readMeta restores the entries of a record, except the choice of a call for Parent.
func (r *run) readMeta(meta map[string]string) {
	r.log.Again = journal.AllAgain(meta)
	r.memory = subgraph.ReadMemory(journal.Memory(meta), func(node string) string {
		if n, ok := r.g.former[ID(node)]; ok {
			return r.g.names.IDs[n]
		}
		return node
	})
}

// callsDue reports whether a subgraph call is due.
func (g *core) callsDue(p *plan.Planner) bool {
	return g.nests && slices.ContainsFunc(p.Due, func(t plan.Task) bool { return g.nodes[t.Node].sub != nil })
}

// restorable is a state that can be decoded from stored payloads. A panic of a codec is an error.
type restorable interface {
	// decode sets the state to that of a snapshot.
	decode(snapshot []byte) error
	// apply applies a delta to the state.
	apply(delta []byte) error
}

// fold sets s to the state at the last record of c, unless ctx ends before.
func fold(ctx context.Context, s restorable, c *checkpoint.Chain) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.decode(c.Snapshot); err != nil {
		return err
	}
	for _, delta := range c.Deltas {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.apply(delta); err != nil {
			return err
		}
	}
	return nil
}

// place makes the stored position of c that of the run, in the present nodes of the graph.
func (r *run) place(c *checkpoint.Chain) error {
	missing, err := r.position(c)
	if err == nil {
		err = r.checkFormat(&c.Last)
	}
	if err == nil && len(missing) > 0 {
		err = r.missing(missing)
	}
	return err
}

// position is place without what the graph cannot run. It returns the stored ids of nodes that the
// graph does not have.
func (r *run) position(c *checkpoint.Chain) (missing []string, err error) {
	placed, err := r.g.names.Place(&r.plan.Position, &c.Last, c.Due)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", where(r.g.name, r.thread, r.plan.Step), ErrGraphChanged, err)
	}
	var results journal.Results
	if len(placed.Was) > 0 {
		results = journal.ResultsAt(c.Writes, &c.Last, r.log.Namespace)
	}
	for _, was := range placed.Was {
		if was.Caught && results.Of(was.Stored) == nil {
			continue // it begins as a task of the catch-all (rule 9.5)
		}
		t := &r.plan.Due[was.Due]
		r.keys.Was(r.g.names.IDs[t.Node], t.Index, was.Stored.Node)
	}
	for i := range r.plan.Due {
		if r.stops() {
			return nil, r.cancelled()
		}
		t := &r.plan.Due[i]
		if err := r.decodeSent(t); err != nil {
			return nil, r.changed(err, "what was sent to node %q", r.g.names.IDs[t.Node])
		}
	}
	return placed.Missing, nil
}

// missing returns the error of a thread that waits at nodes which the graph does not have.
func (r *run) missing(ids []string) error {
	return fmt.Errorf("%s: %w: the thread waits at %q, which the graph does not have; restore the node, list the id by graph.FormerIDs on its new node, or move the thread by UpdateState as another node",
		where(r.g.name, r.thread, r.plan.Step), ErrGraphChanged, ids)
}

// checkFormat returns an error for subgraph calls that are due at rec and stored in another
// format. A record without a format has format 1. If nothing is stored of its calls, its nodes may
// have become subgraphs since then, and there is no error.
func (r *run) checkFormat(rec *checkpoint.Record) error {
	err := journal.CheckFormat(rec.Meta)
	if err == nil || !r.g.callsDue(&r.plan) {
		return nil
	}
	stored := journal.HasFormat(rec.Meta)
	for i := range r.plan.Due {
		if t := &r.plan.Due[i]; !stored && r.g.nodes[t.Node].sub != nil {
			namespace := journal.Within(r.log.Namespace, r.taskKey(t)) // its form in format 1
			c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: namespace})
			if err != nil {
				return err
			}
			stored = !c.Empty()
		}
	}
	if !stored {
		return nil
	}
	return fmt.Errorf("%s: %w: %w; let the program that wrote them finish, or drop what is due by graph.DiscardPending",
		where(r.g.name, r.thread, r.plan.Step), ErrGraphChanged, err)
}

// decodeSent decodes what was sent to a task that a record has stored.
func (r *run) decodeSent(t *plan.Task) (err error) {
	switch takes := t.Node >= start && r.g.nodes[t.Node].decode != nil; {
	case t.Raw != nil:
		t.Sent, err = r.g.unwrap(r.g.nodes[t.Node].id, t.Raw)
	case takes:
		err = fmt.Errorf("%w: the node is a task node now, and nothing was sent to it", ErrGraphChanged)
	}
	return err
}

// restoreResults restores the stored results of the tasks of the superstep.
func (r *run) restoreResults() error {
	if r.log != nil && (r.g.asks || r.pending.HasAsked()) {
		for i := range r.exec.Tasks {
			r.prepareQuestions(&r.exec.Tasks[i])
		}
	}
	for i := range r.exec.Tasks {
		if !r.pending.HasFailed() {
			break
		}
		r.exec.Tasks[i].Before = r.pending.Failed(r.taskKey(&r.exec.Tasks[i].Task))
	}
	for i := range r.exec.Tasks {
		if !r.pending.Named() {
			break
		}
		if err := r.restoreKept(i); err != nil {
			return err
		}
	}
	if !r.pending.Results() {
		return nil
	}
	for i := range r.exec.Tasks {
		sl := &r.exec.Tasks[i]
		payload, ok := r.pending.Result(r.taskKey(&sl.Task))
		if !ok {
			continue
		}
		if err := r.readResult(i, payload); err != nil {
			return r.resultChanged(err, "the stored result of node %q", string(r.g.nodes[sl.Node].id))
		}
		sl.Progress, sl.Stored, sl.Parts = exec.Succeeded, true, storedParts(r.pending.Parts(r.taskKey(&sl.Task)))
		r.exec.Win(i)
	}
	r.exec.Decide()
	return nil
}

// readResult reads a result that encodeResult encoded into slot i.
func (r *run) readResult(i int, payload []byte) (err error) {
	sl := &r.exec.Tasks[i]
	n := &r.g.nodes[sl.Node]
	if n.routes {
		if payload, *r.state.choice(i), err = r.g.readChoice(n, payload); err != nil {
			return err
		}
	}
	return r.state.decodeResult(i, n, payload)
}

// changed wraps an error of decoding. what describes the decoded data.
func (r *run) changed(err error, what string, args ...any) error {
	return decodeError(r.g.name, r.thread, err, fmt.Sprintf(what, args...))
}

// resultChanged describes an error of decoding a stored update. Unlike the fields of a state, the
// unknown fields of an update cannot be dropped. So the error says to run the node again.
func (r *run) resultChanged(err error, what string, args ...any) error {
	if errors.Is(err, wire.ErrUnknownField) {
		return fmt.Errorf("%s: "+what+": %w; use the code that wrote it, or graph.Rerun to run the node of the thread again",
			append(append([]any{where(r.g.name, r.thread, -1)}, args...), classed(err))...)
	}
	return r.changed(err, what, args...)
}

// changedPart describes an error of decoding the stored updates of a subgraph over the same state,
// as resultChanged does. It returns any other error as it is.
func (r *run) changedPart(err error) error {
	var part *subgraph.PartError
	if !errors.As(err, &part) {
		return err
	}
	return r.resultChanged(part.Err, "the changes of a subgraph in step %d", part.Step)
}

// decodeError wraps an error of decoding, with its class and a remedy. what describes the decoded
// data.
func decodeError(graph, thread string, err error, what string) error {
	classed := classed(err)
	remedy := ""
	var at *wire.Error
	var renamed *state.RenameError
	switch {
	case errors.Is(classed, checkpoint.ErrDamaged), errors.As(err, &renamed):
	case errors.As(err, &at) && at.Kind == wire.Unknown && at.Want != "": // a union member cannot be left out
		remedy = "; use the code that wrote it, or keep a member of that name"
	case errors.Is(err, wire.ErrUnknownField):
		remedy = "; use the code that wrote it, or graph.DropUnknownFields to lose it"
	case at != nil:
		remedy = "; use the code that wrote it, or let the state's Migrate read old fields, or Rerun drop old results"
	}
	return fmt.Errorf("%s: %s: %w%s", where(graph, thread, -1), what, classed, remedy)
}

// classed adds its class to an error of decoding stored data. The class is checkpoint.ErrDamaged
// if no code wrote such bytes, and ErrGraphChanged if code with other types may have. It does not
// change an error that has a class, nor a panic of a codec, which does not depend on the bytes.
func classed(err error) error {
	var at *wire.Error
	var broke *PanicError
	switch {
	case err == nil || errors.As(err, &broke) || errors.Is(err, ErrGraphChanged) || errors.Is(err, checkpoint.ErrDamaged):
		return err
	case errors.As(err, &at) && at.Malformed():
		return fmt.Errorf("%w: %w", checkpoint.ErrDamaged, err)
	}
	return fmt.Errorf("%w: %w", ErrGraphChanged, err)
}

// payloadError adds its class to an error of the DecodeWire method of a payload. b are the stored
// bytes.
func payloadError(b []byte, err error) error { return classed(wire.Explain("payload", b, err)) }

// loader reads chains: a saver, or the log of a run.
type loader interface {
	Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error)
}

// loadChain loads a checkpoint of a thread of g with its chain. It ends with ctx, or after
// SaverTimeout.
func loadChain(ctx context.Context, g *core, s loader, p checkpoint.Ref) (checkpoint.Chain, error) {
	if ctx.Err() != nil {
		return checkpoint.Chain{}, stoppedBy(ctx, where(g.name, p.Thread, -1))
	}
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	c, err := s.Load(call, p)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return c, stoppedBy(ctx, where(g.name, p.Thread, -1))
	}
	if err != nil {
		return c, &SaverError{Graph: g.name, Thread: p.Thread, Step: -1, Op: "load", Err: err}
	}
	return c, nil
}
