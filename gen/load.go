package gen

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

// source is one loaded package.
type source struct {
	pkg        *packages.Package
	dir        string
	test       bool     // the package with its tests, or its external test package
	outputs    []string // absolute paths of the generated files in it
	directives []directive
	calls      []*ast.CallExpr // calls that may declare questions and signals
}

// loadMode omits NeedDeps: dependencies are read from export data, so a load takes tens of
// milliseconds instead of seconds. An Overlay would disable export data. The parser hides
// generated files instead.
const loadMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes |
	packages.NeedSyntax | packages.NeedModule

// load loads all packages in one call and sorts them by path. Test packages that request code
// follow.
func load(ctx context.Context, cfg Config) ([]*source, error) {
	if _, err := os.Stat(cfg.Dir); err != nil {
		return nil, fmt.Errorf("gen: %w", err) // the go command would fail with a less helpful error
	}
	sources, err := loadPackages(ctx, cfg, false)
	if err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, whyNone(ctx, cfg)
	}
	withTests := cfg
	withTests.Patterns = nil
	for _, src := range sources {
		if src.needsTests(cfg.Types) {
			withTests.Patterns = append(withTests.Patterns, src.dir)
		}
	}
	if len(withTests.Patterns) == 0 {
		return sources, nil
	}
	tests, err := loadPackages(ctx, withTests, true)
	if err != nil {
		return nil, err
	}
	return choose(cfg, sources, tests)
}

// loadPackages loads the packages, or their test packages.
func loadPackages(ctx context.Context, cfg Config, tests bool) ([]*source, error) {
	hook := new(parseHook)
	pkgs, err := packages.Load(&packages.Config{
		Context:   ctx,
		Mode:      loadMode,
		Dir:       cfg.Dir,
		Env:       cfg.Env,
		Tests:     tests,
		ParseFile: hook.parse,
	}, cfg.Patterns...)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("gen: load %s: %w", strings.Join(cfg.Patterns, " "), ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("gen: load %s: %w", strings.Join(cfg.Patterns, " "), err)
	}
	slices.SortFunc(pkgs, func(a, b *packages.Package) int { return strings.Compare(a.ID, b.ID) })
	var sources []*source
	for _, pkg := range pkgs {
		if !tests || slices.ContainsFunc(pkg.GoFiles, isTestFile) {
			src := newSource(cfg, pkg, hook)
			src.test = tests
			sources = append(sources, src)
		}
	}
	return sources, nil
}

// whyNone returns the reason why the go command listed no packages. If go.mod must be updated,
// only a listing of names returns that error.
func whyNone(ctx context.Context, cfg Config) error {
	patterns := strings.Join(cfg.Patterns, " ")
	_, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.NeedName | packages.NeedFiles, Dir: cfg.Dir, Env: cfg.Env}, cfg.Patterns...)
	if err != nil {
		return fmt.Errorf("gen: load %s: %w", patterns, err)
	}
	return fmt.Errorf("gen: %s: no packages; name a folder or an import path with Go files", patterns)
}

// missing reports whether the go command has found no package for a pattern, next to others.
func (src *source) missing() bool {
	return src.pkg.Module == nil && len(src.pkg.GoFiles)+len(src.pkg.IgnoredFiles) == 0
}

// newSource returns the source of a loaded package.
func newSource(cfg Config, pkg *packages.Package, hook *parseHook) *source {
	src := &source{pkg: pkg, dir: cfg.Dir}
	if pkg.Dir != "" {
		src.dir = pkg.Dir
	} else if len(pkg.GoFiles) > 0 {
		src.dir = filepath.Dir(pkg.GoFiles[0])
	}
	for _, name := range pkg.GoFiles {
		if hook.isOutput(name) {
			src.outputs = append(src.outputs, name)
		}
		src.calls = append(src.calls, hook.callsIn(name)...)
	}
	for _, file := range pkg.Syntax {
		src.directives = append(src.directives, readDirectives(pkg.Fset, file)...)
	}
	slices.SortStableFunc(src.directives, func(a, b directive) int {
		if c := strings.Compare(a.pos.Filename, b.pos.Filename); c != 0 {
			return c
		}
		return a.pos.Offset - b.pos.Offset
	})
	return src
}

// parseHook parses only the parts that the type checker needs. The zero parseHook is ready to use,
// and go/packages calls it concurrently.
type parseHook struct {
	mu      sync.Mutex
	outputs map[string]bool
	calls   map[string][]*ast.CallExpr
}

// isOutput reports whether a file is output of graphgen.
func (h *parseHook) isOutput(filename string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.outputs[filename]
}

// callsIn returns the calls in a file that may declare questions and signals.
func (h *parseHook) callsIn(filename string) []*ast.CallExpr {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[filename]
}

// keepCalls notes the calls of a file.
func (h *parseHook) keepCalls(filename string, calls []*ast.CallExpr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls == nil {
		h.calls = make(map[string][]*ast.CallExpr)
	}
	h.calls[filename] = calls
}

// parse reduces generated files to their package clause, so that old or damaged output has no
// effect. It also replaces all function bodies, because they may use code that is not yet
// generated.
func (h *parseHook) parse(fset *token.FileSet, filename string, src []byte) (*ast.File, error) {
	if isOutput(src) {
		h.mu.Lock()
		if h.outputs == nil {
			h.outputs = make(map[string]bool)
		}
		h.outputs[filename] = true
		h.mu.Unlock()
		return parser.ParseFile(fset, filename, src, parser.PackageClauseOnly)
	}
	file, err := parser.ParseFile(fset, filename, src, parser.ParseComments|parser.AllErrors|parser.SkipObjectResolution)
	if file == nil {
		return nil, err
	}
	if calls := findCalls(file, src); len(calls) > 0 {
		h.keepCalls(filename, calls)
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			fn.Body = panics(fn.Body)
		}
	}
	return file, err
}

// panics returns a body that satisfies every signature, { panic(0) }, at the position of body.
func panics(body *ast.BlockStmt) *ast.BlockStmt {
	at := body.Lbrace
	call := &ast.CallExpr{
		Fun:    &ast.Ident{NamePos: at, Name: "panic"},
		Lparen: at,
		Args:   []ast.Expr{&ast.BasicLit{ValuePos: at, Kind: token.INT, Value: "0"}},
		Rparen: at,
	}
	return &ast.BlockStmt{Lbrace: at, List: []ast.Stmt{&ast.ExprStmt{X: call}}, Rbrace: body.Rbrace}
}

// report adds the compiler's errors, except those that result from names which units will declare.
func (src *source) report(units []*unit, diags *diagnostics) {
	src.reportLoading(diags)
	later := src.declaredLater(units)
	for _, e := range src.pkg.TypeErrors {
		if e.Soft || src.tolerated(e, later) {
			continue
		}
		diags.add(e.Fset.Position(e.Pos), "", "%s", strings.TrimLeft(src.explain(e.Msg), "\t")) // a tab marks a continuation of the previous error
	}
}

// reportLoading adds the errors of the go command and the parser.
func (src *source) reportLoading(diags *diagnostics) {
	for _, e := range src.pkg.Errors {
		// The go command also compiles the package. Its output then begins with "# " and repeats
		// the type errors.
		if e.Kind == packages.TypeError || e.Kind == packages.ListError && strings.HasPrefix(e.Msg, "# ") {
			continue
		}
		diags.add(position(e.Pos), "", "%s", e.Msg)
	}
}

// explain adds the reason why a package could not be imported. Only the go command knows it.
func (src *source) explain(msg string) string {
	rest, ok := strings.CutPrefix(msg, "could not import ")
	path, _, cut := strings.Cut(rest, " (")
	if imp := src.pkg.Imports[path]; ok && cut && imp != nil && len(imp.Errors) > 0 {
		return "could not import " + path + ": " + strings.Join(strings.Fields(imp.Errors[0].Msg), " ")
	}
	return msg
}

// declaredLater returns the names that graphgen declares in the package, for units and for all
// other requests.
func (src *source) declaredLater(units []*unit) map[string]bool {
	names := make(map[string]bool)
	states := src.stateNames(units)
	for state, ok := range states {
		if !ok {
			continue
		}
		for _, name := range src.generatedNames(state, states) {
			names[name] = true
		}
	}
	for name := range src.namesOf(roleUnion, units) {
		names[name+codecSuffix] = true
	}
	for path, role := range markedTypes([]*source{src}) {
		if role == roleUnion {
			names[strings.TrimPrefix(path, src.pkg.PkgPath+".")+codecSuffix] = true
		}
	}
	return names
}

// inModule reports whether a package belongs to the module of src, so that the reader can change
// it.
func (src *source) inModule(pkg *types.Package) bool {
	mod := src.pkg.Module
	return mod != nil && (pkg.Path() == mod.Path || strings.HasPrefix(pkg.Path(), mod.Path+"/"))
}

// tolerated reports whether generated code resolves a type error, or whether the error cannot
// affect a state. Only errors in values of package variables cannot affect a state.
func (src *source) tolerated(e types.Error, later map[string]bool) bool {
	if name, ok := strings.CutPrefix(e.Msg, "undefined: "); ok {
		if pkg, sel, ok := strings.Cut(name, "."); ok {
			return src.importDeclares(pkg, sel)
		}
		return later[name] || generatesName(src.pkg.Types, name) || src.inInitializer(e.Pos)
	}
	if strings.Contains(e.Msg, "missing method AppendWire") || strings.Contains(e.Msg, "missing method DecodeWire") {
		return true
	}
	return src.inInitializer(e.Pos)
}

// misspelt reports whether an unknown type at pos results from an error that is already reported.
// Otherwise the type is a name that graphgen will declare.
func (src *source) misspelt(pos token.Position) bool {
	later := src.declaredLater(nil)
	reported := false
	for _, e := range src.pkg.TypeErrors {
		if e.Soft {
			continue
		}
		at := e.Fset.Position(e.Pos)
		tolerated := src.tolerated(e, later)
		if tolerated && at.Filename == pos.Filename && at.Line == pos.Line {
			return false
		}
		reported = reported || !tolerated
	}
	return reported
}

// methodsOn returns the names of the methods that the package declares on a type. The type itself
// might not exist yet.
func (src *source) methodsOn(typeName string) map[string]bool {
	methods := make(map[string]bool)
	for _, file := range src.pkg.Syntax {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || len(fn.Recv.List) != 1 {
				continue
			}
			recv := ast.Unparen(fn.Recv.List[0].Type)
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = ast.Unparen(star.X)
			}
			if name, ok := recv.(*ast.Ident); ok && name.Name == typeName {
				methods[fn.Name.Name] = true
			}
		}
	}
	return methods
}

// importDeclares reports whether graphgen would declare sel for a type of an imported package,
// whose generated file may also be missing.
func (src *source) importDeclares(pkgName, sel string) bool {
	return slices.ContainsFunc(src.pkg.Types.Imports(), func(imp *types.Package) bool {
		return (imp.Name() == pkgName || src.importsAs(imp.Path(), pkgName)) && generatesName(imp, sel)
	})
}

// importsAs reports whether a file imports the package at path under another name.
func (src *source) importsAs(path, name string) bool {
	for _, file := range src.pkg.Syntax {
		for _, spec := range file.Imports {
			if spec.Name != nil && spec.Name.Name == name && spec.Path.Value == strconv.Quote(path) {
				return true
			}
		}
	}
	return false
}

// generatesName reports whether graphgen could declare name for a type of the package.
func generatesName(pkg *types.Package, name string) bool {
	if base, ok := strings.CutSuffix(name, codecSuffix); ok && isInterface(pkg.Scope().Lookup(base)) {
		return true
	}
	return slices.ContainsFunc(exportedSuffixes, func(suffix string) bool {
		base, ok := strings.CutSuffix(name, suffix)
		return ok && isStruct(pkg.Scope().Lookup(base))
	})
}

// isInterface reports whether an object is an interface type.
func isInterface(obj types.Object) bool {
	_, ok := obj.(*types.TypeName)
	return ok && types.IsInterface(obj.Type())
}

// isStruct reports whether an object is a struct type.
func isStruct(obj types.Object) bool {
	if _, ok := obj.(*types.TypeName); !ok {
		return false
	}
	_, ok := obj.Type().Underlying().(*types.Struct)
	return ok
}

// inInitializer reports whether pos is in the value of a package-level variable.
func (src *source) inInitializer(pos token.Pos) bool {
	for _, file := range src.pkg.Syntax {
		if pos < file.FileStart || pos > file.FileEnd {
			continue
		}
		for _, decl := range file.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.VAR && inValues(gen, pos) {
				return true
			}
		}
	}
	return false
}

// inValues reports whether pos is in a value of a declaration of variables.
func inValues(decl *ast.GenDecl, pos token.Pos) bool {
	for _, spec := range decl.Specs {
		for _, value := range spec.(*ast.ValueSpec).Values {
			if value.Pos() <= pos && pos < value.End() {
				return true
			}
		}
	}
	return false
}

// position parses file:line:col as go/packages gives it.
func position(s string) token.Position {
	var pos token.Position
	if s == "" || s == "-" {
		return pos
	}
	numbers := make([]int, 0, 2)
	for len(numbers) < 2 {
		i := strings.LastIndexByte(s, ':')
		if i < 0 {
			break
		}
		n, err := strconv.Atoi(s[i+1:])
		if err != nil {
			break
		}
		numbers, s = append(numbers, n), s[:i]
	}
	pos.Filename = s
	switch len(numbers) {
	case 2:
		pos.Line, pos.Column = numbers[1], numbers[0]
	case 1:
		pos.Line = numbers[0]
	}
	return pos
}

// errNoTypes reports that no package requests code.
var errNoTypes = errors.New("gen: no package requests generated code; mark a struct with //graphgen:state or name it with -type")
