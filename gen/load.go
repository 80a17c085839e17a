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
	test       bool     // it is the package with its tests, or their package of its own
	outputs    []string // the files in it that graphgen wrote, absolute
	directives []directive
}

// loadMode leaves NeedDeps out: dependencies come from export data, which is what makes a load take tens of
// milliseconds and not seconds. An Overlay would throw all export data away, so there is none; our own output is
// made to vanish by the parser instead.
const loadMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes |
	packages.NeedSyntax | packages.NeedModule

// load loads all packages at once and sorts them by path. Test packages follow, as far as they ask for something.
func load(ctx context.Context, cfg Config) ([]*source, error) {
	if _, err := os.Stat(cfg.Dir); err != nil {
		return nil, fmt.Errorf("gen: %w", err) // the go command could not start there, and would say something else
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

// loadPackages loads the packages themselves, or their test packages.
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

// whyNone returns why the go command listed no packages. Asked for types it says nothing when go.mod must be updated; asked
// for names it does.
func whyNone(ctx context.Context, cfg Config) error {
	patterns := strings.Join(cfg.Patterns, " ")
	_, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.NeedName | packages.NeedFiles, Dir: cfg.Dir, Env: cfg.Env}, cfg.Patterns...)
	if err != nil {
		return fmt.Errorf("gen: load %s: %w", patterns, err)
	}
	return fmt.Errorf("gen: %s: no packages; name a folder or an import path with Go files", patterns)
}

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

// parseHook parses what the type checker needs to see and no more. The zero hook is ready; go/packages calls it from
// several goroutines.
type parseHook struct {
	mu      sync.Mutex
	outputs map[string]bool
}

func (h *parseHook) isOutput(filename string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.outputs[filename]
}

// parse reduces graphgen's own output to its package clause, so that what is stale or even damaged in it cannot matter, and
// drops all function bodies, so that code which uses what is yet to be generated type-checks.
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
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			fn.Body = panics(fn.Body)
		}
	}
	return file, err
}

// panics returns a body at the place of body that satisfies every signature: { panic(0) }.
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

// report adds the compiler's errors that are the user's to mend: all but those that come of names which units declare.
func (src *source) report(units []*unit, diags *diagnostics) {
	src.reportLoading(diags)
	later := src.declaredLater(units)
	for _, e := range src.pkg.TypeErrors {
		if e.Soft || src.tolerated(e, later) {
			continue
		}
		diags.add(e.Fset.Position(e.Pos), "", "%s", strings.TrimLeft(src.explain(e.Msg), "\t")) // a tab begins what adds to the error before
	}
}

// reportLoading adds what the go command and the parser have to say.
func (src *source) reportLoading(diags *diagnostics) {
	for _, e := range src.pkg.Errors {
		// The go command also compiles the package; what it says then begins with "# " and repeats the type errors.
		if e.Kind == packages.TypeError || e.Kind == packages.ListError && strings.HasPrefix(e.Msg, "# ") {
			continue
		}
		diags.add(position(e.Pos), "", "%s", e.Msg)
	}
}

// explain says why a package could not be imported, which the go command knows and the type checker does not.
func (src *source) explain(msg string) string {
	rest, ok := strings.CutPrefix(msg, "could not import ")
	path, _, cut := strings.Cut(rest, " (")
	if imp := src.pkg.Imports[path]; ok && cut && imp != nil && len(imp.Errors) > 0 {
		return "could not import " + path + ": " + strings.Join(strings.Fields(imp.Errors[0].Msg), " ")
	}
	return msg
}

// declaredLater returns the names that graphgen declares in the package, for units and for what else there asks for it.
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
	return names
}

// tolerated reports whether a type error goes away once the code is generated, or is in a place that cannot
// matter to a state: the value of a package variable.
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

// misspelt reports whether a type that is not known at pos follows from an error that is reported already. What it can
// be otherwise is a name that graphgen is about to declare.
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

// methodsOn returns the names of the methods that the package declares on a type which may be yet to be generated.
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

// importDeclares reports whether an imported package has the type for which graphgen would declare sel there: its own
// output may be missing too.
func (src *source) importDeclares(pkgName, sel string) bool {
	return slices.ContainsFunc(src.pkg.Types.Imports(), func(imp *types.Package) bool {
		return imp.Name() == pkgName && generatesName(imp, sel)
	})
}

// generatesName reports whether a package has a struct for which graphgen, when it is asked to, declares name.
func generatesName(pkg *types.Package, name string) bool {
	return slices.ContainsFunc(exportedSuffixes, func(suffix string) bool {
		base, ok := strings.CutSuffix(name, suffix)
		return ok && isStruct(pkg.Scope().Lookup(base))
	})
}

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

// errNoTypes tells that no package asked for anything.
var errNoTypes = errors.New("gen: no package asks for generated code; mark a struct with //graphgen:state or name it with -type")
