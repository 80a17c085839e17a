//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// kept is a payload that a saver returned, with a copy of its contents.
type kept struct {
	by           string
	payload, was []byte
}

// testLasting retains payloads that a saver returned, as restored states do. It then makes calls
// that read and write other payloads of the same size.
func testLasting(tb testing.TB, place Storage) {
	s, err := place.Open()
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	for _, thread := range []string{"one", "two"} {
		storeLasting(tb, s, thread)
	}
	all := returned(tb, s, "one")
	returned(tb, s, "two")
	storeLasting(tb, s, "six")
	if err := s.Delete(tb.Context(), "one"); err != nil {
		tb.Fatalf("delete: %v", err)
	}
	storeLasting(tb, s, "one")
	if err := s.Close(); err != nil {
		tb.Fatalf("close: %v", err)
	}
	for _, k := range all {
		if !bytes.Equal(k.payload, k.was) {
			tb.Errorf("a payload that %s returned changed later: got %q, want %q", k.by, k.payload, k.was)
		}
	}
}

// storeLasting stores a run whose payloads contain the name of the thread.
func storeLasting(tb testing.TB, s checkpoint.Saver, thread string) {
	payload := func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%s %d,", thread, i), 50) }
	a := opening(tb, thread, checkpoint.ID{})
	a.Records[0].Payload = payload(0)
	r, _ := tryBegin(tb, s, a)
	for i := range 4 {
		next := r.next("")
		next.Records[0].Payload = payload(i + 1)
		next.Records[0].Due[0].Payload = payload(i + 1)
		r.append(next)
	}
	r.put(r.write("task", checkpoint.Question, "", string(payload(9))))
	r.end()
}

// returned reads a thread and returns all payloads.
func returned(tb testing.TB, s checkpoint.Saver, thread string) []kept {
	var all []kept
	keep := func(by string, payload []byte) {
		if len(payload) > 0 {
			all = append(all, kept{by, payload, bytes.Clone(payload)})
		}
	}
	keepAll := func(by string, records []checkpoint.Record, due []checkpoint.Task, writes []checkpoint.Write) {
		for _, rec := range records {
			keep(by, rec.Payload)
		}
		for _, task := range due {
			keep(by, task.Payload)
		}
		for _, w := range writes {
			keep(by, w.Payload)
		}
	}
	place := checkpoint.Ref{Thread: thread}
	chain := load(tb, s, place)
	keep("Load", chain.Snapshot)
	for _, delta := range chain.Deltas {
		keep("Load", delta)
	}
	keepAll("Load", []checkpoint.Record{chain.Last}, chain.Due, append(chain.Writes, chain.Thread.Questions...))
	records, err := collect(s.History(tb.Context(), place, checkpoint.Query{}))
	if err != nil {
		tb.Fatalf("history: %v", err)
	}
	keepAll("History", records, nil, nil)
	items, err := collect(s.Export(tb.Context(), thread, 0))
	if err != nil {
		tb.Fatalf("export: %v", err)
	}
	for _, item := range items {
		if item.Record != nil {
			keep("Export", item.Record.Payload)
		}
	}
	return all
}
