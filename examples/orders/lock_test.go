package main

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestGraphLock fails if a change of the graph would strand orders that are in progress.
func TestGraphLock(t *testing.T) {
	app, err := newFlow(shop{}, memory.New())
	if err != nil {
		t.Fatal(err)
	}
	graphtest.Lock(t, app, "testdata/graph.lock")
}
