package redis

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/rows"
)

var _ rows.Searcher = (*rowStore)(nil)

// sets returns the hash of vector indexes: v for one that has a vector set. The name of a vector
// set is that of the hash, a colon, and the index. An element is the key of a row.
func (s *rowStore) sets() string { return s.items + ":sets" }

// floats returns a vector as commands have it.
func floats(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// vectors adds what a change does to vector sets.
func (s *rowStore) vectors(r *request, c *rows.Change) {
	var gone, added []any
	for i := range c.Deletes {
		if d := &c.Deletes[i]; rows.HasVector(d.Key) {
			gone = append(gone, d.Bytes)
		}
	}
	for i := range c.Puts {
		if p := &c.Puts[i]; rows.HasVector(p.Key) {
			v, err := (&rows.Row{Key: p.Bytes, Value: p.Value}).Vector()
			if err == nil { // a Saver puts no other rows
				gone, added = append(gone, p.Bytes), append(added, v.Index, p.Bytes, floats(v.Values))
			}
		}
	}
	if len(gone) == 0 {
		r.add(0)
		return
	}
	r.add(1, r.key(s.sets()))
	r.args = appendList(r.args, gone)
	r.add(len(added) / 3)
	r.add(added...)
}

// declare returns whether an index has a vector set. It notes that for an index that is not known:
// whether the server has vector sets. A server without them has no such command.
const declare = `local found = redis.call('HGET', KEYS[1], ARGV[1])
if found then return found end
local has = redis.pcall('VCARD', KEYS[2])
found = 'v'
if type(has) == 'table' and has.err then
  if not string.find(has.err, 'nknown') then return has end
  found = '-'
end
redis.call('HSET', KEYS[1], ARGV[1], found)
return found`

// IndexVectors finds out whether an index has a vector set.
func (s *rowStore) IndexVectors(ctx context.Context, spec store.VectorSpec) error {
	found, err := do(ctx, s.server, func(ctx context.Context, _ int) (string, error) {
		return s.client.Eval(ctx, declare, []string{s.sets(), s.sets() + ":" + spec.Name}, spec.Name).Text()
	})
	if err == nil && found == "v" {
		s.searches.Store(spec.Name, true)
	}
	return err
}

// Nearest finds rows by the vector set of an index. The set knows nothing of ranges, so Nearest
// asks for more elements until enough are in the range.
func (s *rowStore) Nearest(ctx context.Context, index string, v []float32, in rows.Range, n int) (keys [][]byte, ok bool, err error) {
	const most = 4096
	if _, has := s.searches.Load(index); !has {
		return nil, false, nil
	}
	for count := n; ; count *= 4 {
		found, err := do(ctx, s.server, func(ctx context.Context, _ int) ([]string, error) {
			return s.client.VSimWithArgs(ctx, s.sets()+":"+index, &goredis.VectorFP32{Val: floats(v)}, &goredis.VSimArgs{Count: int64(count)}).Result()
		})
		if err != nil && !errors.Is(err, goredis.Nil) {
			return nil, false, err
		}
		keys = keys[:0]
		for _, key := range found {
			if b := []byte(key); bytes.Compare(in.Bytes, b) <= 0 && bytes.Compare(b, in.To) < 0 && len(keys) < n {
				keys = append(keys, b)
			}
		}
		if len(keys) == n || len(found) < count || count >= most {
			return keys, true, nil
		}
	}
}
