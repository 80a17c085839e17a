package savertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// about returns an opening of a graph with a title and labels.
func about(tb testing.TB, thread string, after checkpoint.ID, graph, title string, labels map[string]string) checkpoint.Append {
	tb.Helper()
	a := opening(tb, thread, after)
	a.Records[0].Graph, a.Open.Title, a.Open.Labels = graph, title, labels
	return a
}

// wantDescribed fails unless Load and Threads describe a thread in this way. It returns the time
// of its creation.
func wantDescribed(tb testing.TB, s checkpoint.Saver, what, thread, graph, title string, labels map[string]string) time.Time {
	tb.Helper()
	loaded := load(tb, s, checkpoint.Ref{Thread: thread}).Thread
	for from, got := range map[string]checkpoint.Thread{"Load": loaded, "Threads": listed(tb, s, thread)} {
		if got.Graph != graph || got.Title != title || !maps.Equal(got.Labels, labels) || got.Labels != nil && len(got.Labels) == 0 {
			tb.Errorf("%s, by %s: got graph %q, title %q, labels %q; want %q, %q, %q",
				what, from, got.Graph, got.Title, got.Labels, graph, title, labels)
		}
		if got.Created.IsZero() || !got.Created.Equal(loaded.Created) || got.Created.Location() != time.UTC {
			tb.Errorf("%s, by %s: created %v, and by Load %v; want the same time in UTC", what, from, got.Created, loaded.Created)
		}
	}
	return loaded.Created
}

// listed returns a thread as Threads lists it.
func listed(tb testing.TB, s checkpoint.Saver, thread string) checkpoint.Thread {
	tb.Helper()
	for _, t := range threads(tb, s, checkpoint.ThreadQuery{Prefix: thread}) {
		if t.ID == thread {
			return t
		}
	}
	tb.Errorf("thread %.40q is not listed", thread)
	return checkpoint.Thread{}
}

// testDescribed checks that a thread has a graph, a time of creation, a title and labels.
func testDescribed(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	labels := map[string]string{"user": "ada", "order": "7"}
	first := about(tb, "t", checkpoint.ID{}, "orders", "Refund of order 7", labels)
	r, _ := tryBegin(tb, s, first)
	labels["user"] = "changed by the caller after the call"
	want := map[string]string{"user": "ada", "order": "7"}
	made := wantDescribed(tb, s, "an opening with all of it", "t", "orders", "Refund of order 7", want)
	if updated := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread.Updated.Truncate(time.Microsecond); !made.Equal(updated) {
		tb.Errorf("the thread was created %v and opened %v; want one time of the saver's clock", made, updated)
	}
	head := r.commit("")
	r.end()

	r, _ = tryBegin(tb, s, opening(tb, "t", head))
	if again := wantDescribed(tb, s, "an opening with none of it", "t", "orders", "Refund of order 7", want); !again.Equal(made) {
		tb.Errorf("another opening moved the creation from %v to %v", made, again)
	}
	r.end()
	second := about(tb, "t", r.heads[""], "orders v2", "Order 7", map[string]string{"user": "bob", "shop": "\xff\x00", "order": "", "none": ""})
	r, _ = tryBegin(tb, s, second)
	want = map[string]string{"user": "bob", "shop": "\xff\x00"}
	wantDescribed(tb, s, "an opening that changes some", "t", "orders v2", "Order 7", want)
	second.Open.Title, second.Open.Labels = "sent again", map[string]string{"sent": "again"}
	if _, err := s.Append(tb.Context(), second); err != nil {
		tb.Errorf("an opening sent again: %v", err)
	}
	wantDescribed(tb, s, "an opening sent again", "t", "orders v2", "Order 7", want)
	r.commit("")
	r.commit("child")
	r.end()
	r, _ = tryBegin(tb, s, about(tb, "t", r.heads[""], "orders v2", "", map[string]string{"user": "", "shop": ""}))
	r.end()
	wantDescribed(tb, s, "an opening that removes all labels", "t", "orders v2", "Order 7", nil)
}

// testRelabelled checks that commits change labels of the thread.
func testRelabelled(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	r, _ := tryBegin(tb, s, about(tb, "t", checkpoint.ID{}, "g", "title", map[string]string{"user": "ada", "phase": "new"}))
	listed := func(phase string, want int) {
		tb.Helper()
		if got := threads(tb, s, checkpoint.ThreadQuery{Labels: map[string]string{"phase": phase}}); len(got) != want {
			tb.Errorf("by phase %q: got %v, want %d", phase, got, want)
		}
	}
	change := func(namespace string, labels map[string]string) checkpoint.Append {
		a := r.next(namespace)
		a.Labels = labels
		return a
	}
	first := change("", map[string]string{"phase": "half", "more": "x"})
	r.append(first)
	wantDescribed(tb, s, "a commit that changes labels", "t", "g", "title", map[string]string{"user": "ada", "phase": "half", "more": "x"})
	listed("half", 1)
	listed("new", 0)
	r.append(change("child", map[string]string{"phase": "most", "more": "", "none": ""}))
	want := map[string]string{"user": "ada", "phase": "most"}
	wantDescribed(tb, s, "a commit of a call", "t", "g", "title", want)
	r.commit("")
	wantDescribed(tb, s, "a commit without labels", "t", "g", "title", want)

	late := change("", map[string]string{"phase": "late"})
	late.Fence = newID(tb)
	_, err := s.Append(tb.Context(), late)
	wantConflict(tb, "a commit under another fence", err)
	many := make(map[string]string)
	for i := range checkpoint.MaxLabels - 1 {
		many[fmt.Sprint(i)] = "x"
	}
	var invalid *checkpoint.InvalidError
	if _, err := s.Append(tb.Context(), change("", many)); !errors.As(err, &invalid) {
		tb.Errorf("too many labels: got %v, want an InvalidError", err)
	}
	wantDescribed(tb, s, "after refused commits", "t", "g", "title", want)
	listed("most", 1)
	last := change("", map[string]string{"phase": "done"})
	last.End, last.Status = true, checkpoint.Done
	r.append(last)
	listed("done", 1)
	last.Labels = map[string]string{"phase": "sent again"}
	if _, err := s.Append(tb.Context(), last); err != nil {
		tb.Errorf("a commit sent again: %v", err)
	}
	listed("done", 1)
}

// testDescribedRefused checks that a refused opening describes nothing.
func testDescribedRefused(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	one := map[string]string{"a": "1"}
	r, _ := tryBegin(tb, s, about(tb, "t", checkpoint.ID{}, "g", "first", one))
	_, err := s.Append(tb.Context(), about(tb, "t", r.fence, "other", "busy", map[string]string{"a": "2"}))
	wantBusy(tb, "an opening while another run has the thread", err, "t", "holder of "+r.fence.String())
	taking := about(tb, "t", newID(tb), "other", "conflict", map[string]string{"a": "2"})
	taking.Open.TakeOver = true
	_, err = s.Append(tb.Context(), taking)
	wantConflict(tb, "an opening after a wrong head", err)
	wantDescribed(tb, s, "after refused openings", "t", "g", "first", one)
	if got := threads(tb, s, checkpoint.ThreadQuery{Labels: map[string]string{"a": "2"}}); len(got) != 0 {
		tb.Errorf("by the label of a refused opening: got %v, want none", got)
	}
}

// testDescribedStays checks that a description stays until the thread is deleted.
func testDescribedStays(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	labels := map[string]string{"user": "ada"}
	first := about(tb, "t", checkpoint.ID{}, "g", "title", labels)
	first.Records[0].Payload = logSnapshot("first")
	r, _ := tryBegin(tb, s, first)
	for range 4 {
		next := r.next("")
		next.Records[0].Payload = logDelta("more")
		r.append(next)
	}
	r.end()
	made := wantDescribed(tb, s, "the first version", "t", "g", "title", labels)
	mustPrune(tb, s, "t", checkpoint.Retention{Last: 1})
	wantDescribed(tb, s, "after a prune", "t", "g", "title", labels)
	mustRelease(tb, s, "t")
	if got := threads(tb, s, checkpoint.ThreadQuery{Labels: labels}); len(got) != 0 {
		tb.Errorf("a thread without an open version is listed by its label: %v", got)
	}
	mustPrune(tb, s, "t", checkpoint.Retention{Released: -1})
	r, _ = tryBegin(tb, s, about(tb, "t", checkpoint.ID{}, "", "", map[string]string{"second": "yes"}))
	r.end()
	both := map[string]string{"user": "ada", "second": "yes"}
	if again := wantDescribed(tb, s, "the next version", "t", "g", "title", both); !again.Equal(made) {
		tb.Errorf("a release moved the creation from %v to %v", made, again)
	}
	mustRelease(tb, s, "t")
	r, _ = tryBegin(tb, s, about(tb, "t", checkpoint.ID{}, "g", "newest", nil))
	r.end()
	if got := load(tb, s, checkpoint.Ref{Thread: "t", Version: 2}).Thread; got.Title != "newest" || !maps.Equal(got.Labels, both) {
		tb.Errorf("a released version: got title %q, labels %q; want those that the thread has now, %q and %q", got.Title, got.Labels, "newest", both)
	}
	mustDelete(tb, s, "t")
	r = begin(tb, s, "t", checkpoint.ID{})
	r.end()
	if again := wantDescribed(tb, s, "after a delete", "t", "", "", nil); !again.After(made) {
		tb.Errorf("after a delete the thread was created %v, not after %v", again, made)
	}
	if got := threads(tb, s, checkpoint.ThreadQuery{Labels: labels}); len(got) != 0 {
		tb.Errorf("by a label from before the delete: got %v, want none", got)
	}
	r, _ = tryBegin(tb, s, about(tb, "t", r.heads[""], "g", "", labels))
	r.end()
	if got := threads(tb, s, checkpoint.ThreadQuery{Labels: labels}); len(got) != 1 {
		tb.Errorf("by the label that the new thread has too: got %v, want one", got)
	}
}

// testDescribedCopied checks that descriptions are copied.
func testDescribedCopied(tb testing.TB, place Storage) {
	tb.Helper()
	s, ctx := open(tb, place), tb.Context()
	labels := map[string]string{"user": "ada", "\x00{}": "\xff"}
	r, _ := tryBegin(tb, s, about(tb, "t", checkpoint.ID{}, "g", "title", labels))
	r.commit("")
	r.end()
	made := wantDescribed(tb, s, "the original", "t", "g", "title", labels)
	if err := checkpoint.Copy(ctx, s, "t", 0, s, "copy"); err != nil {
		tb.Fatal(err)
	}
	if again := wantDescribed(tb, s, "a copy", "copy", "g", "title", labels); !again.Equal(made) {
		tb.Errorf("the copy was created %v, and the original %v", again, made)
	}
	if got := threads(tb, s, checkpoint.ThreadQuery{Labels: labels, Graph: "g"}); len(got) != 2 {
		tb.Errorf("by label: got %d threads, want the original and the copy", len(got))
	}
	other, _ := tryBegin(tb, s, about(tb, "other", checkpoint.ID{}, "h", "its own", map[string]string{"user": "bob", "own": "1"}))
	other.end()
	before := wantDescribed(tb, s, "a thread before an import", "other", "h", "its own", map[string]string{"user": "bob", "own": "1"})
	mustRelease(tb, s, "other")
	if err := checkpoint.Copy(ctx, s, "t", 0, s, "other"); err != nil {
		tb.Fatal(err)
	}
	all := map[string]string{"user": "ada", "own": "1", "\x00{}": "\xff"}
	if again := wantDescribed(tb, s, "a thread after an import", "other", "g", "title", all); !again.Equal(before) {
		tb.Errorf("an import moved the creation from %v to %v", before, again)
	}
}

// testDescribedLimits checks that descriptions have limits.
func testDescribedLimits(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	most := make(map[string]string)
	for i := range checkpoint.MaxLabels {
		most[fmt.Sprintf("%02d%s", i, strings.Repeat("\xfe", checkpoint.MaxLabelName-2))] = strings.Repeat("\xff", checkpoint.MaxLabelValue)
	}
	graph, title := strings.Repeat("\xff", checkpoint.MaxGraph), strings.Repeat("\x00", checkpoint.MaxTitle)
	r, _ := tryBegin(tb, s, about(tb, "t", checkpoint.ID{}, graph, title, most))
	r.end()
	wantDescribed(tb, s, "the largest description", "t", graph, title, most)
	for name, value := range most {
		if got := threads(tb, s, checkpoint.ThreadQuery{Graph: graph, Labels: map[string]string{name: value}}); len(got) != 1 {
			tb.Errorf("by the largest label: got %d threads, want 1", len(got))
		}
		break
	}
	for what, a := range map[string]checkpoint.Append{
		"a graph":          about(tb, "new", checkpoint.ID{}, graph+"x", "", nil),
		"a title":          about(tb, "new", checkpoint.ID{}, "", title+"x", nil),
		"a label's name":   about(tb, "new", checkpoint.ID{}, "", "", map[string]string{strings.Repeat("x", checkpoint.MaxLabelName+1): "1"}),
		"an empty name":    about(tb, "new", checkpoint.ID{}, "", "", map[string]string{"": "1"}),
		"a label's value":  about(tb, "new", checkpoint.ID{}, "", "", map[string]string{"x": strings.Repeat("x", checkpoint.MaxLabelValue+1)}),
		"one label more":   about(tb, "t", r.heads[""], "", "", map[string]string{"more": "1"}),
		"one label at all": about(tb, "new", checkpoint.ID{}, "", "", withOne(most)),
	} {
		_, err := s.Append(tb.Context(), a)
		wantInvalid(tb, what+" that is too large", err)
	}
	wantDescribed(tb, s, "after descriptions that are too large", "t", graph, title, most)
	if got := load(tb, s, checkpoint.Ref{Thread: "new"}); got.Version != 0 {
		tb.Errorf("an invalid description began version %d", got.Version)
	}
}

// withOne returns labels and one more.
func withOne(labels map[string]string) map[string]string {
	more := maps.Clone(labels)
	more["more"] = "1"
	return more
}

// testThreadsDescribed checks that threads are listed by graph and label.
func testThreadsDescribed(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	users := []string{"ada", "bob", "cy"}
	for i := range 24 {
		a := about(tb, fmt.Sprintf("t%02d", i), checkpoint.ID{}, []string{"orders", "chats"}[i%2], "", map[string]string{
			"user": users[i%3], "even": fmt.Sprint(i%2 == 0),
		})
		a.End, a.Status = true, checkpoint.Done
		if i%4 == 0 {
			a.Status = checkpoint.Failed
		}
		tryBegin(tb, s, a)
	}
	moved, _ := tryBegin(tb, s, about(tb, "t00", load(tb, s, checkpoint.Ref{Thread: "t00"}).Head, "chats", "", map[string]string{"user": "bob"}))
	moved.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Failed})
	user := func(name string) map[string]string { return map[string]string{"user": name} }
	made := func(id string) time.Time { return load(tb, s, checkpoint.Ref{Thread: id}).Thread.Created }
	for what, c := range map[string]struct {
		q    checkpoint.ThreadQuery
		want string
	}{
		"a label":               {checkpoint.ThreadQuery{Labels: user("ada")}, "21 18 15 12 9 6 3"},
		"a label that moved":    {checkpoint.ThreadQuery{Labels: user("bob")}, "22 19 16 13 10 7 4 1 0"},
		"two labels":            {checkpoint.ThreadQuery{Labels: map[string]string{"user": "ada", "even": "true"}}, "18 12 6"},
		"a label nobody has":    {checkpoint.ThreadQuery{Labels: user("ad")}, ""},
		"an empty value":        {checkpoint.ThreadQuery{Labels: user("")}, ""},
		"a page of a label":     {checkpoint.ThreadQuery{Labels: user("ada"), After: "t15", AfterCreated: made("t15"), Limit: 2}, "12 9"},
		"a prefix and a label":  {checkpoint.ThreadQuery{Labels: user("ada"), Prefix: "t1"}, "18 15 12"},
		"a label and a status":  {checkpoint.ThreadQuery{Labels: user("bob"), Status: checkpoint.Failed}, "16 4 0"},
		"a graph":               {checkpoint.ThreadQuery{Graph: "orders", After: "t18", AfterCreated: made("t18")}, "16 14 12 10 8 6 4 2"},
		"a graph that moved":    {checkpoint.ThreadQuery{Graph: "chats", Limit: 3}, "23 21 19"},
		"a graph and a status":  {checkpoint.ThreadQuery{Graph: "orders", Status: checkpoint.Failed, Limit: 3}, "20 16 12"},
		"a graph that is not":   {checkpoint.ThreadQuery{Graph: "order"}, ""},
		"a graph and a label":   {checkpoint.ThreadQuery{Graph: "orders", Labels: user("bob")}, "22 16 10 4"},
		"an idle one of a user": {checkpoint.ThreadQuery{Labels: user("ada"), IdleSince: time.Now().Add(time.Hour), Limit: 2}, "21 18"},
		"idle of a graph":       {checkpoint.ThreadQuery{Graph: "chats", IdleSince: time.Now().Add(time.Hour), Limit: 2}, "23 21"},
		"not so long idle":      {checkpoint.ThreadQuery{Graph: "chats", IdleSince: time.Unix(1, 0)}, ""},
	} {
		var got []string
		for _, t := range threads(tb, s, c.q) {
			got = append(got, strings.TrimPrefix(strings.TrimPrefix(t.ID, "t"), "0"))
		}
		if text := strings.Join(got, " "); text != c.want {
			tb.Errorf("by %s: got %q, want %q", what, text, c.want)
		}
	}
}

// testThreadsCreated checks that threads are listed by the time of their creation.
func testThreadsCreated(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	var times []time.Time
	for i := range 6 {
		r, _ := tryBegin(tb, s, about(tb, fmt.Sprintf("t%d", i), checkpoint.ID{}, "g", "", map[string]string{"a": fmt.Sprint(i % 2)}))
		r.end()
		times = append(times, load(tb, s, checkpoint.Ref{Thread: r.thread}).Thread.Created)
		until(tb, "the clock moves on", func() bool { // so that no two threads have one time
			after := begin(tb, s, "clock", load(tb, s, checkpoint.Ref{Thread: "clock"}).Head)
			after.end()
			return load(tb, s, checkpoint.Ref{Thread: "clock"}).Thread.Updated.After(times[i])
		})
	}
	mustDelete(tb, s, "clock")
	if !slices.IsSortedFunc(times, time.Time.Compare) {
		tb.Fatalf("the threads were created at %v, want ascending times", times)
	}
	for what, c := range map[string]struct {
		q    checkpoint.ThreadQuery
		want string
	}{
		"since":             {checkpoint.ThreadQuery{CreatedSince: times[4]}, "t5 t4"},
		"until":             {checkpoint.ThreadQuery{CreatedUntil: times[2]}, "t1 t0"},
		"between":           {checkpoint.ThreadQuery{CreatedSince: times[1], CreatedUntil: times[4]}, "t3 t2 t1"},
		"a page":            {checkpoint.ThreadQuery{CreatedSince: times[1], After: "t4", AfterCreated: times[4], Limit: 2}, "t3 t2"},
		"of a graph":        {checkpoint.ThreadQuery{Graph: "g", CreatedUntil: times[1]}, "t0"},
		"of another graph":  {checkpoint.ThreadQuery{Graph: "h", CreatedUntil: times[1]}, ""},
		"with a label":      {checkpoint.ThreadQuery{Labels: map[string]string{"a": "1"}, CreatedSince: times[2]}, "t5 t3"},
		"never":             {checkpoint.ThreadQuery{CreatedSince: times[3], CreatedUntil: times[3]}, ""},
		"of another status": {checkpoint.ThreadQuery{Status: checkpoint.Failed, CreatedSince: times[0]}, ""},
	} {
		var got []string
		for _, t := range threads(tb, s, c.q) {
			got = append(got, t.ID)
		}
		if text := strings.Join(got, " "); text != c.want {
			tb.Errorf("%s: got %q, want %q", what, text, c.want)
		}
	}
}

// testThreadsOfTasks checks that lists leave out threads that are tasks of queues, unless the id
// or the prefix is theirs. Pages stay whole, and Ready returns such threads.
func testThreadsOfTasks(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	var posts []checkpoint.Post
	for i := range 300 { // more than a page of any saver
		posts = append(posts, checkpoint.Post{
			Thread: fmt.Sprintf("%s%03d", checkpoint.TaskPrefix, i), Graph: "__queue", Messages: []checkpoint.Message{input("task")},
		})
	}
	for _, id := range []string{"a", "__ta", "__task", "__tasks"} {
		posts = append(posts, checkpoint.Post{Thread: id, Graph: "g", Messages: []checkpoint.Message{input("i")}})
	}
	for len(posts) > 0 {
		some := posts[:min(len(posts), 50)]
		posts = posts[len(some):]
		done, err := s.Post(tb.Context(), some...)
		for i := range done {
			err = errors.Join(err, done[i].Err)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		q    checkpoint.ThreadQuery
		want int
	}{
		"all":                        {checkpoint.ThreadQuery{}, 4},
		"the newest":                 {checkpoint.ThreadQuery{Order: checkpoint.NewestFirst}, 4},
		"all, also released":         {checkpoint.ThreadQuery{Released: true}, 4},
		"a prefix of both":           {checkpoint.ThreadQuery{Prefix: "__"}, 3},
		"the newest with a prefix":   {checkpoint.ThreadQuery{Prefix: "__ta", Order: checkpoint.NewestFirst}, 3},
		"a page before the tasks":    {checkpoint.ThreadQuery{Limit: 2}, 2},
		"a page around the tasks":    {checkpoint.ThreadQuery{After: "__ta", Limit: 2}, 2},
		"a page from the tasks on":   {checkpoint.ThreadQuery{After: checkpoint.TaskPrefix + "007"}, 2},
		"a status":                   {checkpoint.ThreadQuery{Status: checkpoint.Ready}, 4},
		"a graph of tasks":           {checkpoint.ThreadQuery{Graph: "__queue"}, 0},
		"tasks":                      {checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix}, 300},
		"a page of tasks":            {checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix, After: checkpoint.TaskPrefix + "289", Limit: 100}, 10},
		"one task":                   {checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix + "007"}, 1},
		"the newest tasks":           {checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix, Order: checkpoint.NewestFirst, Limit: 3}, 3},
		"tasks of a graph":           {checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix, Graph: "__queue"}, 300},
		"tasks of another graph":     {checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix, Graph: "g"}, 0},
		"tasks that are due":         {checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix, Status: checkpoint.Ready}, 300},
		"one thread by its id":       {checkpoint.ThreadQuery{ID: "__ta", Limit: 1}, 1},
		"one task by its id":         {checkpoint.ThreadQuery{ID: checkpoint.TaskPrefix + "007"}, 1},
		"an id and an order":         {checkpoint.ThreadQuery{ID: "a", Order: checkpoint.NewestFirst}, 1},
		"an id and a graph":          {checkpoint.ThreadQuery{ID: "a", Graph: "g", Released: true}, 1},
		"an id of another graph":     {checkpoint.ThreadQuery{ID: "a", Graph: "__queue"}, 0},
		"an id without the prefix":   {checkpoint.ThreadQuery{ID: "a", Prefix: "__"}, 0},
		"an id on an earlier page":   {checkpoint.ThreadQuery{ID: "a", After: "a"}, 0},
		"the beginning of an id":     {checkpoint.ThreadQuery{ID: "__t"}, 0},
		"tasks that wait for people": {checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix, Status: checkpoint.Waiting}, 0},
	} {
		found := threads(tb, s, c.q)
		if len(found) != c.want {
			tb.Errorf("%s: got %d threads, want %d", what, len(found), c.want)
		}
		for _, t := range found {
			if strings.HasPrefix(t.ID, checkpoint.TaskPrefix) != c.q.Tasks() {
				tb.Errorf("%s: got thread %q", what, t.ID)
			}
		}
	}
	due, err := s.Ready(tb.Context(), checkpoint.ReadyQuery{Graphs: []string{"__queue"}, Limit: 1000})
	if err != nil || len(due.Threads) != 300 {
		tb.Errorf("got %d due threads and %v, want the 300 tasks", len(due.Threads), err)
	}
	if err := s.Delete(tb.Context(), checkpoint.TaskPrefix+"007"); err != nil {
		tb.Error(err)
	}
	if found := threads(tb, s, checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix}); len(found) != 299 {
		tb.Errorf("got %d tasks after one was deleted, want 299", len(found))
	}
}
