package savertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// mould returns the items of a thread with one finished run.
func mould(tb testing.TB, s checkpoint.Saver) []checkpoint.ExportItem {
	tb.Helper()
	begin(tb, s, "mould", checkpoint.ID{}).end()
	items, err := collect(s.Export(tb.Context(), "mould", 0))
	if err == nil {
		err = s.Delete(tb.Context(), "mould")
	}
	if err != nil {
		tb.Fatal(err)
	}
	return items
}

// cast imports items as the thread t.ID, with the Graph, Created, Labels and Status of t.
func cast(tb testing.TB, s checkpoint.Saver, items []checkpoint.ExportItem, t checkpoint.Thread) {
	tb.Helper()
	described := *items[0].Thread
	described.Graph, described.Created, described.Labels = t.Graph, t.Created, t.Labels
	if described.Status = t.Status; t.Status == 0 {
		described.Status = checkpoint.Done
	}
	err := s.Import(tb.Context(), t.ID, func(yield func(checkpoint.ExportItem, error) bool) {
		for i, item := range items {
			if i == 0 {
				item = checkpoint.ExportItem{Thread: &described}
			}
			if !yield(item, nil) {
				return
			}
		}
	})
	if err != nil {
		tb.Fatalf("import %.40q: %v", t.ID, err)
	}
}

// second returns a time of creation.
func second(n int) time.Time { return created.Add(time.Duration(n) * time.Second) }

// newestFirst are the threads of testThreadsNewest, in their order. The last letter of an id is
// its place. Several have the same time, and long ids that begin alike.
func newestFirst() []checkpoint.Thread {
	long := strings.Repeat("x", 250)
	user := func(name string) map[string]string { return map[string]string{"user": name} }
	return []checkpoint.Thread{
		{ID: "b/a", Created: second(9), Graph: "g", Status: checkpoint.Waiting},
		{ID: "a/b", Created: second(8), Graph: "h", Labels: user("ada")},
		{ID: "x/c", Created: second(8).Add(-time.Microsecond), Graph: "g", Labels: user("ada")},
		{ID: long + "z/d", Created: second(7), Graph: "g"},
		{ID: long + "w/e", Created: second(6), Graph: "h", Status: checkpoint.Failed},
		{ID: long + "v/f", Created: second(6), Graph: "g", Status: checkpoint.Waiting, Labels: user("bob")},
		{ID: long + "u/g", Created: second(6), Graph: "g"},
		{ID: "b/h", Created: second(6), Graph: "g", Status: checkpoint.Waiting, Labels: user("ada")},
		{ID: "B/i", Created: second(6), Graph: "h"},
		{ID: "A/j", Created: second(6), Graph: "h", Labels: user("ada")},
		{ID: long + "z/k", Created: second(5), Graph: "g"},
		{ID: "c/l", Created: second(4), Graph: "g", Status: checkpoint.Waiting},
		{ID: "\xff/m", Created: second(3), Graph: "h", Labels: user("ada")},
	}
}

// testThreadsNewest checks that threads are listed newest first.
func testThreadsNewest(tb testing.TB, place Storage) {
	tb.Helper()
	s, other := openTwo(tb, place)
	items, all := mould(tb, s), newestFirst()
	for i := range all { // in another order
		cast(tb, s, items, all[(5*i+3)%len(all)])
	}
	ada := map[string]string{"user": "ada"}
	for name, c := range map[string]struct {
		q    checkpoint.ThreadQuery
		want string
	}{
		"all":                    {checkpoint.ThreadQuery{}, "abcdefghijklm"},
		"after a thread":         {checkpoint.ThreadQuery{After: all[4].ID, AfterCreated: all[4].Created}, "fghijklm"},
		"after nobody":           {checkpoint.ThreadQuery{After: "a", AfterCreated: second(6)}, "ijklm"},
		"after a time":           {checkpoint.ThreadQuery{After: "a", AfterCreated: second(6).Add(time.Nanosecond)}, "efghijklm"},
		"a prefix":               {checkpoint.ThreadQuery{Prefix: "x"}, "cdefgk"},
		"a prefix, a page":       {checkpoint.ThreadQuery{Prefix: "x", After: all[5].ID, AfterCreated: second(6)}, "gk"},
		"a status":               {checkpoint.ThreadQuery{Status: checkpoint.Waiting}, "afhl"},
		"a finished status":      {checkpoint.ThreadQuery{Status: checkpoint.Done}, "bcdgijkm"},
		"a graph":                {checkpoint.ThreadQuery{Graph: "h"}, "beijm"},
		"a graph and a status":   {checkpoint.ThreadQuery{Graph: "g", Status: checkpoint.Waiting}, "afhl"},
		"a label":                {checkpoint.ThreadQuery{Labels: ada}, "bchjm"},
		"a label and a status":   {checkpoint.ThreadQuery{Labels: ada, Status: checkpoint.Waiting}, "h"},
		"a label and a graph":    {checkpoint.ThreadQuery{Labels: ada, Graph: "h"}, "bjm"},
		"since":                  {checkpoint.ThreadQuery{CreatedSince: second(6)}, "abcdefghij"},
		"until":                  {checkpoint.ThreadQuery{CreatedUntil: second(6)}, "klm"},
		"between, of a graph":    {checkpoint.ThreadQuery{CreatedSince: second(4), CreatedUntil: second(8), Graph: "g"}, "cdfghkl"},
		"since, of a label":      {checkpoint.ThreadQuery{CreatedSince: second(4), Labels: ada}, "bchj"},
		"until, with a prefix":   {checkpoint.ThreadQuery{CreatedUntil: second(6), Prefix: "x"}, "k"},
		"a time with a cursor":   {checkpoint.ThreadQuery{CreatedUntil: second(4), After: "b", AfterCreated: second(8)}, "m"},
		"idle":                   {checkpoint.ThreadQuery{IdleSince: time.Now().Add(time.Hour), Status: checkpoint.Waiting}, "afhl"},
		"never idle":             {checkpoint.ThreadQuery{IdleSince: second(-1 << 24)}, ""},
		"no such":                {checkpoint.ThreadQuery{Prefix: "%"}, ""},
		"the end":                {checkpoint.ThreadQuery{After: "\xff/m", AfterCreated: second(3)}, ""},
		"of no time":             {checkpoint.ThreadQuery{CreatedSince: second(6), CreatedUntil: second(6)}, ""},
		"a graph with no thread": {checkpoint.ThreadQuery{Graph: "i"}, ""},
	} {
		c.q.Order = checkpoint.NewestFirst
		wantPages(tb, other, name, c.q, c.want)
		whole := threads(tb, other, c.q)
		c.q.Brief = true
		wantPages(tb, other, name+", brief", c.q, c.want)
		for i, t := range threads(tb, other, c.q) {
			if w := whole[i]; t.Graph != w.Graph || t.Status != w.Status || !t.Created.Equal(w.Created) || t.Now.IsZero() {
				tb.Errorf("%s, brief: got %+v, want the graph, status and times of %+v", name, t, w)
			}
		}
	}
	for what, q := range map[string]checkpoint.ThreadQuery{
		"an unknown order":       {Order: checkpoint.NewestFirst + 1},
		"after without its time": {Order: checkpoint.NewestFirst, After: "a"},
		"the same, with a label": {Labels: ada, After: "a"},
		"the same, with a graph": {Graph: "g", After: "a"},
		"a time without after":   {Order: checkpoint.NewestFirst, AfterCreated: created},
	} {
		var invalid *checkpoint.InvalidError
		if _, err := collect(s.Threads(tb.Context(), q)); !errors.As(err, &invalid) {
			tb.Errorf("%s: got %v, want an *InvalidError", what, err)
		}
	}
}

// places returns the places of threads in newestFirst.
func places(all []checkpoint.Thread) string {
	var b strings.Builder
	for _, t := range all {
		b.WriteByte(t.ID[len(t.ID)-1])
	}
	return b.String()
}

// pagesOf reads a list in pages.
func pagesOf(tb testing.TB, s checkpoint.Saver, q checkpoint.ThreadQuery, size int) (pages [][]checkpoint.Thread) {
	tb.Helper()
	q.Limit = size
	for {
		page := threads(tb, s, q)
		pages = append(pages, page)
		if len(page) < size {
			return pages
		}
		q.After, q.AfterCreated = page[size-1].ID, page[size-1].Created
	}
}

// testThreadsNewestPages reads pages while threads are created, deleted, and deleted and created
// again.
func testThreadsNewestPages(tb testing.TB, place Storage) {
	tb.Helper()
	s, other := openTwo(tb, place)
	items := mould(tb, s)
	want := make(map[string]bool)
	for i := range 30 {
		id := fmt.Sprintf("t%02d", (7*i)%30)
		cast(tb, s, items, checkpoint.Thread{ID: id, Created: second(i / 2), Graph: "g"})
		want[id] = true
	}
	list := threads(tb, s, checkpoint.ThreadQuery{Order: checkpoint.NewestFirst})
	if len(list) != len(want) {
		tb.Fatalf("newest first: got %d threads, want %d", len(list), len(want))
	}
	again := func(n int, how func(id string)) {
		id := list[n].ID
		mustDelete(tb, s, id)
		how(id)
		delete(want, id)
	}
	run := func(id string) {
		r, _ := tryBegin(tb, s, about(tb, id, checkpoint.ID{}, "g", "", nil))
		r.end()
	}
	for n, q := 0, (checkpoint.ThreadQuery{Order: checkpoint.NewestFirst, Graph: "g", Limit: 4}); ; n++ {
		page := threads(tb, other, q)
		for _, t := range page {
			if !want[t.ID] {
				tb.Errorf("page %d has %q, which it must not, or a second time", n, t.ID)
			}
			delete(want, t.ID)
		}
		if len(page) < q.Limit {
			break
		}
		last := page[len(page)-1]
		q.After, q.AfterCreated = last.ID, last.Created
		run(fmt.Sprintf("new%d", n))
		switch n {
		case 0: // the thread that the next page follows is gone
			mustDelete(tb, s, last.ID)
		case 1: // threads that are still to come are new now
			again(20, run)
			again(22, func(id string) { post(tb, s, id, input("m")) })
		case 2: // a new run does not make a thread new
			old := list[28].ID
			begin(tb, s, old, load(tb, s, checkpoint.Ref{Thread: old}).Head).end()
		}
	}
	if len(want) > 0 {
		tb.Errorf("in no page: %v", want)
	}
	first := threads(tb, other, checkpoint.ThreadQuery{Order: checkpoint.NewestFirst})
	inOrder(tb, first)
	for _, n := range []int{20, 22} {
		if i := slices.IndexFunc(first, func(t checkpoint.Thread) bool { return t.ID == list[n].ID }); i < 0 || i > 8 {
			tb.Errorf("a thread that was deleted and created again is at %d, want it among the new ones", i)
		}
	}
	if i := slices.IndexFunc(first, func(t checkpoint.Thread) bool { return t.ID == list[28].ID }); i < len(first)-4 {
		tb.Errorf("an old thread with a new run is at %d of %d, want it at its old place", i, len(first))
	}
}

// newer reports whether a comes before b, newest first.
func newer(a, b *checkpoint.Thread) bool {
	return a.Created.After(b.Created) || a.Created.Equal(b.Created) && a.ID > b.ID
}

// inOrder checks that threads are newest first.
func inOrder(tb testing.TB, all []checkpoint.Thread) {
	tb.Helper()
	for i := 1; i < len(all); i++ {
		if a, b := &all[i-1], &all[i]; !newer(a, b) {
			tb.Errorf("%q of %v comes before %q of %v; want the newest first", a.ID, a.Created, b.ID, b.Created)
		}
	}
}

// newest lists threads newest first. It prints them by their ids, because two savers do not
// create threads at the same times.
func newest(ctx context.Context, s checkpoint.Saver, q checkpoint.ThreadQuery) string {
	all, err := collect(s.Threads(ctx, q))
	if err != nil {
		return "error: " + kindOf(err)
	}
	lines := make([]string, len(all))
	for i := range all {
		if lines[i] = "\n\t" + timeless(all[i]); i > 0 {
			if a, b := &all[i-1], &all[i]; !newer(a, b) {
				return fmt.Sprintf("%q of %v comes before %q of %v", a.ID, a.Created, b.ID, b.Created)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
