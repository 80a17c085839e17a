// Report runs the benchmarks and prints, as Markdown, each figure with its baseline.
//
//	go -C bench run ./report [-rounds 20] [-time 50ms]
//
// Each round runs every benchmark once, for a short time. A figure is the least of all rounds.
// Other work on the machine only ever adds to a figure, and to both sides alike. It adds little
// in one of many short rounds.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// line compares a figure with another one of the same round.
type line struct {
	what     string
	bench    string // the figure's, and its unit
	unit     string
	base     string  // what it is compared with
	baseUnit string  // the unit of that
	limit    float64 // what the ratio, or the difference, should not exceed; 0 for a mere comparison
	minus    bool    // compare by difference
	alone    bool    // the limit is on the figure itself
}

// lines are the rows of the report.
var lines = []line{
	{what: "a step of a chain of 100, compared with calls and merges", bench: "Chain/graphgen", unit: "ns/step", base: "Chain/baseline_calls_and_merges", limit: 100, minus: true},
	{what: "a step of a chain of 100, compared with calls alone", bench: "Chain/graphgen", unit: "ns/step", base: "Chain/calls_alone", limit: 100, minus: true},
	{what: "the same with the memory saver, compared with no saver", bench: "Chain/graphgen_memory_saver", unit: "ns/step", base: "Chain/graphgen", limit: 1200, alone: true},
	{what: "a step of a loop that appends a message, compared with calls and merges", bench: "Loop/graphgen", unit: "ns/step", base: "Loop/baseline_calls_and_merges", limit: 3},
	{what: "the same with the memory saver, compared with copying deltas too", bench: "Loop/graphgen_memory_saver", unit: "ns/step", base: "Loop/baseline_calls,_merges_and_copies_of_deltas", limit: 1500, alone: true},
	{what: "fan-out of 100, compared with goroutines and a WaitGroup", bench: "Fan/graphgen", unit: "ns/op", base: "Fan/baseline_goroutines_and_a_WaitGroup", limit: 1.6},
	{what: "one of 10,000 sends, compared with eight workers and a channel", bench: "Sends/graphgen", unit: "ns/send", base: "Sends/baseline_workers_and_a_channel"},
	{what: "the same with 64 at a time, compared with goroutines", bench: "Sends/graphgen,_64_at_a_time", unit: "ns/send", base: "Sends/baseline_goroutines,_64_at_a_time", limit: 300, alone: true},
	{what: "a run that stops and is resumed, compared with one that does not stop", bench: "Resume/graphgen", unit: "ns/op", base: "Resume/baseline_without_a_stop"},
	{what: "a run of two nodes in a subgraph, compared with the two alone", bench: "Subgraph/graphgen", unit: "ns/op", base: "Subgraph/baseline_without_a_subgraph"},
	{what: "the same, with a subgraph over the same state", bench: "Subgraph/graphgen,_same_state", unit: "ns/op", base: "Subgraph/baseline_without_a_subgraph"},
	{what: "a run of one node with a cached result, compared with a node that does nothing", bench: "Cache/cached_result", unit: "ns/op", base: "Cache/the_node_is_called"},
	{what: "one of 1,000 sends into a graph of three steps, compared with a function of three calls", bench: "TaskSubgraph/graphgen", unit: "ns/call", base: "TaskSubgraph/baseline_a_function"},
	{what: "the same with the memory saver, which stores each step of each call", bench: "TaskSubgraph/graphgen_memory_saver", unit: "ns/call", base: "TaskSubgraph/baseline_a_function_memory_saver"},
	{what: "100 supersteps with a stream of updates, compared with none", bench: "Stream/graphgen", unit: "ns/op", base: "Stream/baseline_without_a_stream"},
	{what: "the same, with a stream of everything", bench: "Stream/graphgen,_tasks_too", unit: "ns/op", base: "Stream/baseline_without_a_stream"},
	{what: "a due thread of one node, run by a worker on the memory saver, compared with Resume", bench: "Worker/memory/graphgen", unit: "ns/thread", base: "Worker/memory/baseline_Resume_in_a_loop"},
	{what: "the same on SQLite", bench: "Worker/sqlite/graphgen", unit: "ns/thread", base: "Worker/sqlite/baseline_Resume_in_a_loop"},
	{what: "a history of 10,000 checkpoints, compared with its records alone", bench: "History/graphgen", unit: "ns/op", base: "History/baseline_records_alone"},
	{what: "restoring 1,000 turns from SQLite, compared with decoding the state", bench: "ColdTurn", unit: "restore-ns", base: "ColdTurn", baseUnit: "floor-ns"},
	{what: "loading these 1,000 turns from SQLite, compared with decoding the state", bench: "ColdTurn", unit: "load-ns", base: "ColdTurn", baseUnit: "floor-ns"},
	{what: "encode, compared with a hand-written codec", bench: "Encode/graphgen", unit: "ns/op", base: "Encode/baseline_hand-written", limit: 1.15},
	{what: "encode: tinylib/msgp", bench: "Encode/tinylib_msgp", unit: "ns/op", base: "Encode/baseline_hand-written"},
	{what: "encode: vmihailenco/msgpack", bench: "Encode/vmihailenco_msgpack", unit: "ns/op", base: "Encode/baseline_hand-written"},
	{what: "decode, compared with a hand-written codec", bench: "Decode/graphgen", unit: "ns/op", base: "Decode/baseline_hand-written", limit: 1.15},
	{what: "decode: tinylib/msgp", bench: "Decode/tinylib_msgp", unit: "ns/op", base: "Decode/baseline_hand-written"},
	{what: "decode: vmihailenco/msgpack", bench: "Decode/vmihailenco_msgpack", unit: "ns/op", base: "Decode/baseline_hand-written"},
	{what: "clone, compared with a hand-written one", bench: "Clone/graphgen", unit: "ns/op", base: "Clone/baseline_hand-written", limit: 1.15},
	{what: "step 1,000 compared with step 10, memory saver: time", bench: "Growth/memory", unit: "ns/step-1000", base: "Growth/memory", baseUnit: "ns/step-10", limit: 1.2},
	{what: "the same: bytes stored", bench: "Growth/memory", unit: "stored-B/step-1000", base: "Growth/memory", baseUnit: "stored-B/step-10", limit: 1.2},
	{what: "the same: allocations", bench: "Growth/memory", unit: "allocs/step-1000", base: "Growth/memory", baseUnit: "allocs/step-10", limit: 1.2},
	{what: "step 1,000 compared with step 10, file saver: time", bench: "Growth/file", unit: "ns/step-1000", base: "Growth/file", baseUnit: "ns/step-10", limit: 1.2},
	{what: "the same: bytes stored", bench: "Growth/file", unit: "stored-B/step-1000", base: "Growth/file", baseUnit: "stored-B/step-10", limit: 1.2},
	{what: "the same: allocations", bench: "Growth/file", unit: "allocs/step-1000", base: "Growth/file", baseUnit: "allocs/step-10", limit: 1.2},
	{what: "turn 1,000 compared with turn 10, memory saver", bench: "Turn/memory", unit: "ns/turn-1000", base: "Turn/memory", baseUnit: "ns/turn-10", limit: 1.3},
	{what: "the same with SharedState", bench: "Turn/memory,_shared_state", unit: "ns/turn-1000", base: "Turn/memory,_shared_state", baseUnit: "ns/turn-10", limit: 1.3},
	{what: "the same without hot threads", bench: "Turn/memory,_cold", unit: "ns/turn-1000", base: "Turn/memory,_cold", baseUnit: "ns/turn-10"},
	{what: "turn 1,000 compared with turn 10, file saver", bench: "Turn/file", unit: "ns/turn-1000", base: "Turn/file", baseUnit: "ns/turn-10", limit: 1.3},
	{what: "turn 1,000 compared with turn 10, SQLite", bench: "Turn/sqlite", unit: "ns/turn-1000", base: "Turn/sqlite", baseUnit: "ns/turn-10", limit: 1.3},
	{what: "store, 10,000 items in memory: get, compared with a map that encodes", bench: "StoreMemory/get_graphgen", unit: "ns/op", base: "StoreMemory/get_baseline_map"},
	{what: "the same: put", bench: "StoreMemory/put_graphgen", unit: "ns/op", base: "StoreMemory/put_baseline_map"},
	{what: "store, 10,000 items on SQLite: get, compared with the bare driver", bench: "StoreSQLite/get_graphgen", unit: "ns/op", base: "StoreSQLite/get_baseline_driver"},
	{what: "the same: a page of 100", bench: "StoreSQLite/page_graphgen", unit: "ns/op", base: "StoreSQLite/page_baseline_driver"},
	{what: "the same: 10 items by an index", bench: "StoreSQLite/filter_graphgen", unit: "ns/op", base: "StoreSQLite/filter_baseline_driver"},
	{what: "the same: put", bench: "StoreSQLite/put_graphgen", unit: "ns/op", base: "StoreSQLite/put_baseline_driver"},
	{what: "search of 10,000 items by meaning, 384 dimensions, compared with dot products alone", bench: "Search/graphgen", unit: "ns/op", base: "Search/baseline_dot_products"},
	{what: "the same with a filter that selects 1 %", bench: "Search/graphgen,_1_in_100", unit: "ns/op", base: "Search/baseline_dot_products,_1_in_100"},
	{what: "search of 10,000 items by two words on SQLite, compared with FTS5 by the bare driver", bench: "TextSearch/graphgen_SQLite", unit: "ns/op", base: "TextSearch/baseline_FTS5"},
	{what: "the same in memory", bench: "TextSearch/graphgen_memory", unit: "ns/op", base: "TextSearch/baseline_FTS5"},
	{what: "a step with the file saver, compared with write and fsync", bench: "Step/graphgen_file_saver", unit: "ns/op", base: "Step/baseline_write_and_fsync", limit: 1.3},
}

// round has the figures of one run of all benchmarks, by benchmark and unit.
type round map[string]map[string]float64

func main() {
	rounds := flag.Int("rounds", 20, "how often to run everything")
	each := flag.String("time", "50ms", "how long to run each benchmark in a round")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := report(ctx, *rounds, *each)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func report(ctx context.Context, rounds int, each string) (err error) {
	dir, err := os.MkdirTemp("", "graphgen-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	test := filepath.Join(dir, "bench.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", test, "github.com/graphgen-go/graphgen/bench")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	var all []round
	machine := ""
	for n := range rounds {
		fmt.Fprintf(os.Stderr, "\rround %d of %d", n+1, rounds)
		run := exec.CommandContext(ctx, test, "-test.run=^$", "-test.bench=.", "-test.benchtime="+each)
		run.Stderr = os.Stderr
		out, err := run.Output()
		if err != nil {
			return fmt.Errorf("round %d: %w\n%s", n+1, err, out)
		}
		r, cpu := parse(out)
		all, machine = append(all, r), cpu
	}
	fmt.Fprintln(os.Stderr)
	fmt.Printf("%s, %d cores, %s/%s, %s; the least of %d rounds\n\n", machine, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), rounds)
	fmt.Println("| what | figure | baseline | ratio | target | |\n|---|---:|---:|---:|---:|---|")
	for _, l := range lines {
		if err := l.write(all); err != nil {
			return err
		}
	}
	return nil
}

// parse reads what a test binary prints.
func parse(out []byte) (r round, cpu string) {
	r = make(round)
	for in := bufio.NewScanner(bytes.NewReader(out)); in.Scan(); {
		if c, ok := strings.CutPrefix(in.Text(), "cpu: "); ok {
			cpu = c
		}
		name, rest, ok := strings.Cut(in.Text(), " ")
		name, isBench := strings.CutPrefix(name, "Benchmark")
		if !ok || !isBench {
			continue
		}
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i] // the number of cores
		}
		words := strings.Fields(rest)
		r[name] = make(map[string]float64)
		for i := 1; i+1 < len(words); i += 2 {
			if v, err := strconv.ParseFloat(words[i], 64); err == nil {
				r[name][words[i+1]] = v
			}
		}
	}
	return r, cpu
}

// write prints a row.
func (l line) write(all []round) error {
	if l.baseUnit == "" {
		l.baseUnit = l.unit
	}
	figure, base := math.Inf(1), math.Inf(1)
	for _, r := range all {
		v, ok1 := r[l.bench][l.unit]
		b, ok2 := r[l.base][l.baseUnit]
		if !ok1 || !ok2 {
			return fmt.Errorf("no figure for %q: %s of %s, or %s of %s", l.what, l.unit, l.bench, l.baseUnit, l.base)
		}
		figure, base = min(figure, v), min(base, b)
	}
	got := figure / base
	if l.minus {
		got = figure - base
	}
	ratio, target, verdict := fmt.Sprintf("%.2f", got), "", ""
	if l.minus {
		ratio = fmt.Sprintf("+%.0f ns", got)
	}
	if l.limit > 0 {
		target, verdict = fmt.Sprintf("%.2f", l.limit), "met"
		limited := got
		switch {
		case l.minus:
			target = fmt.Sprintf("+%.0f ns", l.limit)
		case l.alone:
			target, limited = amount(l.limit, l.unit), figure
		}
		if limited > l.limit {
			verdict = "**missed**"
		}
	}
	fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", l.what, amount(figure, l.unit), amount(base, l.baseUnit), ratio, target, verdict)
	return nil
}

// amount writes a figure with its unit.
func amount(v float64, unit string) string {
	switch {
	case strings.HasPrefix(unit, "stored-B"):
		return fmt.Sprintf("%.0f B", v)
	case strings.HasPrefix(unit, "allocs"):
		return fmt.Sprintf("%.1f", v)
	case v >= 10_000:
		return fmt.Sprintf("%.1f µs", v/1000)
	case v >= 1000:
		return fmt.Sprintf("%.2f µs", v/1000)
	}
	return fmt.Sprintf("%.1f ns", v)
}
