package memrows_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// hooked is a Store that calls a function before each read.
type hooked struct {
	rows.Store
	before func()
}

func (h *hooked) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	h.before()
	return h.Store.Read(ctx, ranges...)
}

// The MessagePack of a state with one list, log, and of a change that appends to it.
var (
	snapshot = []byte("\x81\xa3log\x91\xa1a")
	delta    = []byte("\x92\x00\x81\xa3log\x92\x01\x91\xa1b")
)

// long stores a thread of n records without a later snapshot, and returns their ids, oldest first.
func long(t *testing.T, s *rows.Saver, n int) (ids []checkpoint.ID) {
	t.Helper()
	for range n {
		id, err := checkpoint.NewID()
		if err != nil {
			t.Fatal(err)
		}
		a := checkpoint.Append{Thread: "t", Records: []checkpoint.Record{{ID: id, Base: id, Source: checkpoint.Loop, Payload: delta}}}
		if len(ids) == 0 {
			a.Open, a.Records[0].Snapshot, a.Records[0].Payload = &checkpoint.Opening{}, true, snapshot
		} else {
			a.Fence, a.After, a.Records[0].Parent = ids[0], ids[len(ids)-1], ids[len(ids)-1]
		}
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// Records may move into packs while somebody reads them in pages. No record is read twice, and
// none is left out.
func TestReadsWhileRecordsMove(t *testing.T) {
	const n = 300
	never := pack.Policy{Every: 1 << 20, Keep: 1}
	for name, read := range map[string]func(s *rows.Saver) []checkpoint.ID{
		"load": func(s *rows.Saver) []checkpoint.ID {
			chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
			if err != nil {
				t.Fatal(err)
			}
			return make([]checkpoint.ID, chain.Chained+1)
		},
		"history": func(s *rows.Saver) (ids []checkpoint.ID) {
			for r, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, r.ID)
			}
			slices.Reverse(ids)
			return ids
		},
	} {
		for at := range 6 {
			store := newStore()
			want := long(t, rows.New("writer", packed{store, never}, rows.Options{}), n)
			reads, packer := 0, rows.New("packer", packed{store, pack.Policy{Every: 16, Keep: 1}}, rows.Options{})
			s := rows.New("reader", &hooked{store, func() {
				if reads++; reads == at+1 {
					if err := packer.Pack(t.Context(), "t"); err != nil {
						t.Error(err)
					}
				}
			}}, rows.Options{})
			got := read(s)
			if len(got) != n || name == "history" && !slices.Equal(got, want) {
				t.Errorf("%s, with packs before read %d: got %d records, want %d in order", name, at+1, len(got), n)
			}
		}
	}
}

// A Prune and packs at the same time leave each record that stays once.
func TestPruneWhileRecordsMove(t *testing.T) {
	for at := range 6 {
		store := newStore()
		want := long(t, rows.New("writer", packed{store, pack.Policy{Every: 1 << 20, Keep: 1}}, rows.Options{}), 100)
		reads, packer := 0, rows.New("packer", packed{store, pack.Policy{Every: 16, Keep: 1}}, rows.Options{})
		s := rows.New("pruner", &hooked{store, func() {
			if reads++; reads == at+1 {
				if err := packer.Pack(t.Context(), "t"); err != nil {
					t.Error(err)
				}
			}
		}}, rows.Options{})
		done, err := s.Prune(t.Context(), "t", checkpoint.Retention{Last: 30, Fence: want[0]})
		if err != nil || done.Records != 70 {
			t.Fatalf("packs before read %d: got %+v, %v; want 70 records pruned", at+1, done, err)
		}
		var got []checkpoint.ID
		for r, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.ID)
		}
		slices.Reverse(got)
		if !slices.Equal(got, want[70:]) {
			t.Errorf("packs before read %d: %d records are left, want the newest 30", at+1, len(got))
		}
		if chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil || chain.Chained != 29 {
			t.Errorf("packs before read %d: %d records are chained, %v; want 29", at+1, chain.Chained, err)
		}
	}
}
