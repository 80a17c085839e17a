package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/file"
)

// TestShowNamesFailedNodes shows a thread of whose due tasks two have failed, and the results of
// the others.
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
		u.Log.Append(string(page))
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
	if _, err := two.Thread("t").Resume(ctx); err == nil {
		t.Fatal("the resume has not failed")
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
	if row := regexp.MustCompile(`(?m)^  2 +20.* the page is torn$`); strings.Count(text, "  FAILED ATTEMPT  TIME") != 2 || len(row.FindAllString(text, -1)) != 2 {
		t.Errorf("got\n%s\nwant the attempts of two tasks", text)
	}
	for _, want := range []string{"\nFailure of read[1], attempt 1, 20", "\nFailure of read[3], attempt 1, 20", "s ago):\n  ", "\nResult of good, not committed:\n  {}\n",
		"\nResult of read, not committed:\n  {\"Log\":[\"one\"]}\n", "\nResult of read[2], not committed:\n  {\"Log\":[\"two\"]}\n", "\nFailure of the run:\n  ", "the page is torn"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q", text, want)
		}
	}
	if n := strings.Count(text, "Failure of"); n != 3 {
		t.Errorf("got\n%s\nwant 3 failures", text)
	}
	got := show("-o", "jsonl")
	for _, want := range []string{`{"node":"read","index":1,"state":"failed","failure":"`, `"attempt":1,"failed":"20`, `{"node":"read","index":2,"state":"finished","updates":[{"Log":["two"]}]}`, `"reason":"`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %q", got, want)
		}
	}
}

// TestQueuesAreShown shows and lists a thread whose task waits for a worker of a queue, and copies
// the task with all threads.
func TestQueuesAreShown(t *testing.T) {
	dir := t.TempDir()
	saver, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New("videos", desk.StateSchema)
	g.Node("render", func(context.Context, desk.State) (u desk.StateUpdate, err error) { return u, nil }, graph.Queue("gpu"))
	g.Edge(graph.Start, "render")
	g.Edge("render", graph.End)
	videos, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := videos.Thread("v-7").Invoke(t.Context(), desk.StateUpdate{}); err != nil || res.Status != graph.Waiting {
		t.Fatalf("got %v, %v; want a thread that waits", res, err)
	}
	if err := saver.Close(); err != nil {
		t.Fatal(err)
	}
	commands := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		a := &app{out: &out, err: &errs, env: func(string) string { return "" }, now: time.Now, since: func(time.Time) time.Duration { return 0 }}
		if code := run(t.Context(), a, append(args, "--saver", "file:"+dir)); code != 0 {
			t.Fatalf("graphctl %v: got exit code %d: %s", args, code, errs.String())
		}
		return strings.Join(strings.Fields(out.String()+errs.String()), " ")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"show", "v-7"}, "Waits for: KIND NAME NODE SINCE UNTIL SUMMARY queue gpu render 20"},
		{[]string{"show", "v-7", "-o", "json"}, `"waits_for": [ { "kind": "queue", "queue": "gpu", "since": "20`},
		{[]string{"waiting"}, "v-7 videos queue gpu render 20"},
		{[]string{"waiting", "--kind", "queue", "-o", "jsonl"}, `"kind":"queue","queue":"gpu","since":"20`},
		{[]string{"threads", "--waits", "queue"}, "queue gpu at render, for"},
		{[]string{"threads", "--prefix", checkpoint.TaskPrefix}, checkpoint.TaskPrefix},
		{[]string{"verify"}, "2 threads"},
	} {
		if got := commands(c.args...); !strings.Contains(got, c.want) {
			t.Errorf("graphctl %v: got %s, want it to have %s", c.args, got, c.want)
		}
	}
	for _, args := range [][]string{{"threads"}, {"stats"}, {"waiting", "--kind", "signal"}} {
		if got := commands(args...); strings.Contains(got, "__") {
			t.Errorf("graphctl %v: got %s, want no task of a queue", args, got)
		}
	}
	to := t.TempDir()
	commands("copy", "--all", "--to", "file:"+to)
	copied, err := file.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	n := 0
	for _, err := range copied.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("got %d copied tasks, want 1", n)
	}
}
