//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// testThreadsReleased lists threads in both orders, which are one if there is a filter. Half of
// them have only released versions.
func testThreadsReleased(tb testing.TB, place Storage) {
	s, other := openTwo(tb, place)
	items, all := mould(tb, s), newestFirst()
	const released = "bdfhjl"
	for i := range all {
		cast(tb, s, items, all[(5*i+3)%len(all)])
	}
	before := make(map[string]checkpoint.Thread)
	for _, t := range threads(tb, s, checkpoint.ThreadQuery{}) {
		if strings.Contains(released, places([]checkpoint.Thread{t})) {
			before[t.ID] = t
			mustRelease(tb, s, t.ID)
		}
	}
	ada := map[string]string{"user": "ada"}
	for name, c := range map[string]struct {
		q    checkpoint.ThreadQuery
		want string
	}{
		"all":                 {checkpoint.ThreadQuery{}, "abcdefghijklm"},
		"a prefix":            {checkpoint.ThreadQuery{Prefix: "x"}, "cdefgk"},
		"a graph":             {checkpoint.ThreadQuery{Graph: "h"}, "beijm"},
		"a label":             {checkpoint.ThreadQuery{Labels: ada}, "bchjm"},
		"a label and a graph": {checkpoint.ThreadQuery{Labels: ada, Graph: "h"}, "bjm"},
		"since":               {checkpoint.ThreadQuery{CreatedSince: second(6)}, "abcdefghij"},
		"until, of a label":   {checkpoint.ThreadQuery{CreatedUntil: second(6), Labels: ada}, "m"},
		"between, of a graph": {checkpoint.ThreadQuery{CreatedSince: second(4), CreatedUntil: second(8), Graph: "g"}, "cdfghkl"},
		"a status":            {checkpoint.ThreadQuery{Status: checkpoint.Waiting}, "a"},
		"a finished status":   {checkpoint.ThreadQuery{Status: checkpoint.Done, Graph: "g"}, "cgk"},
		"idle":                {checkpoint.ThreadQuery{IdleSince: time.Now().Add(time.Hour)}, "acegikm"},
	} {
		for _, c.q.Order = range []checkpoint.ThreadOrder{checkpoint.ByID, checkpoint.NewestFirst} {
			for _, c.q.Released = range []bool{false, true} {
				want := c.want
				if !c.q.Released {
					want = strings.Map(func(place rune) rune {
						if strings.ContainsRune(released, place) {
							return -1
						}
						return place
					}, want)
				}
				if !c.q.NewestFirst() {
					want = byID(all, want)
				}
				wantPages(tb, other, name, c.q, want)
			}
		}
	}
	for _, t := range threads(tb, other, checkpoint.ThreadQuery{Released: true}) {
		want, ok := before[t.ID]
		if !ok {
			continue
		}
		want.Version, want.Status, want.Head, want.Step = 0, 0, checkpoint.ID{}, 0
		if got, text := timeless(t), timeless(want); got != text || !t.Created.Equal(want.Created) || !t.Updated.IsZero() {
			tb.Errorf("a released thread: got %s, created %v, updated %v; want %s, created %v, never updated", got, t.Created, t.Updated, text, want.Created)
		}
	}
}

// byID returns places in newestFirst in the order of the ids.
func byID(all []checkpoint.Thread, of string) string {
	selected := slices.DeleteFunc(slices.Clone(all), func(t checkpoint.Thread) bool {
		return !strings.Contains(of, places([]checkpoint.Thread{t}))
	})
	slices.SortFunc(selected, func(a, b checkpoint.Thread) int { return strings.Compare(a.ID, b.ID) })
	return places(selected)
}

// wantPages fails unless a list has these places, as a whole and in pages.
func wantPages(tb testing.TB, s checkpoint.Saver, name string, q checkpoint.ThreadQuery, want string) {
	tb.Helper()
	if got := places(threads(tb, s, q)); got != want {
		tb.Errorf("%s, order %d, released %t: got %q, want %q", name, q.Order, q.Released, got, want)
	}
	for _, size := range []int{1, 2, 3} {
		var got string
		for _, page := range pagesOf(tb, s, q, size) {
			got += places(page)
		}
		if got != want {
			tb.Errorf("%s, order %d, released %t, in pages of %d: got %q, want %q", name, q.Order, q.Released, size, got, want)
		}
	}
}

// testReleasedComesAndGoes lists a thread as its versions are released, begun, pruned and deleted.
func testReleasedComesAndGoes(tb testing.TB, place Storage) {
	s, other := openTwo(tb, place)
	ctx := tb.Context()
	want := func(what string, version, versions int, status checkpoint.Status) {
		tb.Helper()
		for _, order := range []checkpoint.ThreadOrder{checkpoint.ByID, checkpoint.NewestFirst} {
			all := threads(tb, other, checkpoint.ThreadQuery{Released: true, Order: order})
			if versions == 0 && status == 0 {
				if len(all) > 0 {
					tb.Errorf("%s, order %d: got %+v, want no thread", what, order, all)
				}
				continue
			}
			if len(all) != 1 || all[0].ID != "t" || all[0].Version != version || all[0].Versions != versions || all[0].Status != status {
				tb.Errorf("%s, order %d: got %+v, want version %d of %d and status %v", what, order, all, version, versions, status)
			}
		}
	}
	want("no thread", 0, 0, 0)
	begin(tb, s, "t", checkpoint.ID{}).end()
	want("an open version", 1, 1, checkpoint.Running)
	mustRelease(tb, s, "t")
	want("a released version", 0, 1, 0)
	a := opening(tb, "t", checkpoint.ID{})
	r, _ := tryBegin(tb, s, a)
	r.end()
	want("a second version", 2, 2, checkpoint.Running)
	mustRelease(tb, s, "t")
	want("two released versions", 0, 2, 0)
	post(tb, s, "t", input("m"))
	want("an input", 0, 2, checkpoint.Ready)
	begin(tb, s, "t", checkpoint.ID{}).end()
	mustRelease(tb, s, "t") // the input waits still
	want("an input and three versions", 0, 3, checkpoint.Ready)
	mustDelete(tb, s, "t")
	want("a deleted thread", 0, 0, 0)
	begin(tb, s, "t", checkpoint.ID{}).end()
	mustRelease(tb, s, "t")
	want("a thread that was created again", 0, 1, 0)
	if done, err := s.Prune(ctx, "t", checkpoint.Retention{Released: -1}); err != nil || done.Versions != 1 {
		tb.Fatalf("prune: got %+v, %v, want one version", done, err)
	}
	want("no versions", 0, 0, 0)
	mustDelete(tb, s, "t")
	begun := opening(tb, "t", checkpoint.ID{})
	begun.End, begun.Status, begun.Release = true, checkpoint.Done, true
	tryBegin(tb, s, begun)
	want("a version that one write began and released", 0, 1, 0)
}
