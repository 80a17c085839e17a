package rows

import (
	"context"

	"github.com/graphgen-go/graphgen/savers/internal/codec"
)

// EndLeases ends the leases of all runs, and makes their threads due. It is for a Store that can
// tell that all processes that had it are dead, such as one of files. No other Saver may have the
// Store. If EndLeases returns an error, the leases that are left end by themselves.
func EndLeases(ctx context.Context, s *Saver) error {
	r := within(Key{Table: Index, Bytes: []byte{byWake}}) // a lease is a Wake, too
	for r.Limit = mostRanges; ; {
		found, _, err := s.read(ctx, r)
		if err != nil {
			return s.wrap(err)
		}
		var points []Range
		for _, row := range found[0] {
			in := codec.NewReader(row.Key[1:])
			_ = in.String()                                                      // the graph
			if id := 1 + in.Offset() + 9; in.Err() == nil && id < len(row.Key) { // after the priority and the Wake
				points = append(points, point(threadKey(string(row.Key[id:]))))
			}
		}
		threads, now, err := s.read(ctx, points...)
		if err != nil {
			return s.wrap(err)
		}
		for i := range threads {
			t, err := asThread(string(points[i].Bytes), threads[i], now)
			if err != nil || !t.leased() { // nobody can run a damaged thread
				continue
			}
			w := newWriter(s, t)
			w.next.Until, w.next.Wake = t.now, t.now
			w.c.changeThread(t, &w.next)
			if _, _, err := s.store.Apply(ctx, &w.c); err != nil {
				return s.wrap(err)
			}
		}
		if len(found[0]) < r.Limit {
			return nil
		}
		r.Bytes = successor(found[0][len(found[0])-1].Key)
	}
}
