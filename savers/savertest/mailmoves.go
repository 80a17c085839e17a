package savertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// testMailRelease checks that a release keeps inputs.
func testMailRelease(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	ctx := tb.Context()
	releases := map[string]func(r *run){
		"call": func(r *run) {
			r.end()
			mustRelease(tb, s, r.thread)
		},
		"append": func(r *run) {
			a := r.next("")
			a.End, a.Release, a.Status, a.Messages.Seen = true, true, checkpoint.Done, 4
			r.append(a)
			if _, err := s.Append(ctx, a); err != nil {
				tb.Errorf("a release, sent again: %v", err)
			}
		},
	}
	for name, release := range releases {
		r, _ := tryBegin(tb, s, about(tb, name, checkpoint.ID{}, "g", "", nil))
		post(tb, s, name, signal("s"), input("a"), message("q", checkpoint.AnswerMessage), message("c", checkpoint.CancelMessage))
		release(r)
		wantMail(tb, s, "after a release by "+name, name, "2:a")
		wantRefused(tb, s, "after a release by "+name, name, "1:s 3:q 4:c", "")
		if t := readyThread(tb, s, "after a release by "+name); t.ID != name || !t.Fence.IsZero() || t.Posted != 4 {
			tb.Errorf("after a release with an input: got %+v, want %s without a fence, with 4 posted", t, name)
		}
		if got := listed(tb, s, name); got.Version != 0 || got.Versions != 1 || got.Inputs != 1 || got.Others != 0 || got.Status != checkpoint.Ready {
			tb.Errorf("the thread: got %+v, want one version, none open, and one input", got)
		}
		if done := tryPost(tb, s, checkpoint.Post{Thread: name, Messages: []checkpoint.Message{signal("s")}}); done.Err != nil || !done.Messages[0].Known {
			tb.Errorf("a signal that a release refused, posted again: got %+v, want it known", done)
		}
		post(tb, s, name, signal("next"))
		a := about(tb, name, checkpoint.ID{}, "g", "", nil)
		a.Messages = take(2)
		second, done := tryBegin(tb, s, a)
		if done.Version != 2 || done.Posted != 5 {
			tb.Errorf("the next version: got %+v, want version 2 and 5 posted", done)
		}
		wantMail(tb, s, "in the next version", name, "5:next")
		second.end()
		mustPrune(tb, s, name, checkpoint.Retention{Last: 1, Released: -1})
		wantMail(tb, s, "after a prune", name, "5:next")
		wantRefused(tb, s, "after a prune", name, "1:s 3:q 4:c", "")
		mustRelease(tb, s, name)
		wantReady(tb, s, "after a release without inputs", "g", "")
		post(tb, s, name, signal("without a version"))
		wantReady(tb, s, "after a signal to a released thread", "g", "")
		post(tb, s, name, message("wake", checkpoint.WakeMessage))
		wantReady(tb, s, "after a wake message to a released thread", "g", name)
		post(tb, s, name, input("without a version"))
		mustDelete(tb, s, name)
		wantReady(tb, s, "after a delete", "g", "")
		wantMail(tb, s, "after a delete", name, "")
		wantRefused(tb, s, "after a delete", name, "", "")
		if n := post(tb, s, name, signal("s")); n != 1 {
			tb.Errorf("the first message after a delete has number %d, want 1", n)
		}
		mustDelete(tb, s, name)
		wantMail(tb, s, "after a delete without a version", name, "")
	}
}

// testMailCopies checks that a copy has the messages.
func testMailCopies(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	ctx := tb.Context()
	r, _ := tryBegin(tb, s, about(tb, "t", checkpoint.ID{}, "g", "", nil))
	post(tb, s, "t", signal("a"), input("b"), signal("c"), signal("d"), message("w", checkpoint.WakeMessage))
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting, Messages: checkpoint.Handled{
		Seen: 5, Take: []uint64{1}, Refuse: []checkpoint.Refusal{{Number: 3, Reason: "late"}},
	}})
	post(tb, s, "target", signal("own"), signal("d"), input("mine"))
	target := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}})
	for _, to := range []string{"copy", "target"} {
		if err := checkpoint.Copy(ctx, s, "t", 0, s, to); err != nil {
			tb.Fatal(err)
		}
	}
	got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}})
	if readyIDs(got) != "target" || !got.Threads[0].Wake.Equal(target.Threads[0].Wake) {
		tb.Errorf("after two imports: got %+v ready, want the thread that was ready before", got)
	}
	wantMail(tb, s, "an import", "copy", "2:b 4:d")
	wantRefused(tb, s, "an import", "copy", "3:c", "late")
	wantMail(tb, s, "an import into a thread with mail", "target", "1:own 2:d 3:mine 5:b")
	wantRefused(tb, s, "an import into a thread with mail", "target", "6:c", "late")
	a, b := mail(tb, s, checkpoint.MailQuery{Thread: "t"}), mail(tb, s, checkpoint.MailQuery{Thread: "copy"})
	if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
		tb.Errorf("the messages of a copy: got %+v, want %+v", b, a)
	}
	for thread, want := range map[string]uint64{"copy": 6, "target": 7} {
		for _, id := range []string{"a", "b", "c"} {
			if done := tryPost(tb, s, checkpoint.Post{Thread: thread, Messages: []checkpoint.Message{signal(id)}}); done.Err != nil || !done.Messages[0].Known {
				tb.Errorf("message %s, posted again to %s: got %+v, want it known", id, thread, done)
			}
		}
		if n := post(tb, s, thread, signal("new")); n != want {
			tb.Errorf("the next message of %s has number %d, want %d", thread, n, want)
		}
	}
	wantReady(tb, s, "after messages to the imports", "g", "target copy")
	wantMail(tb, s, "the original", "t", "2:b 4:d")
	items, err := collect(s.Export(ctx, "t", 0))
	if err != nil {
		tb.Fatal(err)
	}
	n := slices.IndexFunc(items, func(item checkpoint.ExportItem) bool { return item.Message != nil })
	for what, change := range map[string]func(items []checkpoint.ExportItem) []checkpoint.ExportItem{
		"a write after a message": func(items []checkpoint.ExportItem) []checkpoint.ExportItem {
			w := checkpoint.SchemaWrite(1, []byte("x"))
			return append(items, checkpoint.ExportItem{Write: &w})
		},
		"messages out of order": func(items []checkpoint.ExportItem) []checkpoint.ExportItem {
			return append(items, checkpoint.ExportItem{Message: items[n].Message})
		},
		"a message of no kind": func(items []checkpoint.ExportItem) []checkpoint.ExportItem {
			return append(items, checkpoint.ExportItem{Message: &checkpoint.Message{Number: 5, ID: "x"}})
		},
		"a message beyond the newest": func(items []checkpoint.ExportItem) []checkpoint.ExportItem {
			return append(items, checkpoint.ExportItem{Message: &checkpoint.Message{Number: 6, ID: "x", Kind: checkpoint.SignalMessage}})
		},
	} {
		err := s.Import(ctx, "bad", seq(change(slices.Clone(items))...))
		wantInvalid(tb, "an import of "+what, err)
	}
	wantMail(tb, s, "after refused imports", "bad", "")
	post(tb, s, "bad", input("a"))
	wantReady(tb, s, "before an import into a thread that is due", "h", "")
	about := checkpoint.ExportItem{Thread: &checkpoint.Thread{Graph: "h", Status: checkpoint.Done}}
	if err := s.Import(ctx, "bad", seq(append([]checkpoint.ExportItem{about}, items[1:n]...)...)); err != nil {
		tb.Fatal(err)
	}
	wantReady(tb, s, "after an import that changes the graph of a thread that is due", "h", "bad")
}
