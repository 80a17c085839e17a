package sqlsaver

import (
	"context"
	"database/sql"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// spot is the place of a log in the tables.
type spot struct {
	thread  int64
	version int64
	root    int64 // the log of the version's root
	log     int64

	id, namespace string // of the thread, and of the log
}

// unknown is the number of the log of a namespace that has none.
const unknown = 0

// lastSeq is the seq of the last record that a log has room for. SQLite's keys have 28 bits for
// it.
const lastSeq = 1<<28 - 1

// rootOf returns the place of the log of a version's root.
func rootOf(t *thread, version int, root int64) spot {
	return spot{thread: t.no, version: int64(version), root: root, log: root, id: t.id}
}

// spot returns the place of the log of a namespace; its number is unknown if the namespace has
// none.
func (s *Saver) spot(ctx context.Context, db Runner, root spot, namespace string) (at spot, err error) {
	at = root
	if at.namespace = namespace; namespace == "" {
		return at, nil
	}
	found, err := s.one(ctx, db, stLog, []any{at.thread, at.version, key(namespace)}, &at.log)
	if !found {
		at.log = unknown
	}
	return at, err
}

// head is the newest record of a log; the zero head is that of an empty one.
type head struct {
	id   checkpoint.ID
	seq  int64
	step int64
	line line
}

// line is a row of graph_line: what the records of a run share.
type line struct {
	no          int64 // from 1
	id          checkpoint.ID
	fingerprint uint64
	graph       string
}

// lineNo returns the number of a line that a record of a log is the first to have. In the log of
// the root it is the seq of the record.
func (at *spot) lineNo(seq uint64) int64 { return (at.log-at.root)*(lastSeq+1) + int64(seq) }

// line returns the line that r, a record of a log, is the first to have.
func (at *spot) line(r *checkpoint.Record) line {
	return line{
		no: at.lineNo(r.Seq), id: r.Line, fingerprint: r.Fingerprint,
		graph: strings.Clone(r.Graph), // the caller's string may be part of something large
	}
}

// is reports whether l is the line of r.
func (l *line) is(r *checkpoint.Record) bool {
	return l.no != 0 && l.id == r.Line && l.fingerprint == r.Fingerprint && l.graph == r.Graph
}

func (s *Saver) insertLine(ctx context.Context, tx Tx, root int64, l *line) error {
	id := l.id // not the caller's: it is bound until the statement has run
	return s.later(ctx, tx, stInsertLine, root, l.no, id[:], int64(l.fingerprint), []byte(l.graph))
}

// insertLog inserts the log of a namespace, and returns its number.
func (s *Saver) insertLog(ctx context.Context, tx Tx, thread, version int64, namespace string) (number int64, err error) {
	q := &s.queries[stInsertLog]
	return tx.Insert(ctx, q.text, q.bind([]any{thread, version, key(namespace), rest(namespace)})...)
}

// headRow has the values of the newest record of a log, and of its line. They are NULL if there is
// no record.
type headRow struct {
	seq, step, line, fingerprint sql.NullInt64
	id, lineID, graph            []byte
}

func (r *headRow) set(h *head) error {
	h.seq, h.step = r.seq.Int64, r.step.Int64
	h.line = line{no: r.line.Int64, fingerprint: uint64(r.fingerprint.Int64), graph: string(r.graph)}
	if !setID(&h.id, r.id) || !setID(&h.line.id, r.lineID) {
		return damagedID(h.seq)
	}
	return nil
}

// head returns the newest record of a log.
func (s *Saver) head(ctx context.Context, db Runner, at spot) (h head, err error) {
	if at.log == unknown {
		return h, nil
	}
	var r headRow
	found, err := s.one(ctx, db, stHead, []any{at.log}, &r.seq, &r.id, &r.step, &r.line, &r.lineID, &r.fingerprint, &r.graph)
	if err != nil || !found {
		return h, err
	}
	return h, r.set(&h)
}

// newestSnapshot returns the seq of the newest snapshot of a log, in a row or in a pack; 0 for
// none.
func (s *Saver) newestSnapshot(ctx context.Context, db Runner, at spot) (first int64, err error) {
	_, err = s.one(ctx, db, stNewestSnapshot, []any{at.log}, &first)
	return first, err
}

// find returns the seq of a record in a log. packed says that it may be in a pack.
func (s *Saver) find(ctx context.Context, db Runner, at spot, id checkpoint.ID, packed bool) (seq int64, found bool, err error) {
	var log int64
	found, err = s.one(ctx, db, stRecord, []any{at.root, id[:]}, &log, &seq)
	if err != nil || found || !packed {
		return seq, found && log == at.log, err
	}
	r, err := s.inPack(ctx, db, at, id)
	if err != nil || r == nil {
		return 0, false, err
	}
	return int64(r.Seq), true, nil
}
