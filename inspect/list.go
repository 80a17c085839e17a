package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// row is a thread in a list.
type row struct {
	checkpoint.Thread
	Place   place
	Wait    operate.Standing
	Damaged string // the error of a thread that cannot be read
	Unread  string // the error of a search that cannot read the thread; empty for none
}

// Asks returns the number of open questions.
func (r row) Asks() int {
	q, err := graph.OpenQuestions(r.Thread)
	if err != nil {
		return 0 // the page of the thread shows the error
	}
	return len(q)
}

// listData is the page of the threads.
type listData struct {
	head
	Filter   filter
	Statuses []checkpoint.Status
	Graphs   []string
	Rows     []row
	Loads    []load
	Counted  string // which graphs Loads is about; empty for all
	Tallies  []tally
	Missing  string // the error of a part of the storage, whose threads are not in the list; empty for none
	Found    found
	Read     int
	Searched int           // how many threads a search by node or error reads at most
	Reads    int           // how many threads the filter has read
	Late     time.Duration // after which the filter has stopped; 0 if it has not
	Whole    bool          // Read counts all threads that were read
	More     string        // the address of the next page; empty if there is none
	First    string        // the address of the first page; empty on the first page
	Newest   string        // the address of the list in the order of creation
	ByID     string        // the address of the list in the order of the ids; empty with a filter
	Bulk     []bulkLink
	Created  []choice
	Kinds    []operate.Kind // that the filter can name
	Submit   string         // the address of the form of an input; empty for none
}

// choice is an option of a form.
type choice struct{ Value, Text string }

type bulkLink struct{ Text, Link string }

// listPage shows the threads that a filter matches.
func (in *Inspector) listPage(w http.ResponseWriter, r *http.Request) error {
	f, err := in.listFilter(r)
	if err != nil {
		return err
	}
	now, err := in.now(r.Context())
	if err != nil {
		return err
	}
	d := listData{head: in.head(r, "Threads"), Filter: f, Statuses: operate.Statuses(), Whole: in.opt.Authorize == nil, Searched: operate.Searched}
	d.Now = now
	limit := math.MaxInt32
	if in.opt.Authorize != nil {
		limit = scanSize
	}
	if d.Found, err = in.scan(r.Context(), r, f, View, now, pageSize, limit); err != nil {
		return err
	}
	if !f.Reads() { // each pulse would look again
		d.Pulse, d.Beat = "pulse?"+r.URL.RawQuery, d.Found.beat() // the pulse reads rows without reads of threads
	}
	for i := range d.Found.rows {
		if err := in.complete(r.Context(), &d.Found.rows[i].Thread, now, &d.Found.rows[i].Wait); err != nil {
			return err
		}
	}
	d.Rows, d.Read, d.Reads = d.Found.rows, d.Found.read, d.Found.reads
	if d.Found.late {
		d.Late = searchTime
	}
	missing := d.Found.missing
	if d.Tallies, err = in.tallies(r); errors.Is(err, checkpoint.ErrPartial) {
		missing = err
	} else if err != nil {
		return err
	}
	d.Graphs = in.graphsOf(r, d.Rows, f.Graph)
	if in.opt.Authorize != nil {
		d.Read = len(d.Rows) // the number of the other threads is not for the reader
	}
	d.Loads, err = in.loads(r, d.Graphs)
	switch {
	case errors.Is(err, checkpoint.ErrPartial): // also if the list ends before it would report the error
		missing = err
	case err != nil:
		return err
	}
	if missing != nil {
		d.Missing = missing.Error()
	}
	if len(d.Graphs) > loadGraphs {
		d.Counted = fmt.Sprintf("Of the first %d graphs.", loadGraphs)
	}
	next := f
	if next.After = d.Found.last; d.Found.more {
		params := next.values()
		if d.Found.hidden {
			params.Del("after")
			params.Del("made")
			params.Set("past", in.seal(d.Found.last))
		}
		d.More = "?" + params.Encode()
	}
	if next.After = (cursor{}); f.After.ID != "" {
		d.First = "?" + next.values().Encode()
	}
	if f.plain() {
		d.ByID = "?" + next.byID().values().Encode()
	}
	next.Order = checkpoint.NewestFirst.String()
	d.Newest = "?" + next.values().Encode()
	d.Bulk = in.bulkLinks(next)
	d.Kinds = operate.Kinds()
	d.Created = []choice{{"1h", "hour"}, {"24h", "day"}, {"168h", "week"}, {"720h", "30 days"}}
	if in.allowed[Submit] && len(d.Graphs) > 0 {
		d.Submit = "submit?" + url.Values{"graph": {cmp.Or(f.Graph, d.Graphs[0])}}.Encode()
	}
	in.render(w, http.StatusOK, "list", d)
	return nil
}

// complete completes what a thread waits for. Data that cannot be read is left out.
func (in *Inspector) complete(ctx context.Context, t *checkpoint.Thread, now time.Time, s *operate.Standing) error {
	if err := in.ops.Complete(ctx, t, now, s); !ofThread(err) {
		return err
	}
	return nil
}

// listFilter returns the filter of the list that a request asks for, and checks that it may.
func (in *Inspector) listFilter(r *http.Request) (f filter, err error) {
	if f, err = filterOf(r.URL.Query()); err != nil {
		return f, err
	}
	if err := in.check(r, Access{Action: View, Graph: f.Graph}); err != nil {
		return f, err
	}
	if past := r.URL.Query().Get("past"); past != "" {
		f.After, err = in.unseal(past)
	}
	return f, err
}

// now returns the time on the saver's clock.
func (in *Inspector) now(ctx context.Context) (time.Time, error) {
	due, err := in.saver.Ready(ctx, checkpoint.ReadyQuery{Limit: 1}) // of no graph: only the time
	return due.Now, err
}

// namesFor returns the names of the graphs of the apps with which a request may do a.
func (in *Inspector) namesFor(r *http.Request, a Action) []string {
	names := make([]string, 0, len(in.names))
	for _, name := range in.names {
		if in.check(r, Access{Action: a, Graph: name}) == nil {
			names = append(names, name)
		}
	}
	return names
}

// graphsOf returns the names of the graphs of the apps, of the rows and of the filter.
func (in *Inspector) graphsOf(r *http.Request, rows []row, filtered string) []string {
	names := in.namesFor(r, View)
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(filtered)
	for i := range rows {
		add(rows[i].Graph)
	}
	slices.Sort(names)
	return names
}
