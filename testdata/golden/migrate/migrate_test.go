package migrate

import (
	"errors"
	"reflect"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestNewTravels(t *testing.T) { goldentest.State(t, NewSchema, NewDiffOf, nil) }

// stored returns what version 1 stores of s.
func stored(t *testing.T, s Old) []byte {
	t.Helper()
	live := OldSchema.New(cell.Options{})
	live.Load(s)
	b, err := live.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNewReadsWhatOldStored(t *testing.T) {
	b := stored(t, Old{Words: "a b", Title: "T", Author: Author{"N"}, Gone: 7})
	live := NewSchema.New(cell.Options{})
	if err := live.Decode(b); err != nil {
		t.Fatal(err)
	}
	want := New{Words: []string{"a", "b"}, Name: "T", Author: NewAuthor{"N"}}
	if got := live.View(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestUnknownFieldIsWrittenBack checks that version 2 keeps for version 1 what it has no field
// for.
func TestUnknownFieldIsWrittenBack(t *testing.T) {
	live := NewSchema.New(cell.Options{})
	if err := live.Decode(stored(t, Old{Gone: 7})); err != nil {
		t.Fatal(err)
	}
	b, err := live.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	old := OldSchema.New(cell.Options{})
	if err := old.Decode(b); err != nil {
		t.Fatal(err)
	}
	if got := old.View().Gone; got != 7 {
		t.Errorf("Gone = %d after a visit to version 2, want 7", got)
	}
}

func TestTypeChangeWithoutMigrateIsAnError(t *testing.T) {
	live := NewSchema.New(cell.Options{})
	live.Load(New{Words: []string{"a"}})
	b, err := live.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	err = OldSchema.New(cell.Options{}).Decode(b)
	var decode *state.DecodeError
	if !errors.As(err, &decode) || decode.Field != "Words" {
		t.Errorf("Decode of a list into a string: %v, want a *DecodeError of Words", err)
	}
}

func TestFingerprintsTellVersionsApart(t *testing.T) {
	if OldSchema.Fingerprint == NewSchema.Fingerprint {
		t.Errorf("both versions have the fingerprint %#x", OldSchema.Fingerprint)
	}
}
