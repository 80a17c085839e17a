// Package golangci (experimental) is a module plugin of golangci-lint. It adds the linter
// graphgen, which runs the analyzers of package vet. Name this module in .custom-gcl.yml:
//
//	version: v2.15.0
//	plugins:
//	  - module: github.com/graphgen-go/graphgen/gen/vet/golangci
//	    version: v0.1.0
//
// and the linter in .golangci.yml:
//
//	linters:
//	  enable: [graphgen]
//	  settings:
//	    custom:
//	      graphgen:
//	        type: module
//	        settings:
//	          disable: [graphkeep]
//
// It is a module of its own, so that other users of graphgen do not get its dependency.
package golangci

import (
	"fmt"
	"slices"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/graphgen-go/graphgen/gen/vet"
)

// Settings are the settings of the linter.
type Settings struct {
	// Disable has the names of analyzers that do not run. The default is none.
	Disable []string `json:"disable"`
}

func init() { //nolint:gochecknoinits // golangci-lint imports a plugin for this call
	register.Plugin("graphgen", New)
}

// New returns the plugin with settings that golangci-lint has read. It returns an error for an
// unknown setting, and for the name of an analyzer that does not exist.
func New(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](conf)
	if err != nil {
		return nil, fmt.Errorf("graphgen: %w", err)
	}
	all := vet.Analyzers()
	for _, name := range s.Disable {
		if !slices.ContainsFunc(all, func(a *analysis.Analyzer) bool { return a.Name == name }) {
			return nil, fmt.Errorf("graphgen: disable: there is no analyzer %q; graphgen vet help lists them", name)
		}
	}
	return plugin{slices.DeleteFunc(all, func(a *analysis.Analyzer) bool { return slices.Contains(s.Disable, a.Name) })}, nil
}

// plugin is the linter.
type plugin struct{ analyzers []*analysis.Analyzer }

// BuildAnalyzers returns the analyzers that run.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) { return p.analyzers, nil }

// GetLoadMode returns that the analyzers need types.
func (p plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
