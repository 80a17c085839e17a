package cell_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// samples returns a snapshot and two deltas on it, small but of every shape.
func samples(tb testing.TB) (snapshot []byte, deltas [][]byte) {
	tb.Helper()
	l := newLive(cell.Options{Record: true})
	for _, step := range []func(u *ref.EverythingUpdate){
		func(u *ref.EverythingUpdate) {
			u.Set.Set("s")
			u.Vector.Set([]float64{1})
			u.Labels.Set(map[string]string{"a": "b"})
			u.Log.Append("a", "b")
			u.Messages.Upsert(ref.Message{ID: "1", Calls: []ref.ToolCall{{Args: []byte("x")}}}, ref.Message{ID: "2"})
			u.Facts.Put("k", ref.Fact{Score: 1})
			u.Ranks.Put(-3, "x")
			u.Ranks.Put(100, "y")
			u.Plan.Reduce(ref.PlanEdit{Goal: "g", Step: "s"})
			u.Min.Offer(-70000)
		},
		func(u *ref.EverythingUpdate) {
			u.Log.Append("c")
			u.Log.Remove("a")
			u.Messages.Upsert(ref.Message{ID: "2", Text: "t"}, ref.Message{ID: "3"})
			u.Facts.Put("l", ref.Fact{})
			u.Ranks.Delete(-3)
			u.Sum.Add(5)
		},
		func(u *ref.EverythingUpdate) {
			u.Log.Clear()
			u.Messages.Remove("1")
			u.Votes.Put(true, 1)
			u.Min.Clear()
		},
	} {
		var u ref.EverythingUpdate
		step(&u)
		if err := l.Merge(0, &u); err != nil {
			tb.Fatal(err)
		}
		l.EndStep()
		var b []byte
		var err error
		if snapshot == nil {
			snapshot, err = l.AppendSnapshot(nil)
		} else if b, err = l.AppendDelta(nil); err == nil {
			deltas = append(deltas, b)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return snapshot, deltas
}

// FuzzStored reads arbitrary bytes as a snapshot and two deltas. Nothing may panic, and accepted
// data has the same meaning with types and without. The diff between the states before and after
// leads from one to the other.
func FuzzStored(f *testing.F) {
	snapshot, deltas := samples(f)
	f.Add(snapshot, deltas[0], deltas[1], false)
	f.Add([]byte("\x82\xa3Log\xc0\xa5Facts\xc0"), []byte("\x92\x00\x82\xa3Log\x92\x01\x90\xa5Facts\x92\x03\x91\xa1a"), []byte("\x92\x00\x80"), true)
	f.Add([]byte("\x81\xa3Sum\xa212"), []byte("\x92\x00\x81\xa3Sum\x92\x00\xa213"), []byte("\x92\x07\x81\xa3Sum\x92\x06\xc0"), false)
	f.Add([]byte("\x81\xa4zeta\x91\x01"), []byte("\x92\x00\x81\xa4zeta\x94\x01\x91\x02\x05\x91\x00"), []byte("\x92\x00\x81\xa4zeta\x92\x04\x92\x00\x03"), true)
	f.Fuzz(func(t *testing.T, snapshot, first, second []byte, drop bool) {
		opts := cell.Options{Record: true, DropUnknown: drop}
		l := newLive(opts)
		if l.Decode(snapshot) != nil {
			return
		}
		before := ref.EverythingSchema.Clone(l.View())
		if l.Apply(first) != nil || l.Apply(second) != nil {
			return
		}
		checkDecoded(t, before, l.View())
		size, _ := l.Sizes()
		want, err := l.AppendSnapshot(nil)
		if err != nil {
			t.Fatal(err)
		}
		if size < 0 {
			t.Errorf("Sizes() = %d", size)
		}
		folded, err := checkpoint.Fold(snapshot, first, second)
		if err != nil {
			t.Fatalf("what a Live read cannot be folded: %v", err)
		}
		again := newLive(opts)
		if err := again.Decode(folded); err != nil {
			t.Fatalf("what was folded cannot be read: %v", err)
		}
		got, err := again.AppendSnapshot(nil)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("folded and read: %v\n got %x\nwant %x", err, got, want)
		}
		joined, err := delta.Concat(first, second)
		if err != nil {
			return // too many dead bytes to count
		}
		refolded, err := checkpoint.Fold(snapshot, joined)
		if err != nil || !bytes.Equal(refolded, folded) {
			t.Errorf("the joined delta: %v\n got %x\nwant %x", err, refolded, folded)
		}
	})
}

func FuzzDecodeUpdate(f *testing.F) {
	for _, make := range each {
		var u ref.EverythingUpdate
		make(&u)
		b, err := ref.EverythingSchema.AppendUpdate(nil, &u)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var u, again ref.EverythingUpdate
		if ref.EverythingSchema.DecodeUpdate(b, &u) != nil {
			return
		}
		written, err := ref.EverythingSchema.AppendUpdate(nil, &u)
		if err != nil {
			t.Fatal(err)
		}
		if err := ref.EverythingSchema.DecodeUpdate(written, &again); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if !u.Equal(again) {
			t.Errorf("read back as %v, want %v", again, u)
		}
		_ = u.String()
		if err := newLive(cell.Options{Record: true}).Merge(0, &u); err != nil {
			t.Errorf("what was read cannot be merged: %v", err)
		}
	})
}

func TestReadingAllocatesInProportion(t *testing.T) {
	zeros := bytes.Repeat([]byte{0x80}, 1<<16)
	huge := "\xff\xff\xff\xff"
	inputs := map[string][]byte{
		"a list that lies":    []byte("\x81\xa3Log\xdd" + huge),
		"messages that lie":   []byte("\x81\xa8Messages\xdd" + huge),
		"a map that lies":     []byte("\x81\xa5Facts\xdf" + huge),
		"a state that lies":   []byte("\xdf" + huge),
		"empty messages":      append([]byte("\x81\xa8Messages\xdd\x00\x01\x00\x00"), zeros...),
		"unknown lists":       append([]byte("\x81\xa5zebra\xdd\x00\x01\x00\x00"), zeros...),
		"a failing long list": append([]byte("\x81\xa8Messages\xdd\x00\x01\x00\x00\x01"), zeros...),
	}
	for name, b := range inputs {
		for what, read := range map[string]func(){
			"Decode": func() { _ = newLive(cell.Options{}).Decode(b) },
			"Fold":   func() { _, _ = checkpoint.Fold(b, []byte("\x92\x00\x81\xa5zebra\x92\x01\x91\x01")) },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read()
			runtime.ReadMemStats(&after)
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(64<<10+600*len(b)); got > most {
				t.Errorf("%s of %s, %d bytes: %d bytes allocated, want at most %d", what, name, len(b), got, most)
			}
		}
	}
}
