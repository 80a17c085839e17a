package mapkeys

import (
	"errors"
	"net/netip"
	"reflect"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func prepare(f *goldentest.Filler) {
	goldentest.Register(f, func(f *goldentest.Filler, _ int) netip.Addr {
		return netip.AddrFrom4([4]byte{10, 0, byte(f.Rand.IntN(256)), byte(f.Rand.IntN(256))})
	})
	goldentest.Register(f, func(f *goldentest.Filler, _ int) Lossy { return Lossy{Kept: byte(f.Rand.IntN(26))} })
}

func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, prepare) }

func TestEntriesAreFoundByTheirKeys(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fe80::1%eth0")
	live, other := StateSchema.New(cell.Options{Record: true}), StateSchema.New(cell.Options{})
	var u StateUpdate
	u.Addrs.Put(b, 2)
	u.Addrs.Put(a, 1)
	u.Addrs.Put(netip.MustParseAddr("10.0.0.3"), 3)
	u.IDs.Merge(map[ID]Item{{1}: {Text: "one"}, {0, 2}: {Text: "two"}})
	u.ByID.Upsert(Item{ID{1}, "a"}, Item{ID{2}, "b"}, Item{ID{1}, "c"})
	var v StateUpdate
	v.Addrs.Put(a, 10)
	v.Addrs.Delete(netip.MustParseAddr("10.0.0.3"))
	v.IDs.Delete(ID{1})
	v.ByID.Remove(ID{2})
	for _, update := range []StateUpdate{u, v} {
		if err := live.Merge(0, &update); err != nil {
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
	want := State{
		Addrs: map[netip.Addr]int32{a: 10, b: 2},
		IDs:   map[ID]Item{{0, 2}: {Text: "two"}},
		ByID:  []Item{{ID{1}, "c"}},
	}
	for name, got := range map[string]State{"merged": live.View(), "applied": other.View()} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v\nwant %v", name, got, want)
		}
	}
}

func TestAKeyThatItsTextDoesNotGiveBackIsRefused(t *testing.T) {
	var u StateUpdate
	u.Lossy.Put(Lossy{1, 1}, 1)
	var lossy *wire.LossyError
	if _, err := state.Apply(StateSchema, State{}, u); !errors.As(err, &lossy) {
		t.Errorf("Apply = %v, want a *wire.LossyError", err)
	}
}
