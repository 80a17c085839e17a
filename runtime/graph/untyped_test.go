package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/shape/value"
)

// A tool without the types submits, edits, answers, signals and resumes.
func TestUntypedWorksOnEncodedData(t *testing.T) {
	saver := memory.New()
	sure := graph.NewQuestion[wire.String, wire.Bool]("sure")
	come := graph.NewSignal[wire.String]("come")
	b := graph.New("ticket", TicketSchema)
	b.Node("ask", askTicket(sure), sure)
	b.Node("wait", waitTicket(come), come)
	b.Edge(graph.Start, "ask")
	b.Edge("ask", "wait")
	b.Edge("wait", graph.End)
	app, err := b.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	u := app.Untyped()
	shape := u.Shape()
	if shape.State.Name != "Ticket" || shape.Question("sure") == nil || shape.Signal("come") == nil {
		t.Fatalf("the shape lacks something: %+v", shape)
	}
	ctx := t.Context()
	update := func(encode func(text []byte) ([]byte, error), text string) []byte {
		b, err := encode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	input := func(text []byte) ([]byte, error) { return value.EncodeUpdate(&shape.State, text) }
	set := func(text []byte) ([]byte, error) { return value.EncodeSet(&shape.State, text) }

	if _, err := u.Submit(ctx, "t", []byte{0xc1}); err == nil {
		t.Error("Submit took an input that cannot be decoded")
	}
	if _, err := u.Submit(ctx, "t", update(input, `{"Status": "new", "Count": 2, "Log": ["in"]}`)); err != nil {
		t.Fatal(err)
	}
	due, err := saver.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"ticket"}, Limit: 1})
	if err != nil || len(due.Threads) != 1 {
		t.Fatalf("got %d due threads, %v", len(due.Threads), err)
	}
	if run, err := app.ResumeDue(ctx, due.Threads[0], graph.DueOptions{}); err != nil || run.Status != graph.Waiting {
		t.Fatalf("got %v, %v", run.Status, err)
	}
	if _, err := u.Update(ctx, "t", checkpoint.ID{}, []byte{0x81}); err == nil {
		t.Error("Update took an update that cannot be decoded")
	}
	if _, err := u.Update(ctx, "t", checkpoint.ID{}, update(set, `{"Count": 40, "Log": ["edited"]}`)); err != nil {
		t.Fatal(err)
	}
	s, err := app.Thread("t").State(ctx)
	if err != nil || s.State.Count != 40 || len(s.State.Log) != 1 || s.State.Status != "new" {
		t.Fatalf("after the edit: got %+v, %v", s.State, err)
	}
	if err := u.Answer(ctx, "t", graph.AnswerBytes(s.Questions[0].ID, []byte{0x01})); !errors.Is(err, graph.ErrNotAsked) {
		t.Errorf("an answer of another type: got %v", err)
	}
	if err := u.Answer(ctx, "t", graph.AnswerBytes(s.Questions[0].ID, []byte{0xc3})); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		payload []byte
		want    string
	}{
		"other": {[]byte{0xa1, 'x'}, `signal "other": no node of the graph receives the signal; pass the signal as an option of the node that receives it`},
		"come":  {[]byte{0xc3}, `signal "come": no node of the graph receives the signal with this payload: `},
	} {
		if err := u.Signal(ctx, "t", name, c.payload); !errors.Is(err, graph.ErrNotReceivable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("signal %q: got %v, want ErrNotReceivable with the text %q", name, err, c.want)
		}
	}
	if err := u.Signal(ctx, "t", "come", []byte{0xa1, 'x'}); err != nil {
		t.Fatal(err)
	}
	if status, err := u.Resume(ctx, "t", checkpoint.ID{}); err != nil || status != graph.Done {
		t.Fatalf("got %v, %v", status, err)
	}
	if s, err = app.Thread("t").State(ctx); err != nil || s.State.Log[len(s.State.Log)-1] != "x" {
		t.Errorf("at the end: got %+v, %v", s.State, err)
	}
}

func askTicket(q graph.Question[wire.String, wire.Bool]) func(context.Context, Ticket) (TicketUpdate, error) {
	return func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		_, err := q.Ask(ctx, "really?")
		return TicketUpdate{}, err
	}
}

func waitTicket(s graph.Signal[wire.String]) func(context.Context, Ticket) (TicketUpdate, error) {
	return func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		v, err := s.Receive(ctx)
		return TicketUpdate{Log: state.Append(string(v))}, err
	}
}
