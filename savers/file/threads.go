package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// listing is a thread as listed when its file was as info says. A listing of the folder does not
// read an unchanged file again. A file that it does read is not kept open.
type listing struct {
	info   os.FileInfo
	id     string
	open   bool // the file has an open version
	ended  bool // with a run that gave its lease up
	last   bool // the file still has the newest released version, because its release is half-way
	fence  checkpoint.ID
	number int // of the version that the file has, or that begins next
	thread checkpoint.Thread
	ready  checkpoint.ReadyThread // without an ID if the thread has no open version and no messages
}

// tick exceeds the time in which two changes of a file may get the same timestamp. A listing of a
// younger file is not remembered.
const tick = 100 * time.Millisecond

// fresh reports whether info is of the unchanged file.
func (l *listing) fresh(info os.FileInfo) bool {
	return l.info != nil && l.info.Size() == info.Size() && l.info.ModTime().Equal(info.ModTime()) && os.SameFile(l.info, info)
}

// Threads yields the threads that q selects, as [checkpoint.Saver] says. It remembers the listing
// of each file until the file changes. So only the first listing of a folder reads every file. The
// order NewestFirst looks at every file, and ByID only at those of the page.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		names, err := s.names(ctx, &q)
		if err != nil {
			yield(checkpoint.Thread{}, err)
			return
		}
		found := 0
		for _, name := range names {
			t, ok, err := s.selected(ctx, name.base, &q)
			if errors.Is(err, checkpoint.ErrDamaged) {
				if !yield(checkpoint.Thread{ID: name.id}, err) {
					return
				}
				continue
			}
			if err != nil {
				yield(checkpoint.Thread{}, err)
				return
			}
			// A thread that was deleted and created again has another place now.
			if !ok || q.NewestFirst() && !t.Created.Equal(name.created) {
				continue
			}
			if found++; !yield(t, nil) || found == q.Limit {
				return
			}
		}
	}
}

// name is a thread's id and the base name of its files. The id is empty if only a damaged header
// has it. created is set for NewestFirst only. It is zero if it cannot be read.
type name struct {
	id, base string
	created  time.Time
}

// names returns the names that q selects, in order.
func (s *Saver) names(ctx context.Context, q *checkpoint.ThreadQuery) ([]name, error) {
	if err := s.begin(ctx, q.Check()); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	all, err := s.bases()
	if err != nil {
		return nil, err
	}
	var names []name
	for _, n := range all {
		if n.id != "" && !q.SelectsID(n.id) {
			continue
		}
		selected, err := s.locate(ctx, &n, q)
		if err != nil {
			return nil, err
		}
		if selected {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b name) int {
		if !q.NewestFirst() {
			return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.base, b.base))
		}
		if a.created.IsZero() != b.created.IsZero() { // one is damaged, and comes first
			return a.created.Compare(b.created)
		}
		return cmp.Or(ledger.Newer(a.id, b.id, a.created, b.created), strings.Compare(a.base, b.base))
	})
	return names, nil
}

// locate reads the id of a thread if its name is a hash, and for NewestFirst when the thread was
// created. It reports whether q selects the thread by name and place.
func (s *Saver) locate(ctx context.Context, n *name, q *checkpoint.ThreadQuery) (bool, error) {
	newest := q.NewestFirst()
	if n.id != "" && !newest {
		return n.id > q.After, nil
	}
	l, err := s.listing(ctx, n.base)
	damaged := errors.Is(err, checkpoint.ErrDamaged)
	if err != nil && !damaged {
		return false, err
	}
	n.id = cmp.Or(n.id, l.id)
	switch {
	case n.id == "" && !damaged || n.id != "" && !q.SelectsID(n.id):
		return false, nil
	case damaged && (newest || n.id == ""):
		return q.After == "", nil
	case newest:
		n.created = l.thread.Created
		return !n.created.IsZero() && ledger.Follows(q, n.id, n.created), nil
	}
	return n.id > q.After, nil
}

// bases returns the names of all threads that have a file. A name that is a hash has no id.
func (s *Saver) bases() ([]name, error) {
	d, err := os.Open(s.dir)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	all, err := d.Readdirnames(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	s.forgetListed(len(all))
	var names []name
	for _, n := range all {
		if base, next := strings.CutSuffix(n, nextName); next {
			n = base + suffix // a release is half-way, and the thread may have messages
		}
		if base, id, ok := parseName(n); ok {
			names = append(names, name{id: id, base: base})
		}
	}
	slices.SortFunc(names, func(a, b name) int { return strings.Compare(a.base, b.base) })
	return slices.Compact(names), nil
}

// forgetListed forgets all listings if there are far more than files in the folder: most are of
// threads that no longer exist.
func (s *Saver) forgetListed(files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listed) > 2*files+1000 {
		clear(s.listed)
	}
}

// selected returns one thread, if q selects it.
func (s *Saver) selected(ctx context.Context, base string, q *checkpoint.ThreadQuery) (checkpoint.Thread, bool, error) {
	if err := s.begin(ctx, nil); err != nil {
		return checkpoint.Thread{}, false, err
	}
	defer s.calls.Done()
	l, err := s.listing(ctx, base)
	if err != nil || !l.open && l.thread.Inputs == 0 && !q.Released {
		return checkpoint.Thread{}, false, err
	}
	t, leased := l.thread, false
	t.Now = ledger.Micro(time.Now())
	if !l.ended {
		if leased, t.Lease, err = s.leased(base, l.fence); err != nil {
			return checkpoint.Thread{}, false, err
		}
	}
	if !leased {
		t.Holder = ""
	}
	sp := span{oldest: 1, open: max(l.number, 1), started: l.open || l.last}
	if sp.open > 1 {
		if err := sp.search(s.newVolume(l.id, base, 0)); err != nil {
			return checkpoint.Thread{}, false, err
		}
	}
	t.Versions = sp.count()
	if !l.open && t.Inputs == 0 && t.Versions == 0 {
		return checkpoint.Thread{}, false, nil
	}
	return t, ledger.Selects(q, &t, leased), nil
}

// leased reports whether a run holds the lease of a fence, and until when.
func (s *Saver) leased(base string, fence checkpoint.ID) (bool, time.Time, error) {
	path := s.path(base, 0)
	s.mu.Lock()
	e := s.volumes[path]
	s.mu.Unlock()
	if e != nil {
		if v := e.Value.(*volume); v.leased.Load() {
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.lease.f != nil && v.lease.fence == fence {
				return v.lease.alive(time.Now()), v.lease.until, nil
			}
		}
	}
	until, err := leasedUntil(s.leasePath(base, fence), time.Now())
	return !until.IsZero(), until, err
}

// listing returns the listing of a thread's file, and reads the file if it has changed. For a
// missing file, it returns a listing without an open version.
func (s *Saver) listing(ctx context.Context, base string) (listing, error) {
	path := s.path(base, 0)
	info, err := os.Lstat(path)
	s.mu.Lock()
	l := s.listed[base]
	if errors.Is(err, os.ErrNotExist) {
		delete(s.listed, base)
	}
	s.mu.Unlock()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return s.listingOfNext(ctx, base)
	case err != nil:
		return listing{}, fmt.Errorf("file: %w", err)
	case l.fresh(info):
		return l, nil
	}
	v := s.newVolume("", base, 0)
	defer v.drop()
	if err := v.read(ctx); err != nil {
		if errors.Is(err, errAbsent) {
			return s.listingOfNext(ctx, base)
		}
		return listing{id: v.id}, err
	}
	l = v.listing()
	l.info = info
	if time.Since(info.ModTime()) > tick {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listed[base] = l
	}
	return l, nil
}

// listingOfNext returns the listing of a thread whose release is half-way, and otherwise one
// without an open version.
func (s *Saver) listingOfNext(ctx context.Context, base string) (listing, error) {
	v := s.newVolume("", base, 0)
	v.path = s.siblingPath(base, nextName)
	defer v.drop()
	err := v.read(ctx)
	if errors.Is(err, errAbsent) {
		return listing{}, nil
	}
	return v.listing(), err
}

// listing returns the thread of a volume after a read.
func (v *volume) listing() listing {
	l := listing{id: v.id, ended: true}
	if v.v == nil {
		return l
	}
	l.number = v.v.Number
	if !v.v.Empty() && v.v.Released.IsZero() {
		l.open, l.ended, l.fence = true, v.v.Ended, v.v.Fence
		l.thread, l.ready = v.v.Describe(true, time.Time{}, 1), v.v.Ready()
		return l
	}
	l.thread, l.last = v.v.Inbox(v.v.Updated, 0), !v.v.Released.IsZero()
	if !v.v.Mail.Empty() {
		l.ready = v.v.InboxReady()
	}
	return l
}

// Versions returns a thread's versions, as [checkpoint.Saver] says.
func (s *Saver) Versions(ctx context.Context, thread string) ([]checkpoint.Version, error) {
	if err := s.begin(ctx, checkpoint.CheckThread(thread)); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	var all []checkpoint.Version
	for range 10 { // a file that a caller has removed is missing every time
		var changed bool
		var err error
		if all, changed, err = s.versions(ctx, thread); err != nil || !changed {
			return all, err
		}
	}
	return all, nil
}

// versions looks for the versions one after another. changed reports that one had disappeared:
// pruned, or deleted with all others.
func (s *Saver) versions(ctx context.Context, thread string) (all []checkpoint.Version, changed bool, err error) {
	v := s.use(thread, baseName(thread), 0)
	err = v.read(ctx)
	if err != nil && !errors.Is(err, errAbsent) {
		s.done(v)
		return nil, false, err
	}
	sp, err := v.span(ctx, err == nil)
	s.done(v)
	if err != nil {
		return nil, false, err
	}
	for n := sp.oldest; n <= sp.open; n++ {
		v, _, err := s.find(ctx, thread, n)
		if errors.Is(err, errAbsent) && n == sp.open && !sp.started {
			break // the open version has not begun yet
		}
		if errors.Is(err, errAbsent) {
			changed = true
			continue
		}
		if err != nil {
			return nil, false, err
		}
		all = append(all, v.v.Listing())
		s.done(v)
	}
	return all, changed, nil
}
