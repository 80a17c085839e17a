package graph_test

import (
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// kept is a Poster that keeps what is posted.
type kept struct{ posts []checkpoint.Post }

func (k *kept) Post(_ context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	k.posts = append(k.posts, posts...)
	return []checkpoint.Posted{{Messages: make([]checkpoint.PostedMessage, len(posts[0].Messages))}}, nil
}

// TestEncodedMessagesAreThoseOfTheTypedCalls compares the messages of tools, which have no types,
// with those of a typed graph.
func TestEncodedMessagesAreThoseOfTheTypedCalls(t *testing.T) {
	s := memory.New()
	b := asker(new(counter))
	b.Node("receiver", receiver("receiver", ""), payment)
	b.Edge("sibling", "receiver")
	b.Edge("receiver", graph.End)
	g := compile(t, b, graph.Saver(s))
	q := done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input)).Questions[0]
	options := []graph.SubmitOption{
		graph.RequestID("r"), graph.Title("title"), graph.Label("kind", "order"), graph.Label("gone", ""), graph.CancelPending("late"),
		graph.Priority(checkpoint.High), graph.DiscardPending(), graph.Metadata(map[string]string{"user": "me"}),
	}
	var typed kept
	th := g.Via(&typed).Thread("t")
	_, errSubmit := th.Submit(t.Context(), logged("in"), options...)
	errSignal := th.Signal(t.Context(), payment.With("7", graph.For("key"), graph.RequestID("s")))
	errAnswer := th.Answer(t.Context(), refund.Answer(q, true))
	for _, err := range []error{errSubmit, errSignal, errAnswer} {
		if err != nil {
			t.Fatal(err)
		}
	}

	change := logged("in")
	update, err := teststate.WorkSchema.AppendUpdate(nil, &change)
	if err != nil {
		t.Fatal(err)
	}
	in, errIn := graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.InputPost(update, options...)
	signal, errSignal := graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.SignalPost("paid", wire.AppendString(nil, "7"), graph.For("key"), graph.RequestID("s"))
	if errIn != nil || errSignal != nil {
		t.Fatal(errIn, errSignal)
	}
	encoded := []checkpoint.Post{in, signal, graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.AnswerPost(q.ID, wire.AppendBool(nil, true), nil)}
	same(t, "posts", encoded, typed.posts)
}

func TestEncodedMessagesHaveTheErrorsOfTheirOptions(t *testing.T) {
	if _, err := (graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}).InputPost(nil, graph.IfIdle(), graph.CancelPending("")); err == nil {
		t.Error("an input with two policies: got no error")
	}
	if _, err := (graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}).InputPost(nil, graph.RequestID("a"), graph.RequestID("b")); err == nil {
		t.Error("an input with two ids: got no error")
	}
	long := string(make([]byte, checkpoint.MaxMessageID+1))
	if _, err := (graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}).SignalPost("paid", nil, graph.For(long)); err == nil {
		t.Error("a signal with a long key: got no error")
	}
	in, err := graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.InputPost(nil)
	if err != nil || len(in.Messages) != 1 || in.Messages[0].ID == "" {
		t.Errorf("an input without an id: got %+v, %v; want one message with a new id", in, err)
	}
}
