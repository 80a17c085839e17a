//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// described returns a description of a schema that the runs of these tests use.
func described(fingerprint uint64, text string) checkpoint.Write {
	return checkpoint.SchemaWrite(fingerprint, []byte(text))
}

// openWith begins the thread t with a run whose first Append describes schemas.
func openWith(tb testing.TB, s checkpoint.Saver, schemas ...checkpoint.Write) (*run, checkpoint.AppendResult) {
	tb.Helper()
	a := opening(tb, "t", checkpoint.ID{})
	a.Writes = schemas
	return tryBegin(tb, s, a)
}

// wantSchemas compares the descriptions of a version.
func wantSchemas(tb testing.TB, s checkpoint.Saver, thread string, version int, want map[uint64]string) {
	tb.Helper()
	got, err := s.Schemas(tb.Context(), thread, version)
	if err != nil {
		tb.Fatalf("schemas of %q, version %d: %v", thread, version, err)
	}
	texts := make(map[uint64]string, len(got))
	for fingerprint, b := range got {
		texts[fingerprint] = string(b)
	}
	if fmt.Sprint(texts) != fmt.Sprint(want) {
		tb.Errorf("schemas of %q, version %d: got %v, want %v", thread, version, texts, want)
	}
}

// testSchemas checks that schemas are described once a version.
func testSchemas(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	r, _ := openWith(tb, s, described(1, "one"), described(1<<63, "\x00\xff"))
	want := map[uint64]string{1: "one", 1 << 63: "\x00\xff"}
	wantSchemas(tb, s, "t", 0, want)
	wantSchemas(tb, s, "t", 1, want)

	// The first description of a fingerprint is kept, whichever call stores another one.
	r.put(described(1, "another"))
	r.put(described(2, "two"), r.write("a", checkpoint.Result, "", "r"), described(2, "another"))
	commit := r.next("")
	commit.Writes = []checkpoint.Write{described(1, "another"), described(3, "three")}
	r.append(commit)
	child := r.next("child")
	child.Writes = []checkpoint.Write{described(4, "of a child")}
	r.append(child)
	want[2], want[3], want[4] = "two", "three", "of a child"
	wantSchemas(tb, s, "t", 0, want)

	// Repeated calls, and calls with an old fence, change nothing.
	if _, err := s.Append(ctx, child); err != nil {
		tb.Errorf("an append sent again: %v", err)
	}
	stale := checkpoint.PutWrites{Thread: "t", Fence: newID(tb), Writes: []checkpoint.Write{described(5, "stale")}}
	wantConflict(tb, "a description under another fence", putErr(s.PutWrites(ctx, stale)))
	long := checkpoint.PutWrites{Thread: "t", Fence: r.fence, Writes: []checkpoint.Write{described(6, "")}}
	long.Writes[0].Payload = make([]byte, checkpoint.MaxSchema+1)
	wantInvalid(tb, "a description that is too long", putErr(s.PutWrites(ctx, long)))
	wantSchemas(tb, s, "t", 0, want)

	long.Writes[0].Payload = long.Writes[0].Payload[1:]
	if _, err := s.PutWrites(ctx, long); err != nil {
		tb.Errorf("a description of %d bytes: %v", checkpoint.MaxSchema, err)
	}
	wantSchemas(tb, s, "no such thread", 0, nil)
	_, err := s.Schemas(ctx, "t", 2)
	wantErr(tb, "schemas of a version that does not exist", err, checkpoint.ErrNotFound)
	_, err = s.Schemas(ctx, "t", -1)
	wantInvalid(tb, "schemas of version -1", err)
	_, err = s.Schemas(ctx, "", 0)
	wantInvalid(tb, "schemas of the empty thread", err)
}

// testSchemasApart checks that descriptions of schemas are no pending writes.
func testSchemasApart(tb testing.TB, place Storage) {
	s := open(tb, place)
	r, done := openWith(tb, s, described(1, "one"))
	wantWrites(tb, "writes of an opening that describes a schema", done.Writes)
	question := r.write("a", checkpoint.Question, "", "q")
	r.put(described(2, "two"), question, described(3, "three"))
	chain := load(tb, s, checkpoint.Ref{Thread: "t"})
	wantWrites(tb, "writes of the head", chain.Writes, question)
	wantWrites(tb, "questions", chain.Thread.Questions, question)
	r.end()

	a := opening(tb, "t", r.heads[""])
	a.Records[0].Base, a.Records[0].Source = r.heads[""], checkpoint.Resume
	answer := r.write("a", checkpoint.Answer, "", "a")
	a.Writes = []checkpoint.Write{described(4, "four"), answer}
	r, done = tryBegin(tb, s, a)
	wantWrites(tb, "writes of the next opening", done.Writes, question, answer)

	// A record that commits nothing, and a record that commits its base, keep the descriptions.
	fork := r.next("")
	fork.Records[0].Source, fork.Records[0].Commits, fork.Records[0].Snapshot = checkpoint.Fork, checkpoint.ID{}, true
	r.append(fork)
	r.commit("")
	plain := r.next("")
	plain.Records[0].Commits = checkpoint.ID{}
	r.append(plain)
	wantSchemas(tb, s, "t", 0, map[uint64]string{1: "one", 2: "two", 3: "three", 4: "four"})
	wantHead(tb, s, "t", "", plain.Records[0].ID)
}

// testSchemasStay checks that descriptions of schemas stay with their version.
func testSchemasStay(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	r, _ := openWith(tb, s, described(1, "one"))
	for range 5 {
		a := r.next("")
		a.Records[0].Snapshot = true
		r.append(a)
	}
	r.end()
	if removed, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 1}); err != nil || removed.Records != 5 {
		tb.Fatalf("prune: got %+v, %v; want 5 records removed", removed, err)
	}
	want := map[uint64]string{1: "one"}
	wantSchemas(tb, s, "t", 0, want)

	mustRelease(tb, s, "t")
	wantSchemas(tb, s, "t", 0, nil)
	r, _ = openWith(tb, s, described(1, "of version 2"))
	r.end()
	wantSchemas(tb, s, "t", 1, want)
	wantSchemas(tb, s, "t", 2, map[uint64]string{1: "of version 2"})

	mustPrune(tb, s, "t", checkpoint.Retention{Released: -1})
	_, err := s.Schemas(ctx, "t", 1)
	wantErr(tb, "schemas of a version that was pruned", err, checkpoint.ErrNotFound)
	mustDelete(tb, s, "t")
	wantSchemas(tb, s, "t", 0, nil)
	begin(tb, s, "t", checkpoint.ID{})
	wantSchemas(tb, s, "t", 0, nil)
}

// testSchemasCopied checks that descriptions of schemas are copied.
func testSchemasCopied(tb testing.TB, place Storage) {
	s, other, ctx := open(tb, place), memory.New(), tb.Context()
	r, _ := openWith(tb, s, described(2, "two"), described(1, "one"))
	write := r.write("a", checkpoint.Result, "", "r")
	r.put(write, described(3, "three"))
	want := map[uint64]string{1: "one", 2: "two", 3: "three"}
	if err := checkpoint.Copy(ctx, s, "t", 0, other, "outside"); err != nil {
		tb.Fatal(err)
	}
	if err := checkpoint.Copy(ctx, other, "outside", 0, s, "back"); err != nil {
		tb.Fatal(err)
	}
	for _, thread := range []string{"t", "back"} {
		wantSchemas(tb, s, thread, 0, want)
		items, err := collect(s.Export(ctx, thread, 0))
		if err != nil {
			tb.Fatal(err)
		}
		var writes []checkpoint.Write
		for _, item := range items {
			if item.Write != nil {
				writes = append(writes, *item.Write)
			}
		}
		wantWrites(tb, "writes of an export of "+thread, writes, described(2, "two"), described(1, "one"), described(3, "three"), write)
	}
	copied := begin(tb, s, "back", r.heads[""])
	copied.put(described(1, "another"), described(4, "four"))
	want[4] = "four"
	wantSchemas(tb, s, "back", 0, want)

	thread := checkpoint.ExportItem{Thread: &checkpoint.Thread{ID: "x"}}
	bad := described(1, "one")
	bad.Task = "1"
	wantInvalid(tb, "an import of a description that nobody made", s.Import(ctx, "x", func(yield func(checkpoint.ExportItem, error) bool) {
		_ = yield(thread, nil) && yield(checkpoint.ExportItem{Write: &bad}, nil)
	}))
}
