package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/internal/readme"
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestPicture compares the picture in README.md with the graph.
func TestPicture(t *testing.T) {
	app, err := newFlow(office{}, memory.New())
	if err != nil {
		t.Fatal(err)
	}
	readme.Picture(t, "README.md", diagram.Mermaid(app.Describe()))
}

// TestGenerateWritesThePicture runs the command of go generate on another page.
func TestGenerateWritesThePicture(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("<!-- picture -->\n```mermaid\nold\n```\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "picture.go", "flow.go", "state.go", "state_graphgen.go", page)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	app, err := newFlow(office{}, memory.New())
	if err != nil {
		t.Fatal(err)
	}
	readme.Picture(t, page, diagram.Mermaid(app.Describe()))
}
