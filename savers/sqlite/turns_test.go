package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

const messageSize = 200

// noChange is the delta that changes nothing.
var noChange = []byte{0x92, 0, 0x80}

// appendMessage is the delta that appends a message.
func appendMessage(n int) []byte {
	b := wire.AppendString(wire.AppendMapLen(wire.AppendInt(wire.AppendArrayLen(nil, 2), 0), 1), "messages")
	b = wire.AppendArrayLen(wire.AppendInt(wire.AppendArrayLen(b, 2), 1), 1)
	text := fmt.Sprint("message ", n, " ")
	return wire.AppendString(b, text+strings.Repeat("m", messageSize-len(text)))
}

// turn runs one turn of a conversation, which appends a message: three records in two calls. It returns the head.
func turn(ctx context.Context, n int, head checkpoint.ID, savers ...checkpoint.Saver) (checkpoint.ID, error) {
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
	step.Source, step.Payload = checkpoint.Loop, appendMessage(n)
	for _, s := range savers {
		_, err := s.Append(ctx, checkpoint.Append{
			Thread: "t", After: head, Open: &checkpoint.Opening{Holder: "test"}, Records: []checkpoint.Record{input, merged},
		})
		if err == nil {
			_, err = s.Append(ctx, checkpoint.Append{
				Thread: "t", After: ids[1], Fence: ids[0], Records: []checkpoint.Record{step}, Status: checkpoint.Done, End: true,
			})
		}
		if err != nil {
			return head, fmt.Errorf("turn %d: %w", n, err)
		}
	}
	return ids[2], nil
}

// TestTurnsArePacked has a conversation of 1,000 turns. What is stored, and what a load reads, must not be 3,000 rows.
func TestTurnsArePacked(t *testing.T) {
	const turns = 1000
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlite.Open(path, sqlite.Durability(sqlite.Normal))
	if err != nil {
		t.Fatal(err)
	}
	emptyBytes, emptyPages := content(t, path)
	want, head := memory.New(), checkpoint.ID{}
	for n := range turns {
		if head, err = turn(t.Context(), n, head, s, want); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	size, pages := content(t, path)
	messages := float64(turns * messageSize)
	held, taken := float64(size-emptyBytes)/messages, float64(pages-emptyPages)*4096/messages
	rows, packs, lines := count(t, path, "graph_checkpoint"), count(t, path, "graph_pack"), count(t, path, "graph_line")
	t.Logf("%.2f times the messages, in pages of %.2f times the messages; %d rows, %d lines and %d packs", held, taken, rows, lines, packs)
	if held > 1.8 || taken > 2 {
		t.Errorf("%.2f times the messages in pages of %.2f, want at most 1.8 in 2", held, taken)
	}
	if rows >= 200 || packs == 0 || packs > 40 || lines > 200 {
		t.Errorf("got %d rows, %d lines and %d packs; want fewer than 200 rows, and a pack for each hundred", rows, lines, packs)
	}

	s = open(t, path)
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil || chain.Last.ID != head || chain.Chained != 3*turns-1 || len(chain.Deltas) > rows+packs {
		t.Fatalf("got %s after %d records in %d deltas, %v; want %s after %d in at most %d",
			chain.Last.ID, chain.Chained, len(chain.Deltas), err, head, 3*turns-1, rows+packs)
	}
	same(t, s, want)
}

// count returns the number of rows of a table.
func count(t *testing.T, path, table string) (rows int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// same compares the history, some chains and the export of a thread with those of another saver.
func same(t *testing.T, s, want checkpoint.Saver) {
	t.Helper()
	all := checkpoint.Query{Sources: []checkpoint.Source{1, 2, 3, 4, 5}}
	place := checkpoint.Ref{Thread: "t"}
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
		at := checkpoint.Ref{Thread: "t", At: got[i].ID}
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
	for item, err := range s.Export(t.Context(), "t", 0) {
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
	versions, err := s.Versions(t.Context(), "t")
	if err != nil || exported != len(wanted) || versions[0].Records != len(wanted) {
		t.Errorf("got %d records exported and %d of the version, %v; want %d", exported, versions[0].Records, err, len(wanted))
	}
}
