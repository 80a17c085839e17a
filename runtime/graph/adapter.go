package graph

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/live"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// typedState is the state of a run and the functions of its graph, without their types. Results of
// tasks stay in numbered slots. The slots of different tasks may be used concurrently; only the
// goroutine of the run may use everything else. adapter is the only implementation.
type typedState interface {
	journal.State

	// restart forgets all but the edits of the call, and its input if input is set.
	restart(input, strict bool)
	// start makes the state empty. With record, deltas will be encoded.
	start(record, dropUnknown bool)
	restorable
	// show makes the state that of the Result or Snapshot of the call. It is valid until the next
	// change, unless share is called.
	show()
	// copyHead makes the state a copy of that of a head. takeHead makes it that of the head, or a
	// copy if the head is not shared, and leaveHead keeps it in a head that the run leaves.
	copyHead(h *head) error
	takeHead(h *head) error
	leaveHead(h *head, whole bool)
	// setApart makes the state a copy, and keeps the original for the next run.
	setApart() error
	// share marks the state as shown to user code: its memory must not be written from now on.
	share()

	// reset empties the slots and makes n of them.
	reset(n int)
	// enter puts the input of the run into a slot, once. It reports whether there was one.
	enter(i int) bool
	// edit empties the slots and puts each update of an edit into one.
	edit()
	// decodeEdit makes an encoded update the only update of an edit.
	decodeEdit(b []byte) error
	// encodeEdit returns the encoded update of an edit without a node; nil if it changes nothing.
	encodeEdit() ([]byte, error)
	// mergeStored merges the stored update of an edit. With keep it also keeps the update for the
	// parent graph, as keep does.
	mergeStored(update []byte, keep bool) error
	// encodeInput returns the encoded input. decodeInput makes an encoded update the input.
	encodeInput() ([]byte, error)
	decodeInput(b []byte) error
	// call runs the function of the task in slot i of r, and leaves its update in slot i.
	call(ctx context.Context, r *run, i int) error
	// fallBack runs the fallback of task t in slot i, because of its Failure, and leaves the
	// update in slot i.
	fallBack(ctx context.Context, t *exec.Task, i int) error
	// cacheKey returns the key that the function of a cache makes for task t.
	cacheKey(t *exec.Task) (string, error)
	// choice returns the choice of the routing node in slot i.
	choice(i int) *Next
	// up returns the choice of a subgraph for Parent; the zero Next for none.
	up() *Next
	// changed returns the names of the fields that the update of a node in slot i changes. A name
	// can be in it several times.
	changed(i int, n *node) []string
	// appendResult returns the encoded update of a node in slot i; decodeResult reads it back.
	appendResult(i int, n *node) ([]byte, error)
	decodeResult(i int, n *node, b []byte) error

	// addMerged adds the encoded updates of an unfinished call over the same state to slot i.
	addMerged(i int, b []byte) error

	// keepFailed keeps the update in slot i, of a failed attempt, and returns the encoded update
	// and the number of those kept. The bytes are nil if the update changes nothing. restoreFailed
	// adds an encoded update.
	keepFailed(i int) (update []byte, n int, err error)
	restoreFailed(i int, update []byte) error

	// merge merges the update of a node in slot i. After an error the state must not be used any
	// more.
	merge(i int, n *node) error
	// newInput clears the fields that last until the next input.
	newInput()
	// endStep ends a superstep after all its updates are merged.
	endStep()
	// route calls the route of a node.
	route(ctx context.Context, n int) (Next, error)

	// keep keeps the update of a node in slot i for the parent graph of a subgraph over the same
	// state. kept returns the number of kept updates. appendKept encodes those from a number on,
	// and addKept adds the updates that it encoded.
	keep(i int, n *node)
	kept() int
	appendKept(from int) ([]byte, error)
	addKept(b []byte) error
}

// adapter is the state of a run of a graph over S, whose updates are U.
type adapter[S, U any] struct {
	g       *Graph[S, U]
	strict  bool
	live    live.Live[S, U]
	apart   live.Live[S, U] // the state at the opening of the run, if live began as a copy of it
	updates []U             // by slot
	choices []Next          // by slot, in a graph in which some node routes
	failed  [][]U           // by slot: the updates of failed attempts; nil for none
	merged  [][]U           // by slot: the updates of a subgraph over the same state, in the order in which they merged there
	all     []U             // in such a subgraph: the updates that keep kept
	input   *U
	edits   []U  // the updates of an edit, in the order of its tasks
	entered bool // the input is in a slot
	next    Next // of a subgraph: its choice for Parent
	shown   S    // of the Result or Snapshot of the call; zero if it has none
}

func newAdapter[S, U any](g *Graph[S, U]) *adapter[S, U] { return &adapter[S, U]{g: g} }

// setEdit makes u the only update of an edit, unless it is nil.
func (a *adapter[S, U]) setEdit(u *U) {
	if u != nil {
		a.edits = []U{*u}
	}
}

func (a *adapter[S, U]) restart(input, strict bool) {
	in := a.input
	if !input {
		in = nil
	}
	*a = adapter[S, U]{g: a.g, strict: strict, input: in, edits: a.edits}
}

func (a *adapter[S, U]) start(record, dropUnknown bool) {
	a.live = a.g.schema.New(live.Options{Record: record, Check: a.strict, DropUnknown: dropUnknown})
}

func (a *adapter[S, U]) decode(snapshot []byte) (err error) {
	defer rescue(&err)
	return a.live.Decode(snapshot)
}

func (a *adapter[S, U]) apply(delta []byte) (err error) {
	defer rescue(&err)
	return a.live.Apply(delta)
}

func (a *adapter[S, U]) share() { a.live.Share() }

func (a *adapter[S, U]) show() { a.shown = a.live.View() }

// AppendSnapshot implements journal.State.
func (a *adapter[S, U]) AppendSnapshot(b []byte) (_ []byte, err error) {
	defer rescue(&err)
	return a.live.AppendSnapshot(b)
}

// AppendDelta implements journal.State.
func (a *adapter[S, U]) AppendDelta(b []byte) (_ []byte, err error) {
	defer rescue(&err)
	return a.live.AppendDelta(b)
}

// Sizes implements journal.State.
func (a *adapter[S, U]) Sizes() (live, dead int) { return a.live.Sizes() }

func (a *adapter[S, U]) reset(n int) {
	a.updates = emptied(a.updates, n)
	if a.g.core.routes {
		a.choices = emptied(a.choices, n)
	}
	if a.g.core.nests {
		a.merged = emptied(a.merged, n)
	}
	if a.g.core.keeps || a.failed != nil {
		a.failed = emptied(a.failed, n)
	}
}

// emptied returns n zero elements, in the memory of s if there is enough.
func emptied[T any](s []T, n int) []T {
	if n == 1 && len(s) == 1 {
		s[0] = *new(T) // most supersteps have one task
		return s
	}
	clear(s)
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n)
}

func (a *adapter[S, U]) enter(i int) bool {
	if a.input == nil || a.entered {
		return false
	}
	a.updates[i], a.entered = *a.input, true
	return true
}

func (a *adapter[S, U]) edit() {
	a.reset(len(a.edits))
	copy(a.updates, a.edits)
}

func (a *adapter[S, U]) decodeEdit(b []byte) error {
	u, err := decodeUpdate(a.g.schema, b)
	a.setEdit(&u)
	return err
}

func (a *adapter[S, U]) encodeEdit() ([]byte, error) {
	return unlessEmpty(appendUpdate(a.g.schema, &a.edits[0]))
}

// unlessEmpty returns an encoded update; nil if it changes nothing.
func unlessEmpty(update []byte, err error) ([]byte, error) {
	if err != nil || bytes.Equal(update, wire.AppendMapLen(nil, 0)) {
		return nil, err
	}
	return update, nil
}

func (a *adapter[S, U]) mergeStored(update []byte, keep bool) (err error) {
	defer rescue(&err)
	var u U
	if err := a.g.schema.DecodeUpdate(update, &u); err != nil {
		return err
	}
	if err := a.live.Merge(0, &u); err != nil {
		return err
	}
	a.live.EndEdit()
	if keep {
		a.all = append(a.all, u)
	}
	return nil
}

func (a *adapter[S, U]) encodeInput() ([]byte, error) { return appendUpdate(a.g.schema, a.input) }

func (a *adapter[S, U]) decodeInput(b []byte) (err error) {
	defer rescue(&err)
	a.input = new(U)
	return a.g.schema.DecodeUpdate(b, a.input)
}

func (a *adapter[S, U]) call(ctx context.Context, r *run, i int) error {
	t := &r.exec.Tasks[i]
	f := &a.g.funcs[t.Node]
	switch {
	case f.same != nil:
		return runSame(ctx, r, a, i, f.same)
	case f.child != nil:
		return a.callChild(ctx, r, i, f)
	case a.strict:
		given := a.g.schema.Clone(a.live.View())
		err := a.callWith(ctx, given, t, i)
		if wrote := a.mutated(given); wrote != nil {
			return errors.Join(err, wrote)
		}
		return err
	case f.plain != nil: // the other kinds cost one more copy of the state
		var err error
		a.updates[i], err = f.plain(ctx, a.live.View())
		return err
	}
	return a.callWith(ctx, a.live.View(), t, i)
}

// callChild runs the subgraph over another state for the task in slot i.
func (a *adapter[S, U]) callChild(ctx context.Context, r *run, i int, f *funcs[S, U]) error {
	s := a.live.View()
	if a.strict {
		s = a.g.schema.Clone(s)
	}
	u, done, err := f.child(ctx, r, i, a.strict, s)
	if done {
		a.updates[i] = u
	}
	if a.strict && err == nil {
		err = a.mutated(s)
	}
	return err
}

func (a *adapter[S, U]) choice(i int) *Next { return &a.choices[i] }

func (a *adapter[S, U]) up() *Next { return &a.next }

// mutated reports which fields a node or route of a Strict run changed in the clone that it got.
func (a *adapter[S, U]) mutated(given S) error {
	if fields := state.FieldNames(a.g.schema.Diff(a.live.View(), given)); len(fields) > 0 {
		return &MutationError{Fields: fields}
	}
	return nil
}

func (a *adapter[S, U]) changed(i int, n *node) (names []string) {
	for _, u := range a.updatesIn(i, n) {
		names = append(names, state.FieldNames(a.g.schema.Writes(&u))...)
	}
	return names
}

// updatesIn returns the updates in slot i: one, or those of a subgraph over the same state. Those
// of failed attempts come before them.
func (a *adapter[S, U]) updatesIn(i int, n *node) []U {
	updates := a.updates[i : i+1]
	if n.same && len(a.merged[i]) > 0 {
		updates = a.merged[i]
	}
	if failed := a.failedIn(i); failed != nil {
		return append(slices.Clip(failed), updates...)
	}
	return updates
}

func (a *adapter[S, U]) appendResult(i int, n *node) (_ []byte, err error) {
	if n.same {
		return a.appendUpdates(a.merged[i])
	}
	return appendUpdate(a.g.schema, &a.updates[i])
}

func (a *adapter[S, U]) decodeResult(i int, n *node, b []byte) (err error) {
	defer rescue(&err)
	if n.same {
		a.merged[i], err = a.readUpdates(nil, b)
		return err
	}
	return a.g.schema.DecodeUpdate(b, &a.updates[i])
}

func (a *adapter[S, U]) addMerged(i int, b []byte) (err error) {
	defer rescue(&err)
	a.merged[i], err = a.readUpdates(a.merged[i], b)
	return err
}

func (a *adapter[S, U]) appendUpdates(updates []U) (_ []byte, err error) {
	defer rescue(&err)
	return journal.AppendUpdates(nil, len(updates), func(i int, b []byte) ([]byte, error) {
		return a.g.schema.AppendUpdate(b, &updates[i])
	})
}

func (a *adapter[S, U]) readUpdates(into []U, b []byte) ([]U, error) {
	err := journal.ReadUpdates(b, func(one []byte) error {
		var u U
		err := a.g.schema.DecodeUpdate(one, &u)
		into = append(into, u)
		return err
	})
	return into, err
}

func (a *adapter[S, U]) merge(i int, n *node) error {
	failed := a.failedIn(i)
	for k := range failed {
		if err := a.live.Merge(i, &failed[k]); err != nil {
			return err
		}
	}
	if !n.same || len(a.merged[i]) == 0 { // no call: an edit as the node
		return a.live.Merge(i, &a.updates[i])
	}
	a.live.Inner(true) // merged before, in the subgraph
	defer a.live.Inner(false)
	for k := range a.merged[i] {
		if err := a.live.Merge(i, &a.merged[i][k]); err != nil {
			return err
		}
	}
	return nil
}

func (a *adapter[S, U]) newInput() { a.live.NewInput() }

func (a *adapter[S, U]) endStep() { a.live.EndStep() }

func (a *adapter[S, U]) route(ctx context.Context, n int) (next Next, err error) {
	defer rescue(&err)
	f := a.g.funcs[n].route
	if !a.strict {
		return f(ctx, a.live.View())
	}
	given := a.g.schema.Clone(a.live.View())
	next, err = f(ctx, given)
	if err == nil {
		err = a.mutated(given)
	}
	return next, err
}

func (a *adapter[S, U]) keep(i int, n *node) { a.all = append(a.all, a.updatesIn(i, n)...) }

func (a *adapter[S, U]) kept() int { return len(a.all) }

func (a *adapter[S, U]) appendKept(from int) ([]byte, error) { return a.appendUpdates(a.all[from:]) }

func (a *adapter[S, U]) addKept(b []byte) (err error) {
	defer rescue(&err)
	a.all, err = a.readUpdates(a.all, b)
	return err
}

// funcs are the functions of a node: one of the first five, its route and its fallback.
type funcs[S, U any] struct {
	plain   func(context.Context, S) (U, error)
	routing func(context.Context, S) (U, Next, error)
	task    func(context.Context, S, payload) (U, Next, error)
	same    *Graph[S, U] // a subgraph over the same state
	child   subgraphFunc[S, U]
	route   chooseFunc[S]

	fallback fallbackFunc[S, U]
	cacheKey cacheKeyFunc[S]
}

func (f *funcs[S, U]) empty() bool {
	return f.plain == nil && f.routing == nil && f.task == nil && f.same == nil && f.child == nil
}

// callWith calls the function of a node that is not a subgraph, with the given state.
func (a *adapter[S, U]) callWith(ctx context.Context, s S, t *exec.Task, i int) (err error) {
	n, f, into := &a.g.core.nodes[t.Node], &a.g.funcs[t.Node], &a.updates[i]
	switch {
	case f.plain != nil:
		*into, err = f.plain(ctx, s)
	case f.routing != nil:
		*into, a.choices[i], err = f.routing(ctx, s)
	case n.routes:
		*into, a.choices[i], err = f.task(ctx, s, t.Sent)
	default:
		*into, _, err = f.task(ctx, s, t.Sent)
	}
	return err
}
