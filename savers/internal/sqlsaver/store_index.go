package sqlsaver

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// The list of an item's index entries also has an entry without a name for each vector and each
// text. Its value is a byte, a hash and the index. The byte is the number of the vector, or
// ofText. So the list says whether rows of vectors and words are those of the item.
const ofText = 0xff

// indexed returns the list of an item's index entries.
func indexed(op *store.Op) []store.Entry {
	if len(op.Vectors) == 0 && len(op.Texts) == 0 {
		return op.Index
	}
	all := slices.Clone(op.Index)
	for i := range op.Vectors {
		v := &op.Vectors[i]
		value := append([]byte{byte(i)}, v.Hash[:]...)
		all = append(all, store.Entry{Value: append(value, v.Index...)})
	}
	for i := range op.Texts {
		t := &op.Texts[i]
		sum := wordsSum(t)
		value := append([]byte{ofText}, sum[:]...)
		all = append(all, store.Entry{Value: append(value, t.Index...)})
	}
	return all
}

// wordsSum returns a hash of words and their counts.
func wordsSum(t *store.Text) (sum [16]byte) {
	var b []byte
	for _, w := range t.Words {
		b = append(binary.AppendUvarint(b, uint64(len(w.Word))), w.Word...)
		b = binary.AppendUvarint(b, uint64(w.Count)) //nolint:gosec // at least 1
	}
	all := sha256.Sum256(b)
	return [16]byte(all[:])
}

// index replaces the index entries, the vectors and the words of an item.
func (b *storeBatch) index(ctx context.Context, s *storeSlot) error {
	before, err := parseEntries(s.stored.entries)
	if err != nil {
		return err
	}
	after, err := parseEntries(s.row.entries)
	if err != nil {
		return err
	}
	for _, e := range before {
		if among(e, after) {
			continue
		}
		if err := b.removeEntry(ctx, s.ns, s.key, e); err != nil {
			return err
		}
	}
	for _, e := range after {
		if among(e, before) {
			continue
		}
		if err := b.insertEntry(ctx, s.ns, s.key, e, s.source); err != nil {
			return err
		}
	}
	return nil
}

// insertEntry inserts an index entry, or the vector or words of op that it stands for.
func (b *storeBatch) insertEntry(ctx context.Context, ns, key []byte, e store.Entry, op *store.Op) error {
	s := b.t.s
	switch {
	case e.Index != "":
		return s.later(ctx, b.tx, stStoreInsertEntry, []byte(e.Index), ns, notNil(e.Value), key)
	case e.Value[0] == ofText:
		at := slices.IndexFunc(op.Texts, func(t store.Text) bool { return t.Index == textIndex(e) })
		t := &op.Texts[at]
		return s.later(ctx, b.tx, stStorePutWords, []byte(t.Index), ns, key, int64(t.Total()), wordsJSON(t))
	}
	v := &op.Vectors[e.Value[0]]
	return s.later(ctx, b.tx, stStorePutVector,
		ns, key, int64(e.Value[0]), []byte(v.Index), v.Hash[:], s.d.vector(v.Values))
}

// removeEntry removes an index entry, or the vector or words that it stands for.
func (b *storeBatch) removeEntry(ctx context.Context, ns, key []byte, e store.Entry) error {
	s := b.t.s
	switch {
	case e.Index != "":
		return s.later(ctx, b.tx, stStoreRemoveEntry, []byte(e.Index), ns, notNil(e.Value), key)
	case len(e.Value) == 0 || e.Value[0] == ofText && len(e.Value) < textHead:
		return fmt.Errorf("index entries of an item: %w: a vector or text of %d bytes", store.ErrDamaged, len(e.Value))
	case e.Value[0] == ofText:
		return s.later(ctx, b.tx, stStoreDropWords, ns, key, []byte(textIndex(e)))
	}
	return s.later(ctx, b.tx, stStoreDropVector, ns, key, int64(e.Value[0]))
}

// textHead is the size of what stands before the index in the entry of a text.
const textHead = 1 + 16

// textIndex returns the index in the entry of a text.
func textIndex(e store.Entry) string { return string(e.Value[textHead:]) }

// wordsJSON returns words as store_put_words binds them.
func wordsJSON(t *store.Text) string {
	b := []byte("[")
	for i, w := range t.Words {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(hex.AppendEncode(append(b, `["`...), []byte(w.Word)), `",`...)
		b = append(strconv.AppendInt(b, int64(w.Count), 10), ']')
	}
	return string(append(b, ']'))
}
