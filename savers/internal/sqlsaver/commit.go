package sqlsaver

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// run is a run that holds a lease, with the heads that its own writes made, by namespace.
type run struct {
	thread string
	heads  map[string]held
}

// maxHeads is how many heads of a run are kept. After a head that is not kept, a commit takes a
// transaction.
const maxHeads = 256

// held is a head that a run made, and its place in the tables. The statement of the next commit
// checks that it is still the head.
type held struct {
	thread  int64
	version int
	root    int64
	log     int64
	opened  int64 // the seq of the head before the run wrote to the log
	head
}

// remember keeps the head of the log that a wrote to for the next commit of the run. h is nil if a
// transaction released the version. Runs are kept until they end, because Close ends their leases.
func (s *Saver) remember(a *checkpoint.Append, h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fence := a.Fence
	if a.Open != nil {
		fence = a.Records[0].ID
		s.runs[fence] = &run{thread: a.Thread, heads: make(map[string]held)}
	}
	r := s.runs[fence]
	if a.End || a.Release {
		defer delete(s.runs, fence)
	}
	if r == nil || h == nil {
		return
	}
	before, found := r.heads[a.Namespace]
	if h.opened = before.opened; !found {
		h.opened = h.seq - int64(len(a.Records))
	}
	if !found && len(r.heads) >= maxHeads {
		for other := range r.heads {
			delete(r.heads, other)
			break
		}
	}
	r.heads[a.Namespace] = *h
	if a.End && !a.Release {
		s.packer.Add(s.packable(r)...)
	}
}

// lose forgets a run if err says that it has lost its thread.
func (s *Saver) lose(fence checkpoint.ID, err error) {
	var conflict *checkpoint.ConflictError
	if errors.As(err, &conflict) && (conflict.Reason == "fence" || conflict.Reason == "released") {
		s.forget(fence)
	}
}

// finish is forget for a run that ends.
func (s *Saver) finish(fence checkpoint.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[fence]; r != nil {
		s.packer.Add(s.packable(r)...)
	}
	delete(s.runs, fence)
}

// forget drops what remember kept of a run.
func (s *Saver) forget(fence checkpoint.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, fence)
}

// held returns the head of a namespace that the run itself made last.
func (s *Saver) held(a *checkpoint.Append) (h held, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[a.Fence]; r != nil && r.thread == a.Thread {
		h, found = r.heads[a.Namespace]
	}
	return h, found
}

// plain stores a plain commit without reading the tables first. That is one record after a head
// that the run made, with the line of that head, and no other change of the thread. The run must
// have seen the newest message. It takes one statement; in some dialects a commit that ends the
// run takes a transaction of two. stored is false if a is not plain, or if the tables have changed
// since the run made the head.
func (s *Saver) plain(ctx context.Context, a *checkpoint.Append) (done checkpoint.AppendResult, next *held, stored bool, err error) {
	r := &a.Records[0]
	if s.readable && a.End || a.Open != nil || a.Progress || !a.Messages.Empty() || a.Release || a.After.IsZero() || len(a.Records) > 1 || len(a.Writes) > 0 ||
		r.Base != r.ID || r.Parent != a.After || !r.Commits.IsZero() && r.Commits != a.After {
		return done, nil, false, nil
	}
	h, found := s.held(a)
	if !found || h.id != a.After || !h.line.is(r) || h.seq >= lastSeq {
		return done, nil, false, nil
	}
	if a.End && !s.has(stCommitLast) {
		err = s.share(ctx, RolledBack, func(tx Tx) error { return s.commitLast(ctx, tx, a, &h) })
	} else {
		err = s.commit(ctx, s.db, a, &h)
	}
	switch {
	case errors.Is(err, errOther):
		return done, nil, false, nil
	case err != nil:
		return done, nil, false, err
	}
	h.id, h.seq = r.ID, h.seq+1
	return checkpoint.AppendResult{Version: h.version, Head: uint64(h.seq), Posted: a.Messages.Seen}, &h, true, nil
}

// errOther is the error of a plain commit that stored nothing because the tables are not as the
// run knows them.
var errOther = errors.New("the thread has changed since this process read it")

// commit stores a plain commit after h by one statement, or returns errOther.
func (s *Saver) commit(ctx context.Context, db Runner, a *checkpoint.Append, h *held) error {
	r, lease := a.Records[0], micro(a.Lease)
	r.Seq = uint64(h.seq) + 1
	at := spot{id: a.Thread, namespace: a.Namespace}
	body, payload := at.body(&r)
	args := []any{
		r.ID[:], int64(r.Source), r.Snapshot, r.Commits == a.After, int64(r.Step), ledger.Micro(r.Created).UnixMicro(), body,
		h.thread, a.Fence[:], optionalStatus(a.Status),
	}
	st := stCommit
	if a.End && s.has(stCommitLast) {
		st, args = stCommitLast, append(args, wakeColumn(a.Wake))
	} else {
		args = append(args, lease-lease/4, lease)
	}
	rows, err := s.exec(ctx, db, st, append(args, h.log, h.seq, a.After[:], payload, seen(&a.Messages))...)
	if err == nil && rows == 0 {
		err = errOther
	}
	return err
}

// commitLast ends the run and stores a plain commit after h, or returns errOther.
func (s *Saver) commitLast(ctx context.Context, tx Tx, a *checkpoint.Append, h *held) error {
	rows, err := s.exec(ctx, tx, stEndRun, optionalStatus(a.Status), wakeColumn(a.Wake), []byte(a.Thread), a.Fence[:], seen(&a.Messages))
	if err == nil && rows == 0 {
		err = errOther
	}
	if err != nil {
		return err
	}
	return s.commit(ctx, tx, a, h)
}

// optionalStatus returns a status as a value to bind: nil for a status that stays as it is.
func optionalStatus(status checkpoint.Status) any {
	if status == 0 {
		return nil
	}
	return int64(status)
}
