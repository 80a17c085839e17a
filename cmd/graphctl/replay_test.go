package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestExportedThreadsAreReplayed exports threads of two graphs, and replays them with the graph
// that stored them and with others.
func TestExportedThreadsAreReplayed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	err := onDesk("file:threads", dir, func(s checkpoint.Saver) error {
		g, err := desk.New(s)
		if err != nil {
			return err
		}
		for _, args := range [][]string{
			{"start", "waits", "500"}, {"start", "twice", "0"}, {"release", "twice"}, {"start", "twice", "500"}, {"approve", "twice"},
		} {
			if err := deskStep(t.Context(), g, args); err != nil {
				return err
			}
		}
		_ = deskStep(t.Context(), g, []string{"start", "fails", "-1"}) // its failure is stored
		other, err := nodesOf("other", s, "alone")
		if err == nil {
			_, err = other.Thread("stranger").Invoke(t.Context(), desk.StateUpdate{})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	execute := func(args ...string) {
		t.Helper()
		var log strings.Builder
		a := &app{in: strings.NewReader(""), out: &log, err: &log, env: func(string) string { return "" }, now: time.Now, since: time.Since}
		if code := run(t.Context(), a, append(args, "-s", "file:threads")); code != exitOK {
			t.Fatalf("%v exits with %d: %s", args, code, log.String())
		}
	}
	for _, folder := range []string{"desk", "all"} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	execute("submit", "new", `{"Order": "new", "Cents": 500}`, "--graph", "desk")
	execute("export", filepath.Join("desk", "threads.graphgen"), "--graph", "desk")
	execute("export", filepath.Join("all", "threads.graphgen"), "--all")

	for _, c := range []struct {
		graph, dir string
		fails      map[string]string // the subtests that fail, with a part of their errors
	}{
		{"same", "desk", nil},
		{"same", "all", map[string]string{"stranger": `"other"`}},
		{"renamed", "desk", map[string]string{"waits": `"review"`, "twice": `"pay"`, "fails": `"check"`}},
	} {
		t.Run(c.graph+" "+c.dir, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReplayChild$", "-test.v")
			cmd.Env = append(os.Environ(), "GRAPHCTL_REPLAY="+filepath.Join(dir, c.dir), "GRAPHCTL_CASE="+c.graph)
			out, err := cmd.CombinedOutput()
			if (err != nil) != (len(c.fails) > 0) {
				t.Errorf("got %v, want a failure: %t", err, len(c.fails) > 0)
			}
			for _, name := range []string{"waits", "twice,_version_1", "twice", "fails", "new", "stranger"} {
				want, fails := c.fails[name]
				status := "--- PASS: TestReplayChild/threads.graphgen/" + name + " ("
				if fails {
					status = strings.Replace(status, "PASS", "FAIL", 1)
				}
				if name == "stranger" && c.dir == "desk" {
					continue
				}
				if !strings.Contains(string(out), status) || !strings.Contains(string(out), want) {
					t.Errorf("got\n%s\nwant %q and %q", out, status, want)
				}
			}
		})
	}
}

// TestReplayChild replays the threads of the test above, in a process of its own.
func TestReplayChild(t *testing.T) {
	dir := os.Getenv("GRAPHCTL_REPLAY")
	if dir == "" {
		return
	}
	g, err := desk.New(memory.New())
	if os.Getenv("GRAPHCTL_CASE") == "renamed" {
		g, err = nodesOf(desk.Name, memory.New(), "first", "second")
	}
	if err != nil {
		t.Fatal(err)
	}
	graphtest.Replay(t, g, memory.New(), dir)
}

// nodesOf returns a graph with nodes in a row, which change nothing.
func nodesOf(name string, s checkpoint.Saver, nodes ...graph.ID) (*desk.Graph, error) {
	g := graph.New(name, desk.StateSchema)
	for _, id := range nodes {
		g.Node(id, func(context.Context, desk.State) (u desk.StateUpdate, err error) { return u, nil })
	}
	g.Chain(append(append([]graph.ID{graph.Start}, nodes...), graph.End)...)
	return g.Compile(graph.Saver(s))
}
