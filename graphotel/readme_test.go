package graphotel_test

import (
	"os"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/runtime/worker"
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
	if _, err := p.WatchFleet(&operate.Operator{Saver: memory.New()}, "orders"); err != nil {
		t.Fatal(err)
	}
	p.OnEvent(nil)(worker.Event{Kind: worker.EventClaimed, Graph: "orders"})
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
