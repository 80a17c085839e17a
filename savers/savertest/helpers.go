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

// open opens a saver on a place and closes it with the test.
func open(t testing.TB, place Storage) checkpoint.Saver {
	t.Helper()
	s, err := place.Open()
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func newID(t testing.TB) checkpoint.ID {
	t.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// created is the time of all records that do not need one of their own.
var created = time.Date(2026, 11, 21, 10, 0, 0, 123456000, time.UTC)

// run is a run on a thread: its fence, and the head of each namespace as the run knows it.
type run struct {
	t      testing.TB
	s      checkpoint.Saver
	thread string
	fence  checkpoint.ID
	heads  map[string]checkpoint.ID
	step   int
}

// begin opens a run after a head with one snapshot, holding the lease for an hour.
func begin(t testing.TB, s checkpoint.Saver, thread string, after checkpoint.ID) *run {
	t.Helper()
	r, _ := tryBegin(t, s, opening(t, thread, after))
	return r
}

// opening is an opening Append of one snapshot.
func opening(t testing.TB, thread string, after checkpoint.ID) checkpoint.Append {
	t.Helper()
	id := newID(t)
	return checkpoint.Append{
		Thread: thread, After: after, Open: &checkpoint.Opening{Holder: "holder of " + id.String()}, Lease: time.Hour,
		Records: []checkpoint.Record{{
			ID: id, Parent: after, Base: id, Line: id, Source: checkpoint.Input, Created: created,
			Due: []checkpoint.Task{{Node: "first"}}, Snapshot: true, Payload: []byte("state of " + id.String()),
		}},
	}
}

func tryBegin(t testing.TB, s checkpoint.Saver, a checkpoint.Append) (*run, checkpoint.Appended) {
	t.Helper()
	done, err := s.Append(t.Context(), a)
	if err != nil {
		t.Fatalf("open a run on %.40q after %s: %v", a.Thread, a.After, err)
	}
	head := a.Records[len(a.Records)-1].ID
	return &run{
		t: t, s: s, thread: a.Thread, fence: a.Records[0].ID, heads: map[string]checkpoint.ID{"": head},
	}, done
}

// next is an Append of one superstep that follows the head of a namespace: a delta, or a snapshot where a delta
// cannot be.
func (r *run) next(namespace string) checkpoint.Append {
	r.t.Helper()
	id, head := newID(r.t), r.heads[namespace]
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
func (r *run) append(a checkpoint.Append) checkpoint.Appended {
	r.t.Helper()
	done, err := r.s.Append(r.t.Context(), a)
	if err != nil {
		r.t.Fatalf("append to %.40q after %s: %v", a.Thread, a.After, err)
	}
	r.heads[a.Namespace] = a.Records[len(a.Records)-1].ID
	return done
}

// commit appends one superstep to a namespace and returns its id.
func (r *run) commit(namespace string) checkpoint.ID {
	r.t.Helper()
	r.append(r.next(namespace))
	return r.heads[namespace]
}

// put stores pending writes.
func (r *run) put(writes ...checkpoint.Write) {
	r.t.Helper()
	r.putWith(checkpoint.PutWrites{Writes: writes})
}

func (r *run) putWith(w checkpoint.PutWrites) {
	r.t.Helper()
	w.Thread, w.Fence = r.thread, r.fence
	if w.Lease == 0 {
		w.Lease = time.Hour
	}
	if err := r.s.PutWrites(r.t.Context(), w); err != nil {
		r.t.Fatalf("put writes to %.40q: %v", r.thread, err)
	}
}

// end ends the run.
func (r *run) end() {
	r.t.Helper()
	r.putWith(checkpoint.PutWrites{End: true})
}

// write is a pending write of the root's head.
func (r *run) write(task string, kind checkpoint.Kind, name, payload string) checkpoint.Write {
	return checkpoint.Write{Base: r.heads[""], Task: task, Kind: kind, Name: name, Payload: []byte(payload)}
}

func load(t testing.TB, s checkpoint.Saver, p checkpoint.Place) checkpoint.Chain {
	t.Helper()
	chain, err := s.Load(t.Context(), p)
	if err != nil {
		t.Fatalf("load %s: %v", describe(p), err)
	}
	return chain
}

func describe(p checkpoint.Place) string {
	return fmt.Sprintf("%.40q version %d namespace %.40q at %s", p.Thread, p.Version, p.Namespace, p.At)
}

// last returns the checkpoint that a chain ends with.
func last(t testing.TB, c checkpoint.Chain) checkpoint.Record {
	t.Helper()
	if len(c.Records) == 0 {
		t.Fatal("the chain is empty, want records")
	}
	return c.Records[len(c.Records)-1]
}

// wantHead fails unless the namespace's head is want.
func wantHead(t testing.TB, s checkpoint.Saver, thread, namespace string, want checkpoint.ID) {
	t.Helper()
	chain := load(t, s, checkpoint.Place{Thread: thread, Namespace: namespace})
	if chain.Head != want {
		t.Errorf("head of %.40q, namespace %.40q: got %s, want %s", thread, namespace, chain.Head, want)
	}
	if !want.IsZero() && last(t, chain).ID != want {
		t.Errorf("chain of %.40q, namespace %.40q ends with %s, want the head, %s", thread, namespace, last(t, chain).ID, want)
	}
}

// wantConflict fails unless err is a *ConflictError.
func wantConflict(t testing.TB, what string, err error) {
	t.Helper()
	var conflict *checkpoint.ConflictError
	if !errors.Is(err, checkpoint.ErrConflict) || !errors.As(err, &conflict) {
		t.Errorf("%s: got %v, want a *ConflictError", what, err)
	}
}

// wantBusy fails unless err is a *BusyError that names holder.
func wantBusy(t testing.TB, what string, err error, thread, holder string) {
	t.Helper()
	var busy *checkpoint.BusyError
	switch {
	case !errors.Is(err, checkpoint.ErrConflict) || !errors.As(err, &busy):
		t.Errorf("%s: got %v, want a *BusyError", what, err)
	case busy.Thread != thread || busy.Holder != holder:
		t.Errorf("%s: busy with thread %.40q held by %q, want %.40q held by %q", what, busy.Thread, busy.Holder, thread, holder)
	}
}

func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want an error that is %q", what, err, want)
	}
}

func wantInvalid(t testing.TB, what string, err error) {
	t.Helper()
	var invalid *checkpoint.InvalidError
	if !errors.As(err, &invalid) {
		t.Errorf("%s: got %v, want an *InvalidError", what, err)
	}
}

// collect returns what a sequence yields up to its first error.
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

func history(t testing.TB, s checkpoint.Saver, p checkpoint.Place, q checkpoint.Query) []checkpoint.Record {
	t.Helper()
	all, err := collect(s.History(t.Context(), p, q))
	if err != nil {
		t.Fatalf("history of %s: %v", describe(p), err)
	}
	return all
}

func threads(t testing.TB, s checkpoint.Saver, q checkpoint.ThreadQuery) []checkpoint.Thread {
	t.Helper()
	all, err := collect(s.Threads(t.Context(), q))
	if err != nil {
		t.Fatalf("threads %+v: %v", q, err)
	}
	return all
}

func ids(records []checkpoint.Record) []checkpoint.ID {
	var all []checkpoint.ID
	for _, r := range records {
		all = append(all, r.ID)
	}
	return all
}

// until calls ok until it reports true. It is for what a clock brings about: how long is not what is tested.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not so after 30s", what)
		}
	}
}

// differ says how two records differ, empty when they do not. Payloads may be nil or empty alike.
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

// wantWrites fails unless got are the writes wanted, in order.
func wantWrites(t testing.TB, what string, got []checkpoint.Write, want ...checkpoint.Write) {
	t.Helper()
	if g, w := names(got), names(want); g != w {
		t.Errorf("%s: got\n%swant\n%s", what, g, w)
	}
}

// names prints writes one a line.
func names(writes []checkpoint.Write) string {
	kinds := [...]string{"?", "result", "question", "answer", "failure", "discard"}
	var b strings.Builder
	for _, w := range writes {
		fmt.Fprintf(&b, "\t%.40q %s %.40q %s %q %.60q\n", w.Namespace, w.Base, w.Task, kinds[min(int(w.Kind), 5)], w.Name, w.Payload)
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
