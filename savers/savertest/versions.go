//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// testRelease checks that a release starts an empty version.
func testRelease(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	var heads []checkpoint.ID
	for n := 1; n <= 3; n++ {
		a := opening(tb, "t", checkpoint.ID{})
		r, done := tryBegin(tb, s, a)
		if done.Version != n || done.Head != 1 || len(done.Writes) != 0 {
			tb.Errorf("the first append of version %d: got %+v", n, done)
		}
		r.commit("")
		r.commit("child")
		r.put(r.write("a", checkpoint.Question, "", "q"))
		r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting})
		heads = append(heads, r.heads[""])
		got, err := s.Release(ctx, "t", r.heads[""])
		if err != nil {
			tb.Fatalf("release: %v", err)
		}
		if got.Number != n || got.Thread != "t" || got.Head != r.heads[""] || got.Records != 2 || got.Status != checkpoint.Waiting || got.Released.IsZero() {
			tb.Errorf("released: got %+v, want version %d of t with head %s, 2 records, waiting", got, n, r.heads[""])
		}
		if chain := load(tb, s, checkpoint.Ref{Thread: "t"}); !chain.Empty() || !chain.Head.IsZero() {
			tb.Errorf("load after release %d: got %d records, want none", n, chain.Chained+1)
		}
		if all := threads(tb, s, checkpoint.ThreadQuery{}); len(all) != 0 {
			tb.Errorf("threads after release %d: got %d, want none", n, len(all))
		}
		_, err = s.Release(ctx, "t", checkpoint.ID{})
		wantErr(tb, "release of a released version", err, checkpoint.ErrNotFound)
		_, err = s.Load(ctx, checkpoint.Ref{Thread: "t", At: r.heads[""]})
		wantErr(tb, "a released record, without its version", err, checkpoint.ErrNotFound)
	}
	begin(tb, s, "t", checkpoint.ID{})
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread; got.Version != 4 || got.Versions != 4 {
		tb.Errorf("thread: got version %d of %d, want 4 of 4", got.Version, got.Versions)
	}
	if got := threads(tb, s, checkpoint.ThreadQuery{}); len(got) != 1 || got[0].Version != 4 || got[0].Versions != 4 {
		tb.Errorf("threads: got %+v, want version 4 of 4", got)
	}
	wantVersions(tb, s, "t", 1, 2, 3, 4)
	for n, head := range heads {
		p := checkpoint.Ref{Thread: "t", Version: n + 1}
		chain := load(tb, s, p)
		if chain.Version != n+1 || chain.Head != head || len(chain.Writes) != 1 || chain.Thread.Version != n+1 {
			tb.Errorf("version %d: got %+v, want head %s and a write", n+1, chain, head)
		}
		if got := len(history(tb, s, p, checkpoint.Query{})); got != 2 {
			tb.Errorf("history of version %d: got %d records, want 2", n+1, got)
		}
		wantReleased(tb, s, p, head)
		p.Namespace = "child"
		if child := load(tb, s, p); child.Empty() || child.Chained != 0 {
			tb.Errorf("child of version %d: got %d records after %s, want its one record", n+1, child.Chained, child.Last.ID)
		}
	}
	_, err := s.Load(ctx, checkpoint.Ref{Thread: "t", Version: 5})
	wantErr(tb, "version 5", err, checkpoint.ErrNotFound)
}

// wantReleased fails unless the two records of a released version are found in that version, and
// in no other.
func wantReleased(tb testing.TB, s checkpoint.Saver, p checkpoint.Ref, head checkpoint.ID) {
	tb.Helper()
	older := history(tb, s, p, checkpoint.Query{Before: head})
	if len(older) != 1 {
		tb.Fatalf("history of version %d before its head: got %d records, want 1", p.Version, len(older))
	}
	for _, id := range []checkpoint.ID{head, older[0].ID} {
		p.At = id
		chain := load(tb, s, p)
		if chain.Last.ID != id || chain.Version != p.Version {
			tb.Errorf("version %d at %s: got %s of version %d", p.Version, id, chain.Last.ID, chain.Version)
		}
		for other := 1; other <= 4; other++ {
			if other == p.Version {
				continue
			}
			_, err := s.Load(tb.Context(), checkpoint.Ref{Thread: p.Thread, Version: other, At: id})
			wantErr(tb, "a record of another version", err, checkpoint.ErrNotFound)
			_, err = collect(s.History(tb.Context(), checkpoint.Ref{Thread: p.Thread, Version: other}, checkpoint.Query{Before: id}))
			wantErr(tb, "history before a record of another version", err, checkpoint.ErrNotFound)
		}
	}
}

// wantVersions fails unless the thread has exactly these versions and the last one is open.
func wantVersions(tb testing.TB, s checkpoint.Saver, thread string, want ...int) {
	tb.Helper()
	versions, err := s.Versions(tb.Context(), thread)
	if err != nil {
		tb.Fatalf("versions: %v", err)
	}
	if len(versions) != len(want) {
		tb.Errorf("versions: got %+v, want %v", versions, want)
		return
	}
	for i, v := range versions {
		if open := i == len(want)-1; v.Number != want[i] || v.Released.IsZero() != open || v.Thread != thread || v.Head.IsZero() {
			tb.Errorf("version %d: got %+v, want number %d, open %t", i, v, want[i], open)
		}
	}
}

// testReleaseRefused checks that a release checks the head and the lease.
func testReleaseRefused(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	r := begin(tb, s, "t", checkpoint.ID{})
	old := r.heads[""]
	r.commit("")
	r.end()
	for name, id := range map[string]checkpoint.ID{"an older head": old, "an unknown head": newID(tb)} {
		_, err := s.Release(ctx, "t", id)
		wantConflict(tb, name, err)
	}
	wantHead(tb, s, "t", "", r.heads[""])
	if _, err := s.Release(ctx, "t", checkpoint.ID{}); err != nil {
		tb.Errorf("release of any head: %v", err)
	}
}

// testReleaseAtEnd checks that the last write of a run releases.
func testReleaseAtEnd(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	a := r.next("")
	a.End, a.Release, a.Status = true, true, checkpoint.Done
	first := r.append(a)
	again, err := s.Append(tb.Context(), a) // the reply was lost
	if err != nil || again.Version != first.Version || again.Head != first.Head {
		tb.Errorf("sent again: got %+v, %v; want %+v", again, err, first)
	}
	if chain := load(tb, s, checkpoint.Ref{Thread: "t"}); !chain.Empty() {
		tb.Errorf("load: got %d records, want none", chain.Chained+1)
	}
	versions, err := s.Versions(tb.Context(), "t")
	if err != nil || len(versions) != 1 || versions[0].Released.IsZero() || versions[0].Status != checkpoint.Done || versions[0].Records != 2 {
		tb.Errorf("versions: got %+v, %v; want one, released, done", versions, err)
	}
	next := begin(tb, s, "t", checkpoint.ID{})
	if _, err := s.Append(tb.Context(), a); err != nil {
		tb.Errorf("sent again when the next version is open: %v", err)
	}
	wantHead(tb, s, "t", "", next.fence)
	wantVersions(tb, s, "t", 1, 2)

	// A whole run in one call.
	b := opening(tb, "at once", checkpoint.ID{})
	b.End, b.Release = true, true
	_, first = tryBegin(tb, s, b)
	if again, err = s.Append(tb.Context(), b); err != nil || again.Version != first.Version || again.Head != first.Head {
		tb.Errorf("a run in one act, sent again: got %+v, %v; want %+v", again, err, first)
	}
	begin(tb, s, "at once", checkpoint.ID{})
	wantVersions(tb, s, "at once", 1, 2)
}

// testOtherVersion checks that a head of another version is a conflict.
func testOtherVersion(tb testing.TB, place Storage) {
	s := open(tb, place)
	for thread, leave := range map[string]func(thread string) error{
		"released": func(thread string) error {
			_, err := s.Release(tb.Context(), thread, checkpoint.ID{})
			return err
		},
		"deleted": func(thread string) error { return s.Delete(tb.Context(), thread) },
	} {
		zombie := begin(tb, s, thread, checkpoint.ID{})
		zombie.commit("")
		zombie.commit("child")
		zombie.end()
		if err := leave(thread); err != nil {
			tb.Fatalf("%s: %v", thread, err)
		}
		refused := func(when string) {
			tb.Helper()
			for _, namespace := range []string{"", "child", "new"} {
				_, err := s.Append(tb.Context(), zombie.next(namespace))
				wantConflict(tb, when+", an append to namespace "+namespace, err)
			}
			wantConflict(tb, when+", a put", putErr(s.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: thread, Fence: zombie.fence})))
			a := opening(tb, thread, zombie.heads[""])
			a.Open.TakeOver = true
			_, err := s.Append(tb.Context(), a)
			wantConflict(tb, when+", an opening after its head", err)
		}
		refused(thread)
		r := begin(tb, s, thread, checkpoint.ID{}) // with the same numbers
		r.commit("")
		r.commit("child")
		refused(thread + ", and a new run")
		r.commit("")
		wantHead(tb, s, thread, "", r.heads[""])
	}
}

// testDelete checks that delete removes all versions.
func testDelete(tb testing.TB, place Storage) {
	s, ctx := open(tb, place), tb.Context()
	for range 2 {
		r := begin(tb, s, "t", checkpoint.ID{})
		r.commit("child")
		r.end()
		mustRelease(tb, s, "t")
	}
	r := begin(tb, s, "t", checkpoint.ID{})
	r.put(r.write("a", checkpoint.Result, "", "r"))
	r.end()
	other := begin(tb, s, "t2", checkpoint.ID{})
	if err := s.Delete(ctx, "t"); err != nil {
		tb.Fatalf("delete: %v", err)
	}
	if chain := load(tb, s, checkpoint.Ref{Thread: "t"}); !chain.Empty() {
		tb.Errorf("load: got %d records, want none", chain.Chained+1)
	}
	if versions, err := s.Versions(ctx, "t"); err != nil || len(versions) != 0 {
		tb.Errorf("versions: got %v, %v; want none", versions, err)
	}
	_, err := s.Load(ctx, checkpoint.Ref{Thread: "t", Version: 1})
	wantErr(tb, "version 1", err, checkpoint.ErrNotFound)
	if all := threads(tb, s, checkpoint.ThreadQuery{}); len(all) != 1 || all[0].ID != "t2" {
		tb.Errorf("threads: got %+v, want t2", all)
	}
	other.commit("")
	again, done := tryBegin(tb, s, opening(tb, "t", checkpoint.ID{}))
	if done.Version != 1 || len(done.Writes) != 0 {
		tb.Errorf("made again: got %+v, want version 1 without writes", done)
	}
	wantHead(tb, s, "t", "child", checkpoint.ID{})
	again.end()
	if err := s.Delete(ctx, "t"); err != nil {
		tb.Errorf("delete again: %v", err)
	}
}

// testThreadsDamaged checks that a damaged thread does not end a listing.
func testThreadsDamaged(tb testing.TB, place Storage) {
	if place.Damage == nil {
		return
	}
	s := open(tb, place)
	for _, name := range []string{"a", "b", "c", "d"} {
		r := begin(tb, s, name, checkpoint.ID{})
		if name == "b" {
			r.put(r.write("first", checkpoint.Question, "q", "question"))
		}
		r.commit("")
		if name == "b" {
			r.put(r.write("node", checkpoint.Question, "q", "question"))
		}
		r.end()
	}
	if err := place.Damage("b"); err != nil {
		tb.Fatal(err)
	}
	for name, c := range map[string]struct {
		q    checkpoint.ThreadQuery
		want string
	}{
		"all":     {checkpoint.ThreadQuery{}, "a b! c d"},
		"a limit": {checkpoint.ThreadQuery{Limit: 2}, "a b! c"},
		"a page":  {checkpoint.ThreadQuery{After: "b"}, "c d"},
		"another": {checkpoint.ThreadQuery{Prefix: "c"}, "c"},
		"it":      {checkpoint.ThreadQuery{Prefix: "b", Limit: 1}, "b!"},
	} {
		var got []string
		for thread, err := range s.Threads(tb.Context(), c.q) {
			switch {
			case err == nil:
				got = append(got, thread.ID)
			case errors.Is(err, checkpoint.ErrDamaged):
				got = append(got, thread.ID+"!")
			default:
				tb.Errorf("%s: %v", name, err)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			tb.Errorf("%s: got %q, want %q, where ! is ErrDamaged", name, got, c.want)
		}
	}
	var damaged []string
	var good []checkpoint.Thread
	for thread, err := range s.Threads(tb.Context(), checkpoint.ThreadQuery{Order: checkpoint.NewestFirst}) {
		switch {
		case err == nil:
			good = append(good, thread)
		case errors.Is(err, checkpoint.ErrDamaged):
			damaged = append(damaged, thread.ID)
		default:
			tb.Errorf("newest first: %v", err)
		}
	}
	if inOrder(tb, good); len(good) != 3 || !slices.Equal(damaged, []string{"b"}) {
		tb.Errorf("newest first: got %d threads and the damaged %q, want 3 and b", len(good), damaged)
	}
	for _, err := range s.Threads(tb.Context(), checkpoint.ThreadQuery{Prefix: "b"}) {
		if err == nil {
			tb.Error("the damaged thread: got no error")
		}
		break // the caller may also stop at the damaged thread
	}
}

// testThreads checks that threads are listed by id.
func testThreads(tb testing.TB, place Storage) {
	s := open(tb, place)
	names := []string{"b", "a", "a/1", "a-v1", "A", "Z", "\x00", "\xff", "zz", "a/2", "é"}
	for _, name := range names {
		begin(tb, s, name, checkpoint.ID{}).end()
	}
	for name, c := range map[string]struct {
		q    checkpoint.ThreadQuery
		want string
	}{
		"all":          {checkpoint.ThreadQuery{}, "\x00 A Z a a-v1 a/1 a/2 b zz é \xff"},
		"a prefix":     {checkpoint.ThreadQuery{Prefix: "a"}, "a a-v1 a/1 a/2"},
		"no such":      {checkpoint.ThreadQuery{Prefix: "%"}, ""},
		"after":        {checkpoint.ThreadQuery{After: "a/1"}, "a/2 b zz é \xff"},
		"after nobody": {checkpoint.ThreadQuery{After: "a0"}, "b zz é \xff"},
		"limit":        {checkpoint.ThreadQuery{Limit: 4}, "\x00 A Z a"},
		"a page":       {checkpoint.ThreadQuery{Prefix: "a", After: "a", Limit: 2}, "a-v1 a/1"},
	} {
		var got []string
		for _, thread := range threads(tb, s, c.q) {
			got = append(got, thread.ID)
		}
		if got := strings.Join(got, " "); got != c.want {
			tb.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, err := range s.Threads(tb.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			tb.Error(err)
		}
		break
	}
}

// testThreadsWaiting checks that threads are listed by what they wait for.
func testThreadsWaiting(tb testing.TB, place Storage) {
	s := open(tb, place)
	before := time.Now()
	waits := begin(tb, s, "waits", checkpoint.ID{})
	waits.commit("")
	q1, q2 := waits.write("a", checkpoint.Question, "", "q1"), waits.write("b", checkpoint.Question, "n", "q2")
	waits.put(q1, q2, waits.write("c", checkpoint.Question, "", "answered"))
	waits.putWith(checkpoint.PutWrites{
		Writes: []checkpoint.Write{waits.write("c", checkpoint.Answer, "", "yes")}, Status: checkpoint.Waiting, End: true,
	})
	failed := begin(tb, s, "failed", checkpoint.ID{})
	failed.putWith(checkpoint.PutWrites{Status: checkpoint.Failed, End: true})
	begin(tb, s, "runs", checkpoint.ID{})

	all := threads(tb, s, checkpoint.ThreadQuery{})
	if len(all) != 3 || all[0].Status != checkpoint.Failed || all[1].Status != checkpoint.Running || all[2].Status != checkpoint.Waiting {
		tb.Fatalf("threads: got %+v, want failed, running, waiting", all)
	}
	got := threads(tb, s, checkpoint.ThreadQuery{Status: checkpoint.Waiting})
	if len(got) != 1 || got[0].ID != "waits" || got[0].Head != waits.heads[""] || got[0].Step != waits.step || got[0].Versions != 1 {
		tb.Fatalf("waiting: got %+v, want waits with head %s at step %d", got, waits.heads[""], waits.step)
	}
	wantWrites(tb, "open questions", got[0].Questions, q1, q2)
	wantWrites(tb, "open questions of a load", load(tb, s, checkpoint.Ref{Thread: "waits"}).Thread.Questions, q1, q2)
	if at := got[0].Updated; at.Before(before.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
		tb.Errorf("updated: got %s, want about now", at)
	}
	if got := threads(tb, s, checkpoint.ThreadQuery{Status: checkpoint.Done}); len(got) != 0 {
		tb.Errorf("done: got %+v, want none", got)
	}
	idle := threads(tb, s, checkpoint.ThreadQuery{IdleSince: time.Now().Add(time.Hour)})
	inOrder(tb, idle)
	if names := []string{"failed", "waits"}; len(idle) != 2 || !slices.Contains(names, idle[0].ID) || !slices.Contains(names, idle[1].ID) {
		tb.Errorf("idle: got %+v, want failed and waits, not the one that runs", idle)
	}
	if idle := threads(tb, s, checkpoint.ThreadQuery{IdleSince: before.Add(-time.Hour)}); len(idle) != 0 {
		tb.Errorf("idle for an hour: got %+v, want none", idle)
	}
	// A listing must not be cached across a change.
	r := begin(tb, s, "waits", waits.heads[""])
	a := r.next("")
	a.Records[0].Commits, a.Status, a.End = waits.heads[""], checkpoint.Done, true
	r.append(a)
	if got := threads(tb, s, checkpoint.ThreadQuery{Status: checkpoint.Done}); len(got) != 1 || len(got[0].Questions) != 0 {
		tb.Errorf("done after the commit: got %+v, want waits without questions", got)
	}
}

// testStatuses ends runs with each status, by a write and by a commit, and lists the threads of
// each.
func testStatuses(tb testing.TB, place Storage) {
	s := open(tb, place)
	for status := checkpoint.Running; status <= checkpoint.Cancelled; status++ {
		begin(tb, s, "put "+status.String(), checkpoint.ID{}).putWith(checkpoint.PutWrites{Status: status, End: true})
		r := begin(tb, s, "commit "+status.String(), checkpoint.ID{})
		a := r.next("")
		a.Status, a.End = status, true
		r.append(a)
	}
	for status := checkpoint.Running; status <= checkpoint.Cancelled; status++ {
		want := []string{"commit " + status.String(), "put " + status.String()}
		var got []string
		for _, t := range threads(tb, s, checkpoint.ThreadQuery{Status: status}) {
			got = append(got, t.ID)
			if t.Status != status {
				tb.Errorf("%s: listed as %s", t.ID, t.Status)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) { // both may have one time
			tb.Errorf("threads with the status %s: got %q, want %q", status, got, want)
		}
		for _, id := range want {
			if got := load(tb, s, checkpoint.Ref{Thread: id}).Thread.Status; got != status {
				tb.Errorf("%s: loaded as %s", id, got)
			}
		}
	}
}

// testThreadAlone checks that a load where no records are describes the thread.
func testThreadAlone(tb testing.TB, place Storage) {
	s := open(tb, place)
	nowhere := checkpoint.Ref{Thread: "t", Namespace: checkpoint.NoCall}
	if chain := load(tb, s, nowhere); chain.Version != 0 || chain.Thread.Version != 0 {
		tb.Errorf("no thread: got version %d and %+v, want neither", chain.Version, chain.Thread)
	}
	r := begin(tb, s, "t", checkpoint.ID{})
	r.commit("")
	r.commit("child")
	r.put(r.write("a", checkpoint.Question, "", "q"))
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting})
	chain, root := load(tb, s, nowhere), load(tb, s, checkpoint.Ref{Thread: "t"})
	if !chain.Empty() || !chain.Head.IsZero() || len(chain.Due) != 0 || chain.Version != 1 {
		tb.Errorf("got %d records, head %s, %d due and version %d; want none of version 1", chain.Chained+1, chain.Head, len(chain.Due), chain.Version)
	}
	call := load(tb, s, checkpoint.Ref{Thread: "t", Namespace: "child"})
	if got, want := timeless(chain.Thread), timeless(root.Thread); got != want || len(root.Thread.Questions) != 1 {
		tb.Errorf("the thread: got %s, want as at the root %s", got, want)
	}
	root.Thread.Questions = nil
	for where, c := range map[string]checkpoint.Chain{"nowhere": load(tb, s, checkpoint.Ref{Thread: "t", Namespace: "nowhere"}), "in a call": call} {
		if got, want := timeless(c.Thread), timeless(root.Thread); got != want {
			tb.Errorf("the thread %s: got %s, want as at the root, without questions: %s", where, got, want)
		}
	}
}
