//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// testAbsent reads and changes a thread that does not exist.
func testAbsent(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	chain := load(tb, s, checkpoint.Ref{Thread: "none"})
	if !chain.Empty() || !chain.Head.IsZero() || len(chain.Due) != 0 || len(chain.Writes) != 0 {
		tb.Errorf("load: got %+v, want an empty chain", chain)
	}
	_, err := s.Load(ctx, checkpoint.Ref{Thread: "none", At: newID(tb)})
	wantErr(tb, "load at an id", err, checkpoint.ErrNotFound)
	_, err = s.Load(ctx, checkpoint.Ref{Thread: "none", Version: 1})
	wantErr(tb, "load a version", err, checkpoint.ErrNotFound)
	if all := history(tb, s, checkpoint.Ref{Thread: "none"}, checkpoint.Query{}); len(all) != 0 {
		tb.Errorf("history: got %d records, want none", len(all))
	}
	_, err = collect(s.History(ctx, checkpoint.Ref{Thread: "none", Version: 2}, checkpoint.Query{}))
	wantErr(tb, "history of a version", err, checkpoint.ErrNotFound)
	if all := threads(tb, s, checkpoint.ThreadQuery{}); len(all) != 0 {
		tb.Errorf("threads: got %d, want none", len(all))
	}
	versions, err := s.Versions(ctx, "none")
	if err != nil || len(versions) != 0 {
		tb.Errorf("versions: got %v, %v; want none", versions, err)
	}
	_, err = s.Release(ctx, "none", checkpoint.ID{})
	wantErr(tb, "release", err, checkpoint.ErrNotFound)
	if err := s.Delete(ctx, "none"); err != nil {
		tb.Errorf("delete: got %v, want no error", err)
	}
	_, err = s.Prune(ctx, "none", checkpoint.Retention{Last: 1})
	wantErr(tb, "prune", err, checkpoint.ErrNotFound)
	_, err = collect(s.Export(ctx, "none", 0))
	wantErr(tb, "export", err, checkpoint.ErrNotFound)
	wantConflict(tb, "put writes", putErr(s.PutWrites(ctx, checkpoint.PutWrites{Thread: "none", Fence: newID(tb)})))
	a := opening(tb, "none", newID(tb))
	_, err = s.Append(ctx, a)
	wantConflict(tb, "an opening after a head that is not there", err)
	refused := opening(tb, "none", checkpoint.ID{})
	refused.Messages.Take = []uint64{1}
	_, err = s.Append(ctx, refused)
	wantConflict(tb, "an opening that takes a message that is not there", err)
	_, err = s.Prune(ctx, "none", checkpoint.Retention{Last: 1, Fence: refused.Records[0].ID})
	wantErr(tb, "prune by a run that was refused", err, checkpoint.ErrNotFound)
	a.Open, a.After, a.Fence = nil, checkpoint.ID{}, newID(tb)
	a.Records[0].Parent = checkpoint.ID{}
	_, err = s.Append(ctx, a)
	wantConflict(tb, "an append without an opening", err)
	if all := threads(tb, s, checkpoint.ThreadQuery{}); len(all) != 0 {
		tb.Errorf("threads after refused writes: got %d, want none", len(all))
	}
}

// full returns a record with a value in every field.
func full(tb testing.TB) checkpoint.Record {
	id := newID(tb)
	return checkpoint.Record{
		ID: id, Parent: newID(tb), Base: id, Line: newID(tb), Commits: newID(tb), Step: 7, Source: checkpoint.Input, Ran: []string{"ran", ""},
		Due: []checkpoint.Task{
			{Node: "plain"}, {Node: "send", Index: 1, Payload: []byte("payload")}, {Node: "send", Index: 4e9, Payload: []byte{}},
		},
		PendingRoutes: []string{"route one", ""},
		Joins:         []checkpoint.Join{{To: "join", Fired: []string{"a", "b"}}, {To: "other", Fired: []string{"c"}}},
		ClearedStops:  []string{"stop"},
		Request:       "request\x00id", Fingerprint: 1<<64 - 1, Graph: "graph",
		Meta:    map[string]string{"": "empty", "k\xff": "v\x00", "user": "someone"},
		Created: created, Snapshot: true, Payload: []byte("state\x00\xff"),
	}
}

// testRecord checks that a record comes back as it was stored.
func testRecord(tb testing.TB, place Storage) {
	s := open(tb, place)
	a := opening(tb, "t", checkpoint.ID{})
	a.Records[0] = full(tb)
	r, done := tryBegin(tb, s, a)
	if done.Version != 1 || done.Head != 1 || len(done.Writes) != 0 {
		tb.Errorf("appended: got %+v, want version 1, head 1, no writes", done)
	}
	want := a.Records[0]
	want.Seq = 1
	if d := differ(last(tb, load(tb, s, checkpoint.Ref{Thread: "t"})), want); d != "" {
		tb.Errorf("full record: %s", d)
	}

	next := r.next("")
	rec := &next.Records[0]
	rec.Base, rec.Commits = r.heads[""], checkpoint.ID{} // so the pending tasks belong to the previous record
	rec.Fingerprint, rec.Graph, rec.Step, rec.Line = 3, "another graph", 0, newID(tb)
	rec.Created = created.Add(-time.Hour).In(time.FixedZone("east", 3600)).Add(789 * time.Nanosecond)
	rec.Due, rec.Meta, rec.Payload = []checkpoint.Task{{Node: "not its own"}}, map[string]string{}, nil
	r.append(next)
	want = *rec
	want.Seq, want.Due, want.Meta, want.Created = 2, nil, nil, created.Add(-time.Hour)
	chain := load(tb, s, checkpoint.Ref{Thread: "t"})
	if d := differ(last(tb, chain), want); d != "" {
		tb.Errorf("record with another's base: %s", d)
	}
	if len(chain.Due) != 3 || chain.Due[1].Index != 1 || string(chain.Due[1].Payload) != "payload" {
		tb.Errorf("due: got %v, want those of the base", chain.Due)
	}
	if due := chain.Due; len(due) == 3 && (due[0].Payload != nil || due[2].Payload == nil) {
		tb.Errorf("due payloads: got %#v and %#v, want nil and empty, as stored", due[0].Payload, due[2].Payload)
	}
	all := history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{})
	if len(all) != 2 {
		tb.Fatalf("history: got %d records, want 2", len(all))
	}
	if d := differ(all[0], want); d != "" {
		tb.Errorf("record in history: %s", d)
	}
}

// testCopies checks that the caller may change its arguments after a call.
func testCopies(tb testing.TB, place Storage) {
	s := open(tb, place)
	a := opening(tb, "t", checkpoint.ID{})
	a.Records[0] = full(tb)
	a.Records[0].Due[1].Payload = []byte("payload")
	a.Writes = []checkpoint.Write{{Base: a.Records[0].ID, Task: "task", Kind: checkpoint.Answer, Payload: []byte("answer")}}
	r, _ := tryBegin(tb, s, a)
	put := r.write("task", checkpoint.Question, "", "question")
	r.put(put)
	rec := &a.Records[0]
	for _, b := range [][]byte{rec.Payload, rec.Due[1].Payload, a.Writes[0].Payload, put.Payload} {
		clear(b)
	}
	rec.Ran[0], rec.Due[0].Node, rec.PendingRoutes[0], rec.ClearedStops[0], rec.Joins[0].Fired[0], rec.Meta["user"] = "x", "x", "x", "x", "x", "x"
	chain := load(tb, s, checkpoint.Ref{Thread: "t"})
	got := last(tb, chain)
	if string(got.Payload) != "state\x00\xff" || got.Ran[0] != "ran" || got.Due[0].Node != "plain" || string(got.Due[1].Payload) != "payload" ||
		got.PendingRoutes[0] != "route one" || got.ClearedStops[0] != "stop" || got.Joins[0].Fired[0] != "a" || got.Meta["user"] != "someone" {
		tb.Errorf("the record changed with the argument of the caller: %+v", got)
	}
	wantWrites(tb, "writes after the caller changed its argument", chain.Writes,
		r.write("task", checkpoint.Answer, "", "answer"), r.write("task", checkpoint.Question, "", "question"))
}

// testChain checks that a chain starts with a snapshot.
func testChain(tb testing.TB, place Storage) {
	s := open(tb, place)
	opened := opening(tb, "t", checkpoint.ID{})
	opened.Records[0].Payload = logSnapshot("0")
	r, _ := tryBegin(tb, s, opened)
	all, elements := []checkpoint.ID{r.fence}, []string{"0"}
	for i := range 6 {
		a := r.next("")
		elements = append(elements, fmt.Sprint(i+1))
		a.Records[0].Payload = logDelta(elements[i+1])
		if i == 2 {
			a.Records[0].Snapshot, a.Records[0].Payload = true, logSnapshot(elements[i+1])
		}
		if got := r.append(a); got.Head != uint64(i+2) || got.Version != 1 {
			tb.Errorf("append %d: got version %d and head %d, want 1 and %d", i+2, got.Version, got.Head, i+2)
		}
		all = append(all, r.heads[""])
	}
	for i, first := range []int{0, 0, 0, 3, 3, 3, 3} {
		chain := load(tb, s, checkpoint.Ref{Thread: "t", At: all[i]})
		if got := chain.Last; got.ID != all[i] || got.Seq != uint64(i+1) || got.Snapshot != (i == first) {
			tb.Errorf("chain of record %d: got %s with seq %d, snapshot %t; want %s, %d, %t", i+1, got.ID, got.Seq, got.Snapshot, all[i], i+1, i == first)
		}
		if chain.Chained != i-first {
			tb.Errorf("chain of record %d: got %d records after the one with the snapshot, want %d", i+1, chain.Chained, i-first)
		}
		var want []string
		for n := first; n <= i; n++ {
			want = append(want, elements[n])
		}
		if got, err := checkpoint.Fold(chain.Snapshot, chain.Deltas...); err != nil || !bytes.Equal(got, logSnapshot(want...)) {
			tb.Errorf("chain of record %d: got state %q, %v; want %q", i+1, got, err, logSnapshot(want...))
		}
		if committed := i < len(all)-1; chain.Committed != committed || chain.Head != all[len(all)-1] {
			tb.Errorf("chain of record %d: committed %t, head %s; want %t, %s", i+1, chain.Committed, chain.Head, committed, all[len(all)-1])
		}
	}
}

// testByID checks that every checkpoint loads by its id.
func testByID(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	first := r.heads[""]
	second := r.commit("")
	child := r.commit("child")
	// A fork: its parent is not the previous record.
	a := r.next("")
	a.Records[0].Parent, a.Records[0].Source, a.Records[0].Snapshot = first, checkpoint.Fork, true
	a.Records[0].Ran = []string{"as", "also"}
	r.append(a)
	got := last(tb, load(tb, s, checkpoint.Ref{Thread: "t"}))
	if want := []string{"as", "also"}; got.Parent != first || got.Seq != 3 || !slices.Equal(got.Ran, want) {
		tb.Errorf("fork: got parent %s, seq %d, ran %q; want %s, 3, %q", got.Parent, got.Seq, got.Ran, first, want)
	}
	if got := last(tb, load(tb, s, checkpoint.Ref{Thread: "t", At: second})); got.ID != second || got.Parent != first {
		tb.Errorf("at %s: got %s with parent %s, want parent %s", second, got.ID, got.Parent, first)
	}
	_, err := s.Load(tb.Context(), checkpoint.Ref{Thread: "t", At: child})
	wantErr(tb, "a child's record in the root", err, checkpoint.ErrNotFound)
	_, err = s.Load(tb.Context(), checkpoint.Ref{Thread: "t", At: newID(tb)})
	wantErr(tb, "an unknown id", err, checkpoint.ErrNotFound)
	_, err = s.Load(tb.Context(), checkpoint.Ref{Thread: "t", Version: 2})
	wantErr(tb, "a version to come", err, checkpoint.ErrNotFound)
	if got := last(tb, load(tb, s, checkpoint.Ref{Thread: "t", Version: 1, Namespace: "child", At: child})); got.ID != child || got.Seq != 1 {
		tb.Errorf("child: got %s seq %d, want %s seq 1", got.ID, got.Seq, child)
	}
}

// testMany checks that an append of many records is whole.
func testMany(tb testing.TB, place Storage) {
	s := open(tb, place)
	a := opening(tb, "t", checkpoint.ID{})
	for range 4 {
		before, id := a.Records[len(a.Records)-1].ID, newID(tb)
		a.Records = append(a.Records, checkpoint.Record{
			ID: id, Parent: before, Base: id, Line: a.Records[0].ID, Commits: before, Source: checkpoint.Loop, Created: created,
			Payload: []byte("delta"),
		})
	}
	// A write is ignored if the same call commits its base.
	a.Writes = []checkpoint.Write{
		{Base: a.Records[0].ID, Task: "over", Kind: checkpoint.Result},
		{Base: a.Records[4].ID, Task: "stands", Kind: checkpoint.Result, Payload: []byte("r")},
	}
	r, done := tryBegin(tb, s, a)
	if done.Head != 5 {
		tb.Errorf("head: got %d, want 5", done.Head)
	}
	wantWrites(tb, "writes of the opening", done.Writes, r.write("stands", checkpoint.Result, "", "r"))
	chain := load(tb, s, checkpoint.Ref{Thread: "t"})
	if chain.Chained != 4 || chain.Last.Seq != 5 {
		tb.Fatalf("chain: got %d records, want 5", chain.Chained+1)
	}
	wantWrites(tb, "writes loaded", chain.Writes, r.write("stands", checkpoint.Result, "", "r"))

	// A record that cannot be stored stores nothing.
	bad := r.next("")
	second := r.next("").Records[0]
	second.ID, second.Parent = a.Records[2].ID, bad.Records[0].ID
	bad.Records = append(bad.Records, second)
	bad.Writes = []checkpoint.Write{r.write("refused", checkpoint.Result, "", "")}
	_, err := s.Append(tb.Context(), bad)
	wantInvalid(tb, "two records, the second with an existing id", err)
	wantHead(tb, s, "t", "", r.heads[""])
	wantWrites(tb, "writes after a refused append", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes, chain.Writes...)
}

// testWrongHead checks that a wrong head is a conflict.
func testWrongHead(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	first, child := r.heads[""], r.commit("child")
	r.commit("")
	head := r.commit("")
	for name, after := range map[string]checkpoint.ID{
		"none": {}, "an older record": first, "an unknown record": newID(tb), "a child's head": child,
	} {
		for _, opens := range []bool{false, true} {
			a := r.next("")
			a.After, a.Records[0].Parent, a.Records[0].Snapshot = after, after, true
			if opens {
				a.Open = &checkpoint.Opening{TakeOver: true}
			}
			_, err := s.Append(tb.Context(), a)
			wantConflict(tb, fmt.Sprintf("after %s, opening %t", name, opens), err)
		}
	}
	a := r.next("child")
	a.After, a.Records[0].Parent, a.Records[0].Snapshot = head, head, true
	_, err := s.Append(tb.Context(), a)
	wantConflict(tb, "the root's head in a child", err)
	wantHead(tb, s, "t", "", head)
	wantHead(tb, s, "t", "child", child)
	r.commit("") // and the run continues
	r.commit("child")
}

// testIncreasing checks that ids increase within a log.
func testIncreasing(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	unused := newID(tb)
	r := begin(tb, s, "t", checkpoint.ID{})
	first := r.heads[""]
	head := r.commit("")
	below := head
	for i := len(below) - 1; ; i-- {
		if below[i]--; below[i] != 0xff {
			break
		}
	}
	for what, ids := range map[string][]checkpoint.ID{
		"an id of the log": {first}, "the id of the head": {head}, "an unused id that is older than the log": {unused},
		"an id that is less than the head's by 1": {below}, "an id twice": {newID(tb), {}}, "decreasing ids": {newID(tb), unused},
	} {
		a := r.next("")
		for i, id := range ids {
			record := a.Records[0]
			if record.ID = id; id.IsZero() {
				record.ID = ids[0]
			}
			record.Base, record.Snapshot = record.ID, true
			a.Records = append(a.Records[:i:i], record)
		}
		_, err := s.Append(ctx, a)
		wantInvalid(tb, what, err)
		open := opening(tb, "t", head)
		open.Records, open.Open.TakeOver = a.Records, true
		_, err = s.Append(ctx, open)
		wantInvalid(tb, "an opening with "+what, err)
	}
	wantHead(tb, s, "t", "", head)

	// An id that is greater by 1 follows, and each namespace has an order of its own.
	next, child := r.next(""), r.next("child")
	next.Records[0].ID, child.Records[0].ID = head, unused
	for i := len(head) - 1; ; i-- {
		if next.Records[0].ID[i]++; next.Records[0].ID[i] != 0 {
			break
		}
	}
	r.append(next)
	r.append(child)
	if _, err := s.Append(ctx, next); err != nil {
		tb.Errorf("sent again: %v", err)
	}
	r.commit("")
	wantHead(tb, s, "t", "child", unused)
}

// testRepeat checks that an append sent again changes nothing.
func testRepeat(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	a := r.next("")
	second := r.next("").Records[0]
	second.Parent = a.Records[0].ID
	a.Records = append(a.Records, second)
	first := r.append(a)
	r.put(r.write("task", checkpoint.Result, "", "r"))
	again, err := s.Append(tb.Context(), a)
	if err != nil || again.Version != first.Version || again.Head != first.Head {
		tb.Errorf("sent again: got %+v, %v; want %+v", again, err, first)
	}
	wantHead(tb, s, "t", "", second.ID)
	wantWrites(tb, "writes after an append sent again", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes, r.write("task", checkpoint.Result, "", "r"))

	half := a
	half.Records = a.Records[:1]
	if _, err := s.Append(tb.Context(), half); err != nil {
		tb.Errorf("its first record sent again: %v", err)
	}
	longer := a
	longer.Records = append(a.Records[:2:2], r.next("").Records[0])
	longer.Records[2].Parent, longer.Records[2].Commits = second.ID, second.ID
	_, err = s.Append(tb.Context(), longer)
	wantConflict(tb, "more records than stand", err)
	moved := a
	moved.Records = []checkpoint.Record{second}
	moved.Records[0].Parent = a.After
	_, err = s.Append(tb.Context(), moved)
	wantConflict(tb, "a record that stands, at another place", err)

	r.commit("")
	if _, err := s.Append(tb.Context(), a); err != nil {
		tb.Errorf("sent again when more has followed: %v", err)
	}
	if n := len(history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{})); n != 4 {
		tb.Errorf("history: got %d records, want 4", n)
	}
}

// A Prune may remove the record before a repeated Append, and also records of that Append that
// newer records follow. The repeated Append must still be recognised, because its writer might not
// know the outcome.
func testRepeatPruned(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	for _, namespace := range []string{"", "child"} {
		before := r.next(namespace)
		before.Records[0].Snapshot = true
		r.append(before)
		a := r.next(namespace)
		second := r.next(namespace).Records[0]
		second.Parent, second.Commits = a.Records[0].ID, a.Records[0].ID
		a.Records = append(a.Records, second)
		for i := range a.Records {
			a.Records[i].Snapshot = true
		}
		a.End = namespace == "" // otherwise a Prune returns an error
		first := r.append(a)
		if namespace != "" {
			r.end()
		}
		for _, keep := range []int{3, 2, 1} {
			mustPrune(tb, s, "t", checkpoint.Retention{Last: keep})
			what := fmt.Sprintf("namespace %q, sent again when the last %d are left", namespace, keep)
			again, err := s.Append(tb.Context(), a)
			if err != nil || again.Version != first.Version || again.Head != first.Head {
				tb.Errorf("%s: got %+v, %v; want %+v", what, again, err, first)
			}
			wantHead(tb, s, "t", namespace, second.ID)
			r.end() // a run that holds the thread has renewed its lease
			moved := a
			moved.After = checkpoint.ID{}
			moved.Records = slices.Clone(a.Records)
			moved.Records[0].Parent, moved.Records[0].Commits = checkpoint.ID{}, checkpoint.ID{}
			_, err = s.Append(tb.Context(), moved)
			wantConflict(tb, what+", as the first", err)
		}
		longer := a
		longer.Records = append(slices.Clone(a.Records), r.next(namespace).Records[0])
		longer.Records[2].Parent, longer.Records[2].Commits = second.ID, second.ID
		_, err := s.Append(tb.Context(), longer)
		wantConflict(tb, "more records than stand", err)
		r = begin(tb, s, "t", r.heads[""])
	}
}

// testRepeatOpening checks that an opening sent again changes nothing.
func testRepeatOpening(tb testing.TB, place Storage) {
	s := open(tb, place)
	a := opening(tb, "t", checkpoint.ID{})
	a.Writes = []checkpoint.Write{{Base: a.Records[0].ID, Task: "asks", Kind: checkpoint.Answer, Payload: []byte("yes")}}
	r, first := tryBegin(tb, s, a)
	again, err := s.Append(tb.Context(), a)
	if err != nil || again.Head != first.Head {
		tb.Errorf("sent again: got %+v, %v; want %+v", again, err, first)
	}
	wantWrites(tb, "writes of an opening sent again", again.Writes, first.Writes...)
	r.commit("") // the run still owns the fence

	other := opening(tb, "t", r.heads[""])
	other.Open.TakeOver = true
	tryBegin(tb, s, other)
	if _, err := s.Append(tb.Context(), a); err == nil {
		tb.Error("an opening sent again after another took the fence: got no error, want a conflict")
	} else {
		wantErr(tb, "an opening sent again after another took the fence", err, checkpoint.ErrConflict)
	}

	released := opening(tb, "released", checkpoint.ID{})
	for version := 1; version <= 3; version++ {
		done, err := s.Append(tb.Context(), released)
		if err != nil || done.Version != version {
			tb.Fatalf("an opening, after the release of %d versions: got version %d, %v", version-1, done.Version, err)
		}
		w := checkpoint.PutWrites{Thread: "released", Fence: released.Records[0].ID, End: true, Status: checkpoint.Waiting}
		if _, err := s.PutWrites(tb.Context(), w); err != nil {
			tb.Fatal(err)
		}
		mustRelease(tb, s, "released")
	}
}

// testInvalid checks that invalid calls return errors.
func testInvalid(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	r := begin(tb, s, "t", checkpoint.ID{})
	long := strings.Repeat("x", checkpoint.MaxThread+1)
	for name, change := range map[string]func(*checkpoint.Append){
		"an empty thread":       func(a *checkpoint.Append) { a.Thread = "" },
		"a long thread":         func(a *checkpoint.Append) { a.Thread = long },
		"a long namespace":      func(a *checkpoint.Append) { a.Namespace = strings.Repeat("x", checkpoint.MaxNamespace+1) },
		"no records":            func(a *checkpoint.Append) { a.Records = nil },
		"a record without id":   func(a *checkpoint.Append) { a.Records[0].ID = checkpoint.ID{} },
		"a record without base": func(a *checkpoint.Append) { a.Records[0].Base = checkpoint.ID{} },
		"an unknown source":     func(a *checkpoint.Append) { a.Records[0].Source = 9 },
		"an unknown status":     func(a *checkpoint.Append) { a.Status = 99 },
		"a negative lease":      func(a *checkpoint.Append) { a.Lease = -1 },
		"a delta on another":    func(a *checkpoint.Append) { a.Records[0].Parent = a.Records[0].ID },
		"no fence":              func(a *checkpoint.Append) { a.Fence = checkpoint.ID{} },
		"release without end":   func(a *checkpoint.Append) { a.Release = true },
		"an unknown kind":       func(a *checkpoint.Append) { a.Writes = []checkpoint.Write{r.write("x", 9, "", "")} },
		"a write without task":  func(a *checkpoint.Append) { a.Writes = []checkpoint.Write{r.write("", checkpoint.Result, "", "")} },
		"a child that opens": func(a *checkpoint.Append) {
			a.Namespace, a.Open = "child", &checkpoint.Opening{}
		},
	} {
		a := r.next("")
		change(&a)
		_, err := s.Append(ctx, a)
		wantInvalid(tb, name, err)
	}
	wantInvalid(tb, "put to a long thread", putErr(s.PutWrites(ctx, checkpoint.PutWrites{Thread: long, Fence: r.fence})))
	wantInvalid(tb, "put without a fence", putErr(s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t"})))
	for _, id := range []string{"", long} {
		_, err := s.Load(ctx, checkpoint.Ref{Thread: id})
		wantInvalid(tb, "load", err)
		_, err = collect(s.History(ctx, checkpoint.Ref{Thread: id}, checkpoint.Query{}))
		wantInvalid(tb, "history", err)
		_, err = s.Versions(ctx, id)
		wantInvalid(tb, "versions", err)
		_, err = s.Release(ctx, id, checkpoint.ID{})
		wantInvalid(tb, "release", err)
		wantInvalid(tb, "delete", s.Delete(ctx, id))
		_, err = s.Prune(ctx, id, checkpoint.Retention{})
		wantInvalid(tb, "prune", err)
		_, err = collect(s.Export(ctx, id, 0))
		wantInvalid(tb, "export", err)
		wantInvalid(tb, "import", s.Import(ctx, id, s.Export(ctx, "t", 0)))
	}
	_, err := s.Load(ctx, checkpoint.Ref{Thread: "t", Version: -1})
	wantInvalid(tb, "version -1", err)
	wantHead(tb, s, "t", "", r.heads[""])
}

// testApart checks that threads and namespaces are apart.
func testApart(tb testing.TB, place Storage) {
	s := open(tb, place)
	a, b := begin(tb, s, "a", checkpoint.ID{}), begin(tb, s, "b", checkpoint.ID{})
	spaces := []string{"", "c", "c/d", "C", "b"}
	for range 3 {
		for _, namespace := range spaces {
			a.commit(namespace)
		}
	}
	b.commit("c")
	wantConflict(tb, "a fence of another thread", putErr(s.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: "b", Fence: a.fence})))
	next := b.next("")
	next.Fence = a.fence
	_, err := s.Append(tb.Context(), next)
	wantConflict(tb, "an append under another thread's fence", err)
	for _, namespace := range spaces {
		wantHead(tb, s, "a", namespace, a.heads[namespace])
		for _, r := range history(tb, s, checkpoint.Ref{Thread: "a", Namespace: namespace}, checkpoint.Query{Sources: []checkpoint.Source{checkpoint.Loop}}) {
			if !bytes.HasPrefix(r.Payload, []byte(namespace)) {
				tb.Errorf("namespace %q has a record of another, with payload %q", namespace, r.Payload)
			}
		}
		if got := last(tb, load(tb, s, checkpoint.Ref{Thread: "a", Namespace: namespace})).Seq; namespace != "" && got != 3 {
			tb.Errorf("namespace %q: head has seq %d, want 3", namespace, got)
		}
	}
	wantHead(tb, s, "b", "", b.fence)
	wantHead(tb, s, "b", "c/d", checkpoint.ID{})
	if chain := load(tb, s, checkpoint.Ref{Thread: "b", Namespace: "none"}); chain.Thread.ID != "b" || !chain.Empty() {
		tb.Errorf("a namespace that is not there: got thread %q and %d records, want b and none", chain.Thread.ID, chain.Chained+1)
	}
}
