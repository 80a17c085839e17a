//go:build deterministic

package simulation_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	_ "unsafe" // for go:linkname
)

var (
	first  = flag.Uint64("seed", 1, "the first seed")
	count  = flag.Int("seeds", 0, "how many seeds; 0 for the default")
	trace  = flag.String("trace", "", "a file for all events of the last seed")
	events = flag.Int("events", 300, "how many events the report of a failure has")
)

// outcome is the outcome of a simulation.
type outcome struct {
	about  string
	err    error
	newest []string
}

// seedBubbles seeds all random choices of the runtime in bubbles. internal/simruntime adds it to
// the runtime.
//
//go:linkname seedBubbles runtime.seedBubbles
func seedBubbles(seed uint64)

// simulate runs the simulation of a seed.
func simulate(t *testing.T, seed uint64) (o outcome) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed)
	seedBubbles(seed)
	synctest.Test(t, func(t *testing.T) {
		s := newSim(seed)
		err := s.run(t.Context())
		o = outcome{s.about, err, s.newest}
	})
	return o
}

// TestAFleetInOneProcess runs 50 seeds, and 10,000 in make soak. Each seed has a process of its
// own, because ids and pools of memory depend on what a process did before.
func TestAFleetInOneProcess(t *testing.T) {
	seeds := *count
	switch _, soak := os.LookupEnv("GRAPHGEN_SOAK"); {
	case seeds > 0:
	case soak:
		seeds = 10_000
	default:
		seeds = 50
	}
	for seed := *first; seed < *first+uint64(seeds) && !t.Failed(); seed++ {
		if !isChild() {
			text, failed := child(t, os.Args[0], seed)
			switch {
			case failed:
				t.Errorf("seed %d:\n%s", seed, text)
			case seeds == 1:
				t.Log(text)
			}
			continue
		}
		o := simulate(t, seed)
		if *trace != "" {
			if err := os.WriteFile(*trace, []byte(strings.Join(o.newest, "\n")), 0o600); err != nil {
				t.Error(err)
			}
		}
		t.Log(o.about)
		if o.err != nil {
			t.Errorf("%v\n%s", o.err, strings.Join(o.newest[max(len(o.newest)-*events, 0):], "\n"))
		}
	}
}

// isChild reports whether child started this process. Such a process has one P and never collects
// garbage, also before the simulation. Otherwise the order of goroutines could change, and the
// addresses by which a map orders its pointers.
func isChild() bool { return os.Getenv("GOGC") == "off" && os.Getenv("GOMAXPROCS") == "1" }

// child runs a seed in a process of its own. It returns what the process prints.
func child(t *testing.T, program string, seed uint64) (text string, failed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestAFleetInOneProcess$", "-test.v", "-seeds=1",
		fmt.Sprint("-seed=", seed), fmt.Sprint("-events=", *events), fmt.Sprint("-trace=", *trace))
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	return string(out), err != nil
}

// TestASeedReplays runs seeds twice, and counts those whose events are the same. Nothing depends
// on all being the same.
func TestASeedReplays(t *testing.T) {
	const seeds = 100
	same := 0
	for seed := *first; seed < *first+seeds; seed++ {
		one, _ := child(t, os.Args[0], seed)
		two, _ := child(t, os.Args[0], seed)
		about := func(text string) string {
			_, text, _ = strings.Cut(text, "seed ")
			text, _, _ = strings.Cut(text, "\n")
			return text
		}
		if about(one) == about(two) {
			same++
		}
	}
	t.Logf("%d of %d seeds had the same events twice", same, seeds)
	if same < seeds/2 {
		t.Errorf("%d of %d seeds had the same events twice, want most", same, seeds)
	}
}

// TestSeedsFindFaultsThatWereMended puts back faults that users found, one patch after the other.
// The first line of a patch has the text of the check that finds the fault. A seed fails with it.
func TestSeedsFindFaultsThatWereMended(t *testing.T) {
	const most = 600
	patches, err := filepath.Glob("testdata/*.patch")
	if err != nil || len(patches) == 0 {
		t.Fatal("no patches", err)
	}
	for _, patch := range patches {
		t.Run(strings.TrimSuffix(filepath.Base(patch), ".patch"), func(t *testing.T) {
			text, err := os.ReadFile(patch)
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(string(text), "\n")
			finds, ok := strings.CutPrefix(line, "Finds: ")
			if !ok {
				t.Fatalf("the first line is %q, want Finds: and the text of a check", line)
			}
			out, err := exec.CommandContext(t.Context(), "go", "run", "../../../internal/simruntime", patch).Output()
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(t.TempDir(), "simulation.test")
			build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-tags", "deterministic", "-overlay", strings.TrimSpace(string(out)), "-o", program, ".")
			if text, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for seed := uint64(1); seed <= most; seed++ {
				if text, failed := child(t, program, seed); failed && strings.Contains(text, finds) {
					_, text, _ = strings.Cut(text, "simulation_test.go")
					t.Logf("seed %d: %.600s", seed, text)
					return
				}
			}
			t.Errorf("none of %d seeds finds the fault: %s", most, finds)
		})
	}
}
