package operate

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
)

// Count counts the threads of one graph with one status. Its names in JSON are stable.
type Count struct {
	Graph     string     `json:"graph"`
	Status    string     `json:"status"`
	Threads   int        `json:"threads"`
	Held      int        `json:"held"` // by a run
	Due       int        `json:"due"`
	OldestDue *time.Time `json:"oldest_due,omitempty"`
	Questions int        `json:"questions"`
	Messages  int        `json:"messages"`
	Oldest    *time.Time `json:"oldest_update,omitempty"`

	// The following is counted only on demand.
	Versions int   `json:"versions,omitempty"`
	Records  int   `json:"records,omitempty"`
	Bytes    int64 `json:"payload_bytes,omitempty"`
}

// Count counts the threads that a query and a filter select, ordered by graph and status. With
// sizes, it also counts versions, records and bytes of payloads, and reads everything for that.
// With an error, it returns the counts of the threads that it could read.
func (o *Operator) Count(ctx context.Context, q checkpoint.ThreadQuery, f Filter, sizes bool) ([]Count, error) {
	type key struct {
		graph  string
		status checkpoint.Status
	}
	all := make(map[key]*Count)
	var failed []error
	for t, err := range o.Threads(ctx, q, f) {
		if err == nil {
			k := key{t.Graph, t.Status}
			if all[k] == nil {
				all[k] = &Count{Graph: t.Graph, Status: t.Status.String()}
			}
			all[k].add(o, &t.Thread)
			if sizes {
				err = all[k].measure(ctx, o.Saver, t.ID)
			}
		}
		if err != nil {
			failed = append(failed, err)
		}
		if err != nil && !Unreadable(err) {
			break
		}
	}
	var rows []Count
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.graph, b.graph), cmp.Compare(a.status, b.status))
	}) {
		rows = append(rows, *all[k])
	}
	return rows, errors.Join(failed...)
}

// Tally is the number of threads of a graph with a status.
type Tally struct {
	Graph   string
	Status  checkpoint.Status
	Threads int
	More    bool // further threads have the status, of this graph or of others
}

// Tallies counts the threads that have failed, wait, are paused or are ready, ordered by graph. Of
// each status it counts the newest threads up to most. Without Sees, the savers of package rows
// read so many rows of an index, and no thread. That index has no threads that are done or
// running. Count counts those, and reads all threads. With an error that is checkpoint.ErrPartial,
// the tallies are those of the parts of the storage that answer.
func (o *Operator) Tallies(ctx context.Context, most int) (all []Tally, lacks error) {
	for _, status := range []checkpoint.Status{checkpoint.Failed, checkpoint.Waiting, checkpoint.Paused, checkpoint.Ready} {
		graphs, read := make(map[string]int), 0
		q := checkpoint.ThreadQuery{Status: status, Limit: most + 1, Brief: o.Sees == nil}
		for s, err := range o.Search(ctx, q, Filter{}) {
			if errors.Is(err, checkpoint.ErrPartial) {
				lacks = err
				break
			} else if err != nil {
				return all, err
			}
			if s.Damaged != nil {
				continue
			}
			if read++; read <= most && s.Match {
				graphs[s.Graph]++
			}
		}
		for name, n := range graphs {
			all = append(all, Tally{name, status, n, read > most})
		}
	}
	slices.SortStableFunc(all, func(a, b Tally) int { return cmp.Compare(a.Graph, b.Graph) })
	return all, lacks
}

// add counts a listed thread.
func (c *Count) add(o *Operator, t *checkpoint.Thread) {
	c.Threads++
	c.Questions += len(o.Questions(t))
	c.Messages += t.Inputs + t.Others
	if t.Holder != "" {
		c.Held++
	} else if !t.Wake.IsZero() && !t.Wake.After(now(t)) {
		c.Due++
		c.OldestDue = older(c.OldestDue, t.Wake)
	}
	c.Oldest = older(c.Oldest, t.Updated)
}

// older returns the older of two times; a zero time does not count.
func older(than *time.Time, at time.Time) *time.Time {
	if at.IsZero() || than != nil && than.Before(at) {
		return than
	}
	return utc(at)
}

// measure counts the versions, records and bytes of a thread.
func (c *Count) measure(ctx context.Context, s checkpoint.Saver, thread string) error {
	versions, err := archive.Versions(ctx, s, thread)
	if err != nil {
		return err
	}
	var all Totals
	for _, v := range versions {
		if v.Number > 0 {
			c.Versions++
		}
		for _, err := range all.Items(archive.Items(ctx, s, v)) {
			if err != nil {
				return err
			}
		}
	}
	c.Records, c.Bytes = c.Records+all.Records, c.Bytes+all.Bytes
	return nil
}
