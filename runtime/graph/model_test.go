package graph_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/internal/graphmodel"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// Random graphs, compared with an interpreter of the rules. A failure names the seed of its graph:
//
//	GRAPHGEN_SEED=17 go test -run RandomGraphs ./runtime/graph
//
// runs that one, and GRAPHGEN_SOAK=10m goes on for so long with graphs that no test has seen.

// drawn calls test for random graphs: so many, in a soak more.
func drawn(t *testing.T, least int, test func(spec *graphmodel.Spec) error) {
	t.Helper()
	first, until := uint64(0), time.Now()
	if text, set := os.LookupEnv("GRAPHGEN_SOAK"); set {
		soak, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("GRAPHGEN_SOAK: %v; want a duration such as 10m", err)
		}
		first, until = rand.Uint64()>>16, until.Add(soak)
	}
	if text, set := os.LookupEnv("GRAPHGEN_SEED"); set {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("GRAPHGEN_SEED: %v; want the seed that a failure named", err)
		}
		first, least = seed, 1
	}
	graphs := 0
	for ; graphs < least || time.Now().Before(until); graphs++ {
		seed := first + uint64(graphs)
		spec := graphmodel.Draw(seed)
		if err := test(spec); err != nil {
			t.Fatalf("GRAPHGEN_SEED=%d\n%v\n%v", seed, spec, err)
		}
	}
	t.Logf("%d graphs", graphs)
}

// told adds to an error what was done before it.
func told(err error, said string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nafter\n%s", err, said)
}

func TestRandomGraphsRunByTheRules(t *testing.T) {
	t.Parallel()
	drawn(t, 150, func(spec *graphmodel.Spec) error {
		p, err := graphmodel.NewPair(spec, memory.New(), "t")
		if err != nil {
			return err
		}
		err = p.Run(t.Context())
		return told(errors.Join(err, ranAgain(p.World)), p.Said())
	})
}

func TestRandomGraphsTravelInTime(t *testing.T) {
	t.Parallel()
	drawn(t, 25, func(spec *graphmodel.Spec) error {
		p, err := graphmodel.NewPair(spec, memory.New(), "t")
		if err != nil {
			return err
		}
		err = p.Travel(t.Context(), 5)
		return told(errors.Join(err, ranAgain(p.World)), p.Said())
	})
}

func ranAgain(w *graphmodel.World) error {
	if faults := w.Faults(); faults != nil {
		return errors.New(strings.Join(faults, "\n"))
	}
	return nil
}

// storm runs a graph in a storm, in a bubble that also finds goroutines which are left behind.
func storm(t *testing.T, s graphmodel.Storm, want []graphmodel.Point) (died bool, err error) {
	t.Helper()
	s.World, s.Saver, s.Thread = graphmodel.NewWorld(), memory.New(), "t"
	synctest.Test(t, func(t *testing.T) {
		if err = s.Run(t.Context(), uint64(s.Durability)); err == nil {
			err = s.Check(t.Context(), want, s.Durability == graph.Sync || s.Durability == graph.Async)
		}
	})
	return s.Died, told(err, s.Said())
}

func TestRandomGraphsComeToTheSameInAStorm(t *testing.T) {
	t.Parallel()
	drawn(t, 80, func(spec *graphmodel.Spec) error {
		if !spec.Stormy(false) {
			return nil
		}
		want := spec.Alone()
		for _, d := range []graph.Durability{0, graph.Sync, graph.Async, graph.OnExit} { // 0, no durability, is a mixture
			if !spec.Stormy(d != graph.Sync) {
				continue
			}
			if _, err := storm(t, graphmodel.Storm{Spec: spec, Durability: d}, want); err != nil {
				return fmt.Errorf("%s: %w", d, err)
			}
		}
		return nil
	})
}

func TestRandomGraphsComeToTheSameWhereverTheyDie(t *testing.T) {
	t.Parallel()
	points := 0
	drawn(t, 4, func(spec *graphmodel.Spec) error {
		if !spec.Stormy(true) {
			return nil
		}
		return diesEverywhere(t, spec, &points)
	})
	t.Logf("%d deaths", points)
}

// diesEverywhere has a process die at each call of the saver that it makes.
func diesEverywhere(t *testing.T, spec *graphmodel.Spec, points *int) error {
	t.Helper()
	want := spec.Alone()
	for name, d := range durabilities {
		for calls, died := 1, true; died; calls++ {
			died = false
			for _, lost := range []bool{false, true} {
				one, err := storm(t, graphmodel.Storm{Spec: spec, Durability: d, Calls: calls, Lost: lost}, want)
				if err != nil {
					return fmt.Errorf("%s, death at call %d, after it was made: %t: %w", name, calls, lost, err)
				}
				died = died || one
				*points++
			}
		}
	}
	return nil
}

// TestRandomGraphsComeToTheSameWhicheverCallFails: a call or two of the saver fail, or lose their answers, and the run has to
// say what it came to all the same.
func TestRandomGraphsComeToTheSameWhicheverCallFails(t *testing.T) {
	t.Parallel()
	points := 0
	drawn(t, 4, func(spec *graphmodel.Spec) error {
		if !spec.Stormy(true) || spec.Rivals() {
			return nil
		}
		want := spec.Alone()
		for _, d := range durabilities {
			for calls, failed := 1, true; failed; calls++ {
				failed = false
				for how := range 4 {
					s := graphmodel.Storm{Spec: spec, Durability: d, Calls: calls, Hiccup: 1 + how/2, Lost: how%2 > 0}
					one, err := storm(t, s, want)
					if err != nil {
						return fmt.Errorf("%s, %d calls fail from call %d on, after they were made: %t: %w", d, s.Hiccup, calls, s.Lost, err)
					}
					failed = failed || one
					points++
				}
			}
		}
		return nil
	})
	t.Logf("%d hiccups", points)
}

func TestRandomGraphsThatAreTakenOverComeToTheSame(t *testing.T) {
	t.Parallel()
	taken := 0
	drawn(t, 15, func(spec *graphmodel.Spec) error {
		if !spec.Stormy(true) {
			return nil
		}
		return isTakenOver(t, spec, &taken)
	})
	t.Logf("%d runs taken over", taken)
}

// isTakenOver has a process taken over in each task that it runs.
func isTakenOver(t *testing.T, spec *graphmodel.Spec, taken *int) error {
	t.Helper()
	want := spec.Alone()
	for name, d := range durabilities {
		for at, died := 1, true; died; at++ {
			var err error
			if died, err = storm(t, graphmodel.Storm{Spec: spec, Durability: d, TakenOver: at}, want); err != nil {
				return fmt.Errorf("%s, taken over in task %d: %w", name, at, err)
			}
			*taken++
		}
	}
	return nil
}

// TestRandomRacesOfSubgraphsComeToTheSame: few graphs have them, so that the other tests hardly meet one.
func TestRandomRacesOfSubgraphsComeToTheSame(t *testing.T) {
	t.Parallel()
	graphs, deaths, taken := 0, 0, 0
	drawn(t, 1200, func(spec *graphmodel.Spec) error {
		if !spec.Rivals() || !spec.Stormy(true) {
			return nil
		}
		graphs++
		want := spec.Alone()
		for _, d := range []graph.Durability{0, graph.Sync, graph.Async, graph.OnExit} {
			if _, err := storm(t, graphmodel.Storm{Spec: spec, Durability: d}, want); err != nil {
				return fmt.Errorf("%s: %w", d, err)
			}
		}
		if graphs%4 > 1 {
			return nil // to die everywhere takes longest
		}
		return errors.Join(diesEverywhere(t, spec, &deaths), isTakenOver(t, spec, &taken))
	})
	t.Logf("%d of them; %d deaths, %d runs taken over", graphs, deaths, taken)
}
