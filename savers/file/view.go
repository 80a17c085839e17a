package file

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/tidwall/btree"
)

// place says where a row is. The log keeps its value.
type place struct {
	rev    uint64
	number uint32 // of the segment
	at, n  uint32 // of the value
}

// segment is a file of the log, and what a view has in it.
type segment struct {
	header
	f    *os.File
	info os.FileInfo // which file it is
	size int64       // up to the last whole frame
	rows int         // those that the view has
	live int64       // about their bytes
}

// view is what the log says at one moment. A view that is in use never changes: the next one
// shares with it what has not changed.
type view struct {
	tables   [rows.Tables]*btree.Map[string, place]
	segments []segment // the oldest first; none if the log is empty
	rev      uint64    // the newest revision
	id       uint64    // of the last frame
	oldest   uint64    // the oldest segment that the log needs, as the log says
}

// newView returns the view of an empty log.
func newView() *view {
	v := new(view)
	for i := range v.tables {
		v.tables[i] = new(btree.Map[string, place])
	}
	return v
}

// clone returns a view that can be changed. The caller must exclude other calls of clone.
func (v *view) clone() *view {
	next := *v
	for i := range v.tables {
		next.tables[i] = v.tables[i].Copy()
	}
	next.segments = slices.Clone(v.segments)
	return &next
}

// last returns the newest segment.
func (v *view) last() *segment { return &v.segments[len(v.segments)-1] }

// first returns the number of the oldest segment that has rows, or of the newest one.
func (v *view) first() uint64 {
	for i := range v.segments {
		if g := &v.segments[i]; g.rows > 0 || i == len(v.segments)-1 {
			return g.number
		}
	}
	return 0
}

// segment returns the segment with a number.
func (v *view) segment(number uint32) *segment {
	return &v.segments[uint64(number)-v.segments[0].number]
}

// bytes returns about how many bytes the rows have, and how many the log has.
func (v *view) bytes() (live, all int64) {
	for i := range v.segments {
		live += v.segments[i].live
		all += v.segments[i].size
	}
	return live, all
}

// rowSize returns about how many bytes a row takes in the log.
func rowSize(key string, n uint32) int64 { return int64(len(key)) + int64(n) + 8 }

// put stores a row.
func (v *view) put(t rows.Table, key string, p place) {
	old, replaced := v.tables[t].Set(key, p)
	if replaced {
		v.gone(key, old)
	}
	s := v.segment(p.number)
	s.rows++
	s.live += rowSize(key, p.n)
}

// remove removes a row, if there is one.
func (v *view) remove(t rows.Table, key string) {
	if old, found := v.tables[t].Delete(key); found {
		v.gone(key, old)
	}
}

// gone notes that a place in a segment is of no row any more.
func (v *view) gone(key string, old place) {
	s := v.segment(old.number)
	s.rows--
	s.live -= rowSize(key, old.n)
}

// removeRange removes rows.
func (v *view) removeRange(t rows.Table, from, to string) {
	var keys []string
	v.tables[t].Ascend(from, func(key string, _ place) bool {
		if key >= to {
			return false
		}
		keys = append(keys, key)
		return true
	})
	for _, key := range keys {
		v.remove(t, key)
	}
}

// do applies an operation of a frame of the newest segment, whose values begin at an offset.
func (v *view) do(o *op, values int64) {
	switch o.kind {
	case opPut:
		v.put(o.table, o.key, place{o.rev, uint32(v.last().number), uint32(values) + o.at, o.n}) //nolint:gosec // bounded by segments
	case opDelete:
		v.remove(o.table, o.key)
	case opRange:
		v.removeRange(o.table, o.key, o.to)
	}
}

// found is a row that a view has.
type found struct {
	key string
	place
}

// find returns the rows of ranges.
func (v *view) find(ranges []rows.Range) [][]found {
	all := make([][]found, len(ranges))
	for i := range ranges {
		r := &ranges[i]
		from, to := string(r.Bytes), string(r.To)
		take := func(key string, p place) bool {
			all[i] = append(all[i], found{key, p})
			return len(all[i]) != r.Limit
		}
		switch table := v.tables[r.Table]; {
		case r.Items > 0:
			table.Ascend(from, func(key string, _ place) bool {
				if key >= to {
					return false
				}
				p, found := v.tables[rows.Items].Get(key[r.Items:])
				return !found || take(key[r.Items:], p)
			})
		case r.To == nil:
			if p, ok := table.Get(from); ok {
				take(from, p)
			}
		case r.Reverse:
			table.Descend(to, func(key string, p place) bool { return key == to || key >= from && take(key, p) })
		default:
			table.Ascend(from, func(key string, p place) bool { return key < to && take(key, p) })
		}
	}
	return all
}

// load reads the values of rows.
func (v *view) load(all [][]found) ([][]rows.Row, error) {
	result := make([][]rows.Row, len(all))
	for i, some := range all {
		if len(some) == 0 {
			continue
		}
		result[i] = make([]rows.Row, len(some))
		for j := range some {
			value, err := v.value(&some[j].place)
			if err != nil {
				return nil, err
			}
			result[i][j] = rows.Row{Key: []byte(some[j].key), Rev: some[j].rev, Value: value}
		}
	}
	return result, nil
}

// value reads the value at a place. Its own checksum is inside: package rows checks it, so that
// damage fails only what needs the row.
func (v *view) value(p *place) ([]byte, error) {
	if p.n == 0 {
		return nil, nil
	}
	f, b := v.segment(p.number).f, make([]byte, p.n)
	_, err := f.ReadAt(b, int64(p.at))
	if errors.Is(err, io.EOF) {
		err = damaged(f.Name(), int64(p.at), "the file ends before a value of %d bytes does", p.n)
	}
	return b, err
}

// holds reports whether the demands of a change hold.
func (v *view) holds(c *rows.Change) bool {
	for i := range c.Checks {
		k := &c.Checks[i]
		if p, _ := v.tables[k.Table].Get(k.Thread); p.rev != k.Rev { // the revision of a row is not 0
			return false
		}
	}
	for i := range c.Puts {
		if p := &c.Puts[i]; p.New {
			if _, found := v.tables[p.Table].Get(string(p.Bytes)); found {
				return false
			}
		}
	}
	return true
}

// nextRev returns a revision after another one. The revision of a frame that was cut off must not
// come again, because another process may have shown it. So it is the time, or random if the clock
// is behind.
func nextRev(rev uint64) uint64 {
	if now := uint64(max(time.Now().UnixNano(), 0)); now > rev { //nolint:gosec // not negative
		return now
	}
	return rev + 1 + rand.Uint64N(1<<20)
}

// apply adds a change to a frame at an offset of the newest segment, and to the view.
func (v *view) apply(c *rows.Change, f *frame, at int64) (rev uint64) {
	v.rev = nextRev(v.rev)
	for i := range c.Checks {
		if c.Checks[i].Table == rows.Threads {
			f.checks(c.Checks[i].Thread)
		}
	}
	for i := range c.Deletes {
		d := &c.Deletes[i]
		f.remove(d)
		if d.To == nil {
			v.remove(d.Table, string(d.Bytes))
		} else {
			v.removeRange(d.Table, string(d.Bytes), string(d.To))
		}
	}
	for i := range c.Puts {
		p := &c.Puts[i]
		v.add(f, at, p.Table, string(p.Bytes), v.rev, p.Value)
	}
	return v.rev
}

// add adds a row to a frame at an offset of the newest segment, and to the view.
func (v *view) add(f *frame, at int64, t rows.Table, key string, rev uint64, value []byte) {
	if !t.Revised() {
		rev = 0
	}
	in := f.put(t, key, rev, value)
	v.put(t, key, place{rev, uint32(v.last().number), uint32(at) + uint32(in), uint32(len(value))}) //nolint:gosec // bounded by segments
}

// damaged returns the error for damage at a byte of a file.
func damaged(path string, at int64, format string, args ...any) error {
	return fmt.Errorf("%s: byte %d: %s: %w; Repair makes the folder usable without what is lost",
		path, at, fmt.Sprintf(format, args...), checkpoint.ErrDamaged)
}
