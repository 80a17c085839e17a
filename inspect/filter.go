package inspect

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// Sizes of lists.
const (
	pageSize  = 100  // threads on one page
	scanSize  = 5000 // threads that one page asks Authorize about at most
	mostReads = 200  // threads that a filter reads for one page, at most

	searchTime = 2 * time.Second // after which a filter that no saver applies ends a page
)

// filter selects threads. Its words are the parameters of the list.
type filter struct {
	operate.Selection

	After cursor
}

// ByID reports whether the list has the order of the ids; else it is newest first.
func (f filter) ByID() bool { return f.Order == checkpoint.ByID.String() }

// Label returns the label of the filter, or "".
func (f filter) Label() string { return strings.Join(f.Labels, "") }

// cursor is the place of a thread in a list. The zero cursor is before all threads.
type cursor struct {
	ID      string
	Created time.Time
}

// cursorOf reads the cursor of parameters. The order by ids needs no creation time.
func cursorOf(q url.Values, byID bool) (c cursor, err error) {
	c.ID = q.Get("after")
	if c.ID == "" || byID {
		return c, nil
	}
	if c.Created, err = time.Parse(time.RFC3339Nano, q.Get("made")); err != nil || c.Created.IsZero() {
		return c, bad("made=%s is not the creation time of the thread after; begin at the first page", q.Get("made"))
	}
	return c, nil
}

// filterOf reads a filter from the parameters of a request.
func filterOf(q url.Values) (f filter, err error) {
	f.Selection = operate.Selection{
		Prefix: q.Get("prefix"), Graph: q.Get("graph"), Status: q.Get("status"), Order: cmp.Or(q.Get("sort"), checkpoint.NewestFirst.String()),
		Filter: operate.Filter{
			Text: q.Get("q"), Waits: operate.Kind(q.Get("waits")), Stuck: q.Get("stuck") != "", Node: q.Get("node"), Error: q.Get("error"),
		},
	}
	if label := q.Get("label"); label != "" {
		f.Labels = []string{label}
	}
	for name, to := range map[string]*time.Duration{"created": &f.Newer, "idle": &f.Idle, "waited": &f.Waited} {
		if v := q.Get(name); v != "" {
			if *to, err = time.ParseDuration(v); err != nil || *to <= 0 {
				return f, bad("%s=%s is no duration; write it as 90m or 24h", name, v)
			}
		}
	}
	if _, err = f.Query(time.Time{}); err != nil {
		return f, err
	}
	if !f.plain() {
		f.Order = checkpoint.NewestFirst.String()
	}
	f.After, err = cursorOf(q, f.ByID())
	return f, err
}

// plain reports whether the saver applies no filter, so that it can list threads by their ids.
func (f filter) plain() bool {
	q := f.query(time.Time{})
	return !q.Filtered() && !f.Searches()
}

// byID returns the filter of an action on many threads. It is in the order of the ids if it can
// be: then every saver lists each part at the same cost.
func (f filter) byID() filter {
	if f.plain() {
		f.Order = checkpoint.ByID.String()
	}
	return f
}

// values returns the parameters of the filter.
func (f filter) values() url.Values {
	q := make(url.Values)
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("q", f.Text)
	set("prefix", f.Prefix)
	set("graph", f.Graph)
	set("label", f.Label())
	set("after", f.After.ID)
	set("status", f.Status)
	if f.ByID() {
		q.Set("sort", checkpoint.ByID.String())
	} else if f.After.ID != "" {
		q.Set("made", f.After.Created.UTC().Format(time.RFC3339Nano))
	}
	set("waits", string(f.Waits))
	set("node", f.Node)
	set("error", f.Error)
	if f.Stuck {
		q.Set("stuck", "1")
	}
	for name, d := range map[string]time.Duration{"created": f.Newer, "idle": f.Idle, "waited": f.Waited} {
		if d > 0 {
			q.Set(name, d.String())
		}
	}
	return q
}

// query returns the part of the filter that the saver applies. filterOf has checked its words.
func (f filter) query(now time.Time) checkpoint.ThreadQuery {
	q, err := f.Query(now)
	if err != nil {
		return checkpoint.ThreadQuery{Order: checkpoint.NewestFirst + 1} // every saver refuses it, instead of listing all threads
	}
	q.After, q.AfterCreated = f.After.ID, f.After.Created
	return q
}

// found is the result of a scan.
type found struct {
	rows    []row
	read    int    // threads that were read
	reads   int    // those that the filter has read themselves
	late    bool   // the scan has stopped after searchTime
	last    cursor // the place of the last thread that was read
	hidden  bool   // the request must not see the last thread
	more    bool   // threads may follow
	pulsing int    // the number of rows among the first pulseSize threads, if more were read
	missing error  // of a part of the storage, whose threads the scan lacks; nil for none
}

// ofThread reports whether err is about the stored data of one thread, or the thread was deleted.
// The page of the thread shows the error, and a list continues.
func ofThread(err error) bool {
	return operate.Unreadable(err) || errors.Is(err, checkpoint.ErrNotFound)
}

// scan returns up to want threads that match, of up to limit threads of the list. A filter takes
// searchTime at most, and reads up to mostReads threads, or those that a search reads. It leaves
// out threads on which the request must not do a.
func (in *Inspector) scan(ctx context.Context, r *http.Request, f filter, a Action, now time.Time, want, limit int) (out found, err error) {
	o, q := in.ops, f.query(now)
	if in.opt.Authorize != nil {
		o.Sees = func(t *checkpoint.Thread) bool { return in.sees(r, a, t) == nil }
	}
	if f.Text != "" && f.After.ID == "" { // a scan could take many pages to find the thread with this id
		exact := q
		exact.ID = f.Text
		for s, err := range o.Search(ctx, exact, f.Filter) {
			if err == nil && s.Match && s.Damaged == nil { // else the scan lists it, or reports the error
				out.rows = append(out.rows, f.row(&s))
			}
		}
		out.read = 1
	}
	most := mostReads
	if f.Searches() {
		most, limit = operate.Searched, max(limit, operate.Searched)
	}
	q.Limit = want + 1
	if !f.Any() || in.opt.Authorize != nil {
		q.Limit = limit + 1 - out.read
	}
	began := time.Now()
	for s, err := range o.Search(ctx, q, f.Filter) {
		if err != nil {
			if errors.Is(err, checkpoint.ErrPartial) {
				out.missing, err = err, nil
			}
			return out, err
		}
		// Damaged threads without a place come first, and no page can begin after them.
		if out.last.ID != "" {
			out.late = !f.Any() && time.Since(began) > searchTime
			if out.more = out.late || len(out.rows) >= want || out.read >= limit || out.reads >= most; out.more {
				return out, nil
			}
		}
		if out.read == pulseSize {
			out.pulsing = len(out.rows)
		}
		out.read++
		if s.Read {
			out.reads++
		}
		if s.ID != "" && (f.ByID() || !s.Created.IsZero()) {
			out.last, out.hidden = cursor{s.ID, s.Created}, s.Hidden
		}
		if s.Match && (s.ID != f.Text || s.Damaged != nil) || s.Unread != nil && f.Searches() { // the exact one is the first row of the first page
			out.rows = append(out.rows, f.row(&s))
		}
	}
	return out, nil
}

// row returns the row of a thread.
func (f filter) row(s *operate.Found) row {
	out := row{Thread: s.Thread, Place: place{Thread: s.ID}, Wait: s.Wait}
	if s.Damaged != nil {
		out.Damaged = s.Damaged.Error()
	} else if s.Unread != nil && f.Searches() {
		out.Unread = s.Unread.Error()
	}
	return out
}
