package redis

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// A call that has noted a thread normally changes and places it immediately. A reader of the index
// places the threads whose notes are older than noteTime. It removes a note that is older than
// staleNote, because a call changes no thread when its note is half as old.
const (
	noteTime   = time.Second
	staleNote  = time.Minute
	mostMended = 128
)

// A failover to a replica that is behind can lose the newest places in the index of a cluster, and
// keep the threads. So once in compareEvery the index is compared with all threads. The note
// compareNote says when.
const (
	compareEvery = time.Hour
	compareNote  = "c"
)

// whole is the member of the index that says that it is whole.
const whole = "\xff"

// noted is a note that is due.
type noted struct {
	member string
	thread string
	seen   string // the revision that the index has of the thread
	ended  bool   // nobody needs the note once the thread is placed
}

// mending says what is wrong with the index, or may be.
type mending struct {
	lost    bool // the index is not whole
	compare bool // the index must be compared with all threads
	notes   []noted
}

// none reports whether there is nothing to mend.
func (m *mending) none() bool { return !m.lost && !m.compare && len(m.notes) == 0 }

// readMending reads what the script says of the index.
func readMending(in *reply, now time.Time) (m mending) {
	m.lost = in.text() == "0"
	for in.more() {
		n := noted{member: in.text()}
		at := codec.Time(in.number())
		n.thread, n.seen = in.text(), in.text()
		if n.member == compareNote {
			m.compare = true
			continue
		}
		n.ended = strings.HasPrefix(n.member, "x") || now.Sub(at) > staleNote
		m.notes = append(m.notes, n)
	}
	return m
}

// mend places threads in the index as their rows say.
func (s *rowStore) mend(ctx context.Context, m mending) error {
	if m.lost {
		if err := s.rebuild(ctx); err != nil {
			return err
		}
	}
	if m.compare {
		if err := s.compare(ctx); err != nil {
			return err
		}
	}
	for i := range m.notes {
		if err := s.mendNoted(ctx, &m.notes[i]); err != nil {
			return err
		}
	}
	return nil
}

// mendNoted places a thread that has a note.
func (s *rowStore) mendNoted(ctx context.Context, n *noted) error {
	t, rev, err := s.thread(ctx, n.thread)
	isDamaged := errors.Is(err, checkpoint.ErrDamaged)
	if err != nil && !isDamaged {
		return err
	}
	if s.cluster {
		p := placing{thread: n.thread, rev: n.seen}
		switch {
		case isDamaged:
			p.rev = none // lists say that it is damaged
		case t != nil:
			p = s.placingOf(n.thread, t, rev)
		}
		if n.ended {
			p.ended = []string{n.member}
		}
		return s.place(ctx, p)
	}
	if err := s.mendThread(ctx, n.thread, t, rev); err != nil && !errors.Is(err, rows.ErrChanged) {
		return err
	}
	return nil // if it has changed, the note is still there
}

// mendThread places a thread, unless it has another revision; t is nil if it does not exist.
func (s *rowStore) mendThread(ctx context.Context, id string, t *rows.Standing, rev uint64) error {
	c := rows.Change{Checks: []rows.Check{{Thread: id, Rev: rev}}}
	r := newRequest()
	r.add(0)
	s.conditions(r, &c)
	r.add(0, 0, 0) // no deadline, nothing that is left behind, no reads
	r.args[0] = len(r.args)
	rowsAt, placed, notes := r.key(s.index[rowsKey]), r.key(s.index[placedKey]), r.key(s.index[notesKey])
	r.add(1, rowsAt, placed, notes, id, 0)
	var places [][]byte
	ms := int64(0)
	if t != nil {
		places, ms = s.placesOf(id, t)
	}
	r.add(len(places))
	for _, m := range places {
		r.add(rowsAt, m)
	}
	r.add(0)
	if ms == 0 {
		r.add(0)
	} else {
		r.add(1, placed, notes, id, ms)
		r.args = appendList(r.args, places)
	}
	r.add(0, 0) // no vectors, and no notifications
	v, err := do(ctx, s.server, func(ctx context.Context, _ int) ([]any, error) { return s.eval(ctx, s.script.apply, r.keys, r.args) })
	if err == nil && v[0] != "ok" {
		err = rows.ErrChanged
	}
	return err
}

// thread reads what the row of a thread says; nil if it does not exist.
func (s *rowStore) thread(ctx context.Context, id string) (t *rows.Standing, rev uint64, err error) {
	read, _, err := s.Read(ctx, rows.Range{Key: rows.Key{Table: rows.Threads, Thread: id, Bytes: []byte(id)}})
	if err != nil || len(read[0]) == 0 {
		return nil, 0, err
	}
	st, err := read[0][0].Standing()
	return &st, read[0][0].Rev, err
}

// placing is what the index gets to know of a thread.
type placing struct {
	thread string
	own    string // the note of the call, or nothing for one that looks at old notes
	exists bool
	rev    string
	expiry int64
	places [][]byte
	ended  []string // notes that go
}

// placingOf returns the index entries that a thread with a row must have.
func (s *rowStore) placingOf(id string, t *rows.Standing, rev uint64) placing {
	p := placing{thread: id, exists: true, rev: revText(rev)}
	p.places, p.expiry = s.placesOf(id, t)
	return p
}

// place places threads in the index of a cluster.
func (s *rowStore) place(ctx context.Context, all ...placing) error {
	args := []any{len(all)}
	for i := range all {
		p := &all[i]
		exists := 0
		if p.exists {
			exists = 1
		}
		args = append(args, p.thread, p.own, exists, p.rev, p.expiry)
		args = appendList(appendList(args, p.places), p.ended)
	}
	_, err := s.ask(ctx, s.script.place, args)
	return err
}

// ask runs a script on the index, again if the server is unavailable for now.
func (s *rowStore) ask(ctx context.Context, script *goredis.Script, args []any) ([]any, error) {
	return do(ctx, s.server, func(ctx context.Context, _ int) ([]any, error) { return s.eval(ctx, script, s.index[:], args) })
}

// note notes that the call is about to change threads. It returns the notes, and until when the
// call may change them.
func (s *rowStore) note(ctx context.Context, threads []string) (notes []string, deadline int64, err error) {
	args := []any{len(threads)}
	for _, id := range threads {
		var token [8]byte
		_, _ = rand.Read(token[:]) // it never fails
		n := "n" + string(token[:]) + id
		notes = append(notes, n)
		args = append(args, n, id)
	}
	v, err := s.ask(ctx, s.script.note, args)
	if err != nil {
		return nil, 0, err
	}
	in := &reply{values: v}
	return notes, in.number() + staleNote.Microseconds()/2, in.err
}

// applyApart stores a change on a cluster: the part of each thread by a script.
func (s *rowStore) applyApart(ctx context.Context, c *rows.Change, rev uint64) (read [][]rows.Row, err error) {
	parts := partsOf(c)
	indexed := slices.ContainsFunc(c.Checks, func(k rows.Check) bool { return k.Rev == 0 }) || // a new thread
		slices.ContainsFunc(c.Puts, func(p rows.Put) bool { return p.Table == rows.Index || p.Table == rows.Threads && s.ttl > 0 }) ||
		slices.ContainsFunc(c.Deletes, func(d rows.Range) bool { return d.Table == rows.Index || d.Table == rows.Threads })
	return s.applyParts(ctx, parts, rev, indexed)
}

// partOf is the part of a change for a thread.
type partOf struct {
	thread string
	c      rows.Change
}

// partsOf divides a change. It leaves out the rows of the index: they follow from the threads.
func partsOf(c *rows.Change) []partOf {
	var all []partOf
	of := func(thread string) *rows.Change {
		i := slices.IndexFunc(all, func(p partOf) bool { return p.thread == thread })
		if i < 0 {
			i = len(all)
			all = append(all, partOf{thread, rows.Change{Once: c.Once}})
		}
		return &all[i].c
	}
	for _, k := range c.Checks {
		p := of(k.Thread)
		p.Checks = append(p.Checks, k)
	}
	for _, d := range c.Deletes {
		if d.Table != rows.Index {
			p := of(d.Thread)
			p.Deletes = append(p.Deletes, d)
		}
	}
	for _, put := range c.Puts {
		if put.Table != rows.Index {
			p := of(put.Thread)
			p.Puts = append(p.Puts, put)
		}
	}
	for _, r := range c.Reads {
		p := of(r.Thread)
		p.Reads = append(p.Reads, r)
	}
	return all
}

// applyParts stores parts, with notes of their threads if the index changes.
func (s *rowStore) applyParts(ctx context.Context, parts []partOf, rev uint64, indexed bool) (read [][]rows.Row, err error) {
	var notes []string
	var deadline int64
	if indexed {
		threads := make([]string, len(parts))
		for i := range parts {
			threads[i] = parts[i].thread
		}
		if notes, deadline, err = s.note(ctx, threads); err != nil {
			return nil, err
		}
	}
	results, errs := make([][][]rows.Row, len(parts)), make([]error, len(parts))
	var calls sync.WaitGroup
	for i := range parts {
		calls.Go(func() { results[i], errs[i] = s.applyScript(ctx, &parts[i].c, rev, deadline) })
	}
	calls.Wait()
	var stored []string
	var places []placing
	for i := range parts {
		p := &parts[i]
		if errs[i] == nil {
			read, stored = append(read, results[i]...), append(stored, p.thread)
		}
		if indexed && (errs[i] == nil || errors.Is(errs[i], rows.ErrChanged)) { // else its note stays
			places = append(places, s.placingOfPart(p, rev, notes[i], errs[i] == nil))
		}
	}
	err = errors.Join(errs...)
	if len(places) > 0 {
		if failed := s.place(ctx, places...); failed != nil {
			return nil, fmt.Errorf("place in the index: %w", failed)
		}
	}
	if len(stored) > 0 && errors.Is(err, rows.ErrChanged) {
		err = &rows.PartError{Stored: stored, Err: err}
	}
	return read, err
}

// none is a revision that the index has of no thread, so a placing changes no places.
const none = "none"

// placingOfPart returns what the index gets to know of a part. If the part changes no row of a
// thread, or is not stored, only its note goes.
func (s *rowStore) placingOfPart(p *partOf, rev uint64, note string, stored bool) placing {
	pl := placing{thread: p.thread, rev: none}
	for i := range p.c.Puts {
		if put := &p.c.Puts[i]; put.Table == rows.Threads && stored {
			pl.exists, pl.rev = true, revText(rev)
			pl.places, pl.expiry = s.standing(put)
		}
	}
	for i := range p.c.Deletes {
		if p.c.Deletes[i].Table == rows.Threads && stored {
			pl.exists, pl.rev = true, revText(rev)
		}
	}
	pl.own, pl.ended = note, []string{note}
	return pl
}

// compareAt notes that the index is compared with all threads after compareEvery. If first is
// true, it leaves a note that is there. It reports whether it has changed the note.
func (s *rowStore) compareAt(ctx context.Context, first bool) (bool, error) {
	at := goredis.Z{Score: float64(time.Now().Add(compareEvery).UnixMicro()), Member: compareNote}
	n, err := s.client.ZAddArgs(ctx, s.index[notesKey], goredis.ZAddArgs{NX: first, XX: !first, GT: !first, Ch: true, Members: []goredis.Z{at}}).Result()
	return n > 0, err
}

// compare begins to compare the index with all threads, unless another process has begun.
func (s *rowStore) compare(ctx context.Context) error {
	if mine, err := s.compareAt(ctx, false); err != nil || !mine {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer s.calls.Done()
		r := rows.Range{Key: rows.Key{Table: rows.Threads}, To: bytes.Repeat([]byte{0xff}, rows.MaxKey+1), Limit: mostMended}
		for more := true; more; {
			more = s.comparePage(ctx, &r) == nil // an error ends it: in an hour somebody tries again
		}
	}()
	return nil
}

// comparePage places the next threads of a range. The error io.EOF says that there are no more.
func (s *rowStore) comparePage(ctx context.Context, r *rows.Range) error {
	if err := s.server.open(ctx); err != nil {
		return err
	}
	read, _, err := s.Read(ctx, *r)
	if err != nil || len(read[0]) == 0 {
		return errors.Join(err, io.EOF)
	}
	var all []placing
	for i := range read[0] {
		row := &read[0][i]
		if st, err := row.Standing(); err == nil {
			all = append(all, s.placingOf(string(row.Key), &st, row.Rev))
		}
		r.Bytes = append(row.Key, 0)
	}
	return s.place(ctx, all...)
}

// rebuild makes the index again, from the keys of all threads.
func (s *rowStore) rebuild(ctx context.Context) error {
	node := func(ctx context.Context, c *goredis.Client) error {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			keys, next, err := c.ScanType(ctx, cursor, pattern(s.prefix)+"{*}", 1000, "zset").Result()
			if err != nil {
				return err
			}
			for _, key := range keys {
				id := unescaped.Replace(key[len(s.prefix)+1 : len(key)-1])
				if err := s.rebuildThread(ctx, id); err != nil {
					return err
				}
			}
			cursor = next
		}
		return nil
	}
	if err := eachMaster(ctx, s.client, node); err != nil {
		return err
	}
	return s.client.ZAdd(ctx, s.index[rowsKey], goredis.Z{Member: whole}).Err()
}

// rebuildThread places a thread again.
func (s *rowStore) rebuildThread(ctx context.Context, id string) error {
	for {
		t, rev, err := s.thread(ctx, id)
		if errors.Is(err, checkpoint.ErrDamaged) {
			return nil // nobody can run it
		}
		if err != nil || t == nil {
			return err
		}
		if s.cluster {
			return s.place(ctx, s.placingOf(id, t, rev))
		}
		if err = s.mendThread(ctx, id, t, rev); !errors.Is(err, rows.ErrChanged) {
			return err
		}
	}
}

// unescaped is the reverse of names.
var unescaped = strings.NewReplacer("%25", "%", "%7D", "}")

// pattern returns a pattern that matches a text alone.
func pattern(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "^", `\^`).Replace(text)
}
