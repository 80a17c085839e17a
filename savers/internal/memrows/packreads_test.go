package memrows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// packing is a Store whose saver packs before an Append returns. It counts the rows of records
// that are read, and those with packs among them.
type packing struct {
	rows.Store
	mu           sync.Mutex
	packs, reads int
}

func (p *packing) Packing() pack.Policy {
	return pack.Policy{Every: pack.Default.Every, Keep: pack.Default.Keep, AtOnce: true}
}

func (p *packing) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	all, now, err := p.Store.Read(ctx, ranges...)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range all {
		for j := range all[i] {
			if ranges[i].Table != rows.Records {
				continue
			}
			if p.reads++; len(all[i][j].Value) > 4<<10 {
				p.packs++
			}
		}
	}
	return all, now, err
}

// A long conversation is packed at a cost that does not depend on its length: what is packed is
// not read again.
func TestPackingReadsNoPacks(t *testing.T) {
	store := &packing{Store: newStore()}
	s := rows.New("rows", store, rows.Options{})
	var head checkpoint.ID
	var err error
	const turns = 600
	for n := range turns {
		if head, err = packtest.Turn(t.Context(), n, head, s); err != nil {
			t.Fatal(err)
		}
	}
	records, _, err := store.Store.Read(t.Context(), rows.Range{Key: rows.Key{Table: rows.Records}, To: []byte{0xff}})
	if err != nil {
		t.Fatal(err)
	}
	packed := 0
	for _, row := range records[0] {
		if len(row.Value) > 4<<10 {
			packed++
		}
	}
	if packed < 8 || store.packs > 0 || store.reads > 4*turns*3 {
		t.Errorf("%d packs were made of %d turns, and %d of the %d rows that were read are packs; want 8 packs or more, none of them read, and each record read some times at most",
			packed, turns, store.packs, store.reads)
	}
}
