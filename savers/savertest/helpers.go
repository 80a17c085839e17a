package savertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// open opens a saver and closes it at the end of the test.
func open(tb testing.TB, place Storage) checkpoint.Saver {
	tb.Helper()
	s, err := place.Open()
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

// newID returns a new id, or ends the test.
func newID(tb testing.TB) checkpoint.ID {
	tb.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// openTwo opens the storage twice, if its savers share threads. Otherwise both savers are the
// same.
func openTwo(tb testing.TB, place Storage) (s, other checkpoint.Saver) {
	tb.Helper()
	s = open(tb, place)
	if !place.Shared {
		return s, s
	}
	return s, open(tb, place)
}

// created is the time of every record that needs no other time.
var created = time.Date(2026, 11, 21, 10, 0, 0, 123456000, time.UTC)

// run is a run on a thread: its fence, and the head of each namespace known to the run.
type run struct {
	tb     testing.TB
	s      checkpoint.Saver
	thread string
	fence  checkpoint.ID
	heads  map[string]checkpoint.ID
	step   int
}

// begin opens a run after a head with one snapshot. The run holds the lease for an hour.
func begin(tb testing.TB, s checkpoint.Saver, thread string, after checkpoint.ID) *run {
	tb.Helper()
	r, _ := tryBegin(tb, s, opening(tb, thread, after))
	return r
}

// opening returns an Append that opens a run with one snapshot.
func opening(tb testing.TB, thread string, after checkpoint.ID) checkpoint.Append {
	tb.Helper()
	id := newID(tb)
	return checkpoint.Append{
		Thread: thread, After: after, Open: &checkpoint.Opening{Holder: "holder of " + id.String()}, Lease: time.Hour,
		Records: []checkpoint.Record{{
			ID: id, Parent: after, Base: id, Line: id, Source: checkpoint.Input, Created: created,
			Due: []checkpoint.Task{{Node: "first"}}, Snapshot: true, Payload: []byte("state of " + id.String()),
		}},
	}
}

// tryBegin opens a run by a, or ends the test. It also returns the result of the Append.
func tryBegin(tb testing.TB, s checkpoint.Saver, a checkpoint.Append) (*run, checkpoint.AppendResult) {
	tb.Helper()
	done, err := s.Append(tb.Context(), a)
	if err != nil {
		tb.Fatalf("open a run on %.40q after %s: %v", a.Thread, a.After, err)
	}
	head := a.Records[len(a.Records)-1].ID
	return &run{
		tb: tb, s: s, thread: a.Thread, fence: a.Records[0].ID, heads: map[string]checkpoint.ID{"": head},
	}, done
}

// next returns an Append of one superstep after the head of a namespace: a delta, or a snapshot
// where no delta is allowed.
func (r *run) next(namespace string) checkpoint.Append {
	r.tb.Helper()
	id, head := newID(r.tb), r.heads[namespace]
	r.step++
	return checkpoint.Append{
		Thread: r.thread, Namespace: namespace, After: head, Fence: r.fence, Lease: time.Hour,
		Records: []checkpoint.Record{{
			ID: id, Parent: head, Base: id, Line: r.fence, Commits: head, Step: r.step, Source: checkpoint.Loop,
			Created: created.Add(time.Duration(r.step) * time.Second), Snapshot: head.IsZero(),
			Due: []checkpoint.Task{{Node: "node"}}, Payload: fmt.Appendf(nil, "%s%d", namespace, r.step),
		}},
	}
}

// append sends a and moves the head.
func (r *run) append(a checkpoint.Append) checkpoint.AppendResult {
	r.tb.Helper()
	done, err := r.s.Append(r.tb.Context(), a)
	if err != nil {
		r.tb.Fatalf("append to %.40q after %s: %v", a.Thread, a.After, err)
	}
	r.heads[a.Namespace] = a.Records[len(a.Records)-1].ID
	return done
}

// commit appends one superstep to a namespace and returns its id.
func (r *run) commit(namespace string) checkpoint.ID {
	r.tb.Helper()
	r.append(r.next(namespace))
	return r.heads[namespace]
}

// put stores pending writes.
func (r *run) put(writes ...checkpoint.Write) {
	r.tb.Helper()
	r.putWith(checkpoint.PutWrites{Writes: writes})
}

// putWith makes a PutWrites of the run.
func (r *run) putWith(w checkpoint.PutWrites) {
	r.tb.Helper()
	w.Thread, w.Fence = r.thread, r.fence
	if w.Lease == 0 {
		w.Lease = time.Hour
	}
	if _, err := r.s.PutWrites(r.tb.Context(), w); err != nil {
		r.tb.Fatalf("put writes to %.40q: %v", r.thread, err)
	}
}

// end ends the run.
func (r *run) end() {
	r.tb.Helper()
	r.putWith(checkpoint.PutWrites{End: true})
}

// write returns a pending write for the head of the root.
func (r *run) write(task string, kind checkpoint.Kind, name, payload string) checkpoint.Write {
	return checkpoint.Write{Base: r.heads[""], Task: task, Kind: kind, Name: name, Payload: []byte(payload)}
}

// mustRelease releases the open version of a thread, or ends the test.
func mustRelease(tb testing.TB, s checkpoint.Saver, thread string) {
	tb.Helper()
	if _, err := s.Release(tb.Context(), thread, checkpoint.ID{}); err != nil {
		tb.Fatalf("release %.40q: %v", thread, err)
	}
}

// mustDelete deletes a thread, or ends the test.
func mustDelete(tb testing.TB, s checkpoint.Saver, thread string) {
	tb.Helper()
	if err := s.Delete(tb.Context(), thread); err != nil {
		tb.Fatalf("delete %.40q: %v", thread, err)
	}
}

// mustPrune prunes a thread, or ends the test.
func mustPrune(tb testing.TB, s checkpoint.Saver, thread string, keep checkpoint.Retention) {
	tb.Helper()
	if _, err := s.Prune(tb.Context(), thread, keep); err != nil {
		tb.Fatalf("prune %.40q: %v", thread, err)
	}
}

// mustRewake sets when a thread is due, or ends the test.
func mustRewake(tb testing.TB, s checkpoint.Saver, r checkpoint.Rewake) {
	tb.Helper()
	if err := s.Rewake(tb.Context(), r); err != nil {
		tb.Fatalf("rewake %.40q: %v", r.Thread, err)
	}
}

// load loads a chain, or ends the test.
func load(tb testing.TB, s checkpoint.Saver, p checkpoint.Ref) checkpoint.Chain {
	tb.Helper()
	chain, err := s.Load(tb.Context(), p)
	if err != nil {
		tb.Fatalf("load %s: %v", describe(p), err)
	}
	return chain
}

// describe returns p for messages.
func describe(p checkpoint.Ref) string {
	return fmt.Sprintf("%.40q version %d namespace %.40q at %s", p.Thread, p.Version, p.Namespace, p.At)
}

// last returns the last checkpoint of a chain.
func last(tb testing.TB, c checkpoint.Chain) checkpoint.Record {
	tb.Helper()
	if c.Empty() {
		tb.Fatal("the chain is empty, want records")
	}
	return c.Last
}

// wantHead fails unless want is the head of the namespace.
func wantHead(tb testing.TB, s checkpoint.Saver, thread, namespace string, want checkpoint.ID) {
	tb.Helper()
	chain := load(tb, s, checkpoint.Ref{Thread: thread, Namespace: namespace})
	if chain.Head != want {
		tb.Errorf("head of %.40q, namespace %.40q: got %s, want %s", thread, namespace, chain.Head, want)
	}
	if !want.IsZero() && last(tb, chain).ID != want {
		tb.Errorf("chain of %.40q, namespace %.40q ends with %s, want the head, %s", thread, namespace, last(tb, chain).ID, want)
	}
}

// wantConflict fails unless err is a *ConflictError.
func wantConflict(tb testing.TB, what string, err error) {
	tb.Helper()
	var conflict *checkpoint.ConflictError
	if !errors.Is(err, checkpoint.ErrConflict) || !errors.As(err, &conflict) {
		tb.Errorf("%s: got %v, want a *ConflictError", what, err)
	}
}

// putErr returns the error of a PutWrites.
func putErr(_ checkpoint.PutResult, err error) error { return err }

// wantBusy fails unless err is a *BusyError that names holder.
func wantBusy(tb testing.TB, what string, err error, thread, holder string) {
	tb.Helper()
	var busy *checkpoint.BusyError
	switch {
	case !errors.Is(err, checkpoint.ErrConflict) || !errors.As(err, &busy):
		tb.Errorf("%s: got %v, want a *BusyError", what, err)
	case busy.Thread != thread || busy.Holder != holder:
		tb.Errorf("%s: busy with thread %.40q held by %q, want %.40q held by %q", what, busy.Thread, busy.Holder, thread, holder)
	}
}

// wantErr fails unless err is want.
func wantErr(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%s: got %v, want an error that is %q", what, err, want)
	}
}

// wantInvalid fails unless err is a *checkpoint.InvalidError.
func wantInvalid(tb testing.TB, what string, err error) {
	tb.Helper()
	var invalid *checkpoint.InvalidError
	if !errors.As(err, &invalid) {
		tb.Errorf("%s: got %v, want an *InvalidError", what, err)
	}
}

// collect returns the values of a sequence up to its first error.
func collect[V any](seq iter.Seq2[V, error]) ([]V, error) {
	var all []V
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// history returns the records of a History, or ends the test.
func history(tb testing.TB, s checkpoint.Saver, p checkpoint.Ref, q checkpoint.Query) []checkpoint.Record {
	tb.Helper()
	all, err := collect(s.History(tb.Context(), p, q))
	if err != nil {
		tb.Fatalf("history of %s: %v", describe(p), err)
	}
	return all
}

// threads returns the threads of a listing, or ends the test.
func threads(tb testing.TB, s checkpoint.Saver, q checkpoint.ThreadQuery) []checkpoint.Thread {
	tb.Helper()
	all, err := collect(s.Threads(tb.Context(), q))
	if err != nil {
		tb.Fatalf("threads %+v: %v", q, err)
	}
	return all
}

// ids returns the ids of records.
func ids(records []checkpoint.Record) []checkpoint.ID {
	var all []checkpoint.ID
	for _, r := range records {
		all = append(all, r.ID)
	}
	return all
}

// patience is the time limit of until, which allows for a slow machine.
const patience = 2 * time.Minute

// until calls ok until it returns true. Tests use it for effects of a clock; they do not test the
// duration.
func until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("%s: not so after %v", what, patience)
		}
	}
}

// differ describes the difference between two records, or returns "". A nil payload equals an
// empty one.
func differ(got, want checkpoint.Record) string {
	if bytes.Equal(got.Payload, want.Payload) {
		got.Payload, want.Payload = nil, nil
	}
	var out strings.Builder
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			fmt.Fprintf(&out, "%s: got %.200v, want %.200v; ", g.Type().Field(i).Name, g.Field(i), w.Field(i))
		}
	}
	return strings.TrimSuffix(out.String(), "; ")
}

// wantWrites fails unless got equals want, in order.
func wantWrites(tb testing.TB, what string, got []checkpoint.Write, want ...checkpoint.Write) {
	tb.Helper()
	if g, w := names(got), names(want); g != w {
		tb.Errorf("%s: got\n%swant\n%s", what, g, w)
	}
}

// names prints writes, one a line.
func names(writes []checkpoint.Write) string {
	var b strings.Builder
	for _, w := range writes {
		fmt.Fprintf(&b, "\t%.40q %s %.40q %s %q %.60q\n", w.Namespace, w.Base, w.Task, w.Kind, w.Name, w.Payload)
	}
	if b.Len() == 0 {
		return "\tnone\n"
	}
	return b.String()
}

// contains reports whether a write is among others.
func contains(writes []checkpoint.Write, w checkpoint.Write) bool {
	one := names([]checkpoint.Write{w})
	for _, other := range writes {
		if names([]checkpoint.Write{other}) == one {
			return true
		}
	}
	return false
}
