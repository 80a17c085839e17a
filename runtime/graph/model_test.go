package graph_test

import (
	"context"
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
// runs that one, and GRAPHGEN_SOAK=10m runs new graphs for that long, in each subtest.

// drawn calls test for random graphs that fit: so many, an eighth of them under -short, and more
// in a soak.
func drawn(t *testing.T, least int, fits func(*graphmodel.Spec) bool, test func(*graphmodel.Spec) error) {
	t.Helper()
	drawnBy(t, graphmodel.Draw, least, fits, test)
}

// drawnBy is drawn for graphs that draw returns.
func drawnBy(
	t *testing.T, draw func(uint64) *graphmodel.Spec, least int, fits func(*graphmodel.Spec) bool, test func(*graphmodel.Spec) error,
) {
	t.Helper()
	first, until := uint64(0), time.Now()
	if text, set := os.LookupEnv("GRAPHGEN_SOAK"); set {
		soak, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("GRAPHGEN_SOAK: %v; want a duration such as 10m", err)
		}
		first, until = rand.Uint64()>>16, until.Add(soak)
	}
	if testing.Short() {
		least = (least + 7) / 8
	}
	seed := first
	if text, set := os.LookupEnv("GRAPHGEN_SEED"); set {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("GRAPHGEN_SEED: %v; want the seed that a failure named", err)
		}
		fits, least = always, 1
	}
	graphs, ended := 0, false
	defer func() {
		if !ended { // also after a panic; and a long report ends with it
			t.Logf("GRAPHGEN_SEED=%d runs the graph that failed", seed)
		}
	}()
	for ; graphs < least || time.Now().Before(until); seed++ {
		spec := draw(seed)
		if !fits(spec) {
			continue
		}
		if err := test(spec); err != nil {
			t.Fatalf("%v\n%v", spec, err)
		}
		graphs++
	}
	ended = true
	t.Logf("%d graphs, the last of seed %d", graphs, seed-1)
}

// nextPlace returns the place after one at which a run was hit: near the beginning of the run it
// is the very next. A long run is hit less often towards its end, because that takes work as the
// square of its calls.
func nextPlace(place int) int {
	if testing.Short() {
		return place + 8
	}
	return place + 1 + place/8
}

// third returns a fits for a durability: of the graphs that fit, each durability has others.
func third(d graph.Durability, fits func(*graphmodel.Spec) bool) func(*graphmodel.Spec) bool {
	n := int(d)
	return func(spec *graphmodel.Spec) bool {
		if !fits(spec) {
			return false
		}
		n++
		return n%3 == 0
	}
}

func always(*graphmodel.Spec) bool { return true }

// withCalls adds to an error the calls that were made before it.
func withCalls(err error, said string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nafter\n%s", err, said)
}

func TestRandomGraphsRunByTheRules(t *testing.T) {
	t.Parallel()
	drawn(t, 150, always, func(spec *graphmodel.Spec) error {
		p, err := graphmodel.NewPair(spec, memory.New(), "t")
		if err != nil {
			return err
		}
		err = p.Run(t.Context())
		return withCalls(errors.Join(err, ranAgain(p.World)), p.Said())
	})
}

// TestRandomGraphsThatWaitRunByTheRules draws graphs whose nodes also sleep and receive signals,
// and whose waits expire.
func TestRandomGraphsThatWaitRunByTheRules(t *testing.T) {
	t.Parallel()
	drawnBy(t, graphmodel.DrawWaiting, 150, always, func(spec *graphmodel.Spec) error { return runsInBubble(t, spec) })
}

func runsInBubble(t *testing.T, spec *graphmodel.Spec) error {
	t.Helper()
	return inBubble(t, spec, func(ctx context.Context, p *graphmodel.Pair) error { return p.Run(ctx) })
}

func TestRandomGraphsThatWaitTravelInTime(t *testing.T) {
	t.Parallel()
	drawnBy(t, graphmodel.DrawWaiting, 25, always, func(spec *graphmodel.Spec) error { return travelsInBubble(t, spec) })
}

func travelsInBubble(t *testing.T, spec *graphmodel.Spec) error {
	t.Helper()
	return inBubble(t, spec, func(ctx context.Context, p *graphmodel.Pair) error { return p.Travel(ctx, 5) })
}

// TestRandomGraphsThatDifferedOnce runs graphs on which the runtime and the model once differed.
func TestRandomGraphsThatDifferedOnce(t *testing.T) {
	t.Parallel()
	getsMail := func(t *testing.T, spec *graphmodel.Spec) error {
		t.Helper()
		return getsMailInBubble(t, spec, graph.OnExit)
	}
	for _, row := range []struct {
		rule string
		seed uint64
		test func(*testing.T, *graphmodel.Spec) error
	}{
		{"11.20", 151543158660073, runsInBubble},
		{"14.6", 103021128893956, getsMail},
		{"12.9", 224663681141197, runsInBubble},
		{"21.15", 180809532591018, travelsInBubble},
		{"21.15", 22047731406530, travelsInBubble},
		{"21.17", 100771271967147, getsMail},
		{"21.27", 67555932695709, getsMail},
		{"21.27", 50798398966766, getsMail},
		{"22.12", 265367483230937, travelsInBubble},
		{"22.12", 99723667997487, travelsInBubble},
	} {
		spec := graphmodel.DrawWaiting(row.seed)
		if err := row.test(t, spec); err != nil {
			t.Errorf("rule %s: GRAPHGEN_SEED=%d\n%v\n%v", row.rule, row.seed, spec, err)
		}
	}
}

// inBubble calls run in a bubble, with a thread and its model.
func inBubble(
	t *testing.T, spec *graphmodel.Spec, run func(context.Context, *graphmodel.Pair) error, opts ...graph.Option,
) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var p *graphmodel.Pair
		if p, err = graphmodel.NewPair(spec, memory.New(), "t", opts...); err == nil {
			err = run(t.Context(), p)
			err = withCalls(errors.Join(err, ranAgain(p.World)), p.Said())
		}
	})
	return err
}

func TestRandomGraphsTravelInTime(t *testing.T) {
	t.Parallel()
	drawn(t, 25, always, func(spec *graphmodel.Spec) error {
		p, err := graphmodel.NewPair(spec, memory.New(), "t")
		if err != nil {
			return err
		}
		err = p.Travel(t.Context(), 5)
		return withCalls(errors.Join(err, ranAgain(p.World)), p.Said())
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
	return s.Died, withCalls(err, s.Said())
}

// anyDurability is the Durability of a storm in which each run draws its own.
const anyDurability = graph.Durability(0)

// eachStorm is eachDurability, with one more subtest: Mixed, for anyDurability.
func eachStorm(t *testing.T, test func(t *testing.T, d graph.Durability)) {
	t.Helper()
	t.Run("Mixed", func(t *testing.T) { test(t, anyDurability) })
	eachDurability(t, test)
}

// stormy reports whether a graph has the same result under every durability, whatever fails.
func stormy(spec *graphmodel.Spec) bool { return spec.Stormy(true) }

func TestRandomGraphsComeToTheSameInAStorm(t *testing.T) {
	t.Parallel()
	eachStorm(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		fits := func(spec *graphmodel.Spec) bool { return spec.Stormy(d != graph.Sync) }
		drawn(t, 60, fits, func(spec *graphmodel.Spec) error {
			_, err := storm(t, graphmodel.Storm{Spec: spec, Durability: d}, spec.Alone())
			return err
		})
	})
}

func TestRandomGraphsComeToTheSameWhereverTheyDie(t *testing.T) {
	t.Parallel()
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		points := 0
		drawn(t, 5, third(d, stormy), func(spec *graphmodel.Spec) error {
			return diesEverywhere(t, spec, d, &points)
		})
		t.Logf("%d deaths", points)
	})
}

// diesEverywhere has a process die at each call of the saver that it makes.
func diesEverywhere(t *testing.T, spec *graphmodel.Spec, d graph.Durability, points *int) error {
	t.Helper()
	want := spec.Alone()
	for calls, died := 1, true; died; calls = nextPlace(calls) {
		died = false
		for _, lost := range []bool{false, true} {
			one, err := storm(t, graphmodel.Storm{Spec: spec, Durability: d, Calls: calls, Lost: lost}, want)
			if err != nil {
				return fmt.Errorf("death at call %d, after it was made: %t: %w", calls, lost, err)
			}
			died = died || one
			*points++
		}
	}
	return nil
}

// TestRandomGraphsHaveTheSameResultWhicheverCallFails: one or two calls of the saver fail or lose
// their replies, and the run must still return its outcome.
func TestRandomGraphsHaveTheSameResultWhicheverCallFails(t *testing.T) {
	t.Parallel()
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		points := 0
		fits := func(spec *graphmodel.Spec) bool { return stormy(spec) && !spec.Rivals() }
		drawn(t, 3, third(d, fits), func(spec *graphmodel.Spec) error {
			return failsEverywhere(t, spec, d, &points)
		})
		t.Logf("%d hiccups", points)
	})
}

// failsEverywhere has one call of the saver fail, and then two, at each place of a run: in turns
// they are made or not.
func failsEverywhere(t *testing.T, spec *graphmodel.Spec, d graph.Durability, points *int) error {
	t.Helper()
	want := spec.Alone()
	for calls, failed := 1, true; failed; calls = nextPlace(calls) {
		failed = false
		for fails := 1; fails <= 2; fails++ {
			s := graphmodel.Storm{Spec: spec, Durability: d, Calls: calls, Hiccup: fails, Lost: (*points/2+fails)%2 > 0}
			one, err := storm(t, s, want)
			if err != nil {
				return fmt.Errorf("%d calls fail from call %d on, after they were made: %t: %w", s.Hiccup, calls, s.Lost, err)
			}
			failed = failed || one
			*points++
		}
	}
	return nil
}

func TestRandomGraphsThatAreTakenOverComeToTheSame(t *testing.T) {
	t.Parallel()
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		taken := 0
		drawn(t, 4, third(d, stormy), func(spec *graphmodel.Spec) error {
			return isTakenOver(t, spec, d, &taken)
		})
		t.Logf("%d runs taken over", taken)
	})
}

// isTakenOver has a process taken over in each task that it runs.
func isTakenOver(t *testing.T, spec *graphmodel.Spec, d graph.Durability, taken *int) error {
	t.Helper()
	want := spec.Alone()
	for at, died := 1, true; died; at = nextPlace(at) {
		var err error
		if died, err = storm(t, graphmodel.Storm{Spec: spec, Durability: d, TakenOver: at}, want); err != nil {
			return fmt.Errorf("taken over in task %d: %w", at, err)
		}
		*taken++
	}
	return nil
}

// TestRandomRacesOfSubgraphsComeToTheSame: few graphs have them, so that the other tests hardly
// meet one.
func TestRandomRacesOfSubgraphsComeToTheSame(t *testing.T) {
	t.Parallel()
	eachStorm(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		deaths, taken := 0, 0
		fits := func(spec *graphmodel.Spec) bool { return stormy(spec) && spec.RivalSubgraphs() }
		dies := third(d, func(*graphmodel.Spec) bool { return d != anyDurability })
		drawn(t, 17, fits, func(spec *graphmodel.Spec) error {
			_, err := storm(t, graphmodel.Storm{Spec: spec, Durability: d}, spec.Alone())
			if err != nil || !dies(spec) {
				return err // to die everywhere takes longest
			}
			return errors.Join(diesEverywhere(t, spec, d, &deaths), isTakenOver(t, spec, d, &taken))
		})
		t.Logf("%d deaths, %d runs taken over", deaths, taken)
	})
}

// TestRandomGraphsThatGetMailRunByTheRules submits inputs with each policy, answers, sends signals
// and cancels, also while workers and persons run the thread.
func TestRandomGraphsThatGetMailRunByTheRules(t *testing.T) {
	t.Parallel()
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		drawnBy(t, graphmodel.DrawWaiting, 50, always, func(spec *graphmodel.Spec) error { return getsMailInBubble(t, spec, d) })
	})
}

func getsMailInBubble(t *testing.T, spec *graphmodel.Spec, d graph.Durability) error {
	t.Helper()
	spec.Replies = d != graph.OnExit
	return inBubble(t, spec, func(ctx context.Context, p *graphmodel.Pair) error {
		return p.Correspond(ctx, 20, d != graph.OnExit)
	}, d, graph.HotThreads(0)) // the answers do not pass through the graph, whose head would be stale
}

// TestRandomGraphsRunEachInputOnceInACrowd has several processes submit and answer, and others run
// the thread and die.
func TestRandomGraphsRunEachInputOnceInACrowd(t *testing.T) {
	t.Parallel()
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		fits := func(spec *graphmodel.Spec) bool { return (&graphmodel.Crowd{Spec: spec}).Fits() }
		drawnBy(t, graphmodel.Elsewhere(graphmodel.Draw, d == graph.Sync), 40, third(d, fits), func(spec *graphmodel.Spec) (err error) {
			synctest.Test(t, func(t *testing.T) {
				crowd := &graphmodel.Crowd{Spec: spec, World: graphmodel.NewWorld(), Saver: memory.New(), Durability: d, Inputs: 3}
				err = crowd.Run(t.Context(), uint64(d))
			})
			return err
		})
	})
}

// TestRandomGraphsInAMob has several processes submit, signal, cancel and answer on several
// threads, and others run the threads and die.
func TestRandomGraphsInAMob(t *testing.T) {
	t.Parallel()
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		fits := func(spec *graphmodel.Spec) bool {
			return (&graphmodel.Mob{Crowd: graphmodel.Crowd{Spec: spec}}).Fits()
		}
		draw := graphmodel.DrawListening
		if d != graph.OnExit { // a crash could give a signal to another task, because the first waits for a child again
			draw = graphmodel.Elsewhere(draw, d == graph.Sync)
		}
		drawnBy(t, draw, 8, third(d, fits), func(spec *graphmodel.Spec) (err error) {
			synctest.Test(t, func(t *testing.T) {
				mob := &graphmodel.Mob{Threads: 3, Crowd: graphmodel.Crowd{
					Spec: spec, World: graphmodel.NewWorld(), Saver: memory.New(), Durability: d, Inputs: 4,
				}}
				err = mob.Run(t.Context(), spec.Seed+uint64(d))
			})
			return err
		})
	})
}
