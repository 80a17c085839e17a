package graphotel_test

import (
	"os"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestREADMEListsTheMetrics(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	p := receive(t).process(t)
	if _, err := p.WatchThreads(memory.New()); err != nil {
		t.Fatal(err)
	}
	ends(t, graph.Waiting)(questioner(t, p, memory.New()).Thread("t").Invoke(t.Context(), JobUpdate{}))
	p.flush(t)
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	for name := range p.r.metrics {
		if !strings.Contains(string(text), "| `"+name+"` |") {
			t.Errorf("the README does not list %s", name)
		}
	}
	if len(p.r.metrics) < 8 {
		t.Errorf("got %d metrics, want those of runs", len(p.r.metrics))
	}
}
