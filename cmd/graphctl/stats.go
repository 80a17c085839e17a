package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
)

func (a *app) statsCommand() *cobra.Command {
	var sel selection
	var sizes bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count threads by graph and status",
		Long: `Count threads by graph and status, with their questions, messages and due threads. The command lists all threads once.
--sizes also counts versions, records and bytes of payloads. For that it reads everything.`,
		Example: `  graphctl stats
  graphctl stats --graph orders --sizes -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.stats(ctx, s, &sel, sizes) })
		},
	}
	sel.flags(cmd)
	cmd.Flags().BoolVar(&sizes, "sizes", false, "also count versions, records and bytes; reads everything")
	return cmd
}

// statJSON counts the threads of one graph with one status.
type statJSON struct {
	Graph     string     `json:"graph"`
	Status    string     `json:"status"`
	Threads   int        `json:"threads"`
	Held      int        `json:"held"` // by a run
	Due       int        `json:"due"`
	OldestDue *time.Time `json:"oldest_due,omitempty"`
	Questions int        `json:"questions"`
	Messages  int        `json:"messages"`
	Oldest    *time.Time `json:"oldest_update,omitempty"`

	Versions int   `json:"versions,omitempty"`
	Records  int   `json:"records,omitempty"`
	Bytes    int64 `json:"payload_bytes,omitempty"`

	status checkpoint.Status
}

func (a *app) stats(ctx context.Context, s checkpoint.Saver, sel *selection, sizes bool) error {
	q, err := sel.query(ctx, s, a.now())
	if err != nil {
		return err
	}
	type key struct {
		graph  string
		status checkpoint.Status
	}
	all := make(map[key]*statJSON)
	var damaged []error
	for t, err := range sel.list(ctx, s, q) {
		if unreadable(err) {
			damaged = append(damaged, err)
			continue
		}
		if err != nil {
			return err
		}
		k := key{t.Graph, t.Status}
		if all[k] == nil {
			all[k] = &statJSON{Graph: t.Graph, Status: t.Status.String(), status: t.Status}
		}
		all[k].add(&t, a.now())
		if sizes {
			if err := all[k].measure(ctx, s, t.ID); unreadable(err) {
				damaged = append(damaged, err)
			} else if err != nil {
				return err
			}
		}
	}
	columns := []string{"GRAPH", "STATUS", "THREADS", "HELD", "DUE", "OLDEST DUE", "QUESTIONS", "MESSAGES", "OLDEST UPDATE"}
	if sizes {
		columns = append(columns, "VERSIONS", "RECORDS", "BYTES")
	}
	l := a.list(columns...)
	for _, row := range slices.SortedFunc(maps.Values(all), func(x, y *statJSON) int {
		return cmp.Or(cmp.Compare(x.Graph, y.Graph), cmp.Compare(x.status, y.status))
	}) {
		if err := l.add(row, func() []string { return a.statCells(row, sizes) }); err != nil {
			return err
		}
	}
	return errors.Join(l.end("no threads"), errors.Join(damaged...))
}

func (a *app) statCells(row *statJSON, sizes bool) []string {
	ageOf := func(at *time.Time) string {
		if at == nil {
			return "-"
		}
		return a.age(*at)
	}
	cells := []string{
		dash(cell(row.Graph)), row.Status, strconv.Itoa(row.Threads), strconv.Itoa(row.Held), strconv.Itoa(row.Due), ageOf(row.OldestDue),
		strconv.Itoa(row.Questions), strconv.Itoa(row.Messages), ageOf(row.Oldest),
	}
	if sizes {
		cells = append(cells, strconv.Itoa(row.Versions), strconv.Itoa(row.Records), strconv.FormatInt(row.Bytes, 10))
	}
	return cells
}

// add counts a thread.
func (row *statJSON) add(t *checkpoint.Thread, now time.Time) {
	row.Threads++
	row.Questions += len(questionsOf(t))
	row.Messages += t.Inputs + t.Others
	if t.Holder != "" {
		row.Held++
	} else if !t.Wake.IsZero() && !t.Wake.After(now) {
		row.Due++
		row.OldestDue = older(row.OldestDue, t.Wake)
	}
	row.Oldest = older(row.Oldest, t.Updated)
}

// older returns the older of two times; a zero time does not count.
func older(than *time.Time, at time.Time) *time.Time {
	if at.IsZero() || than != nil && than.Before(at) {
		return than
	}
	return utc(at)
}

// measure counts the versions, records and bytes of a thread.
func (row *statJSON) measure(ctx context.Context, s checkpoint.Saver, id string) error {
	versions, err := versionsOf(ctx, s, id, false)
	if err != nil {
		return err
	}
	var sum totals
	for _, v := range versions {
		if v.Number > 0 {
			row.Versions++
		}
		for item, err := range archive.Items(ctx, s, v) {
			if err != nil {
				return err
			}
			sum.count(&item)
		}
	}
	row.Records += sum.Records
	row.Bytes += sum.Bytes
	return nil
}
