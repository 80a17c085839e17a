package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// batch is a transaction on a saver that has none: commit posts what was posted to it.
type batch struct {
	saver checkpoint.Saver
	posts []checkpoint.Post
}

func (b *batch) Post(_ context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	b.posts = append(b.posts, posts...)
	done := make([]checkpoint.Posted, len(posts))
	for i := range posts {
		done[i].Messages = make([]checkpoint.PostedMessage, len(posts[i].Messages))
	}
	return done, nil
}

func (b *batch) commit(t *testing.T) {
	t.Helper()
	done, err := b.saver.Post(t.Context(), b.posts...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range done {
		if done[i].Err != nil {
			t.Fatal(done[i].Err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestViaStoresMessagesByAnotherPoster(t *testing.T) {
	s := memory.New()
	approved := graph.NewQuestion[wire.String, wire.Bool]("approved")
	paid := graph.NewSignal[wire.String]("paid")
	b := newWork()
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		ok, err := approved.Ask(ctx, "go on?")
		if err != nil || !ok {
			return logged("no"), err
		}
		got, err := paid.Receive(ctx)
		return logged("paid " + string(got)), err
	}, approved, paid)
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	g := compile(t, b, graph.Saver(s))
	tx := &batch{saver: s}
	in := graph.Submission[update]{Thread: "many", Input: logged("many")}
	if got, err := g.Via(tx).SubmitMany(t.Context(), in, in); err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	must(t, g.Via(tx).Thread("many").Cancel(t.Context(), "enough"))
	one := g.Via(tx).Thread("one")
	if _, err := one.Submit(t.Context(), logged("in"), graph.RequestID("r")); err != nil {
		t.Fatal(err)
	}
	must(t, one.Wake(t.Context()))
	serve(t, g, s)
	for _, id := range []string{"one", "many"} {
		same(t, "messages before the commit", untaken(t, g.Thread(id)), []checkpoint.MessageKind(nil))
	}
	tx.commit(t)
	if got := submit(t, g.Thread("one"), "other", graph.RequestID("r")); !got.Known {
		t.Errorf("Submit after the commit: got %+v, want the request known", got)
	}
	serve(t, g, s)
	same(t, "status of the cancelled thread", snapshot(t, g.Thread("many")).Status, graph.Cancelled)
	snap := snapshot(t, g.Thread("one"))
	same(t, "status", snap.Status, graph.Waiting)

	tx = &batch{saver: s}
	one = g.Via(tx).Thread("one")
	must(t, one.Answer(t.Context(), approved.Answer(snap.Questions[0], true)))
	must(t, one.Signal(t.Context(), paid.With("cash")))
	tx.commit(t)
	serve(t, g, s)
	same(t, "log", snapshot(t, g.Thread("one")).State.Log, []string{"in", "paid cash"})
}

// TestACallThatItsContextEndsIsNoFailureOfTheSaver: the error names the thread once.
func TestACallThatItsContextEndsIsNoFailureOfTheSaver(t *testing.T) {
	th := compile(t, chain("a"), graph.Saver(memory.New())).Thread("t")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, submitted := th.Submit(ctx, input)
	for call, err := range map[string]error{"Submit": submitted, "Cancel": th.Cancel(ctx, ""), "Wake": th.Wake(ctx)} {
		var saver *graph.SaverError
		if !errors.Is(err, context.Canceled) || errors.As(err, &saver) || strings.Count(err.Error(), `thread "t"`) != 1 {
			t.Errorf("%s: got %v, want the end of the context, of thread \"t\"", call, err)
		}
	}
}

func TestViaWithoutAPosterIsAnError(t *testing.T) {
	g := compile(t, chain("a"), graph.Saver(memory.New()))
	if _, err := g.Via(nil).Thread("t").Submit(t.Context(), logged("in")); err == nil || !strings.Contains(err.Error(), "Via was given nil") {
		t.Errorf("got %v, want an error that names Via", err)
	}
}
