package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

func (a *app) threadsCommand() *cobra.Command {
	sel, wide := selection{Selection: operate.Selection{Order: checkpoint.NewestFirst.String()}}, false
	cmd := &cobra.Command{
		Use:     "threads",
		Aliases: []string{"ls", "list"},
		Short:   "List threads",
		Long: `List the open versions of threads, newest first. A thread with inputs that no run has taken is listed, too. A thread whose versions
are all released is listed with --released only. On Redis, that reads all keys.

For the next page, pass the id of the last thread to --after. If that thread may have been deleted meanwhile, pass its creation time to
--after-created, too. With --sort id, the id is enough. That order is for lists without filters other than --prefix.

A damaged thread is reported, and does not stop the list. The exit code is then 5.`,
		Example: `  graphctl threads --status failed --graph orders
  graphctl threads --limit 100 --after order-7
  graphctl threads --label customer=42 --idle 24h -o jsonl | jq -r .id`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.threads(ctx, s, &sel, wide) })
		},
	}
	sel.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&sel.Order, "sort", sel.Order, "the `order`: newest for the thread created last first, or id, for a list without filters")
	flags.StringVar(&sel.afterCreated, "after-created", "", "with --sort newest: the creation `time` of the thread --after, as -o json prints it")
	flags.BoolVar(&sel.released, "released", false, "also threads whose versions are all released")
	flags.BoolVarP(&wide, "wide", "w", false, "more columns, and the nodes and queues that a thread waits for, which are read for each thread")
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions([]string{"newest", "id"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) threads(ctx context.Context, s checkpoint.Saver, sel *selection, wide bool) error {
	q, err := sel.query(ctx, s, a.now())
	if err != nil {
		return err
	}
	columns := []string{"THREAD", "GRAPH", "STATUS", "STEP", "CREATED", "UPDATED", "QUESTIONS", "INBOX", "WAITS FOR"}
	if wide {
		columns = append(columns, "VERSION", "PRIORITY", "WAKE", "HEAD", "LABELS", "TITLE")
	}
	l := a.list(columns...)
	var damaged []error
	for t, err := range ops(s).Threads(ctx, q, sel.Filter) {
		switch {
		case err != nil && unreadable(err):
			damaged = append(damaged, err)
			continue
		case err != nil:
			return l.end("", err)
		}
		j := threadOf(&t.Thread, &t.Wait)
		if wide {
			if err := ops(s).Complete(ctx, &t.Thread, t.Now, &t.Wait); err != nil && !unreadable(err) {
				return l.end("", err)
			}
		}
		if err := l.add(j, func() []string { return a.threadCells(&t.Thread, j.Wait, wide) }); err != nil {
			return err
		}
	}
	none := "no threads"
	if sel.narrow() {
		none = "no threads match"
	}
	return l.end(none, damaged...)
}

func (a *app) threadCells(t *checkpoint.Thread, w *operate.Standing, wide bool) []string {
	cells := []string{
		quoteID(t.ID), dash(cell(t.Graph)), statusText(t), strconv.Itoa(t.Step), a.age(t.Created), a.age(t.Updated),
		strconv.Itoa(len(questionsOf(t))), strconv.Itoa(t.Inputs + t.Others), dash(a.standing(w)),
	}
	if wide {
		cells = append(cells, fmt.Sprintf("%d/%d", t.Version, t.Versions), t.Priority.Or(checkpoint.Normal).String(), a.age(t.Wake),
			dash(idText(t.Head)), dash(labelText(t.Labels)), dash(cell(t.Title)))
	}
	return cells
}

// standing returns a phrase of what a thread waits for, and since when.
func (a *app) standing(s *operate.Standing) string {
	if s == nil {
		return ""
	}
	text := cell(s.Text)
	switch {
	case s.Until != nil:
		text += ", " + a.age(*s.Until)
	case s.Since != nil:
		text += ", for " + a.age(*s.Since)
	}
	if s.Stuck {
		text = "STUCK: " + text
	}
	return text
}

func labelText(labels map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, cell(name+"="+labels[name]))
	}
	return strings.Join(all, ",")
}
