package sqltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/compress"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// Modes opens a saver on one database in each mode.
type Modes struct {
	Create, Verify, Recreate func() (checkpoint.Saver, error)
	Exec                     func(text string)
}

// SchemaModes tests what opening does about tables, on a database that has none.
func SchemaModes(t *testing.T, m Modes) {
	t.Helper()
	closed := func(open func() (checkpoint.Saver, error)) error {
		t.Helper()
		s, err := open()
		if err != nil {
			return err
		}
		return s.Close()
	}
	exists := func() bool {
		t.Helper()
		s, err := m.Verify()
		if err != nil {
			t.Fatalf("verify: %v", err)
		}
		chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return !chain.Empty()
	}
	if err := closed(m.Verify); err == nil {
		t.Error("verify without tables: no error")
	}
	for range 2 {
		if err := closed(m.Create); err != nil {
			t.Fatalf("create: %v", err)
		}
	}
	s, err := m.Create()
	if err != nil {
		t.Fatal(err)
	}
	opening(t, s, "t", checkpoint.ID{})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if !exists() {
		t.Error("the thread has gone, want tables left alone")
	}
	if err := closed(m.Recreate); err != nil {
		t.Fatalf("recreate: %v", err)
	}
	if exists() {
		t.Error("the thread is there, want tables made anew")
	}
	for version, want := range map[int]string{
		1000: "the tables are of version 1000, and this program knows 26",
		3:    "the tables are of version 3, and this program reads version 26",
	} {
		m.Exec("DELETE FROM graph_schema") // has a row for each file of the schema
		m.Exec(fmt.Sprintf("INSERT INTO graph_schema (version) VALUES (%d)", version))
		for name, open := range map[string]func() (checkpoint.Saver, error){"create": m.Create, "verify": m.Verify} {
			if err := closed(open); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of tables of version %d: got %v, want an error with %q", name, version, err, want)
			}
		}
	}
}

// ReadableState tests savers that keep states as JSON. status queries what the JSON of a thread
// has as Status, and the seq that it is of; nothing and 0 if there is none.
func ReadableState(
	t *testing.T,
	open func(decode ...func([]byte) ([]byte, error)) (checkpoint.Saver, error),
	status func(thread string) (string, int64),
) {
	t.Helper()
	plain := func() (checkpoint.Saver, error) { return open() }
	s, other := opened(t, plain), opened(t, plain)
	ctx := t.Context()
	want := func(text string, seq int64) {
		t.Helper()
		if got, at := status("t"); got != text || at != seq {
			t.Errorf("the JSON has status %q of record %d, want %q of %d", got, at, text, seq)
		}
	}
	var fence, head checkpoint.ID
	must := func(s checkpoint.Saver, a checkpoint.Append) {
		t.Helper()
		r := &a.Records[0]
		r.ID = newID(t)
		if a.Open != nil {
			fence = r.ID
		}
		r.Base, r.Line, r.Parent = r.ID, fence, head
		a.Thread, a.After, a.Fence = "t", head, fence
		if _, err := s.Append(ctx, a); err != nil {
			t.Fatal(err)
		}
		head = r.ID
	}
	set := func(text string) []checkpoint.Record {
		return []checkpoint.Record{{Source: checkpoint.Loop, Payload: delta(text)}}
	}
	opens := func(s checkpoint.Saver) {
		t.Helper()
		must(s, checkpoint.Append{Open: &checkpoint.Opening{}, Records: set("opened")})
	}
	must(s, checkpoint.Append{
		Open: &checkpoint.Opening{}, Records: []checkpoint.Record{{Source: checkpoint.Input, Snapshot: true, Payload: snapshot("new")}},
	})
	for _, text := range []string{"asked", "it's \"quoted\" \\ é"} {
		must(s, checkpoint.Append{Records: set(text)})
		want("", 0) // the run has not ended
	}
	must(s, checkpoint.Append{Records: set("it's \"quoted\" \\ é"), End: true})
	want("it's \"quoted\" \\ é", 4)

	opens(s)
	must(s, checkpoint.Append{Records: set("waits")})
	want("it's \"quoted\" \\ é", 4)
	if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: fence, End: true, Status: checkpoint.Waiting}); err != nil {
		t.Fatal(err)
	}
	want("waits", 6)

	opens(other) // it has not seen the records before
	must(other, checkpoint.Append{Records: set("answered elsewhere"), End: true})
	want("answered elsewhere", 8)
	opens(s) // it has not seen those of the other
	must(s, checkpoint.Append{Records: set("answered"), End: true})
	want("answered", 10)

	if err := checkpoint.Copy(ctx, s, "t", 0, s, "copy"); err != nil {
		t.Fatal(err)
	}
	if got, _ := status("copy"); got != "answered" {
		t.Errorf("the JSON of a copy has status %q, want answered", got)
	}
	id := newID(t)
	_, err := s.Append(ctx, checkpoint.Append{Thread: "secret", Open: &checkpoint.Opening{}, Records: []checkpoint.Record{
		{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: []byte("no state")},
	}})
	if err == nil || !strings.Contains(err.Error(), "must not be encrypted") {
		t.Errorf("a state that cannot be read: got %v, want an error when the run opens", err)
	}
	compressedState(t, func() (checkpoint.Saver, error) { return open(compress.Decompress) }, status)
	manyStates(t, s, status)
}

// manyStates ends the runs of many threads at the same time. Each has its own state.
func manyStates(t *testing.T, s checkpoint.Saver, status func(thread string) (string, int64)) {
	t.Helper()
	const n = 32
	thread := func(i int) string { return fmt.Sprint("of many ", i) }
	concurrently(n, n, func(i int) {
		id, err := checkpoint.NewID()
		if err == nil {
			_, err = s.Append(t.Context(), checkpoint.Append{
				Thread: thread(i), Open: &checkpoint.Opening{}, End: true, Records: []checkpoint.Record{
					{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: snapshot(thread(i))},
				},
			})
		}
		if err != nil {
			t.Errorf("thread %q: %v", thread(i), err)
		}
	})
	for i := range n {
		if got, seq := status(thread(i)); got != thread(i) || seq != 1 {
			t.Errorf("the JSON of thread %q has status %q of record %d, want its own of 1", thread(i), got, seq)
		}
	}
}

// compressedState tests a saver with ReadableState(compress.Decompress) that package compress
// wraps.
func compressedState(t *testing.T, open func() (checkpoint.Saver, error), status func(thread string) (string, int64)) {
	t.Helper()
	s, err := compress.New(opened(t, open), compress.MinSize(1))
	if err != nil {
		t.Fatal(err)
	}
	first, second := newID(t), newID(t)
	before, after := strings.Repeat("before", 100), strings.Repeat("after", 100)
	_, err = s.Append(t.Context(), checkpoint.Append{Thread: "compressed", Open: &checkpoint.Opening{}, End: true, Records: []checkpoint.Record{
		{ID: first, Base: first, Line: first, Source: checkpoint.Input, Snapshot: true, Payload: snapshot(before)},
		{ID: second, Parent: first, Base: second, Line: first, Source: checkpoint.Loop, Payload: delta(after)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, seq := status("compressed"); got != after || seq != 2 {
		t.Errorf("the JSON of compressed payloads has status %q of record %d, want %q of 2", got, seq, after)
	}
}

// opened returns a saver that is closed with the test.
func opened(t *testing.T, open func() (checkpoint.Saver, error)) checkpoint.Saver {
	t.Helper()
	s, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
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

// snapshot is a state with one field.
func snapshot(status string) []byte {
	return wire.AppendString(wire.AppendString(wire.AppendMapLen(nil, 1), "Status"), status)
}

// delta sets that field.
func delta(status string) []byte {
	b := wire.AppendInt(wire.AppendArrayLen(nil, 2), 0)
	b = wire.AppendString(wire.AppendMapLen(b, 1), "Status")
	return wire.AppendString(wire.AppendInt(wire.AppendArrayLen(b, 2), 0), status)
}

// Packed leaves out the cases of savertest that packing cannot change.
func Packed() savertest.Option {
	return savertest.Without("packs hold old records and their writes; messages, threads and descriptions of schemas are never packed",
		savertest.Schemas, savertest.Listings, savertest.Wakes, savertest.Inbox)
}
