package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// index is what the analyzers share about a package: its code as SSA, its nodes, and the comments
// that silence reports.
type index struct {
	pkg     *ssa.Package
	files   []*ast.File
	funcs   []*ssa.Function // all functions with source, closures after their functions
	known   map[*ssa.Function]bool
	nodes   []node
	ignores []ignore
	sums    map[string]*summary // of functions, by their arguments; of one analyzer
}

// node is a function that a graph calls.
type node struct{ fn *ssa.Function }

// newIndex returns the analyzer that builds the index. Its result is nil for a package without
// nodes, which costs almost nothing.
func newIndex() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       "graphindex",
		Doc:        "finds the nodes of graphs for other analyzers",
		URL:        url,
		ResultType: reflect.TypeFor[*index](),
		Run: func(pass *analysis.Pass) (any, error) {
			if !concerns(pass) {
				return (*index)(nil), nil
			}
			return build(pass), nil
		},
	}
}

// analyzer returns an analyzer that runs on packages with nodes. Its reports honour the comments
// that silence it.
func analyzer(name, doc string, indexer *analysis.Analyzer, run func(*analysis.Pass, *index)) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     name,
		Doc:      doc,
		URL:      url + "#" + name,
		Requires: []*analysis.Analyzer{indexer},
		Run: func(pass *analysis.Pass) (any, error) {
			all := pass.ResultOf[indexer].(*index)
			if all == nil {
				return nil, nil
			}
			x := all.private()
			report := pass.Report
			seen := make(map[token.Pos]bool)
			pass.Report = func(d analysis.Diagnostic) {
				if !seen[d.Pos] && !x.ignored(pass.Fset, name, d.Pos) {
					seen[d.Pos] = true
					report(d)
				}
			}
			run(pass, x)
			return nil, nil
		},
	}
}

// private returns a copy of the index for one analyzer. Analyzers run concurrently, and only the
// summaries change.
func (x *index) private() *index {
	own := *x
	own.sums = make(map[string]*summary)
	return &own
}

// concerns reports whether a package can contain nodes: it imports the runtime, or a function of
// it returns an update.
func concerns(pass *analysis.Pass) bool {
	if importsGraph(pass) {
		return true
	}
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			obj, ok := pass.TypesInfo.Defs[f.Name].(*types.Func)
			if ok && isNodeSignature(obj.Signature()) {
				return true
			}
		}
	}
	return false
}

// importsGraph reports whether a package imports the runtime.
func importsGraph(pass *analysis.Pass) bool {
	return slices.ContainsFunc(pass.Pkg.Imports(), func(p *types.Package) bool { return p.Path() == graphPath })
}

// build builds the SSA of the package, and finds its nodes.
func build(pass *analysis.Pass) *index {
	prog := ssa.NewProgram(pass.Fset, 0)
	prog.SetNoReturn(endsGoroutine)
	for _, p := range pass.Pkg.Imports() {
		prog.CreatePackage(p, nil, nil, true)
	}
	x := &index{
		pkg:   prog.CreatePackage(pass.Pkg, pass.Files, pass.TypesInfo, false),
		files: pass.Files,
		known: make(map[*ssa.Function]bool),
	}
	x.pkg.Build()
	for _, file := range pass.Files {
		x.ignores = append(x.ignores, ignoresOf(pass.Fset, file)...)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				obj, _ := pass.TypesInfo.Defs[f.Name].(*types.Func)
				x.add(prog.FuncValue(obj))
			}
		}
	}
	if init := x.pkg.Func("init"); init != nil { // closures in variables of the package
		x.add(init)
	}
	x.addNodes()
	return x
}

// addNodes adds the functions that the package gives to a graph, and those that have the
// parameters and results of a node. A function with those of a route that the package calls is a
// helper.
func (x *index) addNodes() {
	called := make(map[*ssa.Function]bool)
	for _, fn := range x.funcs {
		instructions(fn, func(i ssa.Instruction) {
			if c, ok := i.(ssa.CallInstruction); ok {
				x.addRegistered(c.Common())
				called[x.source(c.Common().StaticCallee())] = true
			}
		})
	}
	for _, fn := range x.funcs {
		if isNodeSignature(fn.Signature) || isRouteSignature(fn.Signature) && !called[fn] {
			x.addNode(fn)
		}
	}
}

// endsGoroutine reports whether a function of the standard library does not return.
func endsGoroutine(f *types.Func) bool {
	return calls(f, "os", "Exit") || calls(f, "runtime", "Goexit") ||
		calls(f, "log", "Fatal", "Fatalf", "Fatalln", "Logger.Fatal", "Logger.Fatalf", "Logger.Fatalln") ||
		calls(f, "testing", "common.Fatal", "common.Fatalf", "common.FailNow", "common.Skip", "common.Skipf", "common.SkipNow")
}

// add adds a function and its closures.
func (x *index) add(fn *ssa.Function) {
	if fn == nil || x.known[fn] {
		return
	}
	x.known[fn] = true
	x.funcs = append(x.funcs, fn)
	for _, anon := range fn.AnonFuncs {
		x.add(anon)
	}
}

// addRegistered adds the functions that a call gives to a graph.
func (x *index) addRegistered(c *ssa.CallCommon) {
	f := callee(c)
	if !calls(f, graphPath, "Builder.Route", "Builder.Cache", "TaskCache",
		"Builder.Node", "Builder.RoutingNode", "Builder.Fallback", "Builder.RoutingFallback",
		"TaskNode", "RoutingTaskNode", "TaskFallback", "RoutingTaskFallback", "MapSubgraph", "TaskSubgraph") {
		return
	}
	for _, arg := range c.Args {
		if _, ok := arg.Type().Underlying().(*types.Signature); ok {
			for _, fn := range x.resolve(arg, 0) {
				x.addNode(fn)
			}
		}
	}
}

// addNode adds a function with a body to the nodes.
func (x *index) addNode(fn *ssa.Function) {
	if fn != nil && fn.Blocks != nil && !x.isNode(fn) {
		x.nodes = append(x.nodes, node{fn: fn})
	}
}

// isNode reports whether a function is among the nodes.
func (x *index) isNode(fn *ssa.Function) bool {
	return slices.ContainsFunc(x.nodes, func(n node) bool { return n.fn == fn })
}

// resolve returns the functions with source that a value of function type can be, also those that
// a function of this package returns.
func (x *index) resolve(v ssa.Value, depth int) []*ssa.Function {
	switch v := v.(type) {
	case *ssa.ChangeType:
		return x.resolve(v.X, depth)
	case *ssa.MakeClosure:
		return x.resolve(v.Fn, depth)
	case *ssa.Function:
		return []*ssa.Function{x.source(v)}
	case *ssa.Call:
		fn := x.source(v.Call.StaticCallee())
		if fn == nil || depth >= deepest {
			return nil
		}
		var list []*ssa.Function
		instructions(fn, func(i ssa.Instruction) {
			if r, ok := i.(*ssa.Return); ok && len(r.Results) == 1 {
				list = append(list, x.resolve(r.Results[0], depth+1)...)
			}
		})
		return list
	}
	return nil
}

// source returns the function of this package whose code fn runs; nil for other packages. That is
// fn itself, the method that fn binds, or the generic function that fn instantiates.
func (x *index) source(fn *ssa.Function) *ssa.Function {
	if fn == nil {
		return nil
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	if fn.Synthetic != "" {
		obj, _ := fn.Object().(*types.Func)
		if obj == nil {
			return fn
		}
		fn = x.pkg.Prog.FuncValue(obj.Origin())
	}
	if fn == nil || fn.Pkg != x.pkg || fn.Blocks == nil {
		return nil
	}
	return fn
}

// instructions calls f for each instruction of fn.
func instructions(fn *ssa.Function, f func(ssa.Instruction)) {
	for _, b := range fn.Blocks {
		for _, i := range b.Instrs {
			f(i)
		}
	}
}

// ignore is a comment that silences analyzers in some lines of a file.
type ignore struct {
	file        string
	first, last int // lines
	names       []string
}

const ignorePrefix = "//graphvet:ignore "

// ignoresOf returns the comments of a file that silence analyzers. One without a reason silences
// nothing.
func ignoresOf(fset *token.FileSet, file *ast.File) []ignore {
	var list []ignore
	for _, group := range file.Comments {
		for _, c := range group.List {
			rest, ok := strings.CutPrefix(c.Text, ignorePrefix)
			names, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if !ok || reason == "" {
				continue
			}
			at := fset.Position(c.Pos())
			i := ignore{file: at.Filename, first: at.Line, last: at.Line + 1, names: strings.Split(names, ",")}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Doc == group {
					i.last = fset.Position(f.End()).Line
				}
			}
			list = append(list, i)
		}
	}
	return list
}

// ignored reports whether a comment silences an analyzer at pos.
func (x *index) ignored(fset *token.FileSet, name string, pos token.Pos) bool {
	at := fset.Position(pos)
	return slices.ContainsFunc(x.ignores, func(i ignore) bool {
		return i.file == at.Filename && i.first <= at.Line && at.Line <= i.last && slices.Contains(i.names, name)
	})
}
