package gen

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// isOutput reports whether graphgen generated a file with this content.
func isOutput(src []byte) bool {
	line, _, _ := bytes.Cut(src, []byte("\n"))
	return string(bytes.TrimSuffix(line, []byte("\r"))) == Header
}

// checkOutput reports faults that prevent writing the file of a unit. Only files that graphgen
// generated are overwritten.
func (src *source) checkOutput(u *unit, diags *diagnostics) {
	fault := func(format string, args ...any) {
		diags.add(token.Position{Filename: u.output}, "", format, args...)
	}
	base := filepath.Base(u.output)
	alien := slices.IndexFunc(nameConditions(base), func(tag string) bool { return !implies(u.origin.build, tag) })
	switch {
	case filepath.Ext(base) != ".go" || strings.HasPrefix(base, "_") || strings.HasPrefix(base, "."):
		fault("is not compiled by Go because of its name; " +
			"a name for -o ends in .go and begins with neither _ nor a dot")
	case isTestFile(base) && !u.origin.test:
		fault("is compiled for tests only, but %s is declared outside of them; "+
			"choose a name for -o that does not end in _test.go", u.types[0].name)
	case !isTestFile(base) && u.origin.test:
		fault("is compiled outside of tests, too, but %s is declared in a test; "+
			"choose a name for -o that ends in _test.go", u.types[0].name)
	case !sameDir(filepath.Dir(u.output), src.dir):
		fault("is not in the folder of package %s, whose types the file extends; -o names a file in %s",
			src.pkg.Name, relative(diags.dir, src.dir))
	case alien >= 0:
		fault("is compiled for %s only because of its name, but %s; choose another name with -o",
			nameConditions(base)[alien], u.origin.describe())
	default:
		if why := overwriting(u.output, isOutput); why != nil {
			fault("%v", why)
		} else if slices.Contains(src.pkg.IgnoredFiles, u.output) {
			fault("is left out of this build, so that it was generated for another; " +
				"choose another name with -o, or delete it")
		}
	}
}

// sameDir reports whether two paths name the same folder.
func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// overwriting returns an error if graphgen must not replace the file at path. ours reports whether
// graphgen wrote a file with this content.
func overwriting(path string, ours func(content []byte) bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return errors.New("is a symbolic link to a file that does not exist; delete it, or create its target")
		}
		return nil
	case err != nil:
		return fmt.Errorf("cannot be inspected: %w", err)
	case !info.Mode().IsRegular():
		return errors.New("is not a regular file; name a file with -o")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if !ours(content) {
		return fmt.Errorf("was not written by graphgen, which overwrites only files that begin with %q; "+
			"name another file with -o, or delete this one", Header)
	}
	return nil
}

// orphans returns the generated files that no unit writes.
func (src *source) orphans(units []*unit) []File {
	var files []File
	for _, name := range src.outputs {
		asked := slices.ContainsFunc(units, func(u *unit) bool { return u.output == name })
		if !asked && isTestFile(name) == src.test {
			files = append(files, File{Path: name, Orphan: true})
		}
	}
	return files
}

// copies returns other generated files that do not compile together with u. They declare the same
// names as u, or belong to a state that the package no longer declares.
func (src *source) copies(u *unit) []File {
	var files []File
	for _, name := range src.outputs {
		if name == u.output {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil && src.stale(file, u) {
			files = append(files, File{Path: name, Orphan: true})
		}
	}
	return files
}

// stale reports whether a generated file contains the update type of a state of u, or of a state
// that the package does not declare.
func (src *source) stale(file *ast.File, u *unit) bool {
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, spec := range gen.Specs {
			state, ok := strings.CutSuffix(spec.(*ast.TypeSpec).Name.Name, "Update")
			if ok && (slices.Contains(u.named(roleState), state) || src.pkg.Types.Scope().Lookup(state) == nil) {
				return true
			}
		}
	}
	return false
}
