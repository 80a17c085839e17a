package rows

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
)

// The first byte of the keys of Items and Entries says what the row is. A place follows, which is
// Namespace.Append, 00 00 and the key of the item. So places sort as the items of Find do. A form
// is AppendPart of an index and of a value or a word.
const (
	rowOfItem  = 'i' // Items: place; all of the item but its vectors, its words, and a large value
	rowOfIndex = 's' // Items: name of a vector index; its model and dimensions

	rowOfValue  = 'v' // place; a large value
	rowOfEntry  = 'e' // form, the key of the row of the item; an index entry
	rowOfWord   = 'w' // form, place; how often the item has a word, and how many words it has
	rowOfWords  = 't' // place; all words, to find the rows of them
	rowOfVector = 'n' // place as parts, number; the vector of a text
	rowOfExpiry = 'x' // time, place; when Sweep looks at the item
	rowOfOnce   = 'o' // place as parts, key of Once; the version that the use returned, and its time
	rowOfUse    = 'u' // time, the key of a row of Once after its first byte
)

// itemKey returns a key of Items.
func itemKey(kind byte, parts ...[]byte) Key {
	return Key{Table: Items, Bytes: append([]byte{kind}, slices.Concat(parts...)...)}
}

// indexKey returns the key of the index entry that an item at a place has. Without a place, it is
// what the keys of the entries with the form begin with.
func indexKey(form, place []byte) Key { return entryKey(rowOfEntry, form, []byte{rowOfItem}, place) }

// entryKey returns a key of Entries.
func entryKey(kind byte, parts ...[]byte) Key {
	return Key{Table: Entries, Bytes: append([]byte{kind}, slices.Concat(parts...)...)}
}

// placeOf returns the place of an item.
func placeOf(n store.Namespace, key string) []byte {
	return append(append(n.Append(nil), 0, 0), key...) // a part begins with another byte, or with 00 ff
}

// cutPlace returns the namespace, as Append has it, and the key of a place.
func cutPlace(place []byte) (namespace, key []byte) {
	namespace, key, _ = bytes.Cut(place, []byte{0, 0})
	return namespace, key
}

// parted returns a place in a form that does not begin other places.
func parted(place []byte) []byte {
	namespace, key := cutPlace(place)
	return store.AppendPart(append(bytes.Clone(namespace), 0, 0), string(key))
}

// form returns the form of an index entry or a word.
func form(index string, value []byte) []byte {
	return store.AppendPart(store.AppendPart(nil, index), string(value))
}

// afterPart returns what follows n parts.
func afterPart(b []byte, n int) []byte {
	for range n {
		_, b, _ = bytes.Cut(b, []byte{0, 1}) // a zero byte of a part is 00 ff
	}
	return b
}

// timeKey returns a time as keys have it.
func timeKey(t int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(t)) } //nolint:gosec // not negative

// timeSize is the length of a time in keys.
const timeSize = 8

// item is an item as its row of Items has it. The zero item is none.
type item struct {
	place []byte
	rev   uint64 // 0: there is no row

	version, created, updated int64
	expires                   int64 // 0: never
	ttl                       int64
	buried                    bool // it was deleted: its version makes those of a later item larger

	index   []store.Entry
	vectors []store.Vector // without their values
	words   bool           // it has words
	large   bool           // its value has a row of its own
	value   []byte         // nil for a large one that was not read
	damaged bool           // nothing is known of it; a put or a delete replaces it
}

// largeValue is the least size of a value that has a row of its own. Smaller ones are read with
// the item, also by calls that do not need them.
const largeValue = 2048

// grave is how long the row of a deleted item stays. A writer may have read the clock earlier than
// the item was written, and does not know the item. No call takes so long.
const grave = int64(time.Hour / time.Microsecond)

// live reports whether the item exists at a time.
func (i *item) live(now int64) bool {
	return i.version > 0 && !i.buried && (i.expires == 0 || i.expires > now)
}

// due returns when Sweep looks at the item; 0 is never.
func (i *item) due() int64 {
	if i.buried {
		return i.updated + grave
	}
	return i.expires
}

// The flags of an item.
const (
	flagBuried = 1 << iota
	flagWords
	flagLarge
)

// appendTo appends the stored form of i. It ends with a checksum.
func (i *item) appendTo(b, key []byte) []byte {
	flags := byte(0)
	if i.buried {
		flags |= flagBuried
	}
	if i.words {
		flags |= flagWords
	}
	if i.large {
		flags |= flagLarge
	}
	from := len(b)
	b = append(b, flags)
	for _, n := range [...]int64{i.version, i.created, i.updated, i.expires, i.ttl} {
		b = binary.AppendVarint(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(i.index)))
	for _, e := range i.index {
		b = codec.AppendString(codec.AppendString(b, e.Index), string(e.Value))
	}
	b = binary.AppendUvarint(b, uint64(len(i.vectors)))
	for j := range i.vectors {
		b = append(codec.AppendString(b, i.vectors[j].Index), i.vectors[j].Hash[:]...)
	}
	if !i.large {
		b = append(b, i.value...)
	}
	return seal(b, from, key)
}

// item returns the item of a row of Items.
func (r *Row) item() (*item, error) {
	b, err := unseal(r.Value, r.Key)
	if err != nil {
		return nil, err
	}
	in := codec.NewReader(b)
	flags := in.Byte()
	i := &item{place: r.Key[1:], rev: r.Rev, buried: flags&flagBuried != 0, words: flags&flagWords != 0, large: flags&flagLarge != 0}
	for _, n := range [...]*int64{&i.version, &i.created, &i.updated, &i.expires, &i.ttl} {
		*n = in.Varint()
	}
	for range in.Count() {
		i.index = append(i.index, store.Entry{Index: in.String(), Value: []byte(in.String())})
	}
	for range in.Count() {
		i.vectors = append(i.vectors, store.Vector{Index: in.String(), Hash: [16]byte(append(in.Fixed(16), make([]byte, 16)...))})
	}
	if err := in.Err(); err != nil {
		return nil, damaged(r.Key, err)
	}
	if !i.large {
		i.value = b[in.Offset():]
	}
	return i, nil
}

// record returns the item without its value. It copies n.
func (i *item) record(n store.Namespace, key string) store.Record {
	return store.Record{
		Namespace: slices.Clone(n), Key: key, Version: i.version,
		Created: moment(i.created), Updated: moment(i.updated), Expires: moment(i.expires),
	}
}

// parsed is a namespace, and what ParseNamespace returns for it. Most items have the namespace of
// the one before.
type parsed struct {
	at    []byte
	parts store.Namespace
}

// found returns the item with its value.
func (i *item) found(last *parsed) (store.Record, error) {
	namespace, key := cutPlace(i.place)
	if last.parts == nil || !bytes.Equal(last.at, namespace) {
		n, err := store.ParseNamespace(namespace)
		if err != nil {
			return store.Record{}, err
		}
		*last = parsed{namespace, n}
	}
	r := i.record(last.parts, string(key))
	if r.Value = i.value; r.Value == nil {
		return r, damaged(i.place, errNoValue)
	}
	return r, nil
}

var errNoValue = fmt.Errorf("the item has no value; write or delete it")

// wordsRow is the value of a row of words.
type wordsRow []store.Text

// appendTo appends the stored form of w. It ends with a checksum.
func (w wordsRow) appendTo(b, key []byte) []byte {
	from := len(b)
	for i := range w {
		b = codec.AppendString(b, w[i].Index)
		b = binary.AppendUvarint(b, uint64(len(w[i].Words)))
		for _, word := range w[i].Words {
			b = binary.AppendUvarint(codec.AppendString(b, word.Word), uint64(word.Count)) //nolint:gosec // at least 1
		}
	}
	return seal(b, from, key)
}

// words returns the words of a row.
func (r *Row) words() (all []store.Text, err error) {
	b, err := unseal(r.Value, r.Key)
	if err != nil {
		return nil, err
	}
	in := codec.NewReader(b)
	for in.Err() == nil && in.Offset() < len(b) {
		t := store.Text{Index: in.String()}
		for range in.Count() {
			t.Words = append(t.Words, store.Word{Word: in.String(), Count: in.Int()})
		}
		all = append(all, t)
	}
	if in.Err() != nil {
		return nil, damaged(r.Key, in.Err())
	}
	return all, nil
}

// vectorKey returns the key of the vector with a number.
func vectorKey(place []byte, n int) Key { return entryKey(rowOfVector, parted(place), []byte{byte(n)}) }

// placeOfVector returns the place in a key of a vector.
func placeOfVector(key []byte) []byte {
	namespace, part := cutPlace(key[1:])
	part = bytes.ReplaceAll(part[:len(part)-3], []byte{0, 0xff}, []byte{0}) // without the end of the part and the number
	return slices.Concat(namespace, []byte{0, 0}, part)
}

// appendVector appends the stored form of a vector. It ends with a checksum.
func appendVector(b []byte, v *store.Vector, key []byte) []byte {
	from := len(b)
	b = append(codec.AppendString(b, v.Index), v.Hash[:]...)
	for _, x := range v.Values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return seal(b, from, key)
}

// HasVector reports whether the row with a key has a vector.
func HasVector(k Key) bool {
	return k.Table == Entries && len(k.Bytes) > 0 && k.Bytes[0] == rowOfVector
}

// Vector returns the vector of a row that HasVector selects. A [Searcher] may keep vectors in an
// index.
func (r *Row) Vector() (v store.Vector, err error) {
	b, err := unseal(r.Value, r.Key)
	if err != nil {
		return v, err
	}
	in := codec.NewReader(b)
	v.Index = in.String()
	copy(v.Hash[:], in.Fixed(len(v.Hash)))
	if b = b[in.Offset():]; in.Err() != nil || len(b)%4 != 0 {
		return v, damaged(r.Key, fmt.Errorf("a vector of %d bytes", len(b)))
	}
	v.Values = make([]float32, len(b)/4)
	for i := range v.Values {
		v.Values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, nil
}

// numbers is the value of a row that has some numbers.
func numbers(key []byte, all ...int64) []byte {
	var b []byte
	for _, n := range all {
		b = binary.AppendVarint(b, n)
	}
	return seal(b, 0, key)
}

// two returns the first two numbers of a row.
func (r *Row) two() (a, b int64, err error) {
	v, err := unseal(r.Value, r.Key)
	if err != nil {
		return 0, 0, err
	}
	in := codec.NewReader(v)
	a, b = in.Varint(), in.Varint()
	if err := in.End(); err != nil {
		return 0, 0, damaged(r.Key, err)
	}
	return a, b, nil
}
