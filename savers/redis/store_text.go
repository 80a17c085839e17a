package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// textBytes returns words as lua/store.lua has them in texts.
func textBytes(texts []store.Text) string {
	var b []byte
	for i := range texts {
		t := &texts[i]
		total := uint32(t.Total())
		for _, w := range t.Words {
			f := form(t.Index, []byte(w.Word), false)
			b = append(binary.BigEndian.AppendUint16(b, uint16(len(f))), f...)
			b = binary.BigEndian.AppendUint32(b, uint32(w.Count))
			b = binary.BigEndian.AppendUint32(b, total)
		}
	}
	return string(b)
}

// SearchText reads the items of each word by several scripts, and ranks them.
func (t *itemStore) SearchText(ctx context.Context, q store.TextQuery) ([]store.Hit, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if len(q.Words) == 0 || slices.ContainsFunc(q.Where, func(c store.Condition) bool { return len(c.Ranges) == 0 }) {
		return nil, t.ready(ctx)
	}
	return t.hits(ctx, func(versions map[string]int64) ([]store.Near, error) {
		ranking := store.NewRanking(&q)
		for i := range q.Words {
			if err := t.rank(ctx, &q, i, ranking, versions); err != nil {
				return nil, err
			}
		}
		return ranking.Items(), nil
	})
}

// rank adds the items with a word to a ranking.
func (t *itemStore) rank(
	ctx context.Context, q *store.TextQuery, word int, ranking *store.Ranking, versions map[string]int64,
) error {
	all := q.Query
	all.Limit = store.MaxCompared + 1
	f := finding{t: t, ctx: ctx, q: &all, where: conditions(q.Where), reads: "w"}
	f.hit = func(at string, version int64, numbers string) error {
		if len(numbers) != 8 {
			return fmt.Errorf("a word of the item at %q: %w: %d bytes of numbers", at, store.ErrDamaged, len(numbers))
		}
		count, total := binary.BigEndian.Uint32([]byte(numbers)), binary.BigEndian.Uint32([]byte(numbers[4:]))
		ns, key, _ := strings.Cut(at, "\x00\x00")
		versions[at] = version
		return ranking.Add(word, ns, key, int(count), int(total))
	}
	return f.scan(form(q.Index, []byte(q.Words[word]), false))
}
