package inspect

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// Sizes of lists.
const (
	pageSize  = 100  // threads on one page
	scanSize  = 5000 // threads that one page reads at most
	mostReads = 200  // threads that a filter reads for one page, at most
)

// filter selects threads. Its fields are the parameters of the list.
type filter struct {
	Search  string // part of the id, the title or a label; the saver has no index for it
	Prefix  string
	Graph   string
	Status  checkpoint.Status
	Label   string // name=value
	Created time.Duration
	Idle    time.Duration
	Waits   operate.Filter
	ByID    bool // in the order of the ids, of a list that the saver does not filter; else newest first
	After   cursor
}

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

// statuses are those that a filter can name.
var statuses = []checkpoint.Status{
	checkpoint.Running, checkpoint.Ready, checkpoint.Waiting, checkpoint.Paused, checkpoint.Failed, checkpoint.Cancelled, checkpoint.Done,
}

// filterOf reads a filter from the parameters of a request.
func filterOf(q url.Values) (f filter, err error) {
	f = filter{
		Search: q.Get("q"), Prefix: q.Get("prefix"), Graph: q.Get("graph"), Label: q.Get("label"),
		Waits: operate.Filter{Waits: operate.Kind(q.Get("waits")), Stuck: q.Get("stuck") != ""},
	}
	if f.Waits.Waits != "" && !slices.Contains(operate.Kinds(), f.Waits.Waits) {
		return f, bad("there is no wait %q; want one of %v", f.Waits.Waits, operate.Kinds())
	}
	switch order := q.Get("sort"); order {
	case "", checkpoint.NewestFirst.String():
	case checkpoint.ByID.String():
		f.ByID = true
	default:
		return f, bad("there is no order %q; want newest or id", order)
	}
	if name := q.Get("status"); name != "" {
		for _, s := range statuses {
			if s.String() == name {
				f.Status = s
			}
		}
		if f.Status == 0 {
			return f, bad("there is no status %q; want one of %v", name, statuses)
		}
	}
	if f.Label != "" && !strings.Contains(f.Label, "=") {
		return f, bad("the label %q has no value; write name=value", f.Label)
	}
	for name, to := range map[string]*time.Duration{"created": &f.Created, "idle": &f.Idle} {
		if v := q.Get(name); v != "" {
			if *to, err = time.ParseDuration(v); err != nil || *to <= 0 {
				return f, bad("%s=%s is no duration; write it as 90m or 24h", name, v)
			}
		}
	}
	f.ByID = f.ByID && f.plain()
	f.After, err = cursorOf(q, f.ByID)
	return f, err
}

// plain reports whether the saver applies no filter, so that it can list threads by their ids.
func (f *filter) plain() bool {
	q := f.query(time.Time{})
	return !q.Filtered()
}

// values returns the parameters of the filter.
func (f *filter) values() url.Values {
	q := make(url.Values)
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("q", f.Search)
	set("prefix", f.Prefix)
	set("graph", f.Graph)
	set("label", f.Label)
	set("after", f.After.ID)
	if f.ByID {
		q.Set("sort", checkpoint.ByID.String())
	} else if f.After.ID != "" {
		q.Set("made", f.After.Created.UTC().Format(time.RFC3339Nano))
	}
	if f.Status != 0 {
		q.Set("status", f.Status.String())
	}
	set("waits", string(f.Waits.Waits))
	if f.Waits.Stuck {
		q.Set("stuck", "1")
	}
	for name, d := range map[string]time.Duration{"created": f.Created, "idle": f.Idle} {
		if d > 0 {
			q.Set(name, d.String())
		}
	}
	return q
}

// query returns the part of the filter that the saver applies.
func (f *filter) query(now time.Time) checkpoint.ThreadQuery {
	q := checkpoint.ThreadQuery{Status: f.Status, Prefix: f.Prefix, After: f.After.ID, AfterCreated: f.After.Created, Graph: f.Graph}
	if !f.ByID {
		q.Order = checkpoint.NewestFirst
	}
	if name, value, ok := strings.Cut(f.Label, "="); ok {
		q.Labels = map[string]string{name: value}
	}
	if f.Created > 0 {
		q.CreatedSince = now.Add(-f.Created)
	}
	if f.Idle > 0 {
		q.IdleSince = now.Add(-f.Idle)
	}
	return q
}

// scanned reports whether threads must be read to decide whether they match.
func (f *filter) scanned() bool { return f.Search != "" || !f.Waits.Any() }

// finds reports whether a thread has the text of the search.
func (f *filter) finds(t *checkpoint.Thread) bool {
	if f.Search == "" {
		return true
	}
	text := strings.ToLower(f.Search)
	if strings.Contains(strings.ToLower(t.ID), text) || strings.Contains(strings.ToLower(t.Title), text) {
		return true
	}
	for name, value := range t.Labels {
		if strings.Contains(strings.ToLower(name+"="+value), text) {
			return true
		}
	}
	return false
}

// found is the result of a scan.
type found struct {
	rows    []row
	read    int    // threads that were read
	last    cursor // the place of the last thread that was read
	hidden  bool   // the request must not see the last thread
	more    bool   // threads may follow
	pulsing int    // the number of rows among the first pulseSize threads, if more were read
}

// ofThread reports whether err is about the stored data of one thread, or the thread was deleted.
// The page of the thread shows the error, and a list continues.
func ofThread(err error) bool {
	return operate.Unreadable(err) || errors.Is(err, checkpoint.ErrNotFound)
}

// scan returns up to want threads that match, and reads up to limit threads. It looks
// at up to mostReads threads, and leaves out threads on which the request must not do a.
func (in *Inspector) scan(ctx context.Context, r *http.Request, f filter, a Action, now time.Time, want, limit int) (out found, err error) {
	if f.Search != "" && f.After.ID == "" {
		if out.rows, err = in.exact(ctx, r, &f, a, now); err != nil {
			return out, err
		}
		out.read = 1
	}
	reads := 0
	q := f.query(now)
	q.Limit = want + 1
	if f.scanned() || in.opt.Authorize != nil {
		q.Limit = limit + 1 - out.read
	}
	for t, err := range in.saver.Threads(ctx, q) {
		damaged := operate.OfOneThread(&t, err)
		if err != nil && !damaged {
			return out, err
		}
		// Damaged threads without a place come first, and no page can begin after them.
		if (len(out.rows) >= want || out.read >= limit || reads >= mostReads) && out.last.ID != "" {
			out.more = true
			return out, nil
		}
		if out.read == pulseSize {
			out.pulsing = len(out.rows)
		}
		out.read++
		denied := in.opt.Authorize != nil && (t.ID == "" || in.sees(r, a, &t) != nil)
		if t.ID != "" && (f.ByID || !t.Created.IsZero()) {
			out.last, out.hidden = cursor{t.ID, t.Created}, denied
		}
		if denied || t.ID == f.Search && !damaged { // the latter is the first row of the first page
			continue
		}
		if damaged {
			if f.finds(&t) && f.Waits.Waits == "" {
				out.rows = append(out.rows, row{Thread: t, Place: place{Thread: t.ID}, Damaged: err.Error()})
			}
			continue
		}
		if !f.finds(&t) {
			continue
		}
		wait, ok, read, err := in.ops.Match(ctx, f.Waits, &t, now)
		if err != nil && !ofThread(err) {
			return out, err
		}
		if read {
			reads++
		}
		if ok {
			out.rows = append(out.rows, row{Thread: t, Place: place{Thread: t.ID}, Wait: wait})
		}
	}
	return out, nil
}

// exact returns the row of the thread whose whole id is the text of the search, or none. A scan
// could take many pages to find the thread.
func (in *Inspector) exact(ctx context.Context, r *http.Request, f *filter, a Action, now time.Time) ([]row, error) {
	t, err := checkpoint.FindThread(ctx, in.saver, f.Search)
	switch {
	case errors.As(err, new(*checkpoint.InvalidError)) || errors.Is(err, checkpoint.ErrNotFound): // no thread has the id
		return nil, nil
	case operate.OfOneThread(&t, err): // the scan lists it
		return nil, nil
	case err != nil:
		return nil, err
	case !f.selects(&t, now) || in.opt.Authorize != nil && in.sees(r, a, &t) != nil:
		return nil, nil //nolint:nilerr // the request must not see the thread
	}
	wait, ok, _, err := in.ops.Match(ctx, f.Waits, &t, now)
	if err != nil && !ofThread(err) {
		return nil, err
	}
	if !ok {
		return nil, nil // the page of the thread shows an error
	}
	return []row{{Thread: t, Place: place{Thread: t.ID}, Wait: wait}}, nil
}

// selects reports whether the saver would list a thread for the query of the filter.
func (f *filter) selects(t *checkpoint.Thread, now time.Time) bool {
	q := f.query(now)
	for name, value := range q.Labels {
		if v, ok := t.Labels[name]; !ok || v != value {
			return false
		}
	}
	return strings.HasPrefix(t.ID, q.Prefix) && (q.Graph == "" || t.Graph == q.Graph) && (q.Status == 0 || t.Status == q.Status) &&
		!t.Created.Before(q.CreatedSince) && (q.IdleSince.IsZero() || t.Holder == "" && t.Updated.Before(q.IdleSince))
}
