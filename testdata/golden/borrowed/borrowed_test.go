package borrowed

import (
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/testdata/golden/borrowed/kit"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func prepare(f *goldentest.Filler) { fill(f, 4) }

// withoutStamps fills in no times. The description of a state does not reach into the union, so a
// time in JSON is read as text.
func withoutStamps(f *goldentest.Filler) { fill(f, 3) }

// fill registers the unions with the first members of Block.
func fill(f *goldentest.Filler, members int) {
	goldentest.Register(f, func(f *goldentest.Filler, depth int) kit.Block {
		switch n := f.Rand.IntN(members); {
		case depth > 8 || n == 0:
			return nil
		case n == 1:
			v := goldentest.Of[kit.Quote](f, depth)
			return &v
		case n == 3:
			return kit.Stamp(goldentest.Of[time.Time](f, depth))
		}
		return goldentest.Of[kit.Text](f, depth)
	})
	goldentest.Register(f, func(f *goldentest.Filler, depth int) Item {
		if f.Rand.IntN(2) == 0 {
			return Count(f.Rand.IntN(9))
		}
		v := goldentest.Of[Letter](f, depth)
		return &v
	})
}

func TestStateTravels(t *testing.T)  { goldentest.State(t, StateSchema, StateDiffOf, prepare) }
func TestLetterTravels(t *testing.T) { goldentest.Payload[Letter](t, withoutStamps) }
func TestPartTravelsAsStateOfItsOwn(t *testing.T) {
	goldentest.State(t, kit.DocSchema, kit.DocDiffOf, prepare)
}
func FuzzState(f *testing.F) { goldentest.FuzzState(f, StateSchema, prepare) }

// TestDecodedForm merges members whose decoded form differs, by the codec of their package.
func TestDecodedForm(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	var u StateUpdate
	u.Last.Set(kit.Stamp(at))
	u.Named.Put("a", &kit.Quote{Key: "q", Blocks: []kit.Block{kit.Stamp(at)}})
	s, err := state.Apply(StateSchema, State{}, u)
	if err != nil {
		t.Fatal(err)
	}
	want := kit.Stamp(at.UTC())
	if got := s.Named["a"].(*kit.Quote).Blocks[0]; s.Last != want || got != want {
		t.Errorf("got %v and %v, want both in UTC", s.Last, got)
	}
	if copied := StateSchema.Clone(s); copied.Named["a"] == s.Named["a"] {
		t.Error("Clone shares a member by pointer with the original")
	}
}

// TestNilMember refuses a nil pointer in the union, as in its own package.
func TestNilMember(t *testing.T) {
	var u StateUpdate
	u.Cover.Set(&kit.Page{Blocks: []kit.Block{(*kit.Quote)(nil)}})
	if _, err := state.Apply(StateSchema, State{}, u); err == nil {
		t.Error("Apply accepted a union that holds a nil pointer")
	}
}
