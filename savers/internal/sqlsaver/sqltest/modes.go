package sqltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
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
		chain, err := s.Load(t.Context(), checkpoint.Place{Thread: "t"})
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
		1000: "the tables are of version 1000, and this program knows 3",
		2:    "the tables are of version 2, and this program reads version 3",
	} {
		m.Exec(fmt.Sprintf("UPDATE graph_schema SET version = %d", version))
		for name, open := range map[string]func() (checkpoint.Saver, error){"create": m.Create, "verify": m.Verify} {
			if err := closed(open); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of tables of version %d: got %v, want an error with %q", name, version, err, want)
			}
		}
	}
}

// ReadableState tests a saver that keeps states as JSON. status queries what the JSON of a thread
// has as Status, and the seq that it is of.
func ReadableState(t *testing.T, s checkpoint.Saver, status func(thread string) (string, int64)) {
	t.Helper()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx := t.Context()
	id := newID(t)
	want := func(text string, seq int64) {
		t.Helper()
		if got, at := status("t"); got != text || at != seq {
			t.Errorf("the JSON has status %q of record %d, want %q of %d", got, at, text, seq)
		}
	}
	_, err := s.Append(ctx, checkpoint.Append{
		Thread: "t", Open: &checkpoint.Opening{},
		Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: snapshot("new")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want("new", 1)
	head := id
	for i, text := range []string{"asked", "it's \"quoted\" \\ é", "answered"} {
		r := checkpoint.Record{
			ID: newID(t), Parent: head, Base: id, Line: id, Commits: head, Source: checkpoint.Loop, Payload: delta(text),
		}
		r.Base = r.ID
		if _, err := s.Append(ctx, checkpoint.Append{Thread: "t", After: head, Fence: id, Records: []checkpoint.Record{r}}); err != nil {
			t.Fatal(err)
		}
		head = r.ID
		want(text, int64(i)+2)
	}
	r := checkpoint.Record{ID: newID(t), Parent: head, Line: id, Commits: head, Source: checkpoint.Loop, Payload: []byte("not a delta")}
	r.Base = r.ID
	if _, err := s.Append(ctx, checkpoint.Append{Thread: "t", After: head, Fence: id, Records: []checkpoint.Record{r}}); err == nil {
		t.Error("a payload that cannot be read was stored, want an error")
	}
	want("answered", 4)
	if chain, err := s.Load(ctx, checkpoint.Place{Thread: "t"}); err != nil || chain.Head != head {
		t.Errorf("after the refused append the head is %s, %v; want %s", chain.Head, err, head)
	}
	if err := checkpoint.Copy(ctx, s, "t", 0, s, "copy"); err != nil {
		t.Fatal(err)
	}
	if got, _ := status("copy"); got != "answered" {
		t.Errorf("the JSON of a copy has status %q, want answered", got)
	}
}

func newID(t *testing.T) checkpoint.ID {
	t.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
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
