package cell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state/cell"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

func TestWorkThatAllocatesNothing(t *testing.T) {
	plain, recording := newLive(cell.Options{}), newLive(cell.Options{Record: true})
	full := func(u *ref.EverythingUpdate) {
		u.Log.Append("a")
		u.Messages.Upsert(ref.Message{ID: "1"})
		u.Facts.Put("k", ref.Fact{})
		u.Tags.Add("x")
	}
	merged(t, plain, full)
	merged(t, recording, full)
	var scalars, upsert, put, union, none ref.EverythingUpdate
	scalars.Set.Set("x")
	scalars.Last.Set("y")
	scalars.Sum.Add(1)
	scalars.Ratio.Add(0.5)
	scalars.Min.Offer(3)
	scalars.Max.Offer("z")
	scalars.And.And(true)
	scalars.Or.Or(false)
	scalars.Draft.Set("d")
	upsert.Messages.Upsert(ref.Message{ID: "1", Text: "again"})
	put.Facts.Put("k", ref.Fact{Score: 1})
	union.Tags.Add("x")
	var sink ref.Everything
	buf := make([]byte, 0, 4096)
	merge := func(l live, u *ref.EverythingUpdate) func() {
		return func() {
			if err := l.Merge(0, u); err != nil {
				t.Error(err)
			}
			l.EndStep()
		}
	}
	recordScalars, recordUpsert, recordPut := merge(recording, &scalars), merge(recording, &upsert), merge(recording, &put)
	tests := []struct {
		name string
		do   func()
	}{
		{"View", func() { sink = plain.View() }},
		{"merge of nothing", merge(plain, &none)},
		{"merge of scalars", merge(plain, &scalars)},
		{"upsert of what is there", merge(plain, &upsert)},
		{"put of what is there", merge(plain, &put)},
		{"add of what is there", merge(plain, &union)},
		{"recording scalars", func() {
			recordScalars()
			buf, _ = recording.AppendDelta(buf[:0])
		}},
		{"recording an upsert and a put", func() {
			recordUpsert()
			recordPut()
			buf, _ = recording.AppendDelta(buf[:0])
		}},
		{"a snapshot into a buffer", func() { buf, _ = recording.AppendSnapshot(buf[:0]) }},
		{"Sizes", func() { recording.Sizes() }},
		{"setting a scalar in an update", func() {
			var u ref.EverythingUpdate
			u.Set.Set("x")
			u.Sum.Add(1)
			u.Plan.Reduce(ref.PlanEdit{})
		}},
	}
	for _, tt := range tests {
		if got := testing.AllocsPerRun(100, tt.do); got != 0 {
			t.Errorf("%s: %v allocations, want 0", tt.name, got)
		}
	}
	_ = sink
}

func TestALoneAppendCostsOneAllocation(t *testing.T) {
	for name, do := range map[string]func(){
		"Append": func() { var u ref.EverythingUpdate; u.Log.Append("a") },
		"Upsert": func() { var u ref.EverythingUpdate; u.Messages.Upsert(ref.Message{ID: "1"}) },
		"Add":    func() { var u ref.EverythingUpdate; u.Tags.Add("a") },
		"Put":    func() { var u ref.EverythingUpdate; u.Facts.Put("k", ref.Fact{}) },
	} {
		if got := testing.AllocsPerRun(100, do); got > 1 {
			t.Errorf("a lone %s: %v allocations, want at most 1", name, got)
		}
	}
}

func TestAppendingIsAmortised(t *testing.T) {
	l := newLive(cell.Options{})
	var u ref.EverythingUpdate
	u.Log.Append("a")
	u.Messages.Upsert(ref.Message{ID: "1"})
	const n = 4096
	i := 0
	allocs := testing.AllocsPerRun(1, func() {
		for range n {
			i++
			if err := l.Merge(0, &u); err != nil {
				t.Fatal(err)
			}
			l.View()
			l.Share() // a list is appended to past what the view has, so that sharing every step costs nothing
			l.EndStep()
		}
	})
	// The upsert of a shared list copies it, which is one allocation of one element a step.
	if got := allocs - n; got > 100 {
		t.Errorf("%d shared appends: %v allocations beyond the copies of the other list, want at most 100", n, got)
	}
}

// turns returns a snapshot and the deltas of n turns: two that change nothing, and one that
// appends a message.
func turns(tb testing.TB, n int) (snapshot []byte, deltas [][]byte) {
	tb.Helper()
	l := newLive(cell.Options{Record: true})
	must := func(b []byte, err error) []byte {
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	snapshot = must(l.AppendSnapshot(nil))
	for i := range n {
		var u ref.EverythingUpdate
		u.Messages.Upsert(ref.Message{ID: fmt.Sprint("message ", i), Role: "user", Text: strings.Repeat("text ", 40)})
		if err := l.Merge(0, &u); err != nil {
			tb.Fatal(err)
		}
		l.EndStep()
		deltas = append(deltas, []byte("\x92\x00\x80"), []byte("\x92\x00\x80"), must(l.AppendDelta(nil)))
	}
	return snapshot, deltas
}

func TestRestoringATurnCostsLessThanOneAllocation(t *testing.T) {
	const n = 1000
	snapshot, deltas := turns(t, n)
	for _, opts := range []cell.Options{{}, {Record: true}} {
		l := newLive(opts)
		got := testing.AllocsPerRun(10, func() {
			if err := l.Decode(snapshot); err != nil {
				t.Fatal(err)
			}
			for _, d := range deltas {
				if err := l.Apply(d); err != nil {
					t.Fatal(err)
				}
			}
		})
		// The remaining allocations are those of the list's array, which grows by a quarter.
		if most := 40.0; got > most {
			t.Errorf("%+v: restoring %d turns of three records: %v allocations, want at most %v", opts, n, got, most)
		}
		if got := len(l.View().Messages); got != n {
			t.Errorf("%+v: restored %d messages, want %d", opts, got, n)
		}
	}
}

// BenchmarkRestore restores a chain of 1,000 turns.
func BenchmarkRestore(b *testing.B) {
	snapshot, deltas := turns(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		l := newLive(cell.Options{Record: true})
		if err := l.Decode(snapshot); err != nil {
			b.Fatal(err)
		}
		for _, d := range deltas {
			if err := l.Apply(d); err != nil {
				b.Fatal(err)
			}
		}
	}
}
