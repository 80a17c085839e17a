package redis

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// packed is a pack in the index of the packs of a version.
type packed struct {
	log         uint64 // the number of the namespace
	first, last uint64 // seqs
	chain       uint64 // the seq where the chain of the first record starts
	from, to    uint64 // the smallest and the largest time of an id
}

// packedBytes is the size of a pack in the index.
const packedBytes = 36

// field returns the name of the field that has the pack, without the version.
func (p *packed) field() string {
	return "k:" + strconv.FormatUint(p.log, 10) + ":" + strconv.FormatUint(p.last, 10)
}

// parsePacks reads the index of packs.
func parsePacks(s string) ([]packed, error) {
	if len(s)%packedBytes != 0 {
		return nil, fmt.Errorf("the index of packs: %w: %d bytes", errMalformed, len(s))
	}
	all := make([]packed, len(s)/packedBytes)
	for i := range all {
		p := &all[i]
		for n, field := range []*uint64{&p.log, &p.first, &p.last, &p.chain, &p.from, &p.to} {
			var b [8]byte
			copy(b[2:], s[i*packedBytes+6*n:i*packedBytes+6*n+6])
			*field = binary.BigEndian.Uint64(b[:])
		}
		if p.first > p.last || i > 0 && !before(&all[i-1], p) {
			return nil, fmt.Errorf("the index of packs: %w: pack %d of records %d to %d", errMalformed, i, p.first, p.last)
		}
	}
	return all, nil
}

// before reports whether a pack comes before another in the index.
func before(p, q *packed) bool { return p.log < q.log || p.log == q.log && p.last < q.first }

// formatPacks returns the index of packs in any order.
func formatPacks(all []packed) []byte {
	slices.SortFunc(all, func(p, q packed) int {
		if before(&p, &q) {
			return -1
		}
		return 1
	})
	b := make([]byte, 0, len(all)*packedBytes)
	for _, p := range all {
		for _, n := range []uint64{p.log, p.first, p.last, p.chain, p.from, p.to} {
			b = append(b, binary.BigEndian.AppendUint64(nil, n)[2:]...)
		}
	}
	return b
}

// timeOf returns the first six bytes of an id as a number. An id of [checkpoint.NewID] begins
// with its time.
func timeOf(id checkpoint.ID) uint64 {
	return binary.BigEndian.Uint64(id[:]) >> 16
}

// newPack is a pack to store.
type newPack struct {
	packed
	bytes []byte
}

// newPackOf packs records of a log.
func newPackOf(in place, log, chain uint64, records []pack.Record) newPack {
	first, last := &records[0], &records[len(records)-1]
	return newPack{
		packed: packed{log: log, first: first.Seq, last: last.Seq, chain: chain, from: timeOf(first.ID), to: timeOf(last.ID)},
		bytes:  pack.Encode(in.thread, in.namespace, records),
	}
}

// item is a part of a log as the server returns it: a record, or a pack of records.
type item struct {
	first, last uint64 // of a pack; 0 for a record
	value       string
}

// item reads an item.
func (r *reply) item() (it item) {
	v := r.next()
	switch v := v.(type) {
	case string:
		it.value = v
	case []any:
		l := &reply{values: v}
		it.first, it.last, it.value = l.seq(), l.seq(), l.text()
		if l.err == nil && (it.first == 0 || it.last < it.first) {
			l.fail("a pack of records %d to %d", it.first, it.last)
		}
		r.join(l)
	default:
		if r.err == nil {
			r.fail("a %T, want a record or a pack", v)
		}
	}
	return it
}

// items reads a list of items.
func (r *reply) items() []item {
	l := r.list()
	all := make([]item, 0, len(l.values))
	for l.more() {
		all = append(all, l.item())
	}
	r.join(l)
	return all
}

// isPack reports whether an item is a pack.
func (it *item) isPack() bool { return it.last > 0 }

func (it *item) place(in place) pack.Place {
	return pack.Place{Thread: in.thread, Namespace: in.namespace, First: it.first, Last: it.last}
}

// open returns the payloads of a pack.
func (it *item) open(in place) (pack.Payloads, error) {
	p, err := pack.Open(it.place(in), []byte(it.value))
	if err == nil {
		err = it.check(p.Len())
	}
	return p, it.wrap(err)
}

// records returns the records of a pack.
func (it *item) records(in place) ([]pack.Record, error) {
	all, err := pack.Decode(it.place(in), []byte(it.value))
	if err == nil {
		err = it.check(len(all))
	}
	return all, it.wrap(err)
}

// check returns an error unless the pack has a record for each of its seqs.
func (it *item) check(n int) error {
	if uint64(n) != it.last-it.first+1 {
		return fmt.Errorf("it has %d records: %w", n, checkpoint.ErrDamaged)
	}
	return nil
}

func (it *item) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the pack of records %d to %d: %w", it.first, it.last, err)
}

// record returns a record of a pack by its id.
func (it *item) record(in place, id checkpoint.ID) (checkpoint.Record, error) {
	all, err := it.records(in)
	if err != nil {
		return checkpoint.Record{}, err
	}
	for i := range all {
		if all[i].ID == id {
			return all[i].Record, nil
		}
	}
	return checkpoint.Record{}, it.wrap(fmt.Errorf("it has no record %s: %w", id, checkpoint.ErrDamaged))
}
