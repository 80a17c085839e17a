package pack_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// appended is a delta that appends an element to a list.
func appended(element string) []byte {
	b := wire.AppendString(wire.AppendMapLen(wire.AppendInt(wire.AppendArrayLen(nil, 2), 0), 1), "log")
	return wire.AppendString(wire.AppendArrayLen(wire.AppendInt(wire.AppendArrayLen(b, 2), 1), 1), element)
}

// log returns n records as a run makes them. Their deltas are those of a state, or other bytes.
func log(rng *rand.Rand, n int, whole, deltas bool) []pack.Record {
	id := func() (id checkpoint.ID) {
		for i := range id {
			id[i] = byte(rng.IntN(256))
		}
		return id
	}
	records := make([]pack.Record, n)
	for i := range records {
		r := &records[i]
		r.ID, r.Seq, r.Source, r.Graph = id(), uint64(i+7), checkpoint.Loop, "graph"
		r.Base, r.Line, r.Step, r.Created = r.ID, r.ID, i, time.UnixMicro(rng.Int64N(1e15)).UTC()
		r.Committed = rng.IntN(2) == 0
		if i > 0 {
			r.Parent, r.Line = records[i-1].ID, records[0].ID
		}
		if rng.IntN(3) == 0 {
			r.Commits, r.Base = id(), id()
		}
		if rng.IntN(3) == 0 {
			r.Due = []checkpoint.Task{{Node: "node", Index: 3, Payload: []byte("sent")}}
			r.Meta = map[string]string{"key": "value"}
		}
		switch {
		case whole && i == 0:
			r.Snapshot, r.Payload = true, []byte("snapshot")
		case deltas:
			r.Payload = appended(fmt.Sprint("element ", i))
		case rng.IntN(4) > 0:
			r.Payload = bytes.Repeat([]byte{0xc1}, rng.IntN(9))
		}
	}
	return records
}

func place(records []pack.Record) pack.Place {
	return pack.Place{Thread: "t", Namespace: "n", First: records[0].Seq, Last: records[len(records)-1].Seq}
}

func TestRecordsComeBackBitForBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		whole, deltas := i%2 == 0, i%4 < 2
		want := log(rng, 1+rng.IntN(40), whole, deltas)
		b := pack.Encode("t", "n", want)
		got, err := pack.Decode(place(want), b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("pack %d: got\n%+v, %v; want\n%+v", i, got, err, want)
		}
		p, err := pack.Open(place(want), b)
		if err != nil || p.Whole != whole || whole && string(p.Snapshot) != "snapshot" {
			t.Fatalf("pack %d: got snapshot %q, %t, %v", i, p.Snapshot, p.Whole, err)
		}
		rest := want
		if whole {
			rest = want[1:]
		}
		if deltas && len(rest) > 0 && len(p.Deltas) != 1 {
			t.Errorf("pack %d: got %d deltas for %d records, want one", i, len(p.Deltas), len(rest))
		}
		if !deltas && !slices.EqualFunc(p.Deltas, rest, func(d []byte, r pack.Record) bool { return reflect.DeepEqual(d, r.Payload) }) {
			t.Errorf("pack %d: got payloads %x, want those of the records", i, p.Deltas)
		}
	}
}

func TestAJoinedDeltaRestoresTheState(t *testing.T) {
	want := log(rand.New(rand.NewPCG(3, 4)), 50, false, true)
	p, err := pack.Open(place(want), pack.Encode("t", "n", want))
	if err != nil {
		t.Fatal(err)
	}
	var each [][]byte
	for _, r := range want {
		each = append(each, r.Payload)
	}
	one, err := checkpoint.Fold([]byte{0x80}, p.Deltas...)
	all, err2 := checkpoint.Fold([]byte{0x80}, each...)
	if err != nil || err2 != nil || !bytes.Equal(one, all) {
		t.Errorf("got state %q, %v; want %q, %v", one, err, all, err2)
	}
}

func TestFillCutsPacks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	records := log(rng, 30, true, true)
	if got := pack.Fill(records); got != 30 {
		t.Errorf("small records: got %d, want all 30", got)
	}
	records[20].Snapshot = true
	if got := pack.Fill(records); got != 20 {
		t.Errorf("with a snapshot: got %d, want the 20 before it", got)
	}
	records[10].Seq++
	if got := pack.Fill(records); got != 10 {
		t.Errorf("with a gap: got %d, want the 10 before it", got)
	}
	records[0].Payload = make([]byte, pack.MaxBytes)
	if got := pack.Fill(records); got != 0 {
		t.Errorf("with a large one: got %d, want none", got)
	}
	many := log(rng, 5000, false, true)
	n := pack.Fill(many)
	if b := pack.Encode("t", "n", many[:n]); n == 5000 || len(b) > pack.MaxBytes || len(b) < pack.MaxBytes/4 {
		t.Errorf("got %d records in %d bytes, want at most %d", n, len(b), pack.MaxBytes)
	}
}

func TestADamagedPackIsFound(t *testing.T) {
	want := log(rand.New(rand.NewPCG(7, 8)), 5, true, true)
	b := pack.Encode("t", "n", want)
	check := func(what string, in pack.Place, b []byte) {
		t.Helper()
		if _, err := pack.Decode(in, b); !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", what, err)
		}
		if _, err := pack.Open(in, b); !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("%s: open: got %v, want ErrDamaged", what, err)
		}
	}
	for i := 1; i < len(b); i++ {
		wrong := slices.Clone(b)
		wrong[i] ^= 0x20
		check(fmt.Sprint("byte ", i), place(want), wrong)
	}
	for n := range b {
		check(fmt.Sprint("cut at ", n), place(want), b[:n])
	}
	for _, in := range []pack.Place{{"u", "n", 7, 11}, {"t", "", 7, 11}, {"t", "n", 6, 11}, {"t", "n", 7, 12}} {
		check(fmt.Sprint("in another place ", in), in, b)
	}
	b[0]++
	if _, err := pack.Decode(place(want), b); err == nil || errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("another format: got %v, want an error that names both", err)
	}
}

// Any bytes are a pack or an error; what is read is written as the same records.
func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range 8 {
		records := log(rng, 1+i, i%2 == 0, i%4 < 2)
		b := pack.Encode("t", "n", records)
		f.Add(b[1 : len(b)-4])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := pack.Place{Thread: "t", Namespace: "n", First: 7, Last: 9}
		b = pack.Seal(in, b)
		got, err := pack.Decode(in, b)
		if err != nil || len(got) == 0 {
			return
		}
		for i := range got {
			if got[i].Snapshot != (i == 0 && got[0].Snapshot) {
				return // no writer makes such
			}
		}
		again, err := pack.Decode(place(got), pack.Encode("t", "n", got))
		if err != nil || len(again) != len(got) {
			t.Fatalf("read, written and read again: got %d records, %v; want %d", len(again), err, len(got))
		}
		for i := range got {
			if again[i].ID != got[i].ID || !bytes.Equal(again[i].Payload, got[i].Payload) {
				t.Fatalf("record %d: got %+v, want %+v", i, again[i], got[i])
			}
		}
	})
}

func TestOpenNamesTheRecords(t *testing.T) {
	want := log(rand.New(rand.NewPCG(11, 12)), 40, true, true)
	want[0].Parent = checkpoint.ID{1, 2, 3}
	b := pack.Encode("t", "n", want)
	p, err := pack.Open(place(want), b)
	if err != nil || p.Len() != len(want) || p.Parent != want[0].Parent {
		t.Fatalf("got %d records after %s, %v; want %d after %s", p.Len(), p.Parent, err, len(want), want[0].Parent)
	}
	for i := range want {
		if p.ID(i) != want[i].ID {
			t.Errorf("record %d: got id %s, want %s", i, p.ID(i), want[i].ID)
		}
		if !bytes.Equal(b[4+16*i:20+16*i], want[i].ID[:]) {
			t.Errorf("record %d: its id is not at its fixed place", i)
		}
	}
}
