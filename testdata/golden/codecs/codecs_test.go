package codecs

import (
	"errors"
	"testing"

	runtime "github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// state has the name under which generated code would like to import a package: it must not.
func state(t *testing.T, s State) State {
	t.Helper()
	live := StateSchema.New(cell.Options{Record: true})
	live.Load(s)
	b, err := live.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	other := StateSchema.New(cell.Options{})
	if err := other.Decode(b); err != nil {
		t.Fatal(err)
	}
	return other.View()
}

func full(n int) Full { return Full{n: &n} }

func TestStateTravels(t *testing.T) {
	f := full(8)
	s := State{
		Plain:  Plain{[]string{"a", "b"}},
		Full:   full(7),
		Plains: []Plain{{[]string{"c"}}, {}},
		Fulls:  map[string]*Full{"f": &f, "nil": nil},
		Binary: Binary{n: 9},
		Text:   []Text{make(Text, 3)},
	}
	got := state(t, s)
	if len(StateSchema.Diff(got, s)) != 0 {
		t.Errorf("%q differ after a round trip:\n%+v\nwant\n%+v", runtime.FieldNames(StateSchema.Diff(got, s)), got, s)
	}
	got.Plains[0].words[0] = "d"
	got.Text[0] = make(Text, 4)
	if changed := runtime.FieldNames(StateSchema.Diff(got, s)); len(changed) != 2 || changed[0] != "Plains" || changed[1] != "Text" {
		t.Errorf("Changed = %q, want Plains and Text", changed)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	clones := 0
	s := State{Plain: Plain{[]string{"a"}}, Full: full(7), Plains: []Plain{{[]string{"b"}}}}
	s.Full.Clones = &clones
	c := StateSchema.Clone(s)
	if clones != 1 {
		t.Errorf("Full.Clone was called %d times, want once", clones)
	}
	c.Plain.words[0], *c.Full.n, c.Plains[0].words[0] = "x", 0, "y"
	if s.Plain.words[0] != "a" || *s.Full.n != 7 || s.Plains[0].words[0] != "b" {
		t.Errorf("writing through a clone changed the original to %+v", s)
	}
}

func TestErrorsOfCodecsHaveAPlace(t *testing.T) {
	live := StateSchema.New(cell.Options{Record: true})
	var u StateUpdate
	u.Plains.Append(Plain{[]string{"not one word"}})
	var merge *runtime.MergeError
	if err := live.Merge(0, &u); !errors.As(err, &merge) || merge.Field != "Plains" {
		t.Errorf("Merge = %v, want a *MergeError of Plains", err)
	}
	live = StateSchema.New(cell.Options{})
	var at *wire.Error
	if err := live.Decode([]byte("\x81\xa6Binary\xc4\x01x")); !errors.As(err, &at) || at.Path != "State.Binary" {
		t.Errorf("Decode = %v, want a *wire.Error at State.Binary", err)
	}
}
