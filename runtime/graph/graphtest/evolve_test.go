package graphtest_test

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
)

//go:generate go tool graphgen -o baskets_graphgen_test.go -type=basket,retyped,smaller

// basket is a state. The others are the same state in later programs.
type basket struct {
	Item string
	Part part
	Log  []string `graph:"append"`
}

type part struct {
	A int
	B string
}

type retyped struct {
	Item int64
	Part part
	Log  []string `graph:"append"`
}

// Migrate reads an item that was stored as text.
func (s *retyped) Migrate(from *state.OldFields) error {
	if text, ok := from.String("Item"); ok {
		s.Item = int64(len(text))
	}
	return nil
}

type smaller struct {
	Item string
	Part struct{ A int }
	Log  []string `graph:"append"`
}

// basketGraph compiles a graph of two nodes that run together. The node ask asks a question of the
// types Q and A, and fails if it is answered. The node fast returns an update.
func basketGraph[S, U, Q, A any](
	t *testing.T, saver checkpoint.Saver, schema *state.Schema[S, U], about Q, fast U, question graph.Question[Q, A],
) *graph.Graph[S, U] {
	t.Helper()
	b := graph.New("basket", schema)
	b.Node("ask", func(ctx context.Context, _ S) (u U, err error) {
		if _, err := question.Ask(ctx, about); err != nil {
			return u, err
		}
		return u, errStock
	}, question)
	b.Node("fast", func(context.Context, S) (U, error) { return fast, nil })
	for _, id := range []graph.ID{"ask", "fast"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	app, err := b.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// TestRehearsalsDecodeWhatIsStored stores one kind of data with one program, and rehearses it with
// a program that cannot read it.
func TestRehearsalsDecodeWhatIsStored(t *testing.T) {
	old := graph.NewQuestion[wire.String, wire.Bool]("which")
	otherAnswer := graph.NewQuestion[wire.String, wire.String]("which")
	otherQuestion := graph.NewQuestion[wire.Bool, wire.Bool]("which")
	whole := basketUpdate{Item: state.Set("lamp"), Part: state.Set(part{1, "b"})}
	rehearse := func(t *testing.T, saver checkpoint.Saver, program string) error {
		t.Helper()
		var err error
		switch program {
		case "retyped":
			err = basketGraph(t, saver, retypedSchema, "lamp?", retypedUpdate{}, old).Rehearse(t.Context(), saver, "t")
		case "smaller":
			err = basketGraph(t, saver, smallerSchema, "lamp?", smallerUpdate{}, old).Rehearse(t.Context(), saver, "t")
		case "another answer":
			err = basketGraph(t, saver, basketSchema, "lamp?", basketUpdate{}, otherAnswer).Rehearse(t.Context(), saver, "t")
		case "another question":
			err = basketGraph(t, saver, basketSchema, true, basketUpdate{}, otherQuestion).Rehearse(t.Context(), saver, "t")
		default:
			err = basketGraph(t, saver, basketSchema, "lamp?", basketUpdate{}, old).Rehearse(t.Context(), saver, "t")
		}
		return err
	}
	for name, test := range map[string]struct {
		first, fast basketUpdate // the input of the thread, and the result of the node fast
		input       *basketUpdate
		posted      bool // an answer waits in the inbox
		answered    bool // an answer is stored with its task
		programs    map[string]string
	}{
		"a state that Migrate reads": {first: whole, programs: map[string]string{"retyped": "", "smaller": "Part"}},
		"a stored result":            {fast: whole, programs: map[string]string{"retyped": `stored result of node "fast"`, "smaller": `stored result of node "fast"`}},
		"an input that waits":        {input: &whole, programs: map[string]string{"retyped": "waits in the inbox", "smaller": "waits in the inbox"}},
		"an answer that waits":       {posted: true, programs: map[string]string{"retyped": "", "another answer": "waits in the inbox"}},
		"a stored answer":            {answered: true, programs: map[string]string{"retyped": "", "another answer": "which"}},
		"an open question":           {programs: map[string]string{"retyped": "", "another question": `question "which" at node "ask"`}},
	} {
		t.Run(name, func(t *testing.T) {
			saver := memory.New()
			th := basketGraph(t, saver, basketSchema, "lamp?", test.fast, old).Thread("t")
			res, err := th.Invoke(t.Context(), test.first)
			if err != nil || len(res.Questions) != 1 {
				t.Fatalf("got %+v, %v; want one question", res, err)
			}
			if test.posted {
				err = th.Answer(t.Context(), old.Answer(res.Questions[0], true))
			}
			if test.answered {
				if _, err = th.Resume(t.Context(), old.Answer(res.Questions[0], true)); errors.Is(err, errStock) {
					err = nil
				}
			}
			if err == nil && test.input != nil {
				_, err = th.Submit(t.Context(), *test.input)
			}
			if err != nil {
				t.Fatal(err)
			}
			test.programs["the same"] = ""
			for program, want := range test.programs {
				err := rehearse(t, imported(t, saver), program)
				changed := errors.Is(err, graph.ErrGraphChanged) || test.answered // a stored answer fails as one of a person would
				if want == "" && err != nil || want != "" && (err == nil || !changed || !strings.Contains(err.Error(), want)) {
					t.Errorf("program %q: %v; want %q", program, err, want)
				}
			}
		})
	}
}
