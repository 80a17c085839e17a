package sqlsaver

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Release closes the open version, as [checkpoint.Saver] says.
func (s *Saver) Release(ctx context.Context, id string, ifHead checkpoint.ID) (v checkpoint.Version, err error) {
	if err := checkpoint.CheckThread(id); err != nil {
		return v, err
	}
	if err := s.begin(ctx); err != nil {
		return v, err
	}
	defer s.end()
	err = s.write(ctx, RolledBack, func(tx Tx) error {
		v, err = s.releaseIn(ctx, tx, id, ifHead)
		return err
	})
	if err != nil {
		return checkpoint.Version{}, s.wrap(ctx, "release", err)
	}
	return v, nil
}

func (s *Saver) releaseIn(ctx context.Context, tx Tx, id string, ifHead checkpoint.ID) (v checkpoint.Version, err error) {
	t, err := s.thread(ctx, tx, stLockThread, id)
	switch {
	case err != nil:
		return v, err
	case t == nil || t.open == 0:
		return v, ledger.NoVersion(id, 0)
	}
	if err := t.busy(); err != nil {
		return v, err
	}
	root, err := s.root(ctx, tx, t.root)
	if err != nil {
		return v, err
	}
	if !ifHead.IsZero() && ifHead != root.ID {
		return v, t.conflict("head", "", ifHead, root.ID)
	}
	var records int64
	if _, err := s.one(ctx, tx, stCountRecords, []any{t.root}, &records); err != nil {
		return v, err
	}
	v = checkpoint.Version{
		Thread: id, Number: t.open, Released: time.UnixMicro(t.now).UTC(), Head: root.ID, Records: int(records), Status: t.status,
	}
	if err := s.close(ctx, tx, t); err != nil {
		return v, err
	}
	return v, s.store(ctx, tx, t)
}

// Delete removes a thread, as [checkpoint.Saver] says.
func (s *Saver) Delete(ctx context.Context, id string) error {
	if err := checkpoint.CheckThread(id); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	return s.wrap(ctx, "delete", s.write(ctx, Lost, func(tx Tx) error {
		t, err := s.thread(ctx, tx, stLockThread, id)
		if err != nil || t == nil {
			return err
		}
		if err := t.busy(); err != nil {
			return err
		}
		return s.deleteIn(ctx, tx, t)
	}))
}

// deleteIn removes a thread. The rows that others lead to go first.
func (s *Saver) deleteIn(ctx context.Context, tx Tx, t *thread) error {
	if err := s.become(ctx, tx, t, ledger.About{}); err != nil {
		return err
	}
	for _, st := range [...]statement{
		stDeleteWrites, stDeleteRecords, stDeletePacks, stDeleteLines, stDeleteLogs, stDeleteState, stDeleteVersions, stDeleteMail, stDeleteThread,
	} {
		if err := s.later(ctx, tx, st, t.no); err != nil {
			return err
		}
	}
	return nil
}

// Prune removes old records and versions, as [checkpoint.Saver] says.
func (s *Saver) Prune(ctx context.Context, id string, keep checkpoint.Retention) (done checkpoint.PruneResult, err error) {
	if err := checkpoint.CheckThread(id); err != nil {
		return done, err
	}
	if err := s.begin(ctx); err != nil {
		return done, err
	}
	defer s.end()
	err = s.write(ctx, RolledBack, func(tx Tx) error {
		done, err = s.pruneIn(ctx, tx, id, keep)
		return err
	})
	if err != nil {
		return checkpoint.PruneResult{}, s.wrap(ctx, "prune", err)
	}
	return done, nil
}

func (s *Saver) pruneIn(ctx context.Context, tx Tx, id string, keep checkpoint.Retention) (done checkpoint.PruneResult, err error) {
	t, err := s.thread(ctx, tx, stLockThread, id)
	switch {
	case err != nil:
		return done, err
	case t == nil:
		return done, ledger.NoThread(id)
	}
	if err := t.acceptPrune(&keep); err != nil {
		return done, err
	}
	if done.Deleted, err = s.ended(ctx, tx, t, &keep); err != nil {
		return done, err
	}
	if done.Deleted {
		return done, s.deleteIn(ctx, tx, t)
	}
	if t.open != 0 && (keep.Last > 0 || !keep.Since.IsZero()) {
		if done.Records, err = s.pruneRecords(ctx, tx, t, keep); err != nil {
			return done, err
		}
	}
	if keep.Released != 0 {
		if done.Versions, err = s.pruneVersions(ctx, tx, t, keep.Released); err != nil {
			return done, err
		}
	}
	return done, nil
}

// ended reports whether keep removes the whole thread.
func (s *Saver) ended(ctx context.Context, tx Tx, t *thread, keep *checkpoint.Retention) (bool, error) {
	status, updated, posted := t.status, time.UnixMicro(t.updated), time.Time{}
	if t.open == 0 && !keep.Ended.IsZero() {
		v, ignored := version{}, int64(0)
		status, updated = checkpoint.Done, t.about.Created
		found, err := s.one(ctx, tx, stVersion, []any{t.no, int64(t.last)}, &v.root, &ignored, &v.updated, &v.released)
		if err != nil {
			return false, err
		}
		if found {
			updated = time.UnixMicro(v.updated)
		}
	}
	if !ledger.Ended(keep, status, updated, int(t.inputs), posted) || t.others == 0 {
		return ledger.Ended(keep, status, updated, int(t.inputs), posted), nil
	}
	newest := int64(0)
	if _, err := s.one(ctx, tx, stNewestMail, []any{t.no}, &newest); err != nil {
		return false, err
	}
	return ledger.Ended(keep, status, updated, int(t.inputs), time.UnixMicro(newest)), nil
}

// pruneVersions removes released versions, but not the newest keep; -1 keeps none.
func (s *Saver) pruneVersions(ctx context.Context, tx Tx, t *thread, keep int) (int, error) {
	rows, err := s.query(ctx, tx, stReleasedVersions, t.no)
	if err != nil {
		return 0, err
	}
	var released []spot
	err = each(rows, func(rows Rows) error {
		at := spot{thread: t.no}
		err := rows.Scan(&at.version, &at.root)
		released = append(released, at)
		return err
	})
	gone := released[:max(len(released)-max(keep, 0), 0)]
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	for _, at := range gone {
		if err := s.removeVersion(ctx, tx, at); err != nil {
			return 0, err
		}
	}
	t.versions -= len(gone)
	return len(gone), s.store(ctx, tx, t)
}

// removeVersion removes a released version.
func (s *Saver) removeVersion(ctx context.Context, tx Tx, at spot) error {
	for _, st := range [...]statement{stRemoveVersionWrites, stRemoveVersionRecords, stRemoveVersionPacks, stRemoveVersionLines} {
		if err := s.later(ctx, tx, st, at.root); err != nil {
			return err
		}
	}
	for _, st := range [...]statement{stRemoveVersionLogs, stRemoveVersionState, stRemoveVersion} {
		if err := s.later(ctx, tx, st, at.thread, at.version); err != nil {
			return err
		}
	}
	return nil
}

// namespaces returns the numbers of a version's logs by namespace; the root's is empty.
func (s *Saver) namespaces(ctx context.Context, db Runner, t *thread, version int) (map[string]int64, error) {
	rows, err := s.query(ctx, db, stLogs, t.no, int64(version))
	if err != nil {
		return nil, err
	}
	numbers := make(map[string]int64)
	err = each(rows, func(rows Rows) error {
		var n int64
		var key, rest []byte
		err := rows.Scan(&n, &key, &rest)
		if rest != nil {
			key = rest
		}
		numbers[string(key)] = n
		return err
	})
	return numbers, err
}
