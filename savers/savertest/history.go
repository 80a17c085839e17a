//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// past creates a thread with one input, n supersteps and a resume record after every fifth
// superstep. It returns all records, oldest first.
func past(tb testing.TB, s checkpoint.Saver, n int) []checkpoint.Record {
	tb.Helper()
	a := opening(tb, "t", checkpoint.ID{})
	r, _ := tryBegin(tb, s, a)
	all := []checkpoint.Record{a.Records[0]}
	for i := range n {
		next := r.next("")
		rec := &next.Records[0]
		rec.Due = []checkpoint.Task{{Node: "even"}, {Node: fmt.Sprint("n", i)}}
		if i%3 > 0 {
			rec.Meta = map[string]string{"user:name": fmt.Sprint("u", i%3), "place": fmt.Sprint(i % 2)}
		}
		if i%2 == 1 {
			rec.Due[0].Node = "odd"
			rec.Ran = []string{"first", "even"}
		}
		r.append(next)
		all = append(all, *rec)
		if i%5 == 4 {
			next := r.next("")
			rec := &next.Records[0]
			rec.Source, rec.Base, rec.Commits, rec.Due = checkpoint.Resume, all[len(all)-1].ID, checkpoint.ID{}, nil
			r.append(next)
			all = append(all, *rec)
		}
	}
	for i := range all {
		all[i].Seq = uint64(i + 1)
	}
	return all
}

// pick returns the records for which ok returns true, newest first.
func pick(all []checkpoint.Record, ok func(r checkpoint.Record) bool) []checkpoint.Record {
	var picked []checkpoint.Record
	for _, r := range slices.Backward(all) {
		if ok(r) {
			picked = append(picked, r)
		}
	}
	return picked
}

// wantRecords fails unless got equals want, in order.
func wantRecords(tb testing.TB, what string, got, want []checkpoint.Record) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Errorf("%s: got %d records, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if d := differ(got[i], want[i]); d != "" {
			tb.Errorf("%s: record %d: %s", what, i, d)
			return
		}
	}
}

// ascending returns records oldest first that are newest first.
func ascending(records []checkpoint.Record) []checkpoint.Record {
	records = slices.Clone(records)
	slices.Reverse(records)
	return records
}

// isCheckpoint reports whether a record is a checkpoint, not the mark of a resume.
func isCheckpoint(r checkpoint.Record) bool { return r.Source != checkpoint.Resume }

// testHistoryOrder checks that history is newest first.
func testHistoryOrder(tb testing.TB, place Storage) {
	s := open(tb, place)
	all := past(tb, s, 100)
	wantRecords(tb, "history", history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{}), pick(all, isCheckpoint))
	wantRecords(tb, "history of version 1", history(tb, s, checkpoint.Ref{Thread: "t", Version: 1}, checkpoint.Query{}), pick(all, isCheckpoint))
	if got := history(tb, s, checkpoint.Ref{Thread: "t", Namespace: "child"}, checkpoint.Query{}); len(got) != 0 {
		tb.Errorf("history of a namespace that is not there: got %d records, want none", len(got))
	}
}

// testHistoryFilters reads the history with each filter.
func testHistoryFilters(tb testing.TB, place Storage) {
	s := open(tb, place)
	all := past(tb, s, 20)
	from, to := all[5].Created, all[15].Created
	for name, c := range map[string]struct {
		q  checkpoint.Query
		ok func(r checkpoint.Record) bool
	}{
		"resume records": {
			checkpoint.Query{Sources: []checkpoint.Source{checkpoint.Resume}},
			func(r checkpoint.Record) bool { return r.Source == checkpoint.Resume },
		},
		"two sources": {
			checkpoint.Query{Sources: []checkpoint.Source{checkpoint.Resume, checkpoint.Input}},
			func(r checkpoint.Record) bool { return r.Source != checkpoint.Loop },
		},
		"a step":          {checkpoint.Query{Step: 3, HasStep: true}, func(r checkpoint.Record) bool { return r.Step == 3 }},
		"step 0":          {checkpoint.Query{HasStep: true}, func(r checkpoint.Record) bool { return r.Step == 0 }},
		"a node":          {checkpoint.Query{Next: "odd"}, func(r checkpoint.Record) bool { return len(r.Due) > 0 && r.Due[0].Node == "odd" }},
		"a node that ran": {checkpoint.Query{Ran: "even"}, func(r checkpoint.Record) bool { return slices.Contains(r.Ran, "even") }},
		"a node that ran and another that is due": {checkpoint.Query{Ran: "even", Next: "even"}, func(r checkpoint.Record) bool { return false }},
		"an entry": {
			checkpoint.Query{Meta: map[string]string{"user:name": "u1"}},
			func(r checkpoint.Record) bool { return r.Meta["user:name"] == "u1" },
		},
		"two entries": {
			checkpoint.Query{Meta: map[string]string{"user:name": "u1", "place": "0"}},
			func(r checkpoint.Record) bool { return r.Meta["user:name"] == "u1" && r.Meta["place"] == "0" },
		},
		"an entry and a node": {checkpoint.Query{Meta: map[string]string{"place": "1"}, Ran: "none"}, func(checkpoint.Record) bool { return false }},
		"an empty entry":      {checkpoint.Query{Meta: map[string]string{"none": ""}}, func(checkpoint.Record) bool { return false }},
		"no node":             {checkpoint.Query{Next: "none"}, func(r checkpoint.Record) bool { return false }},
		"since":               {checkpoint.Query{Since: from}, func(r checkpoint.Record) bool { return isCheckpoint(r) && !r.Created.Before(from) }},
		"until":               {checkpoint.Query{Until: to}, func(r checkpoint.Record) bool { return isCheckpoint(r) && r.Created.Before(to) }},
		"between": {checkpoint.Query{Since: from, Until: to}, func(r checkpoint.Record) bool {
			return isCheckpoint(r) && !r.Created.Before(from) && r.Created.Before(to)
		}},
		"too late": {checkpoint.Query{Since: to.Add(time.Hour)}, func(r checkpoint.Record) bool { return false }},
	} {
		want := pick(all, c.ok)
		wantRecords(tb, name, history(tb, s, checkpoint.Ref{Thread: "t"}, c.q), want)
		c.q.Limit = 2
		wantRecords(tb, name+", at most 2", history(tb, s, checkpoint.Ref{Thread: "t"}, c.q), want[:min(2, len(want))])
	}
}

// testHistoryHeaders reads the history without payloads.
func testHistoryHeaders(tb testing.TB, place Storage) {
	s := open(tb, place)
	want := pick(past(tb, s, 50), isCheckpoint)
	for i := range want {
		want[i].Payload = nil
	}
	got := history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{Headers: true})
	wantRecords(tb, "headers", got, want)
	for i := range got {
		if got[i].Payload != nil {
			tb.Errorf("headers: record %d has a payload of %d bytes, want none", i, len(got[i].Payload))
		}
	}
	of := map[string]string{"place": "1"}
	wantRecords(tb, "headers with an entry", history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{Headers: true, Meta: of}),
		pick(ascending(want), func(r checkpoint.Record) bool { return r.Meta["place"] == "1" }))
	page := history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{Headers: true, Limit: 3, Before: want[4].ID})
	wantRecords(tb, "a page of headers", page, want[5:8])
	if chain := load(tb, s, checkpoint.Ref{Thread: "t"}); len(chain.Snapshot) == 0 {
		tb.Errorf("load after headers: got an empty snapshot, want that of the thread")
	}
}

// testHistoryPages reads the history in pages.
func testHistoryPages(tb testing.TB, place Storage) {
	s := open(tb, place)
	all := past(tb, s, 50)
	want := pick(all, isCheckpoint)
	var got []checkpoint.Record
	q := checkpoint.Query{Limit: 7}
	for range want {
		page := history(tb, s, checkpoint.Ref{Thread: "t"}, q)
		got = append(got, page...)
		if len(page) < q.Limit {
			break
		}
		q.Before = page[len(page)-1].ID
	}
	wantRecords(tb, "pages of 7", got, want)
	if got := history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{Before: all[0].ID}); len(got) != 0 {
		tb.Errorf("before the oldest: got %d records, want none", len(got))
	}
	_, err := collect(s.History(tb.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{Before: newID(tb)}))
	wantErr(tb, "before an unknown record", err, checkpoint.ErrNotFound)
	_, err = collect(s.History(tb.Context(), checkpoint.Ref{Thread: "t", Namespace: "child"}, checkpoint.Query{Before: all[3].ID}))
	wantErr(tb, "before a record of another namespace", err, checkpoint.ErrNotFound)
}

// testHistoryStops leaves loops over the history.
func testHistoryStops(tb testing.TB, place Storage) {
	s := open(tb, place)
	past(tb, s, 100)
	for range 3 {
		for _, err := range s.History(tb.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
			if err != nil {
				tb.Fatal(err)
			}
			// The body of the loop may call the saver and must see the same records.
			if n := len(history(tb, s, checkpoint.Ref{Thread: "t"}, checkpoint.Query{Limit: 3})); n != 3 {
				tb.Errorf("history inside history: got %d records, want 3", n)
			}
			break
		}
	}
}

// testHistoryFollows checks that history shows no later records.
func testHistoryFollows(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	for range 50 {
		r.commit("")
	}
	seen := 0
	for rec, err := range s.History(tb.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		if err != nil {
			tb.Fatal(err)
		}
		if want := uint64(51 - seen); rec.Seq != want {
			tb.Fatalf("record %d of the history: got seq %d, want %d", seen, rec.Seq, want)
		}
		seen++
		r.commit("")
	}
	if seen != 51 {
		tb.Errorf("history: got %d records, want the 51 that there were when it began", seen)
	}
}
