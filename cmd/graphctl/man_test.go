package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv/diagrams"
)

// TestManualPage checks that the manual page has each command, and that mandoc reads it without a
// warning.
func TestManualPage(t *testing.T) {
	var page bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &page, err: os.Stderr, env: os.Getenv}
	if code := run(t.Context(), a, []string{"man"}); code != exitOK {
		t.Fatalf("man exits with %d", code)
	}
	root := newRoot(&app{out: io.Discard})
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" && cmd.Runnable() && !strings.Contains(page.String(), "\n.SS "+roff(cmd.Name())) {
			t.Errorf("the page lacks %s", cmd.Name())
		}
	}
	if !strings.Contains(page.String(), "\n.SS completion bash|fish|powershell|zsh\n") {
		t.Error("the page lacks the shells of completion")
	}
	if faults := diagrams.Mandoc(t, ".TH X 1\n.SH NAME\nx \\- y\n.XYZ\n"); !strings.Contains(faults, "XYZ") {
		t.Fatalf("mandoc finds no fault with an unknown macro, but %q: the test proves nothing", faults)
	}
	if faults := diagrams.Mandoc(t, page.String()); faults != "" {
		t.Error(faults)
	}
}
