package keys

import (
	"reflect"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, nil) }

func TestElementsAreFoundByTheirKeys(t *testing.T) {
	var u StateUpdate
	u.ByField.Upsert(Item{"a", "1"}, Item{"b", "2"}, Item{"a", "3"})
	u.ByPointer.Upsert(&Item{"a", "1"}, nil, &Item{"a", "2"})
	u.ByMethod.Upsert(Item{"a", "1"}, Item{"b", "2"})
	u.ByMethod.Remove("lower:a")
	u.ByPointerM.Upsert(&Item{"a", "1"}, &Item{"b", "2"})
	u.ByPointerM.Remove("pointer:b")
	u.ByAddr.Upsert(Item{"a", "1"})
	u.ByAddr.Remove("pointer:a")
	u.ByEmbedded.Upsert(Embedding{Item{"a", "1"}, nil}, Embedding{Item{"a", "2"}, nil})
	u.ByNumber.Upsert(Numbered{N: 1}, Numbered{N: 2}, Numbered{N: 1, Kind: "k"})
	u.ByBool.Upsert(Numbered{N: 2}, Numbered{N: 3}, Numbered{N: 4})
	u.ByNamed.Upsert(Numbered{1, "a"}, Numbered{2, "a"})
	u.Named.Upsert(Item{"a", "1"})
	u.Tags.Add("x", "y", "x")
	u.Points.Add(Point{1, 2}, Point{1, 2}, Point{2, 1})
	u.Ratios.Add(1.5, 1.5)
	u.Log.Append("one")
	u.Table.Put("k", []int{1})
	u.Flags.Put(true, "yes")
	u.Bytes.Put(7, 1.5)
	u.hidden.Upsert(item{"a", "1"}, item{"a", "2"})
	got, err := state.Apply(StateSchema, State{}, u)
	if err != nil {
		t.Fatal(err)
	}
	want := State{
		ByField:    []Item{{"a", "3"}, {"b", "2"}},
		ByPointer:  []*Item{{"a", "2"}, nil},
		ByMethod:   []Item{{"b", "2"}},
		ByPointerM: []*Item{{"a", "1"}},
		ByAddr:     []Item{},
		ByEmbedded: []Embedding{{Item{"a", "2"}, nil}},
		ByNumber:   []Numbered{{1, "k"}, {2, ""}},
		ByBool:     []Numbered{{4, ""}, {3, ""}},
		ByNamed:    []Numbered{{2, "a"}},
		Named:      Items{{"a", "1"}},
		Tags:       Tags{"x", "y"},
		Points:     []Point{{1, 2}, {2, 1}},
		Ratios:     []float64{1.5},
		Log:        Log{"one"},
		Table:      Table{"k": {1}},
		Flags:      map[bool]string{true: "yes"},
		Bytes:      map[byte]float32{7: 1.5},
		hidden:     []item{{"a", "2"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// TestUpdateTravels sends an update with every operation through its codec.
func TestUpdateTravels(t *testing.T) {
	var u StateUpdate
	u.ByField.Upsert(Item{"a", "1"})
	u.ByField.Remove("b")
	u.ByNumber.Remove(7)
	u.ByBool.Remove(true)
	u.ByNamed.Replace(Numbered{1, "a"})
	u.ByMethod.Clear()
	u.Tags.Add("x")
	u.Tags.Remove("y")
	u.Log.Append("one")
	u.Log.Remove("two")
	u.Table.Put("k", []int{1})
	u.Table.Delete("l")
	u.Flags.Replace(map[bool]string{false: "no"})
	u.hidden.Upsert(item{"a", "1"})
	b, err := StateSchema.AppendUpdate(nil, &u)
	if err != nil {
		t.Fatal(err)
	}
	var got StateUpdate
	if err := StateSchema.DecodeUpdate(b, &got); err != nil {
		t.Fatal(err)
	}
	if !got.Equal(u) || got.String() != u.String() {
		t.Errorf("got %s\nwant %s", got.String(), u.String())
	}
	for n := range b {
		if err := StateSchema.DecodeUpdate(b[:n], &got); err == nil {
			t.Errorf("%d of %d bytes decode without an error", n, len(b))
		}
	}
	if got.Equal(u) {
		t.Error("Equal of an update that was cut short and the whole one = true")
	}
}

func FuzzState(f *testing.F) { goldentest.FuzzState(f, StateSchema, nil) }

func TestOwnMethodWins(t *testing.T) {
	var u StateUpdate
	u.ByField.Upsert(Item{"a", "1"})
	if got, want := u.String(), "an update of upsert [{ID:a Text:1}]"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
