package gen

import (
	"bytes"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// needsTests reports whether the test files of a package must be loaded, which takes time. They
// are needed if one of them requests generated code or is generated, or if the package itself does
// not declare names.
func (src *source) needsTests(names []string) bool {
	if src.pkg.PkgPath == "command-line-arguments" {
		return false // a package of named files
	}
	if len(names) > 0 {
		return !src.declaresAll(names)
	}
	paths, err := filepath.Glob(filepath.Join(src.dir, "*_test.go"))
	return err == nil && slices.ContainsFunc(paths, func(path string) bool {
		content, err := os.ReadFile(path)
		if err != nil {
			return false // the go command reports it
		}
		generates := bytes.Contains(content, []byte("//go:generate")) && bytes.Contains(content, []byte("graphgen"))
		return generates || bytes.Contains(content, []byte(directivePrefix)) || isOutput(content)
	})
}

// declaresAll reports whether a package declares all names.
func (src *source) declaresAll(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		obj, ok := src.pkg.Types.Scope().Lookup(name).(*types.TypeName)
		return !ok || obj == nil
	})
}

// choose returns the packages to generate for: all packages, or the one that declares the named
// types.
func choose(cfg Config, sources, tests []*source) ([]*source, error) {
	if len(cfg.Types) == 0 {
		return append(sources, tests...), nil
	}
	if len(sources) > 1 {
		return sources, nil // already a fault
	}
	var declaring []*source
	for _, src := range tests {
		if src.declaresAll(cfg.Types) {
			declaring = append(declaring, src)
		}
	}
	switch len(declaring) {
	case 0:
		return sources, nil
	case 1:
		return declaring, nil
	}
	return nil, fmt.Errorf("gen: types %s are declared in the tests of package %s and in those of package %s; "+
		"rename them in one of the two",
		strings.Join(cfg.Types, ", "), declaring[0].pkg.Name, declaring[1].pkg.Name)
}
