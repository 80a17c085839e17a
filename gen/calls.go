package gen

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path"
	"strconv"
	"strings"
)

// graphPath is the package that declares questions and signals.
const graphPath = "github.com/graphgen-go/graphgen/runtime/graph"

// message is a question or signal that the package declares.
type message struct {
	verb string       // question or signal
	name string       // as stored
	args []types.Type // the types of the question and its answer, or of the signal
	pos  token.Position
}

// findCalls returns the calls in a file that may declare questions and signals, also those in
// function bodies.
func findCalls(file *ast.File, src []byte) []*ast.CallExpr {
	if !bytes.Contains(src, []byte("NewQuestion[")) && !bytes.Contains(src, []byte("NewSignal[")) {
		return nil
	}
	var calls []*ast.CallExpr
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if verb, _, _ := constructor(call); verb != "" {
				calls = append(calls, call)
			}
		}
		return true
	})
	return calls
}

// constructor returns the verb of a call such as graph.NewSignal[Paid]("paid"), its package name
// and its type arguments. The verb is empty for other calls.
func constructor(call *ast.CallExpr) (verb string, pkg *ast.Ident, args []ast.Expr) {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun, args = x.X, []ast.Expr{x.Index}
	case *ast.IndexListExpr:
		fun, args = x.X, x.Indices
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 {
		return "", nil, nil
	}
	pkg, ok = sel.X.(*ast.Ident)
	switch {
	case !ok:
	case sel.Sel.Name == "NewQuestion" && len(args) >= 2:
		return "question", pkg, args[:2]
	case sel.Sel.Name == "NewSignal" && len(args) >= 1:
		return "signal", pkg, args[:1]
	}
	return "", nil, nil
}

// messages returns the questions and signals of the package, in files that are part of every
// build. It leaves out those whose name is not a constant.
func (src *source) messages() []message {
	var list []message
	for _, call := range src.calls {
		verb, pkg, typeArgs := constructor(call)
		if src.originOf(call.Pos()).build != "" || !src.importedAs(pkg, graphPath) {
			continue
		}
		m := message{verb: verb, pos: src.pkg.Fset.Position(call.Pos())}
		name := src.evaluate(call.Args[0])
		if name.Value == nil || name.Value.Kind() != constant.String {
			continue
		}
		m.name = constant.StringVal(name.Value)
		for _, arg := range typeArgs {
			if tv := src.evaluate(arg); tv.IsType() {
				m.args = append(m.args, tv.Type)
			}
		}
		if len(m.args) == len(typeArgs) && m.name != "" {
			list = append(list, m)
		}
	}
	return list
}

// evaluate returns the type and value of an expression, whose function body is not type-checked.
// They are zero if the expression uses local names.
func (src *source) evaluate(x ast.Expr) types.TypeAndValue {
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
	if err := types.CheckExpr(src.pkg.Fset, src.pkg.Types, x.Pos(), x, info); err != nil {
		return types.TypeAndValue{}
	}
	return info.Types[x]
}

// importedAs reports whether an identifier names the import of a package in its file.
func (src *source) importedAs(id *ast.Ident, importPath string) bool {
	for _, file := range src.pkg.Syntax {
		if id.Pos() < file.FileStart || id.Pos() > file.FileEnd {
			continue
		}
		for _, spec := range file.Imports {
			if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != importPath {
				continue
			}
			if spec.Name != nil && spec.Name.Name == id.Name || spec.Name == nil && path.Base(importPath) == id.Name {
				return true
			}
		}
	}
	return false
}

// elsewhere reports whether a file that this build leaves out declares a type, or a question or
// signal, of the name.
func (src *source) elsewhere(kind, name string) bool {
	for _, filename := range src.pkg.IgnoredFiles {
		file, content := parseIgnored(filename)
		switch {
		case file == nil || isTestFile(filename):
		case kind == "state" || kind == "payload":
			if declares(file, name) {
				return true
			}
		default:
			for _, call := range findCalls(file, content) {
				verb, _, _ := constructor(call)
				lit, ok := call.Args[0].(*ast.BasicLit)
				if ok && verb == kind && strings.Trim(lit.Value, "\"`") == name {
					return true
				}
			}
		}
	}
	return false
}
