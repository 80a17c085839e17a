package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/file"
)

// TestShowNamesFailedNodes shows a thread of whose due tasks two have failed.
func TestShowNamesFailedNodes(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	saver, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New("two", desk.StateSchema)
	none := func(context.Context, desk.State) (u desk.StateUpdate, err error) { return u, nil }
	g.Node("split", none)
	g.Node("good", none)
	read := graph.TaskNode(g, "read", func(_ context.Context, _ desk.State, page wire.String) (u desk.StateUpdate, err error) {
		if page == "bad" {
			return u, errors.New("the page is torn")
		}
		return u, nil
	}, graph.ContinueOnError())
	g.Edge(graph.Start, "split")
	g.Route("split", func(context.Context, desk.State) (graph.Next, error) {
		next := graph.To("good")
		for _, page := range []wire.String{"one", "bad", "two", "bad"} {
			next.Add(read.Send(page))
		}
		return next, nil
	}, "good", read.ID)
	g.Edge("good", graph.End)
	g.Edge(read.ID, graph.End)
	two, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Thread("t").Invoke(ctx, desk.StateUpdate{}); err == nil {
		t.Fatal("the run has not failed")
	}
	if err := saver.Close(); err != nil {
		t.Fatal(err)
	}
	show := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: os.Stderr, env: func(string) string { return "" }, now: time.Now, since: time.Since}
		if code := run(ctx, a, append([]string{"show", "t", "--saver", "file://" + filepath.ToSlash(dir)}, args...)); code != exitOK {
			t.Fatalf("show exits with %d", code)
		}
		return out.String()
	}
	text := show()
	for _, want := range []string{"\nFailure of read[1], attempt 1, 20", "\nFailure of read[3], attempt 1, 20", "s ago):\n  ", "\nFailure of the run:\n  ", "the page is torn"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q", text, want)
		}
	}
	if n := strings.Count(text, "Failure of"); n != 3 {
		t.Errorf("got\n%s\nwant 3 failures", text)
	}
	got := show("-o", "jsonl")
	for _, want := range []string{`"failures":[{"node":"read","index":1,"text":"`, `"attempt":1,"failed":"20`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %q", got, want)
		}
	}
}
