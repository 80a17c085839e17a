// Package packtest contains helpers for tests of savers with packs. They run turns of a
// conversation, and compare a thread with the same thread of another saver.
package packtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// MessageSize is the size of a message in bytes. Thread is the thread of all turns.
const (
	MessageSize = 200
	Thread      = "t"
)

// noChange is the delta that changes nothing.
var noChange = []byte{0x92, 0, 0x80}

// appendMessage is the delta that appends a message of size bytes.
func appendMessage(n, size int) []byte {
	b := wire.AppendString(wire.AppendMapLen(wire.AppendInt(wire.AppendArrayLen(nil, 2), 0), 1), "messages")
	b = wire.AppendArrayLen(wire.AppendInt(wire.AppendArrayLen(b, 2), 1), 1)
	text := fmt.Sprint("message ", n, " ")
	return wire.AppendString(b, text+strings.Repeat("m", size-len(text)))
}

// Turn runs one turn of a conversation, which appends a message: three records in two calls. It
// returns the head.
func Turn(ctx context.Context, n int, head checkpoint.ID, savers ...checkpoint.Saver) (checkpoint.ID, error) {
	return TurnOf(ctx, n, MessageSize, head, savers...)
}

// TurnOf runs a turn whose message has size bytes.
func TurnOf(ctx context.Context, n, size int, head checkpoint.ID, savers ...checkpoint.Saver) (checkpoint.ID, error) {
	var ids [3]checkpoint.ID
	for i := range ids {
		id, err := checkpoint.NewID()
		if err != nil {
			return head, err
		}
		ids[i] = id
	}
	record := func(i int, parent, commits checkpoint.ID, node string) checkpoint.Record {
		r := checkpoint.Record{
			ID: ids[i], Parent: parent, Base: ids[i], Line: ids[0], Commits: commits, Step: 2*n + i, Source: checkpoint.Input,
			Fingerprint: 7, Graph: "conversation", Created: time.Now(), Payload: noChange,
		}
		if node != "" {
			r.Due = []checkpoint.Task{{Node: node}}
		}
		return r
	}
	input, merged, step := record(0, head, checkpoint.ID{}, "__start__"), record(1, ids[0], ids[0], "talk"), record(2, ids[1], ids[1], "")
	if head.IsZero() {
		input.Snapshot, input.Payload = true, []byte{0x80}
	}
	step.Source, step.Payload = checkpoint.Loop, appendMessage(n, size)
	for _, s := range savers {
		_, err := s.Append(ctx, checkpoint.Append{
			Thread: Thread, After: head, Open: &checkpoint.Opening{Holder: "test"}, Records: []checkpoint.Record{input, merged},
		})
		if err == nil {
			_, err = s.Append(ctx, checkpoint.Append{
				Thread: Thread, After: ids[1], Fence: ids[0], Records: []checkpoint.Record{step}, Status: checkpoint.Done, End: true,
			})
		}
		if err != nil {
			return head, fmt.Errorf("turn %d: %w", n, err)
		}
	}
	return ids[2], nil
}

// Same compares the history, some chains and the export of the thread with those of another saver.
func Same(t *testing.T, s, want checkpoint.Saver) {
	t.Helper()
	all := checkpoint.Query{Sources: []checkpoint.Source{1, 2, 3, 4, 5}}
	place := checkpoint.Ref{Thread: Thread}
	read := func(s checkpoint.Saver) (records []checkpoint.Record) {
		for r, err := range s.History(t.Context(), place, all) {
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		return records
	}
	got, wanted := read(s), read(want)
	if len(got) != len(wanted) {
		t.Fatalf("got %d records, want %d", len(got), len(wanted))
	}
	for i := range got {
		if g, w := fmt.Sprintf("%+v", got[i]), fmt.Sprintf("%+v", wanted[i]); g != w {
			t.Fatalf("record %d: got %s, want %s", got[i].Seq, g, w)
		}
		if i%97 != 0 {
			continue
		}
		at := checkpoint.Ref{Thread: Thread, At: got[i].ID}
		g, err := s.Load(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		w, err := want.Load(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		gs, gerr := checkpoint.Fold(g.Snapshot, g.Deltas...)
		ws, werr := checkpoint.Fold(w.Snapshot, w.Deltas...)
		if gerr != nil || werr != nil || string(gs) != string(ws) || g.Chained != w.Chained || g.Last.ID != w.Last.ID || g.Committed != w.Committed {
			t.Fatalf("record %d: got %d bytes after %d, committed %t, %v; want %d after %d, committed %t, %v",
				got[i].Seq, len(gs), g.Chained, g.Committed, gerr, len(ws), w.Chained, w.Committed, werr)
		}
	}
	exported := 0
	for item, err := range s.Export(t.Context(), Thread, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Record != nil {
			exported++
			if g, w := fmt.Sprintf("%+v", item.Record.Record), fmt.Sprintf("%+v", wanted[len(wanted)-exported]); g != w {
				t.Fatalf("exported record %d: got %s, want %s", exported, g, w)
			}
		}
	}
	versions, err := s.Versions(t.Context(), Thread)
	if err != nil || exported != len(wanted) || versions[0].Records != len(wanted) {
		t.Errorf("got %d records exported and %d of the version, %v; want %d", exported, versions[0].Records, err, len(wanted))
	}
}

// WholeHistory returns an error unless the records go from the head to the first without a gap.
func WholeHistory(ctx context.Context, s checkpoint.Saver, turns int64) error {
	next := uint64(0)
	all := checkpoint.Query{Sources: []checkpoint.Source{1, 2, 3, 4, 5}}
	for r, err := range s.History(ctx, checkpoint.Ref{Thread: Thread}, all) {
		if err != nil {
			return err
		}
		if next == 0 && int64(r.Seq) < 3*turns || next != 0 && r.Seq != next {
			return fmt.Errorf("history: got record %d, want %d", r.Seq, next)
		}
		next = r.Seq - 1
	}
	if next != 0 {
		return fmt.Errorf("history: it ends before record %d", next)
	}
	return nil
}

// WholeState returns an error unless the state has the messages of all turns.
func WholeState(ctx context.Context, s checkpoint.Saver, turns int64) error {
	chain, err := s.Load(ctx, checkpoint.Ref{Thread: Thread})
	if err != nil || chain.Empty() {
		return err
	}
	state, err := checkpoint.Fold(chain.Snapshot, chain.Deltas...)
	if got := strings.Count(string(state), "message "); err != nil || int64(got) < turns {
		return fmt.Errorf("load: got %d messages, %w; want %d", got, err, turns)
	}
	return nil
}
