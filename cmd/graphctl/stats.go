package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
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

func (a *app) stats(ctx context.Context, s checkpoint.Saver, sel *selection, sizes bool) error {
	q, err := sel.query(ctx, s, a.now())
	if err != nil {
		return err
	}
	all, err := ops(s).Count(ctx, q, sel.Filter, sizes)
	columns := []string{"GRAPH", "STATUS", "THREADS", "HELD", "DUE", "OLDEST DUE", "QUESTIONS", "MESSAGES", "OLDEST UPDATE"}
	if sizes {
		columns = append(columns, "VERSIONS", "RECORDS", "BYTES")
	}
	l := a.list(columns...)
	for i := range all {
		if err := l.add(all[i], func() []string { return a.statCells(&all[i], sizes) }); err != nil {
			return err
		}
	}
	return l.end("no threads", err)
}

func (a *app) statCells(row *operate.Count, sizes bool) []string {
	cells := []string{
		dash(cell(row.Graph)), row.Status, strconv.Itoa(row.Threads), strconv.Itoa(row.Held), strconv.Itoa(row.Due), a.ageOf(row.OldestDue),
		strconv.Itoa(row.Questions), strconv.Itoa(row.Messages), a.ageOf(row.Oldest),
	}
	if sizes {
		cells = append(cells, strconv.Itoa(row.Versions), strconv.Itoa(row.Records), strconv.FormatInt(row.Bytes, 10))
	}
	return cells
}
