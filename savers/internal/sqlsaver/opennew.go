package sqlsaver

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// openNew stores an opening that begins a version, by one statement. stored is false if the
// opening does more than that statement can, or if the statement found a version that is open.
func (s *Saver) openNew(ctx context.Context, a *checkpoint.Append) (done checkpoint.AppendResult, next *held, stored bool, err error) {
	if !s.has(stOpenNew) || !beginsSimply(a) {
		return done, nil, false, nil
	}
	at := spot{id: a.Thread}
	args := newArgs(a)
	for i := range a.Records {
		args.add(&at, &a.Records[i])
	}
	first := &a.Records[0]
	t := thread{id: a.Thread}
	var version, root, now int64
	found, err := s.one(ctx, s.db, stOpenNew, []any{
		[]byte(a.Thread), []byte(first.Graph), []byte(a.Open.Title), labelsColumn(a.Open.Labels), int64(a.Open.Priority),
		[]byte(a.Open.Holder), micro(a.Lease), int64(cmp.Or(a.Status, checkpoint.Running)), first.Line[:], int64(first.Fingerprint),
		args.ids, args.bases, args.sources, args.snapshots, args.commitsPrevious, args.steps, args.created, args.bodies, args.payloads,
		args.writeKeys, args.writes, args.take, numberOf(a.Open.Birth),
	}, &t.no, &version, &root, &t.posted, &now)
	if err != nil || !found {
		return done, nil, false, err
	}
	at = rootOf(&t, int(version), root)
	h := head{id: a.Records[len(a.Records)-1].ID, seq: int64(len(a.Records)), line: at.line(&checkpoint.Record{
		Seq: 1, Line: first.Line, Fingerprint: first.Fingerprint, Graph: first.Graph,
	})}
	done = checkpoint.AppendResult{Version: int(version), Head: uint64(h.seq), Now: createdAt(now), Birth: birth(t.no), Posted: uint64(t.posted)}
	return done, &held{thread: t.no, version: done.Version, root: root, log: root, head: h}, true, nil
}

// numberOf returns the number of the thread with a Birth: 0 for any, and -1 if no thread has it.
func numberOf(id checkpoint.ID) int64 {
	no := int64(binary.BigEndian.Uint64(id[len(id)-8:]))
	if birth(no) != id {
		return -1
	}
	return no
}

// beginsSimply reports whether an opening begins a version, and does no more than stOpenNew can:
//   - its records follow each other and have one line
//   - its writes describe schemas
//   - it removes no label
//   - it only takes messages, and none of them makes the saver forget others
func beginsSimply(a *checkpoint.Append) bool {
	if !a.After.IsZero() || a.Namespace != "" || a.End || a.Release || len(a.Messages.Refuse)+len(a.Messages.Return) > 0 {
		return false
	}
	if slices.ContainsFunc(a.Writes, isPending) || slices.ContainsFunc(a.Messages.Take, forgets) {
		return false
	}
	for _, value := range a.Open.Labels {
		if value == "" {
			return false
		}
	}
	var before checkpoint.ID
	first := &a.Records[0]
	for i := range a.Records {
		r := &a.Records[i]
		if r.Parent != before || !r.Commits.IsZero() && r.Commits != before {
			return false
		}
		if r.Line != first.Line || r.Fingerprint != first.Fingerprint || r.Graph != first.Graph {
			return false
		}
		before = r.ID
	}
	return true
}

// newRows are the rows of an opening, a column each.
type newRows struct {
	ids, bases, bodies, payloads  [][]byte
	sources, steps, created, take []int64
	snapshots, commitsPrevious    []bool
	writeKeys, writes             [][]byte
}

func newArgs(a *checkpoint.Append) *newRows {
	rows := &newRows{take: []int64{}, writeKeys: [][]byte{}, writes: [][]byte{}}
	for _, number := range a.Messages.Take {
		rows.take = append(rows.take, int64(number))
	}
	for i := range a.Writes {
		w := &a.Writes[i]
		rows.writeKeys, rows.writes = append(rows.writeKeys, writeKey(w, w.Kind)), append(rows.writes, dataOf(a.Thread, w))
	}
	return rows
}

// add adds a record to the rows.
func (rows *newRows) add(at *spot, record *checkpoint.Record) {
	r := *record
	r.Seq = uint64(len(rows.ids)) + 1
	body, payload := at.body(&r)
	rows.ids = append(rows.ids, r.ID[:])
	rows.bases = append(rows.bases, notNil(optional(r.Base, r.Base != r.ID)))
	rows.sources, rows.snapshots = append(rows.sources, int64(r.Source)), append(rows.snapshots, r.Snapshot)
	rows.commitsPrevious = append(rows.commitsPrevious, !r.Commits.IsZero())
	rows.steps, rows.created = append(rows.steps, int64(r.Step)), append(rows.created, ledger.Micro(r.Created).UnixMicro())
	rows.bodies, rows.payloads = append(rows.bodies, body), append(rows.payloads, notNil(payload))
}
