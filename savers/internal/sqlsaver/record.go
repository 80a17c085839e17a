package sqlsaver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// optional returns an id as a value to bind, NULL if store is false.
func optional(id checkpoint.ID, store bool) []byte {
	if !store {
		return nil
	}
	return id[:]
}

// insert stores a record with the number of its line. before is the id of the record with the seq
// before, zero if there is none.
func (s *Saver) insert(ctx context.Context, tx Tx, at spot, r *checkpoint.Record, lineNo int64, before checkpoint.ID) error {
	if r.Seq > lastSeq {
		return fmt.Errorf("record %d: a log takes %d records: release the thread, and the next run begins a new one", r.Seq, lastSeq)
	}
	commitsPrevious := r.Commits == before && !before.IsZero()
	body, payload := at.body(r)
	return s.later(ctx, tx, stInsertRecord, at.log, int64(r.Seq), at.root, r.ID[:], lineNo,
		int64(r.Source), r.Snapshot, commitsPrevious, int64(r.Step), ledger.Micro(r.Created).UnixMicro(),
		optional(r.Parent, r.Parent != before), optional(r.Base, r.Base != r.ID),
		optional(r.Commits, !r.Commits.IsZero() && !commitsPrevious), body, payload)
}

// inline is the size up to which a payload is a part of the body. A larger one has a column of its
// own, so that it need not be read with its header.
const inline = 256

// apart is added to the last byte of a body whose payload is in its own column. The body then has
// a checksum in the place of the payload.
const apart = 0x80

// body returns the columns body and payload of a record. The body is the part of the record that
// no other column holds. It ends with a checksum of the record, its thread and its namespace.
func (at *spot) body(r *checkpoint.Record) (body, payload []byte) {
	copied := *r
	copied.Created = ledger.Micro(r.Created)
	if r.Base != r.ID {
		copied.Due = nil
	}
	if len(r.Payload) > inline {
		payload, copied.Payload = r.Payload, payloadSum(r.Payload)
	}
	b := codec.AppendBody(make([]byte, 0, 64+len(copied.Payload)), &copied)
	b = codec.AppendRecordSum(b, 0, at.id, at.namespace, &copied)
	if payload != nil {
		b[len(b)-1] ^= apart
	}
	return b, payload
}

func payloadSum(payload []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli)))
}

// entry is a row of graph_checkpoint. Its record lacks what its line and the row before hold.
type entry struct {
	checkpoint.Record
	line            int64
	parentPrevious  bool // the parent is the record with the seq before; none if there is no such record
	commitsPrevious bool // it commits the record with the seq before
	markedCommitted bool // a record other than the next one commits it
	body            []byte
	payload         []byte
	bare            bool // the payload was not read
	large           bool // nor was it, because it is too large for a pack
}

// scanRecord reads a row of st, which is stRecords, stPackable, stHistory or stHistoryHeaders.
func scanRecord(rows Rows, st statement) (e entry, err error) {
	var id, parent, base, commits []byte
	var seq, source, step, created int64
	e.bare = st == stHistoryHeaders
	columns := []any{
		&seq, &id, &e.line, &source, &e.Snapshot, &e.commitsPrevious, &e.markedCommitted, &step, &created,
		&parent, &base, &commits, &e.body, &e.payload,
	}
	if e.bare {
		columns = columns[:len(columns)-1]
	}
	if err := rows.Scan(columns...); err != nil {
		return e, err
	}
	e.large = st == stPackable && len(e.payload) == 0 // if complete finds that it has one
	e.Seq, e.Step, e.Source = uint64(seq), int(step), checkpoint.Source(source)
	return e, e.set(created, id, parent, base, commits)
}

// set sets the time and the ids of an entry to the values of columns.
func (e *entry) set(created int64, id, parent, base, commits []byte) error {
	e.Created = time.UnixMicro(created).UTC()
	if !setID(&e.ID, id) || !setID(&e.Parent, parent) || !setID(&e.Base, base) || !setID(&e.Commits, commits) {
		return damagedID(int64(e.Seq))
	}
	e.parentPrevious = parent == nil
	if base == nil {
		e.Base = e.ID
	}
	return nil
}

// complete returns the record of an entry of a log; before is the entry before it, nil if that was
// not read.
func (e *entry) complete(at *spot, before *entry, l line) (checkpoint.Record, error) {
	r := e.Record
	var id checkpoint.ID
	if before != nil && before.Seq+1 == r.Seq {
		id = before.ID
	}
	if e.parentPrevious {
		r.Parent = id
	}
	if e.commitsPrevious {
		r.Commits = id
	}
	r.Line, r.Fingerprint, r.Graph = l.id, l.fingerprint, l.graph
	body, ok := codec.CutRecordSum(e.body, at.id, at.namespace, &r)
	isApart := !ok && len(e.body) > 0
	if isApart {
		e.body[len(e.body)-1] ^= apart
		body, ok = codec.CutRecordSum(e.body, at.id, at.namespace, &r)
	}
	if !ok {
		return r, at.damaged(r.Seq, errSum)
	}
	b := codec.NewReader(body)
	b.Body(&r)
	if err := b.End(); err != nil {
		return r, at.damaged(r.Seq, err)
	}
	switch {
	case e.large && !isApart:
		e.large = false
	case e.bare, e.large:
		r.Payload = nil
	case isApart != (len(e.payload) > 0), isApart && !bytes.Equal(r.Payload, payloadSum(e.payload)):
		return r, at.damaged(r.Seq, errSum)
	case isApart:
		r.Payload = e.payload
	}
	return r, nil
}

// errSum is the error of bytes that are not the ones that were stored.
var errSum = errors.New("its checksum is that of other data; restore it from a backup")

// damaged returns the error of a record that is not the one that was stored.
func (at *spot) damaged(seq uint64, err error) error {
	where := ""
	if at.namespace != "" {
		where = fmt.Sprintf(", namespace %.64q", at.namespace)
	}
	return fmt.Errorf("thread %.64q%s, record %d: %w: %w", at.id, where, seq, checkpoint.ErrDamaged, err)
}

// setID sets id to the value of a column; NULL is the zero id. It reports whether the value is an
// id.
func setID(id *checkpoint.ID, b []byte) bool {
	*id = checkpoint.ID{}
	return b == nil || copy(id[:], b) == len(id) && len(b) == len(id)
}

func damagedID(seq int64) error {
	return fmt.Errorf("record %d: an id is not 16 bytes long: %w", seq, checkpoint.ErrDamaged)
}

// entries runs a statement that selects rows of graph_checkpoint.
func (s *Saver) entries(ctx context.Context, db Runner, st statement, args ...any) (all []entry, err error) {
	rows, err := s.query(ctx, db, st, args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows Rows) error {
		e, err := scanRecord(rows, st)
		all = append(all, e)
		return err
	})
	return all, err
}

// records returns the records of entries, oldest first, from index from on. known is a line that
// may be theirs.
func (s *Saver) records(ctx context.Context, db Runner, at spot, all []entry, from int, known line) ([]checkpoint.Record, error) {
	lines, err := s.lines(ctx, db, at, all[from:], known)
	if err != nil {
		return nil, err
	}
	return complete(&at, all, from, lines)
}

// complete returns the records of entries, oldest first, from index from on.
func complete(at *spot, all []entry, from int, lines map[int64]line) ([]checkpoint.Record, error) {
	records := make([]checkpoint.Record, 0, len(all)-from)
	for i := from; i < len(all); i++ {
		var before *entry
		if i > 0 {
			before = &all[i-1]
		}
		l, found := lines[all[i].line]
		if !found {
			return nil, fmt.Errorf("record %d: there is no line %d: %w", all[i].Seq, all[i].line, checkpoint.ErrDamaged)
		}
		r, err := all[i].complete(at, before, l)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// lines returns the lines of entries by their numbers. It reads them only if an entry has another
// line than known.
func (s *Saver) lines(ctx context.Context, db Runner, at spot, all []entry, known line) (map[int64]line, error) {
	lines := map[int64]line{known.no: known}
	first, last := int64(math.MaxInt64), int64(0)
	for i := range all {
		if no := all[i].line; no != known.no {
			first, last = min(first, no), max(last, no)
		}
	}
	if last == 0 {
		return lines, nil
	}
	found, err := s.linesBetween(ctx, db, at.root, first, last)
	maps.Copy(found, lines)
	return found, err
}

// linesBetween reads the lines of a version with numbers from first to last.
func (s *Saver) linesBetween(ctx context.Context, db Runner, root, first, last int64) (map[int64]line, error) {
	lines := make(map[int64]line)
	rows, err := s.query(ctx, db, stLines, root, first, last)
	if err != nil {
		return lines, err
	}
	err = each(rows, func(rows Rows) error {
		l, err := scanLine(rows)
		lines[l.no] = l
		return err
	})
	return lines, err
}

func scanLine(rows Rows) (l line, err error) {
	var id, graph []byte
	var fingerprint int64
	if err := rows.Scan(&l.no, &id, &fingerprint, &graph); err != nil {
		return l, err
	}
	l.fingerprint, l.graph = uint64(fingerprint), string(graph)
	return l, l.setID(id)
}

// setID sets the id of a line to the value of a column.
func (l *line) setID(id []byte) error {
	if !setID(&l.id, id) {
		return fmt.Errorf("line %d: an id is not 16 bytes long: %w", l.no, checkpoint.ErrDamaged)
	}
	return nil
}

// between returns the records of a log with a seq from first to last, oldest first, and their
// entries.
func (s *Saver) between(ctx context.Context, db Runner, at spot, first, last int64, known line) ([]checkpoint.Record, []entry, error) {
	all, err := s.entries(ctx, db, stRecords, at.log, first-1, last) // with the one before
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	from := 0
	if all[0].Seq < uint64(first) {
		from = 1
	}
	records, err := s.records(ctx, db, at, all, from, known)
	return records, all[from:], err
}
