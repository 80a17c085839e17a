//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// testAltered changes one byte in the storage and reads the data. The changed byte must not be
// returned.
func testAltered(tb testing.TB, place Storage) {
	if place.Alter == nil || !place.Shared {
		return
	}
	for _, what := range []string{"state", "delta", "due", "child", "result", "question", "answer", "failure", "schema"} {
		stored := []byte("the " + what + " that was stored, as it was stored: 0")
		altered := bytes.Replace(stored, []byte("0"), []byte("1"), 1)
		thread := "thread" + what
		storeOne(tb, place, thread, what, stored)
		if n := place.Alter(tb, stored, altered); n == 0 {
			tb.Fatalf("%s: no bytes were replaced, want at least one place", what)
		}
		s := open(tb, place)
		for read, got := range readAll(tb.Context(), s, thread, what) {
			if bytes.Contains(got.found, altered) {
				tb.Errorf("%s after a %s was altered: the altered bytes were returned", read, what)
			}
			if got.err == nil && got.must || got.err != nil && !errors.Is(got.err, checkpoint.ErrDamaged) {
				tb.Errorf("%s after a %s was altered: got %v, want an error that is ErrDamaged", read, what, got.err)
			}
			if got.err != nil && !strings.Contains(got.err.Error(), thread) {
				tb.Errorf("%s after a %s was altered: got %v, want an error that names the thread", read, what, got.err)
			}
		}
		if n := place.Alter(tb, altered, stored); n == 0 {
			tb.Fatalf("%s: the altered bytes are missing", what)
		}
		if _, err := s.Load(tb.Context(), checkpoint.Ref{Thread: thread}); err != nil {
			tb.Errorf("%s: load, when the bytes are those that were stored again: %v", what, err)
		}
	}
}

// storeOne stores a thread with the given bytes in one place.
func storeOne(tb testing.TB, place Storage, thread, what string, stored []byte) {
	s, err := place.Open()
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	a := opening(tb, thread, checkpoint.ID{})
	if what == "state" {
		a.Records[0].Payload = stored
	}
	r, _ := tryBegin(tb, s, a)
	next := r.next("")
	switch what {
	case "delta":
		next.Records[0].Payload = stored
	case "due":
		next.Records[0].Due[0].Payload = stored
	}
	r.append(next)
	if what == "child" {
		child := r.next("child")
		child.Records[0].Payload = stored
		r.append(child)
	}
	kinds := map[string]checkpoint.Kind{
		"result": checkpoint.Result, "question": checkpoint.Question, "answer": checkpoint.Answer, "failure": checkpoint.Failure,
	}
	if what == "schema" {
		r.put(checkpoint.SchemaWrite(1, stored))
	}
	if kind := kinds[what]; kind != 0 {
		r.put(r.write("task", kind, "", string(stored)))
	}
	r.end()
	if err := s.Close(); err != nil {
		tb.Fatalf("close: %v", err)
	}
}

// reading is the result of a read method of a saver.
type reading struct {
	found []byte // everything that it returned, printed
	err   error
	must  bool // the method had to read the altered data
}

// readAll reads a thread by every method.
func readAll(ctx context.Context, s checkpoint.Saver, thread, what string) map[string]reading {
	place := checkpoint.Ref{Thread: thread}
	schema := what == "schema"
	write := schema || what == "result" || what == "question" || what == "answer" || what == "failure"
	if what == "child" {
		place.Namespace = "child"
	}
	all := make(map[string]reading)
	add := func(name string, found any, err error, must bool) {
		all[name] = reading{fmt.Appendf(nil, "%s", found), err, must}
	}
	chain, err := s.Load(ctx, place)
	add("load", []any{chain.Last, chain.Snapshot, chain.Deltas, chain.Due, chain.Writes, chain.Thread.Questions}, err, !schema)
	records, err := collect(s.History(ctx, place, checkpoint.Query{}))
	add("history", records, err, !write)
	items, err := collect(s.Export(ctx, thread, 0))
	var parts []any
	for _, item := range items {
		switch {
		case item.Record != nil:
			parts = append(parts, item.Record.Record)
		case item.Write != nil:
			parts = append(parts, *item.Write)
		default:
			parts = append(parts, item.Thread.Questions)
		}
	}
	add("export", parts, err, true)
	schemas, err := s.Schemas(ctx, thread, 0)
	add("schemas", schemas, err, schema)
	threads, err := collect(s.Threads(ctx, checkpoint.ThreadQuery{Prefix: thread}))
	add("threads", threads, err, false)
	return all
}
