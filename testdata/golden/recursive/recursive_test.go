package recursive

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func prepare(f *goldentest.Filler) {
	goldentest.Register(f, func(f *goldentest.Filler, depth int) Expr {
		switch n := f.Rand.IntN(4); {
		case depth > 6 || n == 0:
			return Num(f.Rand.IntN(100))
		case n == 1:
			v := goldentest.Of[Add](f, depth)
			return &v
		case n == 2:
			return goldentest.Of[Neg](f, depth)
		}
		return nil
	})
}

func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, prepare) }
func TestNodeTravels(t *testing.T)  { goldentest.Payload[Node](t, prepare) }

// chain returns n nodes in a row.
func chain(n int) *Node {
	var head *Node
	for range n {
		head = &Node{Next: head}
	}
	return head
}

func TestDepthHasALimit(t *testing.T) {
	b, err := chain(wire.MaxDepth).AppendWire(nil)
	if err != nil {
		t.Fatalf("AppendWire of %d levels: %v", wire.MaxDepth, err)
	}
	if err := new(Node).DecodeWire(b); err != nil {
		t.Errorf("DecodeWire of %d levels: %v", wire.MaxDepth, err)
	}
	if _, err := chain(wire.MaxDepth + 1).AppendWire(nil); !errors.Is(err, wire.ErrDepth) {
		t.Errorf("AppendWire of %d levels: %v, want ErrDepth", wire.MaxDepth+1, err)
	}
	deep := strings.Repeat("\x81\xa4Next", wire.MaxDepth) + "\x80"
	var at *wire.Error
	if err := new(Node).DecodeWire([]byte(deep)); !errors.As(err, &at) || at.Kind != wire.Depth {
		t.Errorf("DecodeWire of %d levels: %v, want an error of kind Depth", wire.MaxDepth+1, err)
	}
}

func TestCycleIsAnError(t *testing.T) {
	n := &Node{Name: "round"}
	n.Next = n
	if _, err := n.AppendWire(nil); !errors.Is(err, wire.ErrDepth) {
		t.Errorf("AppendWire of a cycle: %v, want ErrDepth", err)
	}
	var u StateUpdate
	u.Root.Set(n)
	err := StateSchema.New(cell.Options{Record: true}).Merge(0, &u)
	var merge *state.MergeError
	if !errors.As(err, &merge) || merge.Field != "Root" {
		t.Errorf("Merge of a cycle: %v, want a *MergeError of Root", err)
	}
	s := State{Root: n}
	if got := state.FieldNames(StateSchema.Diff(s, s)); got != nil {
		t.Errorf("Changed of a cycle and itself = %q, want nil", got)
	}
}

// TestCloneOfACycleEnds clones a cycle that branches: following it to the limit everywhere would
// take 2^1000 steps.
func TestCloneOfACycleEnds(t *testing.T) {
	n := &Node{Name: "round"}
	n.Children = []*Node{n, n}
	n.ByName = map[string]Node{"self": *n}
	s := State{Root: n, Trees: map[string]Tree{"t": {"leaf": {}}}}
	clone := StateSchema.Clone(s)
	if clone.Root != n {
		t.Error("Clone of what cannot be stored is a copy, want the value itself")
	}
	clone.Trees["t"]["other"] = nil
	if len(s.Trees["t"]) != 1 {
		t.Error("writing through another field's clone changed the original")
	}
}
