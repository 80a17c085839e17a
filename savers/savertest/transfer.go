//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// rich creates the thread t with two namespaces, a fork, resume records and pending writes of two
// bases. It returns the ended run.
func rich(tb testing.TB, s checkpoint.Saver) *run {
	tb.Helper()
	a := opening(tb, "t", checkpoint.ID{})
	a.Records[0] = full(tb)
	a.Records[0].Parent, a.Records[0].Commits = checkpoint.ID{}, checkpoint.ID{}
	r, _ := tryBegin(tb, s, a)
	for range 5 {
		r.commit("")
		r.commit("child")
	}
	r.put(r.write("left", checkpoint.Result, "", "r"), r.write("left too", checkpoint.Question, "n", "q"))
	fork := r.next("")
	fork.Records[0].Source, fork.Records[0].Commits, fork.Records[0].Snapshot = checkpoint.Fork, checkpoint.ID{}, true
	fork.Records[0].Parent = r.fence
	r.append(fork)
	r.put(r.write("a", checkpoint.Result, "", "r"), r.write("b", checkpoint.Question, "", "q"))
	r.put(checkpoint.Write{Namespace: "child", Base: r.heads["child"], Task: "c", Kind: checkpoint.Failure})
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting})
	return r
}

// wantSame fails unless a thread of one saver equals a thread of another.
func wantSame(tb testing.TB, got checkpoint.Saver, gotThread string, want checkpoint.Saver, p checkpoint.Ref) {
	tb.Helper()
	all := checkpoint.Query{Sources: []checkpoint.Source{1, 2, 3, 4, 5}}
	for _, namespace := range []string{"", "child", "none"} {
		from := checkpoint.Ref{Thread: p.Thread, Version: p.Version, Namespace: namespace}
		to := checkpoint.Ref{Thread: gotThread, Namespace: namespace}
		records := history(tb, want, from, all)
		wantRecords(tb, "copy of namespace "+namespace, history(tb, got, to, all), records)
		for _, r := range records {
			from.At, to.At = r.ID, r.ID
			w, g := load(tb, want, from), load(tb, got, to)
			if d := differ(g.Last, w.Last); d != "" || g.Chained != w.Chained || state(&g) != state(&w) {
				tb.Errorf("chain of record %d of namespace %q: %s; got state %s after %d records, want %s after %d",
					r.Seq, namespace, d, state(&g), g.Chained, state(&w), w.Chained)
			}
			wantWrites(tb, fmt.Sprintf("writes of record %d of namespace %q", r.Seq, namespace), g.Writes, w.Writes...)
			if g.Head != w.Head || g.Committed != w.Committed || len(g.Due) != len(w.Due) {
				tb.Errorf("record %d of namespace %q: got %+v, want %+v", r.Seq, namespace, g, w)
			}
		}
	}
	w, g := load(tb, want, p).Thread, load(tb, got, checkpoint.Ref{Thread: gotThread}).Thread
	wantWrites(tb, "questions of a copy", g.Questions, w.Questions...)
	if g.Status != w.Status || g.Head != w.Head || g.Step != w.Step || g.Holder != "" {
		tb.Errorf("copied thread: got %+v, want %+v", g, w)
	}
}

// testCopy checks that a copy resumes.
func testCopy(tb testing.TB, place Storage) {
	s, other, ctx := open(tb, place), memory.New(), tb.Context()
	r := rich(tb, s)
	hop := func(from checkpoint.Saver, thread string, to checkpoint.Saver, as string) {
		tb.Helper()
		if err := checkpoint.Copy(ctx, from, thread, 0, to, as); err != nil {
			tb.Fatalf("copy to %q: %v", as, err)
		}
		wantSame(tb, to, as, s, checkpoint.Ref{Thread: "t"})
	}
	hop(s, "t", other, "outside")
	hop(other, "outside", s, "back")
	hop(s, "back", s, "within")
	wantErr(tb, "a copy onto an open version", checkpoint.Copy(ctx, s, "t", 0, s, "within"), checkpoint.ErrConflict)
	wantErr(tb, "a copy onto itself", checkpoint.Copy(ctx, s, "t", 0, s, "t"), checkpoint.ErrConflict)
	wantErr(tb, "a copy of nothing", checkpoint.Copy(ctx, s, "none", 0, s, "new"), checkpoint.ErrNotFound)

	_, err := s.Append(ctx, checkpoint.Append{
		Thread: "back", After: r.heads[""], Fence: r.fence, Records: r.next("").Records,
	})
	wantConflict(tb, "the original's fence in the copy", err)
	a := opening(tb, "back", r.heads[""])
	a.Records[0].Base, a.Records[0].Source = r.heads[""], checkpoint.Resume
	copied, done := tryBegin(tb, s, a)
	if len(done.Writes) != 5 {
		tb.Errorf("writes of a run on the copy: got\n%swant the 5 of the original", names(done.Writes))
	}
	copied.heads["child"] = r.heads["child"]
	copied.commit("")
	copied.commit("child")
	wantHead(tb, s, "t", "", r.heads[""])
	wantHead(tb, s, "within", "", r.heads[""])

	// A run that holds the original does not affect the copy, and a run on the copy does not
	// affect the original.
	running := begin(tb, s, "t", r.heads[""])
	if err := checkpoint.Copy(ctx, s, "t", 0, s, "of a run"); err != nil {
		tb.Fatalf("copy of a thread that runs: %v", err)
	}
	running.commit("")
	begin(tb, s, "of a run", running.fence)
}

// testCopyReleased copies a released version.
func testCopyReleased(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	r := rich(tb, s)
	mustRelease(tb, s, "t")
	begin(tb, s, "t", checkpoint.ID{}).end()
	if err := checkpoint.Copy(ctx, s, "t", 1, s, "copy"); err != nil {
		tb.Fatalf("copy: %v", err)
	}
	wantSame(tb, s, "copy", s, checkpoint.Ref{Thread: "t", Version: 1})
	begin(tb, s, "copy", r.heads[""]).end() // the version is open
	wantErr(tb, "version 3", checkpoint.Copy(ctx, s, "t", 3, s, "new"), checkpoint.ErrNotFound)

	// An import continues the numbers of the existing versions.
	mustRelease(tb, s, "copy")
	if err := checkpoint.Copy(ctx, s, "t", 1, s, "copy"); err != nil {
		tb.Fatalf("copy onto a released thread: %v", err)
	}
	wantVersions(tb, s, "copy", 1, 2)
}

// testCopyReplayed copies a version with a base that two later records commit, as replays do.
func testCopyReplayed(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	r.commit("")
	for range 2 {
		a := r.next("")
		a.Records[0].Commits = r.fence
		r.append(a)
	}
	r.end()
	if err := checkpoint.Copy(tb.Context(), s, "t", 0, s, "copy"); err != nil {
		tb.Fatalf("copy: %v", err)
	}
	wantSame(tb, s, "copy", s, checkpoint.Ref{Thread: "t"})
}

// testExportView checks that an export is one view.
func testExportView(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	r.commit("")
	r.commit("child")
	put := r.write("a", checkpoint.Result, "", "r")
	r.put(put)
	head := r.heads[""]
	var records int
	var writes []checkpoint.Write
	for item, err := range s.Export(tb.Context(), "t", 0) {
		switch {
		case err != nil:
			tb.Fatal(err)
		case item.Thread != nil:
			if item.Thread.Head != head {
				tb.Errorf("head: got %s, want %s", item.Thread.Head, head)
			}
			r.commit("") // also commits the pending writes
			r.commit("child")
			r.commit("another")
			r.put(r.write("b", checkpoint.Result, "", "r"))
		case item.Record != nil:
			records++
		case item.Write != nil:
			writes = append(writes, *item.Write)
		}
	}
	if records != 3 {
		tb.Errorf("export: got %d records, want the 3 that there were when it began", records)
	}
	wantWrites(tb, "writes of an export", writes, put)
}

// testImportFails checks that an import is whole or not at all.
func testImportFails(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	rich(tb, s)
	items, err := collect(s.Export(ctx, "t", 0))
	if err != nil {
		tb.Fatal(err)
	}
	broken := errors.New("the source broke")
	for n := range items {
		err := s.Import(ctx, "new", func(yield func(checkpoint.ExportItem, error) bool) {
			for _, item := range items[:n] {
				if !yield(item, nil) {
					return
				}
			}
			yield(checkpoint.ExportItem{}, broken)
		})
		wantErr(tb, fmt.Sprintf("an import that breaks after %d items", n), err, broken)
	}
	if chain := load(tb, s, checkpoint.Ref{Thread: "new"}); !chain.Empty() {
		tb.Errorf("load: got %d records, want none", chain.Chained+1)
	}
	if all := threads(tb, s, checkpoint.ThreadQuery{Prefix: "new"}); len(all) != 0 {
		tb.Errorf("threads: got %+v, want none", all)
	}
	begin(tb, s, "new", checkpoint.ID{})
	wantVersions(tb, s, "new", 1)
	// The caller may stop an export early.
	for _, err := range s.Export(ctx, "t", 0) {
		if err != nil {
			tb.Error(err)
		}
		break
	}
}

// seq yields items.
func seq(items ...checkpoint.ExportItem) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// testImportOrder checks that an import must be in order.
func testImportOrder(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	rich(tb, s)
	items, err := collect(s.Export(ctx, "t", 0))
	if err != nil {
		tb.Fatal(err)
	}
	thread, record, next, write := items[0], items[1], items[2], items[len(items)-1]
	low := *next.Record
	low.ID, low.Snapshot = checkpoint.ID{1}, true
	for name, items := range map[string][]checkpoint.ExportItem{
		"no items":                   nil,
		"no thread":                  items[1:],
		"two threads":                {thread, thread},
		"an empty item":              {thread, {}},
		"two fields":                 {thread, {Record: record.Record, Write: write.Write}},
		"a record twice":             {thread, record, record},
		"a delta without the rest":   {thread, next},
		"records out of order":       {thread, record, items[3], next},
		"a record after the writes":  {thread, record, write, next},
		"an id below the one before": {thread, record, {Record: &low}},
	} {
		wantInvalid(tb, name, s.Import(ctx, "new", seq(items...)))
	}
	if all := threads(tb, s, checkpoint.ThreadQuery{Prefix: "new"}); len(all) != 0 {
		tb.Errorf("threads after refused imports: got %+v, want none", all)
	}
	if err := s.Import(ctx, "new", seq(items...)); err != nil {
		tb.Errorf("import in order: %v", err)
	}
}

// snapshots creates a thread with an input and n checkpoints, each with a snapshot, and ends its
// run.
func snapshots(tb testing.TB, s checkpoint.Saver, thread string, namespaces []string, n int) *run {
	tb.Helper()
	r := begin(tb, s, thread, checkpoint.ID{})
	for i := range n {
		for _, namespace := range namespaces {
			a := r.next(namespace)
			a.Records[0].Snapshot = true
			a.Records[0].Created = created.Add(time.Duration(i) * time.Hour)
			r.append(a)
		}
	}
	r.end()
	return r
}

// testPrune checks that prune keeps what loads.
func testPrune(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	all := checkpoint.Query{Sources: []checkpoint.Source{1, 2, 3, 4, 5}}
	for name, c := range map[string]struct {
		keep        checkpoint.Retention
		root, child int // the records that are kept
	}{
		"nothing":             {checkpoint.Retention{}, 21, 20},
		"last 5":              {checkpoint.Retention{Last: 5}, 5, 5},
		"last 1":              {checkpoint.Retention{Last: 1}, 1, 1},
		"last 100":            {checkpoint.Retention{Last: 100}, 21, 20},
		"since":               {checkpoint.Retention{Since: created.Add(17 * time.Hour)}, 3, 3},
		"since after all":     {checkpoint.Retention{Since: created.Add(1000 * time.Hour)}, 1, 1},
		"last 2 or since":     {checkpoint.Retention{Last: 2, Since: created.Add(17 * time.Hour)}, 3, 3},
		"last 6 or since":     {checkpoint.Retention{Last: 6, Since: created.Add(17 * time.Hour)}, 6, 6},
		"released, when none": {checkpoint.Retention{Released: -1}, 21, 20},
	} {
		r := snapshots(tb, s, name, []string{"", "child"}, 20)
		for range 2 { // the second call has nothing to do
			root := checkpoint.Ref{Thread: name}
			child := checkpoint.Ref{Thread: name, Namespace: "child"}
			before := [2][]checkpoint.Record{history(tb, s, root, all), history(tb, s, child, all)}
			removed, err := s.Prune(ctx, name, c.keep)
			if err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			if want := len(before[0]) - c.root + len(before[1]) - c.child; removed.Records != want || removed.Versions != 0 {
				tb.Errorf("%s: removed %+v, want %d records", name, removed, want)
			}
			wantRecords(tb, name+", root", history(tb, s, root, all), before[0][:c.root])
			wantRecords(tb, name+", child", history(tb, s, child, all), before[1][:c.child])
			for _, gone := range before[0][c.root:] {
				_, err := s.Load(ctx, checkpoint.Ref{Thread: name, At: gone.ID})
				wantErr(tb, name+", a pruned record", err, checkpoint.ErrNotFound)
			}
		}
		next := begin(tb, s, name, r.heads[""])
		next.heads["child"] = r.heads["child"]
		next.commit("child")
		if got := last(tb, load(tb, s, checkpoint.Ref{Thread: name})).Seq; got != 22 {
			tb.Errorf("%s: the next record has seq %d, want 22", name, got)
		}
	}
}

// testPruneNeeded checks that prune keeps what is needed.
func testPruneNeeded(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	r := begin(tb, s, "t", checkpoint.ID{})
	snapshot := func(source checkpoint.Source, commits bool) checkpoint.ID {
		tb.Helper()
		a := r.next("")
		a.Records[0].Snapshot, a.Records[0].Source = true, source
		if !commits {
			a.Records[0].Commits = checkpoint.ID{}
		}
		r.append(a)
		return r.heads[""]
	}
	snapshot(checkpoint.Loop, true)
	left := snapshot(checkpoint.Loop, true)
	question := r.write("a", checkpoint.Question, "", "q")
	r.put(question)
	snapshot(checkpoint.Fork, false)
	snapshot(checkpoint.Loop, true)
	base := snapshot(checkpoint.Loop, true)
	resume := r.next("")
	resume.Records[0].Source, resume.Records[0].Base, resume.Records[0].Commits = checkpoint.Resume, base, checkpoint.ID{}
	resume.Records[0].Snapshot = true
	r.append(resume)
	edit := r.next("")
	edit.Records[0].Source, edit.Records[0].Base, edit.Records[0].Commits = checkpoint.Update, base, checkpoint.ID{}
	edit.Records[0].Snapshot = true
	r.append(edit)
	result := checkpoint.Write{Base: base, Task: "b", Kind: checkpoint.Result}
	r.put(result)
	r.end()
	removed, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 1})
	if err != nil || removed.Records != 5 {
		tb.Fatalf("prune: got %+v, %v; want 5 of 8 records removed", removed, err)
	}
	chain := load(tb, s, checkpoint.Ref{Thread: "t"})
	wantWrites(tb, "writes of the head", chain.Writes, result)
	if len(chain.Due) != 1 || chain.Due[0].Node != "node" {
		tb.Errorf("due: got %v, want that of the base", chain.Due)
	}
	wantWrites(tb, "writes of the line left", load(tb, s, checkpoint.Ref{Thread: "t", At: left}).Writes, question)
	got := ids(history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{}))
	if want := []checkpoint.ID{edit.Records[0].ID, base, left}; fmt.Sprint(got) != fmt.Sprint(want) {
		tb.Errorf("history: got %v, want %v", got, want)
	}
}

// logSnapshot and logDelta return a state with one list and an append to the list, as generated
// code encodes them.
func logSnapshot(elements ...string) []byte {
	b := wire.AppendString(wire.AppendMapLen(nil, 1), "log")
	return appendList(b, elements)
}

// logDelta returns an encoded delta that appends elements to the list log.
func logDelta(elements ...string) []byte {
	const opAppend = 1
	b := wire.AppendInt(wire.AppendArrayLen(nil, 2), 0)
	b = wire.AppendString(wire.AppendMapLen(b, 1), "log")
	return appendList(wire.AppendInt(wire.AppendArrayLen(b, 2), opAppend), elements)
}

// appendList appends an encoded list of texts.
func appendList(b []byte, elements []string) []byte {
	b = wire.AppendArrayLen(b, len(elements))
	for _, e := range elements {
		b = wire.AppendString(b, e)
	}
	return b
}

// testPruneFolds checks that prune folds what it cuts.
func testPruneFolds(tb testing.TB, place Storage) {
	s := open(tb, place)
	a := opening(tb, "t", checkpoint.ID{})
	a.Records[0].Payload = logSnapshot()
	r, _ := tryBegin(tb, s, a)
	ids := []checkpoint.ID{r.fence}
	for i := range 20 {
		for _, namespace := range []string{"", "child"} {
			a := r.next(namespace)
			a.Records[0].Payload = logDelta(fmt.Sprint(i))
			if a.Records[0].Snapshot {
				a.Records[0].Payload = logSnapshot(fmt.Sprint(i))
			}
			if namespace == "" && i == 4 { // a record that must be kept, between records that are removed
				a.Writes = []checkpoint.Write{{Base: a.Records[0].ID, Task: "left", Kind: checkpoint.Result}}
			}
			if namespace == "" && i == 5 {
				a.Records[0].Commits = checkpoint.ID{}
			}
			r.append(a)
		}
		ids = append(ids, r.heads[""])
	}
	r.end()
	state := func(namespace string, at checkpoint.ID) string {
		tb.Helper()
		chain := load(tb, s, checkpoint.Ref{Thread: "t", Namespace: namespace, At: at})
		folded, err := checkpoint.Fold(chain.Snapshot, chain.Deltas...)
		if err != nil {
			tb.Fatalf("fold: %v", err)
		}
		return string(folded)
	}
	child := state("child", checkpoint.ID{})
	var want []string
	for _, id := range ids {
		want = append(want, state("", id))
	}
	mustPrune(tb, s, "t", checkpoint.Retention{Last: 5})
	for i, id := range ids {
		if i != 5 && i < len(ids)-5 {
			continue
		}
		if got := state("", id); got != want[i] {
			tb.Errorf("state of record %d after a prune: got %q, want %q", i+1, got, want[i])
		}
	}
	if got := state("child", checkpoint.ID{}); got != child {
		tb.Errorf("state of the child after a prune: got %q, want %q", got, child)
	}
	if n := len(history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{})); n != 6 {
		tb.Errorf("history after a prune: got %d records, want 6", n)
	}
	next := begin(tb, s, "t", r.heads[""])
	a = next.next("")
	a.Records[0].Payload = logDelta("x")
	a.Records[0].Snapshot = false
	next.append(a)
}

// testPruneFenced prunes a thread again and again while a run holds it. The run keeps its lease,
// its writes and its place in the log. Nobody else can prune under its lease, also not a run
// before it.
func testPruneFenced(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	old := begin(tb, s, "t", checkpoint.ID{})
	old.end()
	a := opening(tb, "t", old.fence)
	a.Records[0].Payload, a.Records[0].Snapshot = logSnapshot(), true
	a.Open.Holder = "holder"
	r, _ := tryBegin(tb, s, a)
	post(tb, s, "t", checkpoint.Message{ID: "m", Kind: checkpoint.SignalMessage, Name: "n", Payload: []byte("p")})
	keep := checkpoint.Retention{Last: 3, Fence: r.fence, Ended: time.Now().Add(time.Hour)}
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint(i))
		for _, namespace := range []string{"", "child"} {
			c := r.next(namespace)
			c.Records[0].Payload = logDelta(fmt.Sprint(i))
			if c.Records[0].Snapshot {
				c.Records[0].Payload = logSnapshot(fmt.Sprint(i))
			}
			c.Lease = time.Hour
			r.append(c)
		}
		question, result := r.write("asks", checkpoint.Question, "", "q"), r.write("b", checkpoint.Result, "", "r")
		r.put(question, result)
		if i%4 != 3 {
			continue
		}
		_, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 1})
		wantBusy(tb, "prune by somebody else", err, "t", "holder")
		for name, fence := range map[string]checkpoint.ID{"the run before": old.fence, "an unknown run": newID(tb)} {
			_, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 1, Fence: fence})
			wantConflict(tb, "prune by "+name, err)
		}
		if done, err := s.Prune(ctx, "t", keep); err != nil || done.Deleted || done.Records == 0 {
			tb.Fatalf("prune after step %d: got %+v, %v; want removed records", i, done, err)
		}
		chain := load(tb, s, checkpoint.Ref{Thread: "t"})
		folded, err := checkpoint.Fold(chain.Snapshot, chain.Deltas...)
		if err != nil || string(folded) != string(logSnapshot(want...)) {
			tb.Errorf("state after step %d: got %q, %v; want %q", i, folded, err, want)
		}
		wantWrites(tb, "writes of the head", chain.Writes, question, result)
		if chain.Thread.Holder != "holder" || chain.Thread.Others != 1 {
			tb.Errorf("after step %d: got holder %q and %d messages, want those of the run", i, chain.Thread.Holder, chain.Thread.Others)
		}
		for _, namespace := range []string{"", "child"} {
			all := history(tb, s, checkpoint.Ref{Thread: "t", Namespace: namespace}, checkpoint.Query{})
			if len(all) != 3 || all[0].ID != r.heads[namespace] {
				tb.Errorf("namespace %q after step %d: got %d records, want the newest 3", namespace, i, len(all))
			}
		}
	}
	r.end()
	if _, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 2, Fence: r.fence}); err != nil {
		tb.Errorf("prune after the last write: %v", err)
	}
	mustRelease(tb, s, "t")
	_, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 1, Fence: r.fence})
	wantConflict(tb, "prune of a released version", err)
	_, err = s.Prune(ctx, "none", checkpoint.Retention{Last: 1, Fence: r.fence})
	wantErr(tb, "prune of no thread", err, checkpoint.ErrNotFound)
	next := begin(tb, s, "t", checkpoint.ID{})
	_, err = s.Prune(ctx, "t", checkpoint.Retention{Last: 1, Fence: r.fence})
	wantConflict(tb, "prune of the next version", err)
	next.commit("")
}

// testPruneEnded removes threads that have ended, and only those.
func testPruneEnded(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	ended := func(thread string, status checkpoint.Status) {
		r := begin(tb, s, thread, checkpoint.ID{})
		if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: thread, Fence: r.fence, Status: status, End: true}); err != nil {
			tb.Fatal(err)
		}
	}
	for _, status := range []checkpoint.Status{checkpoint.Done, checkpoint.Cancelled, checkpoint.Ready, checkpoint.Waiting, checkpoint.Paused, checkpoint.Failed} {
		thread, over := status.String(), status == checkpoint.Done || status == checkpoint.Cancelled
		ended(thread, status)
		for i, before := range []time.Time{{}, time.Now().Add(-time.Hour), later()} {
			want := checkpoint.PruneResult{Deleted: i == 2 && over}
			if got, err := s.Prune(ctx, thread, checkpoint.Retention{Ended: before}); err != nil || got != want {
				tb.Errorf("%s, ended before %v: got %+v, %v; want %+v", thread, before, got, err, want)
			}
		}
		if got := load(tb, s, checkpoint.Ref{Thread: thread}); got.Empty() != over {
			tb.Errorf("%s: the thread is gone: %t, want %t", thread, got.Empty(), over)
		}
	}
	ended("released", checkpoint.Waiting)
	mustRelease(tb, s, "released")
	for i, before := range []time.Time{{}, time.Now().Add(-time.Hour), later()} {
		want := checkpoint.PruneResult{Deleted: i == 2}
		if got, err := s.Prune(ctx, "released", checkpoint.Retention{Ended: before}); err != nil || got != want {
			tb.Errorf("released, ended before %v: got %+v, %v; want %+v", before, got, err, want)
		}
	}
	if all, err := s.Versions(ctx, "released"); err != nil || len(all) > 0 {
		tb.Errorf("released, and removed: got the versions %+v, %v, want none", all, err)
	}
	r := begin(tb, s, "due", checkpoint.ID{})
	if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "due", Fence: r.fence, Status: checkpoint.Done, End: true, Wake: later()}); err != nil {
		tb.Fatal(err)
	}
	if got, err := s.Prune(ctx, "due", checkpoint.Retention{Ended: later()}); err != nil || got.Deleted {
		tb.Errorf("done, and due: got %+v, %v; want the thread to stay", got, err)
	}
	for _, kind := range []checkpoint.MessageKind{checkpoint.InputMessage, checkpoint.SignalMessage} {
		thread := "with " + kind.String()
		ended(thread, checkpoint.Done)
		for _, id := range []string{"m", "n"} {
			m := checkpoint.Message{ID: id, Kind: kind, Name: "n", Payload: []byte("p")}
			if done, err := s.Post(ctx, checkpoint.Post{Thread: thread, Graph: "g", Messages: []checkpoint.Message{m}}); err != nil || done[0].Err != nil {
				tb.Fatal(done, err)
			}
		}
		mail, err := s.Mail(ctx, checkpoint.MailQuery{Thread: thread})
		if err != nil {
			tb.Fatal(err)
		}
		// An input that waits keeps the thread. Any other message does so as long as it is young.
		newest, inputs := mail[len(mail)-1].Posted, kind == checkpoint.InputMessage
		if got, err := s.Prune(ctx, thread, checkpoint.Retention{Ended: newest}); err != nil || got.Deleted {
			tb.Errorf("%s, and ended before its newest message: got %+v, %v; want the thread to stay", thread, got, err)
		}
		if got, err := s.Prune(ctx, thread, checkpoint.Retention{Ended: later()}); err != nil || got.Deleted == inputs {
			tb.Errorf("%s: got %+v, %v; want the thread to stay: %t", thread, got, err, inputs)
		}
	}
	held := opening(tb, "held", checkpoint.ID{})
	tryBegin(tb, s, held)
	_, err := s.Prune(ctx, "held", checkpoint.Retention{Ended: later()})
	wantBusy(tb, "prune of a held thread", err, "held", held.Open.Holder)
	_, err = s.Prune(ctx, "none", checkpoint.Retention{Ended: later()})
	wantErr(tb, "prune of no thread", err, checkpoint.ErrNotFound)
}

// testPruneReleased checks that prune removes released versions.
func testPruneReleased(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	for range 4 {
		begin(tb, s, "t", checkpoint.ID{}).end()
		mustRelease(tb, s, "t")
	}
	begin(tb, s, "t", checkpoint.ID{}).end()
	prune := func(keep, removed int, left ...int) {
		tb.Helper()
		got, err := s.Prune(ctx, "t", checkpoint.Retention{Released: keep})
		if err != nil || got.Versions != removed || got.Records != 0 {
			tb.Errorf("keep %d: got %+v, %v; want %d versions removed", keep, got, err, removed)
		}
		wantVersions(tb, s, "t", left...)
		if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread.Versions; got != len(left) {
			tb.Errorf("keep %d: the thread has %d versions, want %d", keep, got, len(left))
		}
	}
	prune(0, 0, 1, 2, 3, 4, 5)
	prune(9, 0, 1, 2, 3, 4, 5)
	prune(2, 2, 3, 4, 5)
	_, err := s.Load(ctx, checkpoint.Ref{Thread: "t", Version: 2})
	wantErr(tb, "a version that was pruned", err, checkpoint.ErrNotFound)
	if chain := load(tb, s, checkpoint.Ref{Thread: "t", Version: 3}); chain.Chained != 0 {
		tb.Errorf("a version that was kept: got %d records, want 1", chain.Chained+1)
	}
	prune(-1, 2, 5)
	mustRelease(tb, s, "t")
	mustPrune(tb, s, "t", checkpoint.Retention{Released: -1})
	begin(tb, s, "t", checkpoint.ID{})
	wantVersions(tb, s, "t", 6) // numbers are not reused
}
