package value_test

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/shape/value"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// An update of EncodeSet leads from any state to the fields of another one.
func TestEncodeSetGivesFieldsTheirValues(t *testing.T) {
	want := textOf(t, readState(t, snapshotOf(t, func(u *ref.EverythingUpdate) {
		u.Set.Set("after")
		u.Docs.Append(ref.Doc{Title: "new"})
		u.Facts.Put("b", ref.Fact{Source: "after"})
		u.Ranks.Put(3, "high")
	})))
	text, err := value.EncodeSet(everything(), []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	var u ref.EverythingUpdate
	if err := ref.EverythingSchema.DecodeUpdate(text, &u); err != nil {
		t.Fatal(err)
	}
	live := ref.EverythingSchema.New(cell.Options{Record: true})
	err = live.Decode(snapshotOf(t, func(u *ref.EverythingUpdate) {
		u.Set.Set("before")
		u.Docs.Append(ref.Doc{Title: "old"}, ref.Doc{Title: "older"})
		u.Facts.Put("a", ref.Fact{Source: "before"})
		u.Ranks.Put(1, "low")
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	b, err := live.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, readState(t, b)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func readState(t *testing.T, b []byte) value.Value {
	t.Helper()
	v, err := value.State(everything(), b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Each field of the state, with a value for it.
func TestEncodeSetOfSums(t *testing.T) {
	state := ref.StateSchema.Describe()
	b, err := value.EncodeSet(&state, []byte(`{"Tokens": 5, "Status": null}`))
	if err != nil {
		t.Fatal(err)
	}
	var u ref.StateUpdate
	if err := ref.StateSchema.DecodeUpdate(b, &u); err != nil {
		t.Fatal(err)
	}
	live := ref.StateSchema.New(cell.Options{})
	live.Load(ref.State{Status: "asked", Tokens: 100})
	if err := live.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	if got := live.View(); got.Tokens != 5 || got.Status != "" {
		t.Errorf("got %d tokens and status %q, want 5 and none", got.Tokens, got.Status)
	}
}

func TestEncodeSetRefuses(t *testing.T) {
	for _, text := range []string{`[]`, `{`, `{"Nothing": 1}`, `{"Set": 1}`, `{"Plan": {"Goal": "g"}}`, `null`} {
		var wrong *value.JSONError
		if _, err := value.EncodeSet(everything(), []byte(text)); !errors.As(err, &wrong) {
			t.Errorf("%s: got %v, want a *JSONError", text, err)
		}
	}
	if _, err := value.EncodeSet(everything(), []byte(`{"Plan": null}`)); err != nil {
		t.Errorf("a custom reducer can be cleared: got %v", err)
	}
}
