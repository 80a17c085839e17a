package redis

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// A member of the sorted set of a thread is a row. It has the table, the key, 00 00, and the
// value. In the key, 00 ff stands for a byte 00. The value of the row of the thread begins with
// its revision. A member of the index is the table and the key as they are.

// ofItems reports whether a table has rows of items. They are in one sorted set.
func ofItems(t rows.Table) bool { return t == rows.Items || t == rows.Entries }

// inIndex reports whether a row is in the index.
func inIndex(k *rows.Key) bool { return k.Thread == "" && !ofItems(k.Table) }

// names is the escape of ids in names of keys: a brace would end the part that selects the slot.
var names = strings.NewReplacer("%", "%25", "}", "%7D")

// threadKey returns the name of the key of a thread.
func threadKey(prefix, thread string) string { return prefix + "{" + names.Replace(thread) + "}" }

// appendKey appends the form of a key in the members of a table, without the 00 00 that ends it.
func appendKey(b []byte, t rows.Table, key []byte) []byte {
	b = append(b, byte(t))
	for _, c := range key {
		if b = append(b, c); c == 0 {
			b = append(b, 0xff)
		}
	}
	return b
}

// placeOf returns what the member of a row begins with.
func placeOf(t rows.Table, key []byte) []byte {
	return append(appendKey(make([]byte, 0, len(key)+8), t, key), 0, 0)
}

// indexMember returns a member of the index.
func indexMember(t rows.Table, key []byte) []byte {
	return append(append(make([]byte, 0, 1+len(key)), byte(t)), key...)
}

// bounds are those of a range of members, as the server has them.
type bounds struct{ from, to []byte }

// from returns the bounds of the members that begin with p, which ends with 00.
func from(p []byte) bounds {
	b := bounds{append([]byte{'['}, p...), append([]byte{'('}, p...)}
	b.to[len(b.to)-1]++
	return b
}

// boundsOf returns the bounds of the members of a range.
func boundsOf(r *rows.Range) bounds {
	index := inIndex(&r.Key)
	switch {
	case index && r.To != nil:
		return bounds{append([]byte{'['}, indexMember(r.Table, r.Bytes)...), append([]byte{'('}, indexMember(r.Table, r.To)...)}
	case index:
		m := indexMember(r.Table, r.Bytes)
		return bounds{append([]byte{'['}, m...), append([]byte{'['}, m...)}
	case r.To != nil:
		return bounds{appendKey([]byte{'['}, r.Table, r.Bytes), appendKey([]byte{'('}, r.Table, r.To)}
	}
	return from(placeOf(r.Table, r.Bytes))
}

// parseMember returns the row of a member of a thread.
func parseMember(m string) (rows.Row, error) {
	b := []byte(m)
	end := 1
	escaped := false
	for {
		i := bytes.IndexByte(b[min(end, len(b)):], 0)
		if i < 0 || end+i+1 >= len(b) {
			return rows.Row{}, fmt.Errorf("a row without the end of its key: %w", checkpoint.ErrDamaged)
		}
		if end += i; b[end+1] == 0 {
			break
		}
		escaped = true
		end += 2
	}
	row := rows.Row{Key: b[1:end:end]}
	if escaped {
		row.Key = bytes.ReplaceAll(row.Key, []byte{0, 0xff}, []byte{0})
	}
	value := b[end+2:]
	if rows.Table(b[0]).Revised() {
		if len(value) < revSize {
			row.Rev, row.Value = 1, nil // damaged
			return row, nil
		}
		row.Rev, value = binary.BigEndian.Uint64(value), value[revSize:]
	}
	row.Value = value
	return row, nil
}

// revSize is the length of a revision.
const revSize = 8
