package graphtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// rewriteVariable is the environment variable that lets Lock write its file: "1" for allowed
// changes, and "accept" for breaking ones, too.
const rewriteVariable = "GRAPHGEN_REWRITE"

// Described is a compiled graph: a *graph.Graph[S, U] of any state.
type Described interface {
	Describe() *graph.Description
	Payloads() []graph.NodePayloads
}

// Lock compares app with the file path, which lists what stored threads need of the graph and of
// its subgraphs. The file has one fact a line, sorted, so a change of it is easy to review and to
// merge. Commit the file.
//
// The test fails if the two differ, and prints each difference. A breaking difference leaves
// threads that cannot resume, or that lose work. Examples are a node, question, signal or join
// that is gone, and a payload that lost a field. An allowed difference only makes the file out of
// date, such as a new node. Set the environment variable GRAPHGEN_REWRITE=1 to write the file.
// That does not accept a breaking difference: set GRAPHGEN_REWRITE=accept when no thread needs the
// old graph any more. A file that Lock cannot read fails the test, also with GRAPHGEN_REWRITE. A
// deleted file cannot be compared, so its deletion is part of the review of a commit.
//
// The file does not list what threads survive: edges, routes of Route, any-of joins, static stops,
// policies and the fields of states. Replay checks states. A graph does not know the types of the
// results of durable calls (graph.Do), so the file does not list them either.
func Lock(tb testing.TB, app Described, path string) {
	tb.Helper()
	mode := os.Getenv(rewriteVariable)
	switch mode {
	case "0":
		mode = ""
	case "", "1", "accept":
	default:
		tb.Fatalf("graphtest: %s is %q; want 1, which writes allowed changes of locks, or accept, which writes all", rewriteVariable, mode)
	}
	now := factsOf(app)
	stored, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if mode == "" {
			tb.Fatalf("graphtest: there is no lock %s; if it was committed once, restore it. To begin one, run the test again with %s=1, and commit the file", path, rewriteVariable)
		}
		write(tb, path, now)
		tb.Logf("graphtest: began the lock %s; commit it", path)
		return
	}
	if err != nil {
		tb.Fatalf("graphtest: %v", err)
	}
	locked, err := readFacts(string(stored))
	if err != nil {
		tb.Fatalf("graphtest: %s: %v", path, err)
	}
	breaking, allowed := compare(locked, now)
	switch {
	case len(breaking) > 0 && mode != "accept":
		tb.Fatalf("graphtest: threads that wait in graph %q cannot continue:\n  breaking: %s%s\nRestore these parts, or wait until no thread needs them. Then run the test with %s=accept",
			now.graph, strings.Join(breaking, "\n  breaking: "), listed(allowed), rewriteVariable)
	case len(breaking)+len(allowed) == 0:
	case mode == "":
		tb.Fatalf("graphtest: %s is out of date, and all threads can continue:%s\nRun the test again with %s=1 to write it",
			path, listed(allowed), rewriteVariable)
	default:
		write(tb, path, now)
	}
}

func listed(allowed []string) string {
	if len(allowed) == 0 {
		return ""
	}
	return "\n  allowed: " + strings.Join(allowed, "\n  allowed: ")
}

// write writes the file of a lock.
func write(tb testing.TB, path string, now *facts) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		tb.Fatalf("graphtest: %v", err)
	}
	if err := os.WriteFile(path, []byte(now.String()), 0o600); err != nil {
		tb.Fatalf("graphtest: %v", err)
	}
}

// compare returns the differences between the facts of a lock and those of a graph.
func compare(locked, now *facts) (breaking, allowed []string) {
	known := make(map[string]bool)    // the facts of the lock, under today's names
	reported := make(map[string]bool) // graphs and nodes that are gone
	for _, f := range locked.all {
		f = now.rename(f)
		known[f.String()] = true
		if now.has(f) {
			continue
		}
		why, breaks := now.missing(f)
		switch {
		case reported[why]:
		case breaks:
			breaking = append(breaking, why)
		default:
			allowed = append(allowed, why)
		}
		reported[why] = true
	}
	for _, f := range now.all {
		if !known[f.String()] {
			allowed = append(allowed, "new: "+f.String())
		}
	}
	return breaking, allowed
}
