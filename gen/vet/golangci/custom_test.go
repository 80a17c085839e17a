//go:build golangci

package golangci_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const modulePath = "github.com/graphgen-go/graphgen"

// program is golangci-lint with the plugin, as golangci-lint custom writes it.
const program = `package main

import (
	"fmt"
	"os"

	"github.com/golangci/golangci-lint/v2/pkg/commands"

	_ "` + modulePath + `/gen/vet/golangci"
)

func main() {
	if err := commands.Execute(commands.BuildInfo{Version: "2.15.0", GoVersion: "go1.26"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
`

const config = `version: "2"
linters:
  default: none
  enable: [graphgen]
  settings:
    custom:
      graphgen:
        type: module
        settings:
          disable: [graphkeep, graphcopy]
`

// TestInGolangciLint builds golangci-lint with the plugin, and runs it on the packages that the
// analyzers are tested with. The build takes minutes if golangci-lint was not built before, so the
// tag golangci enables the test.
func TestInGolangciLint(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	binary := buildCustom(t, root)
	settings := filepath.Join(t.TempDir(), ".golangci.yml")
	if err := os.WriteFile(settings, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	lint := exec.CommandContext(t.Context(), binary, "run", "-c", settings, "--allow-parallel-runners", "--max-issues-per-linter=0", "--max-same-issues=0",
		"./gen/vet/testdata/graphwrite", "./gen/vet/testdata/graphkeep", "./gen/vet/testdata/graphids/known", "./examples/triage")
	lint.Dir = root
	lint.Env = append(os.Environ(), "GOLANGCI_LINT_CACHE="+t.TempDir())
	out, err := lint.CombinedOutput()
	if code := lint.ProcessState.ExitCode(); code != 1 {
		t.Fatalf("got the exit code %d (%v), want 1 for reports:\n%s", code, err, out)
	}
	for _, want := range []string{
		"graphwrite: this node sorts s.Log",
		`graphids: no node of this package has the id "anwser"`, // in another package: it needs facts
		"(graphgen)",
	} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("the output does not contain %q", want)
		}
	}
	for _, unwanted := range []string{"graphkeep: ", "graphcopy: ", "good.go:", "examples/triage"} {
		if bytes.Contains(out, []byte(unwanted)) {
			t.Errorf("the output contains %q, which is disabled or has no faults", unwanted)
		}
	}
	if t.Failed() {
		t.Logf("the output:\n%s", out)
	}
}

// buildCustom builds golangci-lint with the plugin in a module of its own. golangci-lint custom
// does the same, but it needs a release of graphgen, because it has one replacement of a module
// only.
func buildCustom(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	var sums []byte
	for _, name := range []string{"tools/go.sum", "go.sum", "gen/vet/golangci/go.sum"} {
		sums = append(sums, read(t, filepath.Join(root, name))...)
	}
	for name, text := range map[string][]byte{
		"go.mod": read(t, filepath.Join(root, "tools/go.mod")), "go.sum": sums, "main.go": []byte(program),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plugin := modulePath + "/gen/vet/golangci"
	command(t, dir, "go", "mod", "edit", "-module=custom",
		"-require="+plugin+"@v0.0.0", "-replace="+plugin+"="+filepath.Join(root, "gen/vet/golangci"),
		"-require="+modulePath+"@v0.0.0-00010101000000-000000000000", "-replace="+modulePath+"="+root)
	command(t, dir, "go", "build", "-mod=mod", "-buildvcs=false", "-o", "custom", ".")
	return filepath.Join(dir, "custom")
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func command(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
