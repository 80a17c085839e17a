package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// Rule 10.7.
func TestAProgramCannotBeginAReservedThread(t *testing.T) {
	s := memory.New()
	b := asker(new(counter))
	b.Node("pay", idle, payment)
	b.Edge(graph.Start, "pay")
	b.Edge("pay", graph.End)
	g := compile(t, b, graph.Saver(s))
	const id = graph.ReservedPrefix + "tick:nightly@2026-11-23T02:30:00Z"
	th := g.Thread(id)
	encoded := func() error {
		_, err := graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: id}}.InputPost(nil)
		return err
	}
	begins := map[string]func() error{
		"Invoke":     func() error { _, err := th.Invoke(t.Context(), input); return err },
		"Submit":     func() error { _, err := th.Submit(t.Context(), input); return err },
		"SubmitMany": func() error { _, err := g.SubmitMany(t.Context(), graph.Submission[update]{Thread: id}); return err },
		"Via":        func() error { _, err := g.Via(s).Thread(id).Submit(t.Context(), input); return err },
		"InputPost":  func() error { _, err := g.InputPost(graph.Submission[update]{Thread: id}); return err },
		"Stored":     encoded,
		"Stream": func() error {
			for _, err := range th.Stream(t.Context(), input) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	edits := map[string]func() error{
		"UpdateState": func() error { _, err := th.UpdateState(t.Context(), input); return err },
		"as a node":   func() error { _, err := th.UpdateState(t.Context(), input, graph.AsNode("ask")); return err },
		"Goto":        func() error { _, err := th.UpdateState(t.Context(), input, graph.Goto(graph.To("ask"))); return err },
	}
	posts := map[string]func() error{
		"Signal": func() error { return th.Signal(t.Context(), payment.With("r-12")) },
		"Cancel": func() error { return th.Cancel(t.Context(), "") },
		"Wake":   func() error { return th.Wake(t.Context()) },
	}
	refused := func(when string, calls map[string]func() error, want string) {
		t.Helper()
		for name, call := range calls {
			err := call()
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "graph: ") {
				t.Errorf("%s, %s: got %v, want an error with %q", when, name, err, want)
			}
			if invalid := (*checkpoint.InvalidError)(nil); want != "not found" && (!errors.As(err, &invalid) || invalid.Field != "thread") {
				t.Errorf("%s, %s: got %v, want an *InvalidError of the thread", when, name, err)
			}
		}
	}
	refused("before it exists", begins, "an id of your own")
	refused("before it exists", edits, "an id of your own")
	refused("before it exists", posts, "not found")
	for found, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Released: true}) {
		t.Errorf("the thread %q was stored, %v", found.ID, err)
	}

	post, err := g.InputPost(graph.Submission[update]{Thread: "of the package", Input: input})
	if err != nil {
		t.Fatal(err)
	}
	post.Thread = id
	if _, err := s.Post(t.Context(), post); err != nil {
		t.Fatal(err)
	}
	serve(t, g, s)
	refused("when it exists", begins, "an id of your own")
	q := snapshot(t, th).Questions[0]
	if err := th.Wake(t.Context()); err != nil {
		t.Errorf("Wake: %v", err)
	}
	if err := th.Answer(t.Context(), refund.Answer(q, true)); err != nil {
		t.Errorf("Answer: %v", err)
	}
	serve(t, g, s)
	same(t, "status", snapshot(t, th).Status, graph.Done)
	if _, err := th.UpdateState(t.Context(), input); err != nil {
		t.Errorf("UpdateState: %v", err)
	}
	if err := th.Cancel(t.Context(), ""); err != nil {
		t.Errorf("Cancel: %v", err)
	}
}

func TestAPackageBeginsReservedThreads(t *testing.T) {
	s := memory.New()
	b := graph.New(graph.ReservedPrefix+"g", teststate.WorkSchema)
	b.Node("a", say("a"))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := compile(t, b, graph.Saver(s))
	done(t, graph.Done)(g.Thread("__a").Invoke(t.Context(), input))
	submit(t, g.Thread("__b"), "in")
	if err := g.Thread("__c").Cancel(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if _, err := (graph.Stored{Graph: "__g", Ref: checkpoint.Ref{Thread: "a"}}).InputPost(nil); err == nil || !strings.Contains(err.Error(), "calls of that package") {
		t.Errorf("Stored: got %v, want an error that names the package", err)
	}
}
