package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// lease is the lease of a run of this saver, with the stored data that its own writes made. With
// these data, a plain commit names the values to compare and to store.
type lease struct {
	fence   checkpoint.ID
	queue   string // of the thread, in the index of wakes
	version int
	renewed time.Time // no later than the server did
	length  int64     // microseconds
	heads   map[string]known
	pending map[checkpoint.ID]bool // bases that have pending writes
}

// known is a namespace's head as it is stored.
type known struct {
	head   string        // the value of n:<namespace>
	entry  string        // that of i:<id>
	id     checkpoint.ID // of the head
	seq    uint64        // of the head
	opened uint64        // the seq of the head before the run
}

// maxHeads is how many heads of a run are kept. A commit after another head leaves the work to the
// server.
const maxHeads = 256

// plain is a commit that the server has no more to do for than to compare and to store.
type plain struct {
	version int
	seq     uint64
	next    known
	args    []any
}

// plain returns a as a plain commit. It reports false if the head is unknown, if a changes more
// than the log, or after the first quarter of the lease.
func (s *Saver) plain(a *checkpoint.Append) (p plain, ok bool) {
	r := &a.Records[0]
	if a.Open != nil || a.End || a.Release || a.Progress || a.Status != 0 || !a.Messages.Empty() || len(a.Records) > 1 || len(a.Writes) > 0 ||
		a.After.IsZero() || !r.Commits.IsZero() && r.Commits != a.After {
		return p, false
	}
	s.mu.Lock()
	l, found := s.leases[a.Thread]
	k := l.heads[a.Namespace]
	// The zero base has descriptions of schemas.
	waits := !r.Commits.IsZero() && l.pending[r.Commits]
	s.mu.Unlock()
	length := leaseArg(a.Lease)
	if !found || l.fence != a.Fence || k.id != a.After || waits || length != l.length ||
		time.Since(l.renewed) > time.Duration(length)*time.Microsecond/4 {
		return p, false
	}
	h, err := parseHead(k.head)
	if err != nil {
		return p, false
	}
	p.version, p.seq = l.version, h.seq+1
	h.seq, h.step, h.count = p.seq, r.Step, h.count+1
	if r.Snapshot {
		h.snapshot = p.seq
	}
	p.next = known{head: h.format(r.ID), entry: h.entry(r), id: r.ID, seq: p.seq}
	p.args = s.plainArgs(a, l, k, h.number, p)
	return p, true
}

// plainArgs returns the arguments of commit.lua.
func (s *Saver) plainArgs(a *checkpoint.Append, l lease, k known, number string, p plain) []any {
	r, v := &a.Records[0], strconv.Itoa(l.version)
	entry := v + ":i:" + string(r.ID[:])
	over, mark := entry, "" // nothing to mark: the entry's own value comes after it
	pending := entry        // nor to drop
	if !r.Commits.IsZero() {
		over, mark, pending = v+":i:"+string(r.Commits[:]), k.entry+":c", v+":p:"+string(r.Commits[:])
	}
	return []any{
		v + ":fence", v + ":n:" + a.Namespace, entry, pending,
		v, a.Fence[:], k.head,
		over, mark, v + ":r:" + number + ":" + strconv.FormatUint(p.seq, 10), encodeRecord(place{a.Thread, a.Namespace}, *r), p.next.head, p.next.entry,
	}
}

// commit stores a plain commit. It reports whether it did; else the caller must try append.lua.
func (s *Saver) commit(ctx context.Context, a *checkpoint.Append, p plain) (done checkpoint.AppendResult, stored bool, err error) {
	r, err := s.call(ctx, "append", s.script.commit, []string{s.key(a.Thread)}, p.args...)
	if err != nil {
		return done, false, err
	}
	if stored = r.text() == "ok"; !stored {
		return done, false, r.err
	}
	s.keep(a, p.next)
	return checkpoint.AppendResult{Version: p.version, Head: p.seq, Posted: r.seq()}, true, r.err
}

// format returns the head as it is stored, with the id of its record.
func (h *head) format(id checkpoint.ID) string {
	b := make([]byte, 0, 64)
	b = append(append(append(b, id[:]...), h.number...), ':')
	for _, n := range [...]uint64{h.seq, h.snapshot, h.first, uint64(h.step)} {
		b = append(strconv.AppendUint(b, n, 10), ':')
	}
	return string(strconv.AppendInt(b, int64(h.count), 10))
}

// entry returns the entry of the head's record as it is stored.
func (h *head) entry(r *checkpoint.Record) string {
	b := make([]byte, 0, 48)
	b = append(append(append(b, r.Base[:]...), h.number...), ':')
	b = append(strconv.AppendUint(b, h.seq, 10), ':')
	return string(strconv.AppendUint(b, h.snapshot, 10))
}

// keep notes the head of a namespace that a run of this saver has made.
func (s *Saver) keep(a *checkpoint.Append, k known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, fence := s.leases[a.Thread], a.Fence
	if a.Open != nil {
		fence = a.Records[0].ID
	}
	if l.heads == nil || l.fence != fence {
		return
	}
	before, found := l.heads[a.Namespace]
	if k.opened = before.opened; !found {
		k.opened = k.seq - uint64(len(a.Records))
	}
	if !found && len(l.heads) >= maxHeads {
		for other := range l.heads {
			delete(l.heads, other)
			break
		}
	}
	l.heads[a.Namespace] = k
	for i := range a.Records {
		delete(l.pending, a.Records[i].Commits)
	}
}

// likely returns the version of the thread that is open, as far as is known here.
func (s *Saver) likely(thread string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.leases[thread].version, 1)
}

// opened notes the lease of a run that this saver opened.
func (s *Saver) opened(thread string, l lease, writes []checkpoint.Write) {
	l.heads, l.pending = make(map[string]known), make(map[checkpoint.ID]bool)
	for i := range writes {
		l.pending[writes[i].Base] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[strings.Clone(thread)] = l // the caller's string may be part of something large
}

// renewed notes that a write of a run renewed its lease at the time since, or ended it. It also
// notes the bases that have pending writes.
func (s *Saver) renewed(thread string, fence checkpoint.ID, length int64, since time.Time, ended bool, writes []checkpoint.Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, found := s.leases[thread]
	switch {
	case !found || l.fence != fence:
	case ended:
		delete(s.leases, thread)
		for namespace, k := range l.heads {
			s.packSoon(thread, namespace, k)
		}
	default:
		l.renewed, l.length = since, length
		for i := range writes {
			l.pending[writes[i].Base] = true
		}
		s.leases[thread] = l
	}
}

// packSoon adds the log of a run that ended to the queue, if it is due.
func (s *Saver) packSoon(thread, namespace string, k known) {
	if s.packing.Due(int64(k.opened), int64(k.seq)) {
		s.packer.Add(job{thread: strings.Clone(thread), namespace: strings.Clone(namespace)})
	}
}

// lost notes that a run of this saver does not hold the thread any more.
func (s *Saver) lost(thread string, fence checkpoint.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[thread].fence == fence {
		delete(s.leases, thread)
	}
}
