package memrows_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// key returns one of 5,000 keys, or with n = 5,000 the end of all.
func key(n int) []byte { return fmt.Appendf(nil, "%05d", n) }

// put returns a change that puts rows of Records, from one key to before another.
func put(from, to int) *rows.Change {
	c := new(rows.Change)
	for n := from; n < to; n++ {
		c.Puts = append(c.Puts, rows.Put{Key: rows.Key{Table: rows.Records, Thread: "t", Bytes: key(n)}})
	}
	return c
}

// span returns the range of rows of Records from one key to before another.
func span(from, to int) rows.Range {
	return rows.Range{Key: rows.Key{Table: rows.Records, Thread: "t", Bytes: key(from)}, To: key(to)}
}

// asText returns the key, the revision and the value of a row.
func asText(r memrows.Row[int]) string { return fmt.Sprint(string(r.Key), r.Rev, r.Value) }

// TestRandomChangesOfAMap compares a Map with a list that is sorted again after each change.
func TestRandomChangesOfAMap(t *testing.T) {
	const keys = 5000
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		m, stored := memrows.NewMap[int](), map[string]memrows.Row[int]{}
		for rev := range uint64(300) {
			c := new(rows.Change)
			if from := random.IntN(keys); random.IntN(3) == 0 {
				d := span(from, from-3+random.IntN(1+random.IntN(keys)))
				if random.IntN(2) == 0 {
					d.To = nil
				}
				c.Deletes = append(c.Deletes, d)
				for k := range stored {
					if at := []byte(k); d.To == nil && k == string(d.Bytes) || d.To != nil && bytes.Compare(at, d.Bytes) >= 0 && bytes.Compare(at, d.To) < 0 {
						delete(stored, k)
					}
				}
			}
			from := random.IntN(keys)
			c.Puts = put(from, from+random.IntN(200)).Puts
			m.Apply(c, rev, func(i int) int { return i })
			for i := range c.Puts {
				k := c.Puts[i].Bytes
				stored[string(k)] = memrows.Row[int]{Key: k, Rev: rev, Value: i}
			}
			r := span(random.IntN(keys), random.IntN(keys+200))
			r.Reverse, r.Limit = random.IntN(2) == 0, random.IntN(3)*random.IntN(1500)
			var want []string
			for k, row := range stored {
				if at := []byte(k); bytes.Compare(at, r.Bytes) >= 0 && bytes.Compare(at, r.To) < 0 {
					want = append(want, asText(row))
				}
			}
			slices.Sort(want)
			if r.Reverse {
				slices.Reverse(want)
			}
			if r.Limit > 0 {
				want = want[:min(len(want), r.Limit)]
			}
			if got := memrows.Read(m, asText, r)[0]; !slices.Equal(got, want) {
				t.Fatalf("seed %d, change %d: %+v\ngot  %d %q\nwant %d %q", seed, rev, r, len(got), got, len(want), want)
			}
		}
	}
}

// Each change of the test puts all rows, so a Read in which two revisions meet is of two moments.
func TestAReadOfManyRowsIsOfOneMoment(t *testing.T) {
	const n = 3000
	m, all := memrows.NewMap[int](), put(0, n)
	change := func(rev uint64) { m.Apply(all, rev, func(int) int { return 0 }) }
	change(0)
	var writer sync.WaitGroup
	writer.Go(func() {
		for rev := range uint64(100) {
			change(rev)
		}
	})
	for range 100 {
		revs := memrows.Read(m, func(r memrows.Row[int]) uint64 { return r.Rev }, span(0, n))[0]
		if len(revs) != n || slices.Max(revs) != slices.Min(revs) {
			t.Errorf("a read has %d rows, of the revisions %d to %d; want %d of one", len(revs), slices.Min(revs), slices.Max(revs), n)
		}
	}
	writer.Wait()
}
