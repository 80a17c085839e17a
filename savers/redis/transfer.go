package redis

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// whole is all of a version but its records.
type whole struct {
	described
	found  bool   // false when it does not exist
	exists bool   // false when the thread does not either
	uid    string // of the version
	logs   []*wholeLog
	packs  []packed
	late   []checkpoint.ID // packed records that were committed after they were packed
	writes []checkpoint.Write
	mail   []checkpoint.Message // of an open version
}

// wholeLog is a log without its records.
type wholeLog struct {
	namespace string
	head
	kept []uint64
}

// walk returns the way through a log, oldest first.
func (w *whole) walk(l *wholeLog) *walk {
	return &walk{
		place: place{w.ID, l.namespace}, version: strconv.Itoa(w.Version), uid: w.uid, number: l.number,
		kept: l.kept, first: l.first, end: l.seq + 1,
	}
}

func (w *whole) log(namespace string) *wholeLog {
	for _, l := range w.logs {
		if l.namespace == namespace {
			return l
		}
	}
	return nil
}

// whole reads a version. If free is set, it returns a *BusyError if a run holds the lease. Without
// payloads, the writes are names only.
func (s *Saver) whole(ctx context.Context, thread string, version int, free, payloads bool) (*whole, error) {
	r, err := s.call(ctx, "read", s.script.whole, []string{s.key(thread)}, version, flag(free), flag(payloads))
	if err != nil {
		return nil, err
	}
	switch r.text() {
	case "busy":
		return nil, busy(thread, r)
	case "absent":
		exists := r.text() == "1"
		return &whole{described: described{Thread: checkpoint.Thread{ID: thread}}, exists: exists}, r.err
	}
	w := &whole{found: true, exists: true, uid: r.text()}
	logs := r.list()
	for logs.more() {
		l := &wholeLog{namespace: logs.text()}
		var errs [2]error
		l.head, errs[0] = parseHead(logs.text())
		l.kept, errs[1] = parseSeqs(logs.text())
		logs.check(errs[0])
		logs.check(errs[1])
		w.logs = append(w.logs, l)
	}
	r.join(logs)
	w.writes = r.writes(thread)
	w.packs, err = parsePacks(r.text())
	r.check(err)
	for late := r.text(); len(late) >= len(checkpoint.ID{}); late = late[len(checkpoint.ID{}):] {
		w.late = append(w.late, checkpoint.ID([]byte(late[:len(checkpoint.ID{})])))
	}
	slices.SortStableFunc(w.writes, func(a, b checkpoint.Write) int { return rank(&a) - rank(&b) })
	w.described = r.thread(thread)
	w.mail = r.messages(thread)
	slices.SortFunc(w.logs, func(a, b *wholeLog) int { return strings.Compare(a.namespace, b.namespace) })
	if r.err != nil {
		return w, fmt.Errorf("redis: thread %q: %w", short(thread), r.err)
	}
	return w, nil
}

// rank puts descriptions of schemas before pending writes.
func rank(w *checkpoint.Write) int {
	if w.Kind == checkpoint.Schema {
		return 0
	}
	return 1
}

// Export yields all that a version holds, as [checkpoint.Saver] says. It reads records in pages.
// If unread records are pruned or deleted meanwhile, it returns ErrConflict.
func (s *Saver) Export(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		err := s.export(ctx, thread, version, func(item checkpoint.ExportItem) bool { return yield(item, nil) })
		if err != nil {
			yield(checkpoint.ExportItem{}, err)
		}
	}
}

// export hands all items to yield until it returns false.
func (s *Saver) export(ctx context.Context, thread string, version int, yield func(checkpoint.ExportItem) bool) error {
	if err := (checkpoint.Ref{Thread: thread, Version: version}).Check(); err != nil {
		return err
	}
	w, err := s.whole(ctx, thread, version, false, true)
	if err != nil {
		return err
	}
	if !w.found {
		return ledger.NoVersion(thread, version)
	}
	if !yield(checkpoint.ExportItem{Thread: &w.Thread}) {
		return nil
	}
	for _, l := range w.logs {
		for r, err := range s.records(ctx, w.walk(l)) {
			if err != nil {
				return err
			}
			if !yield(checkpoint.ExportItem{Record: &checkpoint.NamespaceRecord{Namespace: l.namespace, Record: r}}) {
				return nil
			}
		}
	}
	for i := range w.writes {
		if err := s.open(ctx); err != nil {
			return err
		}
		if !yield(checkpoint.ExportItem{Write: &w.writes[i]}) {
			return nil
		}
	}
	for i := range w.mail {
		if !yield(checkpoint.ExportItem{Message: &w.mail[i]}) {
			return nil
		}
	}
	return nil
}
