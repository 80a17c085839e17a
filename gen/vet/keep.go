package vet

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

const keepDoc = `report nodes that keep their context or their state

The context of a node, and the memory behind its state, belong to the run. They must not be used
after the node has returned:

	func (d *desk) pay(ctx context.Context, s State) (StateUpdate, error) {
		go d.notify(ctx, s.Log) // wrong: nobody waits for it
		d.last = s              // wrong
		return StateUpdate{}, nil
	}

Wait for goroutines, and keep copies:

	func (d *desk) pay(ctx context.Context, s State) (StateUpdate, error) {
		var wg sync.WaitGroup
		wg.Go(func() { d.notify(ctx, s.Log) })
		wg.Wait()
		d.last = slices.Clone(s.Log)
		return StateUpdate{}, nil
	}

The analyzer reports a goroutine, or a function for time.AfterFunc or context.AfterFunc, that uses
the context or memory of the state. It does not report it if the node contains something that can
wait: a call of a method Wait or Stop, or a receive from a channel other than ctx.Done() and those
of timers. It also reports values that are stored into the receiver, into variables of the package
or into variables around a closure, also by append, sync.Map and atomic.Pointer, and those that are
sent to a channel there. It follows calls of functions in the same package.`

// groupPath is the package of errgroup.
const groupPath = "golang.org/x/sync/errgroup"

// newKeep returns the analyzer of kept contexts and states.
func newKeep(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("graphkeep", keepDoc, indexer, func(pass *analysis.Pass, x *index) {
		for _, n := range x.nodes {
			k := keeper{pass: pass, x: x, waits: x.canWait(n.fn, make(map[*ssa.Function]bool)), seen: make(map[string]bool)}
			k.examine(x.nodeFlow(n))
		}
	})
}

// keeper examines one node, and the functions of the package that the node calls.
type keeper struct {
	pass  *analysis.Pass
	x     *index
	waits bool
	seen  map[string]bool // calls that are examined, by function and arguments
	call  *ssa.Call       // of the node, that leads to the function under examination; nil for the node
}

// examine reports what a function and its closures keep.
func (k keeper) examine(f *flow) {
	instructions(f.fn, func(i ssa.Instruction) {
		switch i := i.(type) {
		case *ssa.Go:
			k.later(f, i, "this goroutine", append([]ssa.Value{i.Call.Value}, i.Call.Args...))
		case *ssa.Call:
			k.called(f, i)
		case *ssa.Store:
			if f.outlives(i.Addr) && !f.released(i) {
				k.kept(f, i, f.x.describe(i.Addr), i.Val)
			}
		case *ssa.MapUpdate:
			if f.outlivesValue(i.Map) {
				k.kept(f, i, f.x.describe(i.Map), i.Value)
			}
		case *ssa.Send:
			k.sent(f, i, i.Pos(), i.Chan, i.X)
		case *ssa.Select:
			for _, s := range i.States {
				if s.Dir == types.SendOnly {
					k.sent(f, i, s.Pos, s.Chan, s.Send)
				}
			}
		}
	})
	for _, fn := range f.fn.AnonFuncs {
		if !isNodeSignature(fn.Signature) {
			k.examine(f.closure(fn))
		}
	}
}

// called reports a call that starts a goroutine or that stores an argument. It follows a call of a
// function of this package.
func (k keeper) called(f *flow, c *ssa.Call) {
	fn, args := callee(&c.Call), c.Call.Args
	switch {
	case calls(fn, "context", "AfterFunc") && len(*c.Referrers()) > 0: // the node can stop it
	case calls(fn, "time", "AfterFunc"), calls(fn, "context", "AfterFunc"):
		k.later(f, c, "this function", args[1:])
	case calls(fn, "sync", "WaitGroup.Go"), calls(fn, groupPath, "Group.Go", "Group.TryGo"):
		k.later(f, c, "this goroutine", args[1:])
	case isStore(fn):
		if f.outlivesValue(args[0]) && !removes(f.fn) {
			k.kept(f, c, f.x.describe(args[0]), args[1:]...)
		}
	default:
		k.follow(f, c)
	}
}

// follow examines a function of this package with the arguments of a call.
func (k keeper) follow(f *flow, c *ssa.Call) {
	fn := f.x.source(c.Call.StaticCallee())
	if fn == nil || f.depth >= deepest || fn.Parent() != nil || len(c.Call.Args) != len(fn.Params) || f.x.isNode(fn) {
		return
	}
	inner := newFlow(f.x, fn, nil, f.depth+1)
	for i, p := range fn.Params {
		a := c.Call.Args[i]
		inner.params[p] = f.of(a)
		inner.contexts[p] = isContext(a.Type()) && f.isNodeContext(a, make(map[ssa.Value]bool))
		inner.old[p] = f.outlivesValue(a)
	}
	key := fmt.Sprintf("%p %v %v %v", fn, inner.params, inner.contexts, inner.old)
	if k.seen[key] {
		return
	}
	k.seen[key] = true
	if k.call == nil {
		k.call = c
	}
	k.examine(inner)
}

// isStore reports whether a function of the standard library stores its arguments in its receiver.
func isStore(fn *types.Func) bool {
	return calls(fn, "sync", "Map.Store", "Map.LoadOrStore", "Map.Swap", "Map.CompareAndSwap", "Pool.Put") ||
		calls(fn, "sync/atomic", "Pointer.Store", "Pointer.Swap", "Pointer.CompareAndSwap",
			"Value.Store", "Value.Swap", "Value.CompareAndSwap") ||
		calls(fn, "container/list", "List.PushBack", "List.PushFront")
}

// removes reports whether a function, or a closure in it, contains a call that can remove what
// isStore stores.
func removes(fn *ssa.Function) bool {
	found := slices.ContainsFunc(fn.AnonFuncs, removes)
	instructions(fn, func(i ssa.Instruction) {
		if c, ok := i.(ssa.CallInstruction); ok {
			found = found || calls(callee(c.Common()), "sync", "Map.Delete", "Map.LoadAndDelete", "Map.CompareAndDelete", "Map.Clear") ||
				calls(callee(c.Common()), "container/list", "List.Remove", "List.Init") ||
				isStore(callee(c.Common())) && slices.ContainsFunc(c.Common().Args, isNil)
		}
	})
	return found
}

// released reports whether the function around a store, or a closure in it, also stores nothing at
// the same place, as a deferred function does.
func (f *flow) released(s *ssa.Store) bool {
	at, found := placeOf(s.Addr), false
	var look func(g *flow)
	look = func(g *flow) {
		instructions(g.fn, func(i ssa.Instruction) {
			other, ok := i.(*ssa.Store)
			if !ok || !isNil(other.Val) {
				return
			}
			p := placeOf(other.Addr)
			found = found || g.origin(p.root) == f.origin(at.root) && overlaps(p.path, at.path)
		})
		for _, fn := range g.fn.AnonFuncs {
			look(g.closure(fn))
		}
	}
	look(f)
	return found
}

// kept reports values that the memory named where keeps after the node has returned.
func (k keeper) kept(f *flow, at ssa.Instruction, where string, values ...ssa.Value) {
	for _, v := range values {
		if what := f.kept(v, at); what != "" {
			k.report(at.Pos(), where+" keeps "+what+" after the node has returned; keep a copy of what you need")
			return
		}
	}
}

// sent reports a value that is sent to a receiver that can outlive the node.
func (k keeper) sent(f *flow, at ssa.Instruction, pos token.Pos, channel, v ssa.Value) {
	if what := f.kept(v, at); what != "" && !k.waits && f.outlivesValue(channel) {
		k.report(pos, "the receiver of "+f.x.describe(channel)+" gets "+what+", and can outlive the node; send a copy")
	}
}

// later reports a call that can run after the node has returned, if it uses what the node must not
// keep.
func (k keeper) later(f *flow, at ssa.Instruction, subject string, values []ssa.Value) {
	if k.waits {
		return
	}
	for _, v := range values {
		what := f.kept(v, at)
		if what == "" {
			what = f.captured(v)
		}
		if what != "" {
			k.report(at.Pos(), subject+" uses "+what+", and can outlive the node; wait for it, or give it a copy")
			return
		}
	}
}

// report reports a fault at pos. If a call of the node leads there, it reports the fault at the
// call.
func (k keeper) report(pos token.Pos, message string) {
	d := analysis.Diagnostic{Pos: pos, Message: message}
	if k.call != nil {
		if k.x.ignored(k.pass.Fset, "graphkeep", pos) {
			return
		}
		d.Pos = k.call.Pos()
		d.Message = "in " + callee(&k.call.Call).Name() + ", " + message
		d.Related = []analysis.RelatedInformation{{Pos: pos, Message: "the statement that does it"}}
	}
	k.pass.Report(d)
}
