package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
)

// Indexable are the types of values that an index orders. Strings are ordered bytewise, false
// before true, and times by microseconds. NaN is above all other numbers.
type Indexable interface {
	~string | ~bool | ~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | time.Time
}

// Index is a field of T by which [Collection.Filter] finds items. NewIndex and NewListIndex make
// it. Its name is stored, so renaming an index needs [Collection.Reindex].
type Index[T any, V Indexable] struct {
	name   string
	values func(*T) []V
}

// NewIndex returns an index with one value for each item: the result of value. The form of a
// string may have at most [MaxIndexValue] bytes. value must not change its argument, and must be
// safe for concurrent use. A nil value is an [*InvalidError] of [NewCollection].
func NewIndex[T any, V Indexable](name string, value func(*T) V) *Index[T, V] {
	if value == nil {
		return &Index[T, V]{name: name}
	}
	return &Index[T, V]{name, func(t *T) []V { return []V{value(t)} }}
}

// NewListIndex returns an index with any number of values for each item, such as tags. A condition
// holds for an item if it holds for one of its values. An optional field has no value or one. An
// item may have at most [MaxEntries] values in all its indexes. The rules for values are those of
// [NewIndex].
func NewListIndex[T any, V Indexable](name string, values func(*T) []V) *Index[T, V] {
	return &Index[T, V]{name, values}
}

// Filter is a condition on the items of a Collection[T]. The methods of [Index] return filters.
type Filter[T any] struct {
	index any // the *Index
	where Condition
}

func (i *Index[T, V]) filter(ranges ...Range) Filter[T] {
	return Filter[T]{i, Condition{i.name, ranges}}
}

// Equal selects the items with the value v.
func (i *Index[T, V]) Equal(v V) Filter[T] { return i.In(v) }

// In selects the items with one of the values. Without values it selects none.
func (i *Index[T, V]) In(values ...V) Filter[T] {
	ranges := make([]Range, len(values))
	for n, v := range values {
		b := indexed(v)
		ranges[n] = Range{b, above(b)}
	}
	return i.filter(ranges...)
}

// Less selects the items with a value less than v.
func (i *Index[T, V]) Less(v V) Filter[T] { return i.filter(Range{nil, indexed(v)}) }

// AtMost selects the items with a value of at most v.
func (i *Index[T, V]) AtMost(v V) Filter[T] { return i.filter(Range{nil, above(indexed(v))}) }

// Greater selects the items with a value greater than v.
func (i *Index[T, V]) Greater(v V) Filter[T] { return i.filter(Range{above(indexed(v)), nil}) }

// AtLeast selects the items with a value of at least v.
func (i *Index[T, V]) AtLeast(v V) Filter[T] { return i.filter(Range{indexed(v), nil}) }

// Exists selects the items with a value.
func (i *Index[T, V]) Exists() Filter[T] { return i.filter(Range{}) }

// CollectionOption is an index or a setting of a collection.
type CollectionOption[T any] interface {
	apply(c *core[T]) error
}

func (i *Index[T, V]) apply(c *core[T]) error {
	if i == nil || i.values == nil {
		return noFunction("an Index")
	}
	c.indexes = append(c.indexes, index[T]{i, i.entries})
	return c.claim("index", i.name)
}

// claim takes the name for an index of a kind. It returns an error if another one has it.
func (c *core[T]) claim(kind, name string) error {
	if err := checkIndexName(name); err != nil {
		return err
	}
	if slices.Contains(c.names, kind+" "+name) {
		return &InvalidError{"index name", fmt.Sprintf("%q twice", name), "one " + kind + " for each name"}
	}
	c.names = append(c.names, kind+" "+name)
	return nil
}

// noFunction returns the error of an index that nothing can fill.
func noFunction(kind string) error {
	return &InvalidError{"index", kind + " without a function", "a function that returns what the index holds of a value"}
}

// index is an Index without the type of its values.
type index[T any] struct {
	self    any
	entries func(to []Entry, t *T) []Entry
}

// entries appends the entries of a value, without repetition.
func (i *Index[T, V]) entries(to []Entry, t *T) []Entry {
	first := len(to)
next:
	for _, v := range i.values(t) {
		b := indexed(v)
		for _, e := range to[first:] {
			if string(e.Value) == string(b) {
				continue next
			}
		}
		to = append(to, Entry{i.name, b})
	}
	return to
}

// above returns the least bytes that are greater than b.
func above(b []byte) []byte { return append(b[:len(b):len(b)], 0) }

// indexed returns bytes that sort as v does.
func indexed[V Indexable](v V) []byte {
	if t, ok := any(v).(time.Time); ok {
		return sorted(uint64(t.UnixMicro()) ^ 1<<63)
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.String:
		return []byte(r.String())
	case reflect.Bool:
		if r.Bool() {
			return []byte{1}
		}
		return []byte{0}
	case reflect.Float32, reflect.Float64:
		return sortedFloat(r.Float())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return sorted(r.Uint())
	}
	return sorted(uint64(r.Int()) ^ 1<<63)
}

func sorted(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func sortedFloat(f float64) []byte {
	if f != f {
		return sorted(math.MaxUint64)
	}
	bits := math.Float64bits(f + 0) // -0 is 0
	if bits>>63 == 1 {
		return sorted(^bits)
	}
	return sorted(bits | 1<<63)
}
