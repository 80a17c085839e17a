package ledger_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

func id(n int) (id checkpoint.ID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// entry is record n of a log, on base.
func entry(n, base int) *ledger.Entry {
	return &ledger.Entry{Record: checkpoint.Record{
		ID: id(n), Seq: uint64(n), Base: id(base), Source: checkpoint.Loop, Snapshot: true,
	}}
}

func TestVerifyRefusesWhatCannotFollow(t *testing.T) {
	v := ledger.New("t", 1)
	v.Apply(&ledger.Event{Entries: []*ledger.Entry{entry(1, 1), entry(2, 2)}})
	delta := func(n int) *ledger.Entry {
		e := entry(n, n)
		e.Snapshot = false
		return e
	}
	source := entry(3, 3)
	source.Source = 9
	for name, e := range map[string]*ledger.Event{
		"no id":                  {Entries: []*ledger.Entry{entry(0, 0)}},
		"an id that stands":      {Entries: []*ledger.Entry{entry(1, 1)}},
		"an id twice":            {Entries: []*ledger.Entry{entry(3, 3), entry(3, 3)}},
		"a delta after a gap":    {Entries: []*ledger.Entry{delta(4)}},
		"a delta at the start":   {Namespace: "child", Entries: []*ledger.Entry{delta(3)}},
		"an unknown source":      {Entries: []*ledger.Entry{source}},
		"an opening of nothing":  {Opens: true},
		"an opening of a child":  {Opens: true, Namespace: "child", Entries: []*ledger.Entry{entry(3, 3)}},
		"an unknown status":      {Status: 77},
		"a number that is lower": {Entries: []*ledger.Entry{{Record: checkpoint.Record{ID: id(9), Seq: 2, Source: checkpoint.Loop, Snapshot: true}}}},
	} {
		if err := v.Verify(e); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if err := v.Follow(e); !errors.As(err, new(*checkpoint.InvalidError)) {
			t.Errorf("%s: follow: got %v, want an *InvalidError", name, err)
		}
	}
	if err := v.Verify(&ledger.Event{Entries: []*ledger.Entry{delta(3)}}); err != nil {
		t.Errorf("a delta that follows: %v", err)
	}
	v.Apply(&ledger.Event{Releases: true, Time: time.Unix(1e9, 0)})
	if err := v.Verify(&ledger.Event{Entries: []*ledger.Entry{entry(5, 5)}}); err == nil {
		t.Error("a record after the release: got no error")
	}
}

func TestWhatWasReadIsNotChangedByWhatFollows(t *testing.T) {
	v := ledger.New("t", 1)
	for n := 1; n <= 10; n++ {
		v.Apply(&ledger.Event{Entries: []*ledger.Entry{entry(n, n)}})
	}
	log, err := v.Log("", checkpoint.ID{})
	if err != nil {
		t.Fatal(err)
	}
	was := slices.Clone(log)
	for n := 11; n <= 100; n++ {
		v.Apply(&ledger.Event{Entries: []*ledger.Entry{entry(n, n)}})
	}
	pruned := v.Prune(checkpoint.Retention{Last: 3})
	entries := [][]*ledger.Entry{nil}
	for _, kept := range pruned[0].Kept {
		entries[0] = append(entries[0], kept.Entry)
	}
	v.Replace(pruned, entries)
	if !slices.Equal(log, was) {
		t.Error("a log that was read changed")
	}
	if left, err := v.Log("", checkpoint.ID{}); err != nil || len(left) != 3 || left[0].ID != id(98) {
		t.Errorf("after the prune: got %d entries, %v; want 3", len(left), err)
	}
	if v.NextSeq("") != 101 {
		t.Errorf("next seq: got %d, want 101", v.NextSeq(""))
	}
}

func TestPruneOfALineOfBasesKeepsThemAll(t *testing.T) {
	v := ledger.New("t", 1)
	for n := 1; n <= 10; n++ {
		v.Apply(&ledger.Event{Entries: []*ledger.Entry{entry(n, max(n-1, 1))}})
	}
	if pruned := v.Prune(checkpoint.Retention{Last: 1}); len(pruned) != 0 {
		t.Errorf("pruned: got %+v, want nothing: each record is the base of the next", pruned)
	}
}
