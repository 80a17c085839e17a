//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// hostile returns names with a special meaning in some storage.
func hostile() []string {
	names := []string{
		"../", "..", ".", "/", "//", "/etc/passwd", "a/../b", "C:\\x", "CON", "nul", "\x00", "a\x00b", "'", "\"", "`", "';--",
		"%", "_", "*", "?", "{", "}", "{}", "a}b", "{a", "[", "]", "%s", "%00", "%2f", "$1", "${x}", "\n", "a\nb", "\r\n", "\t", " ",
		"a ", " a", "\xff", "\xc3\x28", "\xed\xa0\x80", "é", "e\u0301", "A", "a", "Aa", "aA", "ß", "SS", "ı", "I", "\u202e", "😀",
		"a-v1", "a-v2", "-v1", "-", "~", "a.saver", "thread-a", ".saver", "a:b", "a;b", "a|b", "<a>", "a,b", "a=b", "a&b", "#", "@",
		"a\\", "\\", "null", "NULL", "0", "-1", "true",
	}
	for _, n := range []int{100, 128, 200, 255, 256, 600, checkpoint.MaxThread - 1, checkpoint.MaxThread} {
		names = append(names, strings.Repeat("x", n), strings.Repeat("x", n-1)+"y", strings.Repeat("X", n))
	}
	return append(names, strings.Repeat("\xff", checkpoint.MaxThread))
}

// testLongNames uses names that are longer than those of threads.
func testLongNames(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	var names []string
	for _, n := range []int{checkpoint.MaxThread + 1, 4 << 10, checkpoint.MaxNamespace - 1, checkpoint.MaxNamespace} {
		names = append(names, strings.Repeat("x", n), strings.Repeat("x", n-1)+"y", strings.Repeat("X", n), strings.Repeat("\xff", n))
	}
	for _, name := range names {
		r.commit(name)
		r.put(checkpoint.Write{Namespace: name, Base: r.heads[name], Task: name, Kind: checkpoint.Question, Name: name, Payload: []byte("q")})
	}
	for _, name := range names {
		chain := load(tb, s, checkpoint.Ref{Thread: "t", Namespace: name})
		if chain.Head != r.heads[name] || len(chain.Writes) != 1 || chain.Writes[0].Task != name || chain.Writes[0].Name != name {
			tb.Errorf("namespace %.40q of %d bytes has head %s and %d writes; want %s and 1", name, len(name), chain.Head, len(chain.Writes), r.heads[name])
		}
	}
}

// testHostileNames stores threads, namespaces and tasks with hostile names.
func testHostileNames(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	names := hostile()
	runs := make(map[string]*run)
	for _, name := range names {
		r := begin(tb, s, name, checkpoint.ID{})
		r.commit(name)
		r.put(checkpoint.Write{Namespace: name, Base: r.heads[name], Task: name, Kind: checkpoint.Question, Name: name, Payload: []byte("q")})
		r.end()
		runs[name] = r
	}
	for name, r := range runs {
		wantHead(tb, s, name, "", r.heads[""])
		chain := load(tb, s, checkpoint.Ref{Thread: name, Namespace: name})
		if chain.Head != r.heads[name] || chain.Thread.ID != name || len(chain.Writes) != 1 || chain.Writes[0].Task != name || chain.Writes[0].Name != name {
			tb.Errorf("thread %.40q: its namespace of that name has head %s, thread %.40q and %d writes; want %s and 1",
				name, chain.Head, chain.Thread.ID, len(chain.Writes), r.heads[name])
		}
	}
	got := threads(tb, s, checkpoint.ThreadQuery{})
	if len(got) != len(runs) {
		tb.Errorf("threads: got %d, want %d", len(got), len(runs))
	}
	for i := range got {
		if i > 0 && got[i-1].ID >= got[i].ID {
			tb.Errorf("threads: %.40q comes before %.40q", got[i-1].ID, got[i].ID)
		}
		if r := runs[got[i].ID]; r == nil || got[i].Head != r.heads[""] {
			tb.Errorf("thread %.40q is listed, and was not made, or has another head", got[i].ID)
		}
	}
	for _, name := range names {
		if got := threads(tb, s, checkpoint.ThreadQuery{Prefix: name, Limit: 1}); len(got) != 1 || got[0].ID != name {
			tb.Errorf("threads with prefix %.40q: got %d, want that name first", name, len(got))
		}
	}
	for i, name := range names {
		var err error
		if i%2 == 0 {
			_, err = s.Release(ctx, name, runs[name].heads[""])
		} else {
			err = s.Delete(ctx, name)
		}
		if err != nil {
			tb.Errorf("release or delete %.40q: %v", name, err)
		}
		if versions, err := s.Versions(ctx, name); err != nil || len(versions) != (i+1)%2 {
			tb.Errorf("versions of %.40q: got %+v, %v; want %d", name, versions, err, (i+1)%2)
		}
	}
	if got := threads(tb, s, checkpoint.ThreadQuery{}); len(got) != 0 {
		tb.Errorf("threads, when all are released or deleted: got %d, want none", len(got))
	}
}

// testLarge stores large payloads, alone and many together.
func testLarge(tb testing.TB, place Storage) {
	s := open(tb, place)
	size := 16 << 20
	if testing.Short() {
		size = 1 << 20
	}
	large := func(seed byte) []byte {
		b := make([]byte, 1<<20, size)
		for i := range b {
			b[i] = byte(i>>12) ^ byte(i)*31 ^ seed
		}
		for len(b) < size {
			b = append(b, b...)
		}
		return b
	}
	a := opening(tb, "t", checkpoint.ID{})
	a.Records[0].Payload = large(1)
	a.Records[0].Due[0].Payload = large(2)
	r, _ := tryBegin(tb, s, a)
	w := r.write("a", checkpoint.Result, "", "")
	w.Payload = large(3)
	r.put(w)
	same := func(what string, got []byte, seed byte) {
		tb.Helper()
		if !bytes.Equal(got, large(seed)) {
			tb.Errorf("%s: got %d bytes, not the %d that were stored", what, len(got), size)
		}
	}
	chain := load(tb, s, checkpoint.Ref{Thread: "t"})
	same("payload", last(tb, chain).Payload, 1)
	if len(chain.Due) != 1 || len(chain.Writes) != 1 {
		tb.Fatalf("got %d due and %d writes, want one of each", len(chain.Due), len(chain.Writes))
	}
	same("due", chain.Due[0].Payload, 2)
	same("write", chain.Writes[0].Payload, 3)
	r.commit("")
	chain = load(tb, s, checkpoint.Ref{Thread: "t"})
	if chain.Chained != 1 {
		tb.Fatalf("got %d records after the snapshot, want 1", chain.Chained)
	}
	same("snapshot of the chain", chain.Snapshot, 1)

	// Many small things in one call.
	many := r.next("")
	for i := range 10_000 {
		many.Records[0].Due = append(many.Records[0].Due, checkpoint.Task{Node: "send", Index: uint32(i), Payload: []byte{byte(i)}})
	}
	r.append(many)
	var writes []checkpoint.Write
	for i := range 10_000 {
		writes = append(writes, r.write(fmt.Sprint(i), checkpoint.Result, "", "r"))
	}
	r.put(writes...)
	chain = load(tb, s, checkpoint.Ref{Thread: "t"})
	if len(chain.Due) != 10_001 || len(chain.Writes) != 10_000 || chain.Writes[9_999].Task != "9999" {
		tb.Errorf("got %d due and %d writes, want 10001 and 10000 in order", len(chain.Due), len(chain.Writes))
	}
}

// testCancelled makes each call under a cancelled context.
func testCancelled(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	ctx, cancel := context.WithCancel(tb.Context())
	for i, err := range each(ctx, s, r, func() { cancel() }) {
		wantErr(tb, i, err, context.Canceled)
	}
	expired, cancel := context.WithDeadline(tb.Context(), time.Unix(0, 0))
	defer cancel()
	for i, err := range each(expired, s, r, func() {}) {
		wantErr(tb, i, err, context.DeadlineExceeded)
	}
	wantHead(tb, s, "t", "", r.heads[""])
	r.commit("")
	iterated, stop := context.WithCancel(tb.Context())
	defer stop()
	var err error
	for _, err = range s.History(iterated, checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		stop()
	}
	if err != nil {
		wantErr(tb, "a history whose context ends in the loop", err, context.Canceled)
	}
}

// each calls every method with ctx and returns the errors by name.
func each(ctx context.Context, s checkpoint.Saver, r *run, before func()) map[string]error {
	next := r.next("")
	open := opening(r.tb, "new", checkpoint.ID{})
	items, err := collect(s.Export(context.WithoutCancel(ctx), "t", 0))
	if err != nil {
		items = []checkpoint.ExportItem{{Thread: &checkpoint.Thread{}}}
	}
	before()
	errs := make(map[string]error)
	_, errs["append"] = s.Append(ctx, next)
	_, errs["opening"] = s.Append(ctx, open)
	_, errs["put"] = s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: r.fence})
	_, errs["load"] = s.Load(ctx, checkpoint.Ref{Thread: "t"})
	_, errs["history"] = collect(s.History(ctx, checkpoint.Ref{Thread: "t"}, checkpoint.Query{}))
	_, errs["threads"] = collect(s.Threads(ctx, checkpoint.ThreadQuery{}))
	_, errs["versions"] = s.Versions(ctx, "t")
	_, errs["release"] = s.Release(ctx, "t", checkpoint.ID{})
	errs["delete"] = s.Delete(ctx, "t")
	_, errs["prune"] = s.Prune(ctx, "t", checkpoint.Retention{Last: 1})
	_, errs["export"] = collect(s.Export(ctx, "t", 0))
	errs["import"] = s.Import(ctx, "new", func(yield func(checkpoint.ExportItem, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	})
	return errs
}

// testClosed makes each call on a closed saver.
func testClosed(tb testing.TB, place Storage) {
	s, err := place.Open()
	if err != nil {
		tb.Fatal(err)
	}
	r := begin(tb, s, "t", checkpoint.ID{})
	r.commit("")
	for _, err = range s.History(tb.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		if err == nil {
			if err := s.Close(); err != nil {
				tb.Errorf("close: %v", err)
			}
		}
	}
	if err != nil {
		wantErr(tb, "a history that continues after close", err, checkpoint.ErrClosed)
	}
	for name, err := range each(tb.Context(), s, r, func() {}) {
		wantErr(tb, name, err, checkpoint.ErrClosed)
	}
	if err := s.Close(); err != nil {
		tb.Errorf("close again: %v", err)
	}
}

// testCloseWaits closes a saver during calls. Each call must either take full effect, or have no
// effect and return an error.
func testCloseWaits(tb testing.TB, place Storage) {
	s, err := place.Open()
	if err != nil {
		tb.Fatal(err)
	}
	const writers = 4
	acked := make([]checkpoint.ID, writers)
	var started, all sync.WaitGroup
	var closed atomic.Bool
	started.Add(writers)
	for n := range writers {
		r := begin(tb, s, fmt.Sprint(n), checkpoint.ID{})
		all.Go(func() {
			for i := 0; ; i++ {
				if i == 3 {
					started.Done()
				}
				a, late := r.next(""), closed.Load()
				_, err := s.Append(tb.Context(), a)
				if err != nil {
					wantErr(tb, "an append while the saver closes", err, checkpoint.ErrClosed)
					if i < 3 {
						started.Done()
					}
					return
				}
				if late {
					tb.Error("the saver took an append after it was closed")
					return
				}
				r.heads[""] = a.Records[0].ID
				acked[n] = a.Records[0].ID
			}
		})
	}
	started.Wait()
	if err := s.Close(); err != nil {
		tb.Errorf("close: %v", err)
	}
	closed.Store(true)
	all.Wait()
	if !place.Shared {
		return
	}
	s = open(tb, place)
	for n, head := range acked {
		wantHead(tb, s, fmt.Sprint(n), "", head)
	}
}

// testReload checks that a new saver finds all that another has stored.
func testReload(tb testing.TB, place Storage) {
	if !place.Shared {
		return
	}
	s, err := place.Open()
	if err != nil {
		tb.Fatal(err)
	}
	r := rich(tb, s)
	other := memory.New()
	if err := checkpoint.Copy(tb.Context(), s, "t", 0, other, "t"); err != nil {
		tb.Fatal(err)
	}
	held := begin(tb, s, "held", checkpoint.ID{})
	if err := s.Close(); err != nil {
		tb.Fatalf("close: %v", err)
	}
	s = open(tb, place)
	wantSame(tb, s, "t", other, checkpoint.Ref{Thread: "t"})
	_, done := tryBegin(tb, s, opening(tb, "t", r.heads[""]))
	if len(done.Writes) != 5 {
		tb.Errorf("writes of a run after the restart: got\n%swant 5", names(done.Writes))
	}
	begin(tb, s, "held", held.fence) // closing the saver ended the lease
}

// testShared checks that two savers share one place.
func testShared(tb testing.TB, place Storage) {
	if !place.Shared {
		return
	}
	a, b := open(tb, place), open(tb, place)
	r := begin(tb, a, "t", checkpoint.ID{})
	holder := load(tb, a, checkpoint.Ref{Thread: "t"}).Thread.Holder
	_, err := b.Append(tb.Context(), opening(tb, "t", r.fence))
	wantBusy(tb, "an opening by the other saver", err, "t", holder)
	if got := load(tb, b, checkpoint.Ref{Thread: "t"}).Thread.Holder; got != holder {
		tb.Errorf("holder, seen by the other saver: got %q, want %q", got, holder)
	}
	if got := threads(tb, b, checkpoint.ThreadQuery{IdleSince: time.Now().Add(time.Hour)}); len(got) != 0 {
		tb.Errorf("idle threads, seen by the other saver: got %+v, want none", got)
	}
	wantBusy(tb, "delete by the other saver", b.Delete(tb.Context(), "t"), "t", holder)
	for range 3 {
		r.commit("")
		r.put(r.write("a", checkpoint.Result, "", "r"))
		wantHead(tb, b, "t", "", r.heads[""])
		if got := len(load(tb, b, checkpoint.Ref{Thread: "t"}).Writes); got != 1 {
			tb.Errorf("writes, seen by the other saver: got %d, want 1", got)
		}
	}
	take := opening(tb, "t", r.heads[""])
	take.Open.TakeOver = true
	other, _ := tryBegin(tb, b, take)
	_, err = a.Append(tb.Context(), r.next(""))
	wantConflict(tb, "an append of the run that was taken over by the other saver", err)
	_, err = a.Append(tb.Context(), opening(tb, "t", other.fence))
	wantBusy(tb, "an opening under the other saver's lease", err, "t", take.Open.Holder)
	other.commit("")
	other.end()
	r = begin(tb, a, "t", other.heads[""])
	r.end()
	if _, err := b.Release(tb.Context(), "t", r.fence); err != nil {
		tb.Fatalf("release by the other saver: %v", err)
	}
	if chain := load(tb, a, checkpoint.Ref{Thread: "t"}); !chain.Empty() {
		tb.Errorf("after the other saver's release: got %d records, want none", chain.Chained+1)
	}
	r = begin(tb, a, "t", checkpoint.ID{})
	wantVersions(tb, b, "t", 1, 2)
	r.end()
	if err := b.Delete(tb.Context(), "t"); err != nil {
		tb.Fatalf("delete by the other saver: %v", err)
	}
	if got := threads(tb, a, checkpoint.ThreadQuery{}); len(got) != 0 {
		tb.Errorf("threads after the other saver's delete: got %+v, want none", got)
	}
	begin(tb, a, "t", checkpoint.ID{})
	wantHead(tb, b, "t", "child", checkpoint.ID{})
}
