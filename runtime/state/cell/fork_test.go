package cell_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// written writes a Live as it is stored.
func written(t *testing.T, l live) []byte {
	t.Helper()
	b, err := l.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAForkMergesLikeTheWhole compares forks, with and without records, with a Live that read
// the snapshot.
func TestAForkMergesLikeTheWhole(t *testing.T) {
	seed := wire.AppendMapLen(nil, 2)
	seed = wire.AppendInt(wire.AppendString(seed, "Aardvark"), 1)
	seed = wire.AppendString(wire.AppendArrayLen(wire.AppendString(seed, "Log"), 1), "seed")
	for n := range uint64(40) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			d := dice{rand.New(rand.NewPCG(n, 2))}
			from := newLive(cell.Options{Record: true})
			if err := from.Decode(seed); err != nil {
				t.Fatal(err)
			}
			var m model
			for range d.IntN(12) {
				u := d.update(&m, true)
				if err := from.Merge(0, &u); err != nil {
					t.Fatal(err)
				}
				from.EndStep()
			}
			before := ref.EverythingSchema.Clone(from.View())
			recorded := from.Fork(cell.Options{Record: true})
			plain := from.Fork(cell.Options{})
			read := newLive(cell.Options{Record: true})
			if err := read.Decode(written(t, from)); err != nil {
				t.Fatal(err)
			}
			recorded.EndStep() // what is ephemeral has just been set
			plain.EndStep()
			for step := range 12 {
				want := written(t, read)
				if got := written(t, recorded); !bytes.Equal(got, want) {
					t.Fatalf("step %d: the fork is\n %x, want\n %x", step, got, want)
				}
				if got := written(t, plain); !bytes.Equal(got, want) {
					t.Fatalf("step %d: the fork without records is\n %x, want\n %x", step, got, want)
				}
				if got, _ := recorded.Sizes(); got != len(want) {
					t.Fatalf("step %d: Sizes() = %d, want %d", step, got, len(want))
				}
				u := d.update(&m, true)
				for _, l := range []live{recorded, plain, read} {
					if err := l.Merge(0, &u); err != nil {
						t.Fatal(err)
					}
					l.EndStep()
				}
			}
			if diff := state.FieldNames(ref.EverythingSchema.Diff(before, from.View())); diff != nil {
				t.Errorf("what was forked from changed in %v", diff)
			}
		})
	}
}

func TestAForkSeesWhatIsEphemeralAndUntracked(t *testing.T) {
	from := newLive(cell.Options{})
	cache := new(ref.Cache)
	merged(t, from, func(u *ref.EverythingUpdate) { u.Draft.Set("d"); u.Cache.Set(cache) })
	fork := from.Fork(cell.Options{})
	fork.EndStep()
	if got := fork.View(); got.Draft != "d" || got.Cache != cache {
		t.Errorf("the fork has %q and %p, want %q and %p", got.Draft, got.Cache, "d", cache)
	}
	fork.EndStep()
	if got := fork.View().Draft; got != "" {
		t.Errorf("a superstep later Draft is %q, want none", got)
	}
}

func TestWhatASubgraphMergedComesBackWithoutEphemeralFields(t *testing.T) {
	var u ref.EverythingUpdate
	u.Draft.Set("d")
	u.Log.Append("line")
	l := newLive(cell.Options{})
	l.Inner(true)
	if err := l.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	l.Inner(false)
	if got := l.View(); got.Draft != "" || len(got.Log) != 1 {
		t.Errorf("got Draft %q and Log %q, want none and one line", got.Draft, got.Log)
	}
	if err := l.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	if got := l.View(); got.Draft != "d" || len(got.Log) != 2 {
		t.Errorf("got Draft %q and Log %q, want it set and two lines", got.Draft, got.Log)
	}
}
