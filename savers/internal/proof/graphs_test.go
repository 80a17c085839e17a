//go:build unix

package proof_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/graphmodel"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// proveGraphs runs random graphs, whose results must be those of any other saver. It replays them,
// forks them, leaves lines, and runs them in a storm. Together they use every feature of graphs.
// Each graph has one durability. The tests of runtime/graph prove all durabilities on the memory
// saver.
func proveGraphs(t *testing.T, b *bench, c *count) {
	t.Helper()
	s, enough := b.open(t), time.Now().Add(8*time.Second)
	for n := range uint64(graphs) {
		if n >= few && (testing.Short() || time.Now().After(enough)) {
			return
		}
		seed := b.seed + n
		spec := graphmodel.Draw(seed)
		p, err := graphmodel.NewPair(spec, s, fmt.Sprint("travels ", seed))
		if err == nil {
			err = p.Travel(t.Context(), 2)
		}
		if err != nil {
			t.Fatalf("graph %d: %v\n%v\nafter\n%s", seed, err, spec, p.Said())
		}
		if f := p.World.Faults(); f != nil {
			t.Fatalf("graph %d: %s\n%v", seed, strings.Join(f, "\n"), spec)
		}
		c.graphs++
		if !spec.Stormy(true) {
			continue
		}
		d := []graph.Durability{graph.Sync, graph.Async, graph.OnExit}[n%3]
		storm := graphmodel.Storm{
			Spec: spec, World: graphmodel.NewWorld(), Saver: s, Thread: fmt.Sprintf("storm %d %s", seed, d), Durability: d,
		}
		err = storm.Run(t.Context(), uint64(d))
		err = errors.Join(err, storm.Check(t.Context(), spec.Alone(), d != graph.OnExit))
		if err != nil {
			t.Fatalf("graph %d in a storm, %s: %v\n%v\nafter\n%s", seed, d, err, spec, storm.Said())
		}
		c.graphs++
	}
}

// graphs is how many random graphs each saver runs, and few how many one that is slow.
const (
	graphs = 12
	few    = 4
)
