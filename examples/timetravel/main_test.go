package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestMain makes the test binary act as the command, so that each line of a script is a process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"timetravel": main})
}

func TestCommandsAsTyped(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true})
}

func TestUpdateStateGoesThroughTheReducersAndDecidesWhatIsNext(t *testing.T) {
	g, err := newTwo(memory.New(), graph.InterruptBefore("node_a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		as   graph.ID
		next []graph.ID
	}{{"", []graph.ID{"node_a"}}, {"node_a", []graph.ID{"node_b"}}, {"node_b", nil}} {
		th := g.Thread("as " + c.as.String())
		var first, second TwoUpdate
		first.Foo.Set("1")
		first.Bar.Append("a")
		second.Foo.Set("2")
		second.Bar.Append("b")
		res, err := th.Invoke(t.Context(), first) // stops after its input is merged
		if err != nil {
			t.Fatal(err)
		}
		var as graph.UpdateOption // nil has no effect
		if c.as != "" {
			as = graph.AsNode(c.as)
		}
		id, err := th.At(res.Checkpoint).UpdateState(t.Context(), second, as)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := th.At(id).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := (Two{Foo: "2", Bar: []string{"a", "b"}}); !cmp.Equal(snap.State, want) {
			t.Errorf("as %q: got %+v, want %+v", c.as, snap.State, want)
		}
		if !slices.Equal(snap.Next, c.next) {
			t.Errorf("as %q: next %v, want %v", c.as, snap.Next, c.next)
		}
	}
}

func TestAStrictRunMutatesNothing(t *testing.T) {
	g, err := newTrip(memory.New(), graph.Strict())
	if err != nil {
		t.Fatal(err)
	}
	in, err := parseEdit([]string{"city=Rome", "days=4", "budget=500"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Thread("t").Invoke(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if !res.State.Ready || res.State.total() != 400 || res.State.Tries != 2 {
		t.Errorf("got ready %t, total %d after %d tries; want true, 400, 2", res.State.Ready, res.State.total(), res.State.Tries)
	}
	n := 0
	for _, err := range g.Thread("t").History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != res.Steps+2 {
		t.Errorf("%d checkpoints after %d steps, want two more: the empty one and the input", n, res.Steps)
	}
}

func TestEveryFieldHasAValueToPrint(t *testing.T) {
	if len(fields) != len(StateSchema.Fields) {
		t.Fatalf("value knows %d fields, State has %d", len(fields), len(StateSchema.Fields))
	}
	for i, f := range StateSchema.Fields {
		if fields[i] != f.Name || value(State{}, f.Name) == "?" {
			t.Errorf("field %s of State is not printed; fields has %s in its place", f.Name, fields[i])
		}
	}
}

func TestEditsThatMakeNoSenseSaySo(t *testing.T) {
	for _, bad := range []string{"city", "days=0", "days=x", "budget=much", "hotel=Ritz", "hotel=Ritz:x", "colour=red"} {
		if u, err := parseEdit([]string{bad}); err == nil {
			t.Errorf("%q: got %v, want an error", bad, u)
		}
	}
}
