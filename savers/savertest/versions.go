package savertest

import (
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

func testRelease(t testing.TB, place Storage) {
	s, ctx := open(t, place), t.Context()
	var heads []checkpoint.ID
	for n := 1; n <= 3; n++ {
		a := opening(t, "t", checkpoint.ID{})
		r, done := tryBegin(t, s, a)
		if done.Version != n || done.Head != 1 || len(done.Writes) != 0 {
			t.Errorf("the first append of version %d: got %+v", n, done)
		}
		r.commit("")
		r.commit("child")
		r.put(r.write("a", checkpoint.Question, "", "q"))
		r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting})
		heads = append(heads, r.heads[""])
		got, err := s.Release(ctx, "t", r.heads[""])
		if err != nil {
			t.Fatalf("release: %v", err)
		}
		if got.Number != n || got.Thread != "t" || got.Head != r.heads[""] || got.Records != 2 || got.Status != checkpoint.Waiting || got.Released.IsZero() {
			t.Errorf("released: got %+v, want version %d of t with head %s, 2 records, waiting", got, n, r.heads[""])
		}
		if chain := load(t, s, checkpoint.Place{Thread: "t"}); len(chain.Records) != 0 || !chain.Head.IsZero() {
			t.Errorf("load after release %d: got %d records, want none", n, len(chain.Records))
		}
		if all := threads(t, s, checkpoint.ThreadQuery{}); len(all) != 0 {
			t.Errorf("threads after release %d: got %d, want none", n, len(all))
		}
		_, err = s.Release(ctx, "t", checkpoint.ID{})
		wantErr(t, "release of a released version", err, checkpoint.ErrNotFound)
		_, err = s.Load(ctx, checkpoint.Place{Thread: "t", At: r.heads[""]})
		wantErr(t, "a released record, without its version", err, checkpoint.ErrNotFound)
	}
	begin(t, s, "t", checkpoint.ID{})
	if got := load(t, s, checkpoint.Place{Thread: "t"}).Thread; got.Version != 4 || got.Versions != 4 {
		t.Errorf("thread: got version %d of %d, want 4 of 4", got.Version, got.Versions)
	}
	if got := threads(t, s, checkpoint.ThreadQuery{}); len(got) != 1 || got[0].Version != 4 || got[0].Versions != 4 {
		t.Errorf("threads: got %+v, want version 4 of 4", got)
	}
	wantVersions(t, s, "t", 1, 2, 3, 4)
	for n, head := range heads {
		p := checkpoint.Place{Thread: "t", Version: n + 1}
		chain := load(t, s, p)
		if chain.Version != n+1 || chain.Head != head || len(chain.Writes) != 1 || chain.Thread.Version != n+1 {
			t.Errorf("version %d: got %+v, want head %s and a write", n+1, chain, head)
		}
		if got := len(history(t, s, p, checkpoint.Query{})); got != 2 {
			t.Errorf("history of version %d: got %d records, want 2", n+1, got)
		}
		p.Namespace = "child"
		if got := len(load(t, s, p).Records); got != 1 {
			t.Errorf("child of version %d: got %d records, want 1", n+1, got)
		}
	}
	_, err := s.Load(ctx, checkpoint.Place{Thread: "t", Version: 5})
	wantErr(t, "version 5", err, checkpoint.ErrNotFound)
}

// wantVersions fails unless the thread has just these versions, the last of them open.
func wantVersions(t testing.TB, s checkpoint.Saver, thread string, want ...int) {
	t.Helper()
	versions, err := s.Versions(t.Context(), thread)
	if err != nil {
		t.Fatalf("versions: %v", err)
	}
	if len(versions) != len(want) {
		t.Errorf("versions: got %+v, want %v", versions, want)
		return
	}
	for i, v := range versions {
		if open := i == len(want)-1; v.Number != want[i] || v.Released.IsZero() != open || v.Thread != thread || v.Head.IsZero() {
			t.Errorf("version %d: got %+v, want number %d, open %t", i, v, want[i], open)
		}
	}
}

func testReleaseRefused(t testing.TB, place Storage) {
	s, ctx := open(t, place), t.Context()
	r := begin(t, s, "t", checkpoint.ID{})
	old := r.heads[""]
	r.commit("")
	r.end()
	for name, id := range map[string]checkpoint.ID{"an older head": old, "an unknown head": newID(t)} {
		_, err := s.Release(ctx, "t", id)
		wantConflict(t, name, err)
	}
	wantHead(t, s, "t", "", r.heads[""])
	if _, err := s.Release(ctx, "t", checkpoint.ID{}); err != nil {
		t.Errorf("release of any head: %v", err)
	}
}

func testReleaseAtEnd(t testing.TB, place Storage) {
	s := open(t, place)
	r := begin(t, s, "t", checkpoint.ID{})
	a := r.next("")
	a.End, a.Release, a.Status = true, true, checkpoint.Done
	first := r.append(a)
	again, err := s.Append(t.Context(), a) // the reply was lost
	if err != nil || again.Version != first.Version || again.Head != first.Head {
		t.Errorf("sent again: got %+v, %v; want %+v", again, err, first)
	}
	if chain := load(t, s, checkpoint.Place{Thread: "t"}); len(chain.Records) != 0 {
		t.Errorf("load: got %d records, want none", len(chain.Records))
	}
	versions, err := s.Versions(t.Context(), "t")
	if err != nil || len(versions) != 1 || versions[0].Released.IsZero() || versions[0].Status != checkpoint.Done || versions[0].Records != 2 {
		t.Errorf("versions: got %+v, %v; want one, released, done", versions, err)
	}
	next := begin(t, s, "t", checkpoint.ID{})
	if _, err := s.Append(t.Context(), a); err != nil {
		t.Errorf("sent again when the next version is open: %v", err)
	}
	wantHead(t, s, "t", "", next.fence)
	wantVersions(t, s, "t", 1, 2)

	// All of a run in one act.
	b := opening(t, "at once", checkpoint.ID{})
	b.End, b.Release = true, true
	tryBegin(t, s, b)
	begin(t, s, "at once", checkpoint.ID{})
	wantVersions(t, s, "at once", 1, 2)
}

func testOtherVersion(t testing.TB, place Storage) {
	s := open(t, place)
	for thread, leave := range map[string]func(thread string) error{
		"released": func(thread string) error {
			_, err := s.Release(t.Context(), thread, checkpoint.ID{})
			return err
		},
		"deleted": func(thread string) error { return s.Delete(t.Context(), thread) },
	} {
		zombie := begin(t, s, thread, checkpoint.ID{})
		zombie.commit("")
		zombie.commit("child")
		zombie.end()
		if err := leave(thread); err != nil {
			t.Fatalf("%s: %v", thread, err)
		}
		refused := func(when string) {
			t.Helper()
			for _, namespace := range []string{"", "child", "new"} {
				_, err := s.Append(t.Context(), zombie.next(namespace))
				wantConflict(t, when+", an append to namespace "+namespace, err)
			}
			wantConflict(t, when+", a put", s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: thread, Fence: zombie.fence}))
			a := opening(t, thread, zombie.heads[""])
			a.Open.TakeOver = true
			_, err := s.Append(t.Context(), a)
			wantConflict(t, when+", an opening after its head", err)
		}
		refused(thread)
		r := begin(t, s, thread, checkpoint.ID{}) // with the same numbers
		r.commit("")
		r.commit("child")
		refused(thread + ", and a new run")
		r.commit("")
		wantHead(t, s, thread, "", r.heads[""])
	}
}

func testDelete(t testing.TB, place Storage) {
	s, ctx := open(t, place), t.Context()
	for range 2 {
		r := begin(t, s, "t", checkpoint.ID{})
		r.commit("child")
		r.end()
		if _, err := s.Release(ctx, "t", checkpoint.ID{}); err != nil {
			t.Fatal(err)
		}
	}
	r := begin(t, s, "t", checkpoint.ID{})
	r.put(r.write("a", checkpoint.Result, "", "r"))
	r.end()
	other := begin(t, s, "t2", checkpoint.ID{})
	if err := s.Delete(ctx, "t"); err != nil {
		t.Fatalf("delete: %v", err)
	}
	if chain := load(t, s, checkpoint.Place{Thread: "t"}); len(chain.Records) != 0 {
		t.Errorf("load: got %d records, want none", len(chain.Records))
	}
	if versions, err := s.Versions(ctx, "t"); err != nil || len(versions) != 0 {
		t.Errorf("versions: got %v, %v; want none", versions, err)
	}
	_, err := s.Load(ctx, checkpoint.Place{Thread: "t", Version: 1})
	wantErr(t, "version 1", err, checkpoint.ErrNotFound)
	if all := threads(t, s, checkpoint.ThreadQuery{}); len(all) != 1 || all[0].ID != "t2" {
		t.Errorf("threads: got %+v, want t2", all)
	}
	other.commit("")
	again, done := tryBegin(t, s, opening(t, "t", checkpoint.ID{}))
	if done.Version != 1 || len(done.Writes) != 0 {
		t.Errorf("made again: got %+v, want version 1 without writes", done)
	}
	wantHead(t, s, "t", "child", checkpoint.ID{})
	again.end()
	if err := s.Delete(ctx, "t"); err != nil {
		t.Errorf("delete again: %v", err)
	}
}

func testThreads(t testing.TB, place Storage) {
	s := open(t, place)
	names := []string{"b", "a", "a/1", "a-v1", "A", "Z", "\x00", "\xff", "zz", "a/2", "é"}
	for _, name := range names {
		begin(t, s, name, checkpoint.ID{}).end()
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
		for _, thread := range threads(t, s, c.q) {
			got = append(got, thread.ID)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

func testThreadsWaiting(t testing.TB, place Storage) {
	s := open(t, place)
	before := time.Now()
	waits := begin(t, s, "waits", checkpoint.ID{})
	waits.commit("")
	q1, q2 := waits.write("a", checkpoint.Question, "", "q1"), waits.write("b", checkpoint.Question, "n", "q2")
	waits.put(q1, q2, waits.write("c", checkpoint.Question, "", "answered"))
	waits.putWith(checkpoint.PutWrites{
		Writes: []checkpoint.Write{waits.write("c", checkpoint.Answer, "", "yes")}, Status: checkpoint.Waiting, End: true,
	})
	failed := begin(t, s, "failed", checkpoint.ID{})
	failed.putWith(checkpoint.PutWrites{Status: checkpoint.Failed, End: true})
	begin(t, s, "runs", checkpoint.ID{})

	all := threads(t, s, checkpoint.ThreadQuery{})
	if len(all) != 3 || all[0].Status != checkpoint.Failed || all[1].Status != checkpoint.Running || all[2].Status != checkpoint.Waiting {
		t.Fatalf("threads: got %+v, want failed, running, waiting", all)
	}
	got := threads(t, s, checkpoint.ThreadQuery{Status: checkpoint.Waiting})
	if len(got) != 1 || got[0].ID != "waits" || got[0].Head != waits.heads[""] || got[0].Step != waits.step || got[0].Versions != 1 {
		t.Fatalf("waiting: got %+v, want waits with head %s at step %d", got, waits.heads[""], waits.step)
	}
	wantWrites(t, "open questions", got[0].Questions, q1, q2)
	wantWrites(t, "open questions of a load", load(t, s, checkpoint.Place{Thread: "waits"}).Thread.Questions, q1, q2)
	if at := got[0].Updated; at.Before(before.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
		t.Errorf("updated: got %s, want about now", at)
	}
	if got := threads(t, s, checkpoint.ThreadQuery{Status: checkpoint.Done}); len(got) != 0 {
		t.Errorf("done: got %+v, want none", got)
	}
	idle := threads(t, s, checkpoint.ThreadQuery{IdleSince: time.Now().Add(time.Hour)})
	if len(idle) != 2 || idle[0].ID != "failed" || idle[1].ID != "waits" {
		t.Errorf("idle: got %+v, want failed and waits, not the one that runs", idle)
	}
	if idle := threads(t, s, checkpoint.ThreadQuery{IdleSince: before.Add(-time.Hour)}); len(idle) != 0 {
		t.Errorf("idle for an hour: got %+v, want none", idle)
	}
	// What a listing said must not outlive a change.
	r := begin(t, s, "waits", waits.heads[""])
	a := r.next("")
	a.Records[0].Commits, a.Status, a.End = waits.heads[""], checkpoint.Done, true
	r.append(a)
	if got := threads(t, s, checkpoint.ThreadQuery{Status: checkpoint.Done}); len(got) != 1 || len(got[0].Questions) != 0 {
		t.Errorf("done after the commit: got %+v, want waits without questions", got)
	}
}
