package store

import (
	"context"
	"time"
)

// Cache keeps values in a namespace of a [Backend] until they expire. It is a Cacher of package
// graph. All processes that use the backend share it. Expired values are removed by Sweep. A
// Cache is safe for concurrent use.
type Cache struct {
	Backend   Backend   // stores the values
	Namespace Namespace // of all values, with at least one part
}

// Get returns the value of a key, which the caller must not modify. ok is false if there is none,
// or it has expired. A key of more than [MaxKey] bytes is an [*InvalidError].
func (c Cache) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	results, err := c.Backend.Do(ctx, []Op{{Kind: OpGet, Namespace: c.Namespace, Key: key}})
	if err != nil || len(results) != 1 || !results[0].Found {
		return nil, false, err
	}
	return results[0].Record.Value, true, nil
}

// Put stores a value for ttl, in microseconds; 0 is no limit. A ttl below a microsecond, and a
// value of more than [MaxValue] bytes, are an [*InvalidError].
func (c Cache) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := c.Backend.Do(ctx, []Op{{Kind: OpPut, Namespace: c.Namespace, Key: key, Value: value, TTL: ttl}})
	return err
}
