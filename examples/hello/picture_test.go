package main

import (
	"testing"

	"github.com/graphgen-go/graphgen/internal/readme"
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestPicture compares the picture on the page of the first program with the graph.
func TestPicture(t *testing.T) {
	app, err := compile(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	readme.Picture(t, "../../docs/hello.md", diagram.Mermaid(app.Describe()))
}
