package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// builder writes a version again, into a file that has no thread's name yet. Each item is checked
// as it is added.
type builder struct {
	s         *Saver
	f         *os.File
	v         *ledger.Version
	at        int64
	salt      uint32
	namespace string
	records   []checkpoint.Record
	writes    []checkpoint.Write
	thread    *checkpoint.Thread // the first item of an import
	mail      ledger.Mail        // of an import
	bytes     int                // of the records and writes that wait for flush
}

// building is the folder for files that have no thread's name yet. A file there that nobody has
// locked was left by a process that died.
const building = "building"

// newBuilder creates the file of a version that is built as a whole, and writes its header.
func (s *Saver) newBuilder(thread string) (*builder, error) {
	f, err := s.newBuilding()
	if err != nil {
		return nil, err
	}
	b := &builder{s: s, f: f, v: ledger.New(thread, 1), salt: newSalt()}
	header, err := appendHeader(nil, thread, 1, b.salt)
	if err == nil {
		err = s.disk.write(f, header, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("file: write %s: %w", f.Name(), err), b.discard())
	}
	b.at = int64(len(header))
	return b, nil
}

// newBuilding creates a locked file without a thread's name, and removes abandoned files.
func (s *Saver) newBuilding() (*os.File, error) {
	if err := s.makeBelow(building); err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, building)
	if err := s.sweep(dir); err != nil {
		return nil, err
	}
	return createLocked(dir)
}

// createLocked creates a locked file in a folder that others sweep.
func createLocked(dir string) (*os.File, error) {
	for {
		f, err := newFile(dir, "", ".tmp")
		if err != nil {
			return nil, fmt.Errorf("file: %w", err)
		}
		locked, err := tryLock(f, true)
		there := false
		if locked {
			there, err = exists(f.Name())
		}
		if there {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("file: %w", err)
		}
	}
}

// sweep removes the files that nobody has locked.
func (s *Saver) sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	for _, e := range entries {
		if err := s.sweepFile(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("file: %w", err)
		}
	}
	return nil
}

// sweepFile removes a file that a process left behind while it built it. It leaves one that a
// process still locks.
func (s *Saver) sweepFile(path string) error {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	free, err := tryLock(f, true)
	if free {
		err = s.disk.remove(path)
	}
	return errors.Join(err, f.Close())
}

// discard removes the file.
func (b *builder) discard() error {
	return errors.Join(b.f.Close(), b.s.remove(b.f.Name()))
}

// batch is how many bytes the builder writes in one call.
const batch = 1 << 20

// record adds a record of a namespace to the file. It buffers records up to the size of a batch.
func (b *builder) record(namespace string, r checkpoint.Record) error {
	if namespace != b.namespace {
		if err := b.flush(); err != nil {
			return err
		}
		b.namespace = namespace
	}
	b.records = append(b.records, ledger.Normal(r))
	b.bytes += len(r.Payload) + 256
	if b.bytes < batch {
		return nil
	}
	return b.flush()
}

// write adds a pending write to the file. It buffers writes up to the size of a batch.
func (b *builder) write(w checkpoint.Write) error {
	if len(b.records) > 0 {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.writes = append(b.writes, w)
	b.bytes += len(w.Payload) + 64
	if b.bytes < batch {
		return nil
	}
	return b.flush()
}

// flush writes the waiting records and writes as one frame.
func (b *builder) flush() error {
	if len(b.records) == 0 && len(b.writes) == 0 {
		return nil
	}
	e := &ledger.Event{Namespace: b.namespace, Writes: ledger.CloneWrites(b.writes)}
	err := b.event(e, b.records)
	b.records, b.writes, b.bytes = b.records[:0], nil, 0
	return err
}

// event appends an event with its records to the file and to the version that the file holds.
func (b *builder) event(e *ledger.Event, records []checkpoint.Record) error {
	var before *checkpoint.Record
	if head := b.v.Head(e.Namespace); head != nil {
		before = &head.Record
	}
	frame, err := appendEvent(nil, e, records, before, b.at, b.salt)
	if err != nil {
		return err
	}
	if err := b.v.Follow(e); err != nil {
		return err
	}
	if err := b.s.disk.write(b.f, frame, b.at); err != nil {
		return fmt.Errorf("file: write %s: %w", b.f.Name(), err)
	}
	b.at += int64(len(frame))
	return nil
}

// finish writes the rest: the state of the version and its number.
func (b *builder) finish(state *ledger.Event, number int) error {
	if err := b.flush(); err != nil {
		return err
	}
	if err := b.event(state, nil); err != nil {
		return err
	}
	header, err := appendHeader(nil, b.v.Thread, number, b.salt)
	if err == nil {
		err = b.s.disk.write(b.f, header, 0)
	}
	if err == nil {
		err = b.s.disk.sync(b.f)
	}
	if err != nil {
		return fmt.Errorf("file: write %s: %w", b.f.Name(), err)
	}
	return nil
}

// place replaces the file of v, whose lock is held.
func (b *builder) place(v *volume) error {
	if err := v.move(b.f.Name(), v.path); err != nil {
		return err
	}
	return v.reopen(b.at)
}

// Prune removes old records and versions, as [checkpoint.Saver] says. It writes a new file and
// replaces the old one with a rename.
func (s *Saver) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (done checkpoint.PruneResult, err error) {
	err = s.inFolder(ctx, checkpoint.Ref{Thread: thread}, func(v *volume) error {
		err := v.enterAs(ctx, func(busy error) error {
			if at := v.version(); at.Number == 1 && at.Empty() && at.Mail.Empty() { // somebody is about to begin the thread
				return errAbsent
			}
			return v.version().AcceptPrune(&keep, busy)
		})
		if errors.Is(err, errAbsent) {
			err = ledger.NoThread(thread)
		}
		if err != nil {
			return err
		}
		defer v.unlock()
		number := v.version().Number
		if v.ended(&keep) {
			done.Deleted = true
			return v.remove(ctx)
		}
		if done.Records, err = v.prune(keep); err == nil {
			done.Versions, err = v.dropVersions(number, keep.Released)
		}
		return err
	})
	return done, err
}

// ended reports whether keep removes the whole thread.
func (v *volume) ended(keep *checkpoint.Retention) bool {
	at, status := v.version(), checkpoint.Done
	if !at.Empty() {
		status = at.Status
	}
	updated := at.Updated
	if updated.IsZero() {
		updated = at.About.Created
	}
	return ledger.Ended(keep, status, updated, at.Wake, at.Mail.Inputs, at.Mail.Newest())
}

// prune writes a new file with only the records that keep selects.
func (v *volume) prune(keep checkpoint.Retention) (removed int, err error) {
	if v.v == nil {
		return 0, nil
	}
	plan := make(map[string]ledger.Pruned)
	for _, p := range v.v.Prune(keep) {
		plan[p.Namespace] = p
		removed += p.Removed
	}
	if removed == 0 {
		return 0, nil
	}
	b, err := v.s.newBuilder(v.id)
	if err != nil {
		return 0, err
	}
	err = v.rebuild(b, plan)
	if err == nil {
		err = b.finish(v.v.State(), v.v.Number)
	}
	if err == nil {
		err = b.place(v)
	}
	if err != nil {
		return 0, errors.Join(err, b.discard())
	}
	return removed, b.f.Close()
}

// rebuild adds to b the records that the plan keeps.
func (v *volume) rebuild(b *builder, plan map[string]ledger.Pruned) error {
	for _, namespace := range v.v.Namespaces() {
		log, err := v.v.Log(namespace, checkpoint.ID{})
		if err != nil {
			return err
		}
		p, pruned := plan[namespace]
		if !pruned {
			for _, e := range log {
				p.Kept = append(p.Kept, ledger.Kept{Entry: e})
			}
		}
		for _, kept := range p.Kept {
			r, err := v.kept(kept)
			if err == nil {
				err = b.record(namespace, r)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, w := range append(v.v.Schemas(), v.v.Writes()...) {
		if err := b.write(w); err != nil {
			return err
		}
	}
	return nil
}

// kept reads a record that stays, with its new snapshot if it needs one.
func (v *volume) kept(kept ledger.Kept) (checkpoint.Record, error) {
	chain := kept.Fold
	if len(chain) == 0 {
		chain = []*ledger.Entry{kept.Entry}
	}
	records, err := v.h.records(chain)
	if err != nil {
		return checkpoint.Record{}, err
	}
	if len(kept.Fold) == 0 {
		return records[0], nil
	}
	return kept.Snapshot(records)
}

// dropVersions removes released versions below a number, the oldest first. It leaves the newest
// keep of them; -1 leaves none.
func (v *volume) dropVersions(number, keep int) (removed int, err error) {
	sp := span{open: number}
	if keep == 0 {
		return 0, nil
	}
	if err := sp.search(v.s.newVolume(v.id, v.base, 0)); err != nil {
		return 0, err
	}
	for n := sp.oldest; n < number-max(keep, 0); n++ {
		if err := v.s.remove(v.s.path(v.base, n)); err != nil {
			return removed, err
		}
		removed++
	}
	if removed == 0 {
		return 0, nil
	}
	if err := v.s.disk.syncDir(v.s.dir); err != nil {
		return removed, fmt.Errorf("file: %w", err)
	}
	return removed, nil
}

// Import stores a thread's next version, as [checkpoint.Saver] says. Import writes items as they
// arrive, so a version of any size takes little memory.
func (s *Saver) Import(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if err := s.begin(ctx, checkpoint.CheckThread(thread)); err != nil {
		return err
	}
	defer s.calls.Done()
	b, err := s.newBuilder(thread)
	if err != nil {
		return err
	}
	state, err := b.collect(ctx, items)
	if err == nil {
		err = s.install(ctx, b, state)
	}
	if err != nil {
		return errors.Join(err, b.discard())
	}
	s.forgetDue()
	return b.f.Close()
}

// collect adds imported items to b and returns the state of the version.
func (b *builder) collect(ctx context.Context, items iter.Seq2[checkpoint.ExportItem, error]) (*ledger.Event, error) {
	var in ledger.Intake
	for item, err := range items {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = in.Take(item)
		}
		switch {
		case err != nil:
		case item.Record != nil:
			err = b.record(item.Record.Namespace, item.Record.Record)
		case item.Write != nil:
			err = b.write(*item.Write)
		case item.Message != nil:
			b.mail.Add(ledger.CloneMessage(item.Message))
		}
		if err != nil {
			return nil, err
		}
	}
	b.thread = &in.Thread
	state := &ledger.Event{Restores: true, Ends: true, Status: in.Thread.Status, Time: ledger.Micro(in.Thread.Updated)}
	return state, in.End()
}

// install makes the file of b a thread's open version, which must be empty.
func (s *Saver) install(ctx context.Context, b *builder, state *ledger.Event) error {
	if err := b.flush(); err != nil {
		return err
	}
	v := s.use(b.v.Thread, baseName(b.v.Thread), 0)
	defer s.done(v)
	unlock, err := s.lockFolder(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := v.settleLocked(ctx); err != nil {
		return err
	}
	if err := v.lockOrCreate(ctx); err != nil {
		return err
	}
	defer v.unlock()
	version := v.version()
	if !version.Empty() {
		return version.Exists()
	}
	about, err := version.About.Imported(b.thread, time.Now())
	if err != nil {
		return err
	}
	state.About = &about
	mail := version.Mail.With(&b.mail)
	state.Messages, state.Posted, state.Wake = mail.Stored(), max(mail.Posted, b.thread.Posted), &version.Wake
	state.Replies = mail.Replies
	if err := b.finish(state, version.Number); err != nil {
		return err
	}
	return b.place(v)
}

// lockOrCreate locks a thread's file for writing, and creates the file if there is none. The
// caller must have settled the thread.
func (v *volume) lockOrCreate(ctx context.Context) error {
	for {
		err := v.lockUnder(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, errAbsent) {
			return err
		}
		if err := v.create(); err != nil {
			return err
		}
	}
	err := v.refresh(writing)
	if err != nil {
		v.unlock()
	}
	return err
}

// Export yields everything that a version holds, as [checkpoint.Saver] says.
func (s *Saver) Export(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		x, err := s.snapshot(ctx, thread, version)
		if err != nil {
			yield(checkpoint.ExportItem{}, err)
			return
		}
		defer x.h.release()
		if !yield(checkpoint.ExportItem{Thread: &x.thread}, nil) {
			return
		}
		for _, log := range x.logs {
			for r, err := range s.forward(ctx, x.h, log.entries) {
				if err != nil {
					yield(checkpoint.ExportItem{}, err)
					return
				}
				if !yield(checkpoint.ExportItem{Record: &checkpoint.NamespaceRecord{Namespace: log.namespace, Record: r}}, nil) {
					return
				}
			}
		}
		for _, w := range x.writes {
			if !yield(checkpoint.ExportItem{Write: &w}, nil) {
				return
			}
		}
		for _, m := range x.mail {
			if !yield(checkpoint.ExportItem{Message: &m}, nil) {
				return
			}
		}
	}
}

// snapshot is a version at one moment.
type snapshot struct {
	h      *handle
	thread checkpoint.Thread
	logs   []namespaceLog
	writes []checkpoint.Write
	mail   []checkpoint.Message
}

// namespaceLog is the records of one namespace in a snapshot, oldest first.
type namespaceLog struct {
	namespace string
	entries   []*ledger.Entry
}

// snapshot returns the index of a version as it is now. The payloads are read later, from its
// open file.
func (s *Saver) snapshot(ctx context.Context, thread string, version int) (snapshot, error) {
	if err := s.begin(ctx, (checkpoint.Ref{Thread: thread, Version: version}).Check()); err != nil {
		return snapshot{}, err
	}
	defer s.calls.Done()
	v, sp, err := s.find(ctx, thread, version)
	if errors.Is(err, errAbsent) {
		return snapshot{}, ledger.NoVersion(thread, version)
	}
	if err != nil {
		return snapshot{}, err
	}
	defer s.done(v)
	x := snapshot{writes: append(v.v.Schemas(), v.v.Writes()...)}
	if x.thread, err = v.describe(sp.count()); err != nil {
		return snapshot{}, err
	}
	if v.v.Released.IsZero() {
		x.mail = v.v.Mail.All()
	}
	for _, namespace := range v.v.Namespaces() {
		log, err := v.v.Log(namespace, checkpoint.ID{})
		if err != nil {
			return snapshot{}, err
		}
		x.logs = append(x.logs, namespaceLog{namespace, log})
	}
	x.h = v.h.share()
	return x, nil
}

// forward yields the records of a log, oldest first. It reads a few at a time.
func (s *Saver) forward(ctx context.Context, h *handle, log []*ledger.Entry) iter.Seq2[checkpoint.Record, error] {
	const some = 32
	return func(yield func(checkpoint.Record, error) bool) {
		for len(log) > 0 {
			n := min(some, len(log))
			records, err := s.fetch(ctx, h, log[:n])
			if err != nil {
				yield(checkpoint.Record{}, err)
				return
			}
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
			log = log[n:]
		}
	}
}
