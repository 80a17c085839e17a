package redis_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// TestAPackedRecordIsCommittedLate commits a base that is in a pack, and writes to it afterwards.
func TestAPackedRecordIsCommittedLate(t *testing.T) {
	on := shared(t)
	s := on.open(t, asked)
	want, head := turns(t, 20, s)
	ids := logIDs(t, want, packtest.Thread)
	packNow(t, s)
	base := ids[32] // a step at the end of a turn, which nothing commits
	for _, s := range []checkpoint.Saver{s, want} {
		id := checkpoint.ID{0xfe}
		r := checkpoint.Record{ID: id, Parent: head, Base: id, Line: id, Commits: base, Source: checkpoint.Fork, Snapshot: true, Payload: []byte{0x80}}
		_, err := s.Append(t.Context(), checkpoint.Append{
			Thread: packtest.Thread, After: head, Open: &checkpoint.Opening{Holder: "forker"}, Records: []checkpoint.Record{r}, End: true,
		})
		if err == nil {
			err = write(t.Context(), s, base, id)
		}
		if err != nil {
			t.Fatal(err)
		}
		chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: packtest.Thread, At: base})
		if err != nil || !chain.Committed || len(chain.Writes) != 0 {
			t.Errorf("%T: got committed %t, %d pending writes, %v; want it committed, without writes", s, chain.Committed, len(chain.Writes), err)
		}
	}
	if _, packs, _ := on.stored(t); packs != 1 {
		t.Errorf("got %d packs, want the one that the base is in", packs)
	}
	packtest.Same(t, s, want)
	// The prune cuts the pack, and its record keeps the mark.
	for _, s := range []checkpoint.Saver{s, want} {
		if _, err := s.Prune(t.Context(), packtest.Thread, checkpoint.Retention{Last: 24}); err != nil {
			t.Fatal(err)
		}
	}
	packtest.Same(t, s, want)
	if late := on.fields(t)["1:late"]; late != "" {
		t.Errorf("after the prune: %d bytes of late ids, want none", len(late))
	}
}

// TestPruneCutsPacks prunes a thread with packs step by step.
func TestPruneCutsPacks(t *testing.T) {
	on := shared(t)
	s := on.open(t, redis.Packing(pack.Policy{Every: 40, Keep: 4}))
	want, _ := turns(t, 150, s)
	packNow(t, s)
	_, whole, _ := on.stored(t)
	for last := 290; last > 0; last -= 48 {
		for _, s := range []checkpoint.Saver{s, want} {
			if _, err := s.Prune(t.Context(), packtest.Thread, checkpoint.Retention{Last: last}); err != nil {
				t.Fatal(err)
			}
		}
		records, packs, _ := on.stored(t)
		if records+packs > last+2 || packs > whole || records > 60 {
			t.Errorf("the last %d: got %d records and %d packs, of %d", last, records, packs, whole)
		}
		packtest.Same(t, s, want)
	}
	if err := errors.Join(s.Delete(t.Context(), packtest.Thread), want.Delete(t.Context(), packtest.Thread)); err != nil {
		t.Fatal(err)
	}
}

// TestPrunedVersionsLeaveNothing releases a version with packs and prunes it.
func TestPrunedVersionsLeaveNothing(t *testing.T) {
	on := shared(t)
	s := on.open(t, asked)
	turns(t, 20, s)
	packNow(t, s)
	if _, err := s.Release(t.Context(), packtest.Thread, checkpoint.ID{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), packtest.Thread, checkpoint.Retention{Released: -1}); err != nil {
		t.Fatal(err)
	}
	for name := range on.fields(t) {
		if strings.HasPrefix(name, "1:") {
			t.Errorf("the field %q is left of a version that was pruned", name)
		}
	}
}

func TestAChangedPackIsDamage(t *testing.T) {
	const packField = "1:k:1:56"
	flip := func(at int) func(map[string]string) (string, string) {
		return func(f map[string]string) (string, string) {
			b := []byte(f[packField])
			b[at] ^= 0x20
			return packField, string(b)
		}
	}
	index := func(at int) func(map[string]string) (string, string) {
		return func(f map[string]string) (string, string) {
			b := []byte(f["1:packs"])
			b[at] ^= 1
			return "1:packs", string(b)
		}
	}
	for name, change := range map[string]func(fields map[string]string) (field, value string){
		"a byte":               flip(1200),
		"a committed mark":     flip(4 + 16*56 + 7),
		"its end":              func(f map[string]string) (string, string) { return packField, f[packField][:500] },
		"nothing is left":      func(map[string]string) (string, string) { return packField, "" },
		"its first record":     index(11),
		"its last record":      index(17),
		"its chain":            index(23),
		"the index, cut short": func(f map[string]string) (string, string) { return "1:packs", f["1:packs"][:20] },
		"the index is empty":   func(map[string]string) (string, string) { return "1:packs", "" },
	} {
		t.Run(name, func(t *testing.T) {
			on := shared(t)
			s := on.open(t, asked)
			turns(t, 20, s)
			packNow(t, s)
			fields := on.fields(t)
			if fields[packField] == "" {
				t.Fatalf("there is no pack %s", packField)
			}
			field, value := change(fields)
			if err := on.client.HSet(t.Context(), on.key(), field, value).Err(); err != nil {
				t.Fatal(err)
			}
			if name == "its chain" { // only records in the pack need it
				all := logIDs(t, s, packtest.Thread)
				if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: packtest.Thread, At: all[30]}); !errors.Is(err, checkpoint.ErrDamaged) {
					t.Errorf("load of a packed record: got %v, want ErrDamaged", err)
				}
				return
			}
			if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: packtest.Thread}); !errors.Is(err, checkpoint.ErrDamaged) ||
				!strings.Contains(err.Error(), `"t"`) && !strings.Contains(err.Error(), "user_script") {
				t.Errorf("load: got %v, want ErrDamaged of the thread", err)
			}
		})
	}
}
