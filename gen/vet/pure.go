package vet

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

const pureDoc = `report questions whose payload has the time or randomness

A node runs again after the answer. If it then asks another payload, Ask returns
graph.ErrNotAskable:

	func pay(ctx context.Context, s State) (StateUpdate, error) {
		answer, err := refund.Ask(ctx, Refund{Order: s.Order, At: time.Now()}) // wrong
		...
	}

Take the value from the state, or store it by graph.Do:

	func pay(ctx context.Context, s State) (StateUpdate, error) {
		answer, err := refund.Ask(ctx, Refund{Order: s.Order, At: s.Created})
		...
	}

The analyzer follows values of package time, math/rand, crypto/rand and github.com/google/uuid, and
Attempt of graph.CurrentTask, through the function that asks, its callers, and other functions of the
same package. It does not report the order of a map.`

// newPure returns the analyzer of payloads that change.
func newPure(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("graphpure", pureDoc, indexer, func(pass *analysis.Pass, x *index) {
		a := asker{pass: pass, x: x, callers: make(map[*ssa.Function][]*ssa.Call)}
		var asks []ssa.CallInstruction
		for _, fn := range x.funcs {
			instructions(fn, func(i ssa.Instruction) {
				c, ok := i.(ssa.CallInstruction)
				if ok && calls(callee(c.Common()), graphPath, "Question.Ask") {
					asks = append(asks, c)
				}
				if call, ok := i.(*ssa.Call); ok && x.source(call.Call.StaticCallee()) != nil {
					callee := x.source(call.Call.StaticCallee())
					a.callers[callee] = append(a.callers[callee], call)
				}
			})
		}
		for _, c := range asks {
			args := c.Common().Args
			a.examine(c, args[len(args)-2], "this question", 0) // the payload is before the options
		}
	})
}

// asker reports questions, and calls of functions that ask.
type asker struct {
	pass    *analysis.Pass
	x       *index
	callers map[*ssa.Function][]*ssa.Call
}

// examine reports a payload that differs in each run of a node. If the payload depends on a
// parameter, it examines the arguments of the calls in this package.
func (a asker) examine(at ssa.Instruction, payload ssa.Value, question string, depth int) {
	s := &sources{x: a.x, at: at, seen: make(map[ssa.Value]bool), params: make(map[*ssa.Parameter]bool)}
	if p, ok := payload.(*ssa.Parameter); ok {
		s.params[p] = true
	}
	if from := s.of(payload); from != "" {
		a.pass.Report(analysis.Diagnostic{Pos: at.Pos(), Message: "the payload of " + question + " depends on " + from +
			", which differs when the node runs again; take it from the state, or store it by graph.Do"})
		return
	}
	fn := at.Parent()
	if depth >= deepest || a.x.isNode(fn) || fn.Object() == nil {
		return
	}
	for i, p := range fn.Params {
		if !s.params[p] {
			continue
		}
		for _, c := range a.callers[fn] {
			if len(c.Call.Args) == len(fn.Params) {
				a.examine(c, c.Call.Args[i], "the question in "+fn.Name(), depth+1)
			}
		}
	}
}

// sources finds what a value depends on that differs in each run of a node.
type sources struct {
	x      *index
	at     ssa.Instruction // that uses the value
	seen   map[ssa.Value]bool
	params map[*ssa.Parameter]bool // that the value depends on; nil if nobody asks
	depth  int
}

// of returns the name of a source of v, such as time.Now; "" for none.
func (s *sources) of(v ssa.Value) string {
	if v == nil || s.seen[v] {
		return ""
	}
	s.seen[v] = true
	switch v := v.(type) {
	case *ssa.Call:
		return s.call(v)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return s.load(v.X)
		}
		return s.of(v.X)
	case *ssa.Field:
		if isAttempt(v.X.Type(), v.Field) {
			return "Task.Attempt"
		}
		return s.of(v.X)
	case *ssa.Alloc, *ssa.FieldAddr, *ssa.IndexAddr:
		return s.load(v)
	case *ssa.Parameter:
		if s.params != nil && isScalar(v.Type()) {
			s.params[v] = true
		}
		return ""
	case *ssa.Function, *ssa.MakeClosure, *ssa.Const, *ssa.Global, *ssa.FreeVar:
		return ""
	case *ssa.Slice, *ssa.MakeSlice:
		if from := s.filled(v); from != "" {
			return from
		}
	}
	if i, ok := v.(ssa.Instruction); ok {
		return s.operands(i)
	}
	return ""
}

// isScalar reports whether a payload can only have a value of type t as a whole, such as a string
// or a list of bytes.
func isScalar(t types.Type) bool {
	if namedIs(t, "time", "Time") {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		t = u.Elem()
	case *types.Array:
		t = u.Elem()
	}
	_, ok := t.Underlying().(*types.Basic)
	return ok
}

// filled returns the function that fills the memory of a slice with randomness before s.at; "" for
// none.
func (s *sources) filled(v ssa.Value) string {
	for {
		c, ok := v.(*ssa.Slice)
		if !ok {
			break
		}
		v = c.X
	}
	from := ""
	var look func(v ssa.Value)
	look = func(v ssa.Value) {
		if v.Referrers() == nil {
			return
		}
		for _, i := range *v.Referrers() {
			switch i := i.(type) {
			case *ssa.Slice:
				look(i)
			case *ssa.Call:
				if name := randomises(&i.Call, v); name != "" && reaches(i, s.at, nil) {
					from = name
				}
			}
		}
	}
	look(v)
	return from
}

// randomises returns the name of the function that a call fills v by; "" if it does not.
func randomises(c *ssa.CallCommon, v ssa.Value) string {
	f := callee(c)
	switch {
	case calls(f, "crypto/rand", "Read"), calls(f, "math/rand", "Read"):
		return "rand.Read"
	case calls(f, "io", "ReadFull", "ReadAtLeast") && c.Args[1] == v:
		if load, ok := c.Args[0].(*ssa.UnOp); ok {
			if g, ok := load.X.(*ssa.Global); ok && objectIs(g.Object(), "crypto/rand", "Reader") {
				return "rand.Reader"
			}
		}
	}
	return ""
}

// operands returns a source of one of the operands of an instruction. The condition of a branch is
// no operand of the values that it chooses.
func (s *sources) operands(i ssa.Instruction) string {
	for _, op := range i.Operands(nil) {
		if from := s.of(*op); from != "" {
			return from
		}
	}
	return ""
}

// load returns a source of what a variable holds.
func (s *sources) load(addr ssa.Value) string {
	p := placeOf(addr)
	if f, ok := addr.(*ssa.FieldAddr); ok && isAttempt(elem(f.X.Type()), f.Field) {
		return "Task.Attempt"
	}
	a := p.variable()
	if a == nil {
		if isGlobal(p.root) {
			return ""
		}
		return s.of(p.root)
	}
	return s.part(a, p.path)
}

// part returns a source of a part of a variable.
func (s *sources) part(a *ssa.Alloc, path []int) string {
	for _, w := range accesses(a) {
		if w.kind != writes || !overlaps(w.path, path) || !reaches(w.at, s.at, nil) && w.at.Parent() == s.at.Parent() {
			continue
		}
		if from := s.written(w, path); from != "" {
			return from
		}
	}
	return ""
}

// written returns a source of the part of a variable that w writes. If w copies a variable, the
// other parts of that variable do not count.
func (s *sources) written(w access, path []int) string {
	load, ok := w.val.(*ssa.UnOp)
	if ok && load.Op == token.MUL && len(w.path) < len(path) {
		from := placeOf(load.X)
		if a := from.variable(); a != nil && !s.seen[load] {
			s.seen[load] = true
			return s.part(a, append(slices.Clip(from.path), path[len(w.path):]...))
		}
	}
	return s.of(w.val)
}

// call returns the source that a call is, or that its result depends on.
func (s *sources) call(c *ssa.Call) string {
	f := callee(&c.Call)
	if f == nil || f.Pkg() == nil {
		return s.arguments(c)
	}
	name := f.Pkg().Name() + "." + f.Name()
	switch f.Pkg().Path() {
	case "time":
		if f.Name() == "Now" || f.Name() == "Since" || f.Name() == "Until" {
			return name
		}
	case "math/rand", "math/rand/v2", "crypto/rand":
		if f.Name() != "New" && f.Name() != "NewSource" && f.Name() != "NewPCG" && f.Name() != "NewChaCha8" && f.Name() != "NewZipf" {
			if recv := f.Signature().Recv(); recv == nil {
				return name
			}
		}
	case "github.com/google/uuid":
		switch f.Name() {
		case "New", "NewString", "NewRandom", "NewUUID", "NewV6", "NewV7":
			return name
		}
	case graphPath:
		return "" // Do stores its result, and CurrentTask has only one field that changes
	}
	if fn := s.x.source(c.Call.StaticCallee()); fn != nil {
		return s.results(fn, c)
	}
	return s.arguments(c)
}

// arguments returns a source of one of the arguments of a call.
func (s *sources) arguments(c *ssa.Call) string {
	for _, a := range c.Call.Args {
		if from := s.of(a); from != "" {
			return from
		}
	}
	return ""
}

// results returns a source of a result of a function of this package, and of its arguments if it
// uses them.
func (s *sources) results(fn *ssa.Function, c *ssa.Call) string {
	if s.depth >= deepest {
		return ""
	}
	from := ""
	instructions(fn, func(i ssa.Instruction) {
		if r, ok := i.(*ssa.Return); ok && from == "" {
			inner := &sources{x: s.x, at: r, seen: s.seen, depth: s.depth + 1}
			from = inner.operands(r)
		}
	})
	if from == "" {
		return s.arguments(c)
	}
	return from
}
