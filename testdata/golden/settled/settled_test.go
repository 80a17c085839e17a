package settled

import (
	"context"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var zone = time.FixedZone("far", 14*3600)

// zoned returns a time that is another day in UTC.
func zoned(hour int) time.Time { return time.Date(2030, 5, 6, hour, 7, 8, 9, zone) }

func update() (u StateUpdate) {
	at := zoned(1)
	u.At.Set(time.Now())
	u.Times.Append(zoned(1), zoned(2).UTC(), zoned(3))
	u.ByDay.Put("a", zoned(1))
	u.Events.Upsert(&Event{ID: "a", At: &at, Marks: map[string][]time.Time{"m": {zoned(2)}}}, &Event{ID: "b"}, nil)
	u.Events.Upsert(&Event{ID: "a", At: &at})
	u.Latest.Reduce(zoned(4))
	u.Latest.Reduce(zoned(3))
	u.Pair.Set([2]time.Time{zoned(1)})
	u.Part.Set(Stamp{zoned(1)})
	u.Parts.Append(&Text{"x"}, nil, Stamp{zoned(2)})
	u.Tree.Set(Tree{Subs: []Tree{{}, {At: zoned(1), Subs: []Tree{{At: zoned(2)}}}}})
	u.Float.Set(big.NewFloat(0.1).SetPrec(64))
	u.Floats.Put("k", *new(big.Float).SetInt64(7))
	u.Plain.Add(1)
	return u
}

// TestAMergedStateIsItsDecodedForm compares all of a state, also what its Equal leaves out.
func TestAMergedStateIsItsDecodedForm(t *testing.T) {
	for name, opts := range map[string]cell.Options{"recording": {Record: true}, "checking": {Check: true}} {
		live, other := StateSchema.New(opts), StateSchema.New(cell.Options{})
		u := update()
		if err := live.Merge(0, &u); err != nil {
			t.Fatal(err)
		}
		b, err := live.AppendSnapshot(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Decode(b); err != nil {
			t.Fatal(err)
		}
		if got, want := live.View(), other.View(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: merged:\n%+v\nand decoded:\n%+v", name, got, want)
		}
	}
}

// TestTheDeltaOfAMergeIsOfTheDecodedForm also proves that an index by key knows the settled keys.
func TestTheDeltaOfAMergeIsOfTheDecodedForm(t *testing.T) {
	live, other := StateSchema.New(cell.Options{Record: true}), StateSchema.New(cell.Options{})
	for range 2 {
		u := update()
		if err := live.Merge(0, &u); err != nil {
			t.Fatal(err)
		}
		d, err := live.AppendDelta(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Apply(d); err != nil {
			t.Fatal(err)
		}
		live.EndStep()
	}
	if got, want := live.View(), other.View(); !reflect.DeepEqual(got, want) {
		t.Errorf("merged:\n%+v\nand decoded:\n%+v", got, want)
	}
}

func TestMergeDoesNotWriteToTheMemoryOfAnUpdate(t *testing.T) {
	at := zoned(1)
	event := &Event{ID: "a", At: &at, Marks: map[string][]time.Time{"m": {zoned(2)}}}
	times := []time.Time{zoned(3)}
	tree := Tree{Subs: []Tree{{At: zoned(1)}}}
	var u StateUpdate
	u.Events.Replace(event)
	u.Times.Replace(times...)
	u.Tree.Set(tree)
	got, err := state.Apply(StateSchema, State{}, u)
	if err != nil {
		t.Fatal(err)
	}
	if got.Times[0].Location() != time.UTC || got.Events[0].At.Location() != time.UTC || got.Tree.Subs[0].At.Location() != time.UTC {
		t.Errorf("the merged state has times in a zone: %+v", got)
	}
	if at.Location() != zone || event.At != &at || event.Marks["m"][0].Location() != zone || times[0].Location() != zone || tree.Subs[0].At.Location() != zone {
		t.Error("the merge changed the values that the update refers to")
	}
}

func TestWhatCannotBeStoredAsItIsIsRefused(t *testing.T) {
	third := new(big.Float).SetPrec(200).Quo(big.NewFloat(1).SetPrec(200), big.NewFloat(3))
	loop := Tree{Subs: make([]Tree, 1)}
	loop.Subs[0].Subs = loop.Subs
	tests := []struct {
		name, field string
		set         func(u *StateUpdate)
		as          func(err error) bool
	}{
		{"a nil pointer in a union", "Part", func(u *StateUpdate) { u.Part.Set((*Text)(nil)) }, isNilMember},
		{"a nil pointer in a list", "Parts", func(u *StateUpdate) { u.Parts.Append(nil, (*Text)(nil)) }, isNilMember},
		{"a float that its text rounds", "Float", func(u *StateUpdate) { u.Float.Set(third) }, isLossy},
		{"a float in a map", "Floats", func(u *StateUpdate) { u.Floats.Put("k", *third) }, isLossy},
		{"a loop", "Tree", func(u *StateUpdate) { u.Tree.Set(loop) }, func(err error) bool { return errors.Is(err, wire.ErrDepth) }},
	}
	for _, tt := range tests {
		for name, opts := range map[string]cell.Options{"recording": {Record: true}, "checking": {Check: true}} {
			var u StateUpdate
			tt.set(&u)
			var merge *state.MergeError
			if err := StateSchema.New(opts).Merge(0, &u); !errors.As(err, &merge) || merge.Field != tt.field || !tt.as(err) {
				t.Errorf("%s, %s: Merge = %v", tt.name, name, err)
			}
		}
		var u StateUpdate
		tt.set(&u)
		if _, err := StateSchema.AppendUpdate(nil, &u); !tt.as(err) {
			t.Errorf("%s: AppendUpdate = %v; after a resume, Merge would get what it stored", tt.name, err)
		}
	}
}

func TestReplaceWithoutElementsIsEmptyAndNotNil(t *testing.T) {
	var u StateUpdate
	u.Times.Replace()
	u.Events.Replace()
	if s, err := state.Apply(StateSchema, State{}, u); err != nil || s.Times == nil || s.Events == nil {
		t.Errorf("Apply = %v, %v, want empty lists", s, err)
	}
}

func isNilMember(err error) bool { return errors.Is(err, wire.ErrNilMember) }

func isLossy(err error) bool { var lossy *wire.LossyError; return errors.As(err, &lossy) }

// TestARunSeesTheSameBeforeAndAfterAResume is about rule 3.9. It prints what each node sees, and
// compares it with what the same nodes see if a resume comes before each of them.
func TestARunSeesTheSameBeforeAndAfterAResume(t *testing.T) {
	straight, stopped := saw(t), saw(t, graph.InterruptBefore("b", "c"))
	if straight != stopped {
		t.Errorf("a straight run saw\n%s\nand one that was resumed\n%s", straight, stopped)
	}
}

func saw(t *testing.T, opts ...graph.Option) string {
	t.Helper()
	var log strings.Builder
	see := func(s State) {
		log.WriteString(s.At.String() + s.ByDay["a"].String() + s.Times[2].Format(time.DateOnly) + s.Latest.ID + s.Float.Text('g', 60) + "\n")
	}
	g := graph.New("g", StateSchema)
	g.Node("a", func(context.Context, State) (StateUpdate, error) {
		u := update()
		u.At.Set(zoned(5))
		return u, nil
	})
	g.Node("b", func(_ context.Context, s State) (u StateUpdate, _ error) {
		see(s)
		u.Latest.Reduce(zoned(6))
		u.Times.Append(s.Times[0].In(zone))
		return u, nil
	})
	g.Node("c", func(_ context.Context, s State) (u StateUpdate, _ error) { see(s); return u, nil })
	g.Chain(graph.Start, "a", "b", "c", graph.End)
	app, err := g.Compile(append(opts, graph.Saver(memory.New()), graph.Strict())...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := app.Thread("t").Invoke(t.Context(), StateUpdate{})
	for err == nil && r.Status != graph.Done {
		r, err = app.Thread("t").Resume(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return log.String()
}

// TestStrictNamesTheMethodsAndNotANodeThatOnlyRead needs no saver.
func TestStrictNamesTheMethodsAndNotANodeThatOnlyRead(t *testing.T) {
	g := graph.New("g", StateSchema)
	g.Node("writer", func(context.Context, State) (u StateUpdate, _ error) {
		u.Float.Set(new(big.Float).SetPrec(200).Quo(big.NewFloat(1).SetPrec(200), big.NewFloat(3)))
		return u, nil
	})
	g.Node("reader", func(context.Context, State) (u StateUpdate, _ error) { return u, nil })
	g.Chain(graph.Start, "writer", "reader", graph.End)
	app, err := g.Compile(graph.Strict())
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.Run(t.Context(), StateUpdate{})
	if err == nil || !isLossy(err) || !strings.Contains(err.Error(), "MarshalText and UnmarshalText of big.Float") || strings.Contains(err.Error(), "reader") {
		t.Errorf("Run = %v", err)
	}
}
