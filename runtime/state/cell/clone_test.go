package cell_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// keeper is a thread whose state is kept in memory: each turn works on a clone of what is kept.
type keeper struct {
	t     *testing.T
	opts  cell.Options
	kept  live
	chain []func(l live) error // what restores the state from storage
}

// turn runs supersteps on a clone, and gives what they store to what is kept.
func (r *keeper) turn(d dice, m *model) {
	r.t.Helper()
	work := r.kept.Clone()
	var stored []func(l live) error
	for range 1 + d.IntN(3) {
		u := d.update(m, true)
		u.Cache.Set(new(ref.Cache))
		if err := work.Merge(0, &u); err != nil {
			r.t.Fatal(err)
		}
		work.EndStep()
		write, read := work.AppendDelta, live.Apply
		if d.IntN(12) == 0 {
			write, read = work.AppendSnapshot, live.Decode
			r.chain = nil
		}
		b, err := write(nil)
		if err != nil {
			r.t.Fatal(err)
		}
		stored = append(stored, func(l live) error { return read(l, b) })
		r.chain = append(r.chain, stored[len(stored)-1])
	}
	view := work.View()
	goldentest.Scramble(&view)
	for _, read := range stored {
		if err := read(r.kept); err != nil {
			r.t.Fatal(err)
		}
	}
}

// restored returns the state as storage has it.
func (r *keeper) restored() live {
	r.t.Helper()
	l := newLive(r.opts)
	for _, read := range r.chain {
		if err := read(l); err != nil {
			r.t.Fatal(err)
		}
	}
	return l
}

// TestAClonesTurnIsThatOfARestoredState runs turns on clones whose views are written to
// afterwards: what is kept stays what storage says.
func TestAClonesTurnIsThatOfARestoredState(t *testing.T) {
	seed := wire.AppendMapLen(nil, 2)
	seed = wire.AppendInt(wire.AppendString(seed, "Aardvark"), 1)
	seed = wire.AppendString(wire.AppendArrayLen(wire.AppendString(seed, "Log"), 1), "seed")
	for n := range uint64(60) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			d := dice{rand.New(rand.NewPCG(n, 3))}
			r := keeper{t: t, opts: cell.Options{Record: true, DropUnknown: n%3 == 0}}
			r.kept = newLive(r.opts)
			if err := r.kept.Decode(seed); err != nil {
				t.Fatal(err)
			}
			r.chain = append(r.chain, func(l live) error { return l.Decode(seed) })
			var m model // which shares memory with what is written to
			for range 20 {
				r.turn(d, &m)
				cold, hot := r.restored(), r.kept.Clone()
				if diff := state.FieldNames(ref.EverythingSchema.Diff(cold.View(), hot.View())); diff != nil || hot.View().Cache != nil {
					t.Fatalf("the clone differs in %v (-cold +hot):\n%s", diff, cmp.Diff(cold.View(), hot.View()))
				}
				live, dead := hot.Sizes()
				if wantLive, wantDead := cold.Sizes(); live != wantLive || dead != wantDead {
					t.Fatalf("Sizes() = %d, %d, want %d, %d", live, dead, wantLive, wantDead)
				}
				var next ref.EverythingUpdate // in which ephemeral fields fade
				next.Sum.Add(1)
				for _, l := range []interface {
					Merge(int, *ref.EverythingUpdate) error
					EndStep()
				}{cold, hot} {
					if err := l.Merge(0, &next); err != nil {
						t.Fatal(err)
					}
					l.EndStep()
				}
				if got, want := written(t, hot), written(t, cold); !bytes.Equal(got, want) {
					t.Fatalf("a superstep later the clone is\n %x, want\n %x", got, want)
				}
			}
		})
	}
}

// TestACloneKeepsWhatIsNotStoredYet clones in the middle of a superstep, and clones the clone.
func TestACloneKeepsWhatIsNotStoredYet(t *testing.T) {
	from := newLive(cell.Options{Record: true})
	merged(t, from, func(u *ref.EverythingUpdate) { u.Log.Append("a"); u.Draft.Set("d") })
	var u ref.EverythingUpdate
	u.Set.Set("x")
	if err := from.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	clone := from.Clone().Clone()
	want, err := from.AppendDelta(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := clone.AppendDelta(nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the clone's delta is %x (%v), want %x", got, err, want)
	}
	if got, want := written(t, clone), written(t, from); !bytes.Equal(got, want) {
		t.Errorf("the clone is %x, want %x", got, want)
	}
}

func TestACloneKnowsWhoWroteWhat(t *testing.T) {
	from := newLive(cell.Options{})
	var u ref.EverythingUpdate
	u.Set.Set("x")
	if err := from.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	var conflict *state.ConflictError
	if err := from.Clone().Merge(1, &u); !errors.As(err, &conflict) {
		t.Errorf("task 1 writes the field of task 0 to a clone: %v, want a ConflictError", err)
	}
}

func TestACloneOfACloneFindsKeys(t *testing.T) {
	from := newLive(cell.Options{Record: true})
	merged(t, from, func(u *ref.EverythingUpdate) {
		for i := range 20 {
			u.Messages.Upsert(ref.Message{ID: fmt.Sprint(i)})
		}
	})
	first := from.Clone()
	merged(t, first, func(u *ref.EverythingUpdate) { u.Messages.Upsert(ref.Message{ID: "20"}) })
	second := first.Clone()
	got := merged(t, second, func(u *ref.EverythingUpdate) {
		u.Messages.Upsert(ref.Message{ID: "3", Text: "x"}, ref.Message{ID: "20", Text: "y"}, ref.Message{ID: "21"})
	})
	if n := len(got.Messages); n != 22 || got.Messages[3].Text != "x" || got.Messages[20].Text != "y" {
		t.Errorf("got %d messages, %q and %q at 3 and 20, want 22, x and y", n, got.Messages[3].Text, got.Messages[20].Text)
	}
	if n := len(from.View().Messages); n != 20 || from.View().Messages[3].Text != "" {
		t.Errorf("the original has %d messages, the fourth with text %q, want 20 and none", n, from.View().Messages[3].Text)
	}
}

func TestUntrackedFieldsAreDropped(t *testing.T) {
	l := newLive(cell.Options{Record: true})
	merged(t, l, func(u *ref.EverythingUpdate) { u.Cache.Set(new(ref.Cache)); u.Log.Append("a") })
	l.DropUntracked()
	if got := l.View(); got.Cache != nil || len(got.Log) != 1 {
		t.Errorf("got %v and %q, want no cache and one line", got.Cache, got.Log)
	}
	cache := new(ref.Cache)
	if got := merged(t, l, func(u *ref.EverythingUpdate) { u.Cache.Set(cache) }); got.Cache != cache {
		t.Errorf("a later write gives %v, want %v", got.Cache, cache)
	}
}
