package redis

import (
	"testing"

	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// Packing is an option that says when records are packed.
func Packing(p pack.Policy) Option { return func(s *settings) { s.packing = p } }

// Key returns the key of a thread.
func Key(prefix, thread string) string { return threadKey(prefix, thread) }

// ParseMember returns the parts of a member of a thread: what it begins with, and the value.
func ParseMember(tb testing.TB, m string) (key string, value []byte) {
	tb.Helper()
	row, err := parseMember(m)
	if err != nil {
		tb.Fatal(err)
	}
	key = string(placeOf(rows.Table(m[0]), row.Key))
	return key, []byte(m[len(key):])
}

// Places are the keys of the index.
func Places(prefix string) []string { return newRowStore(nil, prefix, 0).index[:] }
