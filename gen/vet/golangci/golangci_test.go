package golangci_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	_ "github.com/graphgen-go/graphgen/gen/vet/golangci"
)

// open returns the plugin as golangci-lint gets it: by its name, with decoded settings.
func open(t *testing.T, settings any) (register.LinterPlugin, error) {
	t.Helper()
	plugin, err := register.GetPlugin("graphgen")
	if err != nil {
		t.Fatal(err)
	}
	return plugin(settings)
}

// TestPluginRunsTheAnalyzers runs one of the analyzers on its test package.
func TestPluginRunsTheAnalyzers(t *testing.T) {
	p, err := open(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.GetLoadMode(); got != register.LoadModeTypesInfo {
		t.Errorf("got load mode %q, want %q", got, register.LoadModeTypesInfo)
	}
	analyzers, err := p.BuildAnalyzers()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(analyzers, func(a *analysis.Analyzer) bool { return a.Name == "graphnext" })
	if i < 0 {
		t.Fatalf("got %v, want graphnext among them", analyzers)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	analysistest.Run(t, root, analyzers[i], "./gen/vet/testdata/graphnext")
}

// TestSettings disables analyzers, and refuses settings that are wrong.
func TestSettings(t *testing.T) {
	p, err := open(t, map[string]any{"disable": []string{"graphkeep", "graphids"}})
	if err != nil {
		t.Fatal(err)
	}
	analyzers, err := p.BuildAnalyzers()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range analyzers {
		if a.Name == "graphkeep" || a.Name == "graphids" {
			t.Errorf("%s runs although it is disabled", a.Name)
		}
	}
	if len(analyzers) != 6 {
		t.Errorf("got %d analyzers, want 6", len(analyzers))
	}
	for _, c := range []struct {
		settings map[string]any
		want     string
	}{
		{map[string]any{"disable": []string{"graphkept"}}, `there is no analyzer "graphkept"`},
		{map[string]any{"enable": []string{"graphkeep"}}, `unknown field "enable"`},
	} {
		if _, err := open(t, c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got the error %v, want %q", c.settings, err, c.want)
		}
	}
}
