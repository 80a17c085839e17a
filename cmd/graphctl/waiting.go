package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

func (a *app) waitingCommand() *cobra.Command {
	var sel selection
	var kinds []string
	cmd := &cobra.Command{
		Use:   "waiting",
		Short: "List the questions, signals, timers, children and queues that threads wait for",
		Long: `List the questions, signals, timers, children and queues that tasks of threads wait for. One thread can have several. A task
waits also while other tasks of its thread still run. Queues are listed once no run holds the thread.`,
		Example: `  graphctl waiting --graph orders
  graphctl waiting --kind question -o jsonl | jq .payload`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, kind := range kinds {
				if _, err := operate.Choose("kind of wait", kind, operate.TaskKinds()...); err != nil {
					return err
				}
			}
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.waiting(ctx, s, &sel, kinds) })
		},
	}
	sel.flags(cmd)
	cmd.Flags().StringSliceVar(&kinds, "kind", nil, "only waits of these `kinds`: question, signal, timer, child or queue")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(texts(operate.TaskKinds()), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) waiting(ctx context.Context, s checkpoint.Saver, sel *selection, kinds []string) error {
	q, err := sel.query(ctx, s, a.now())
	if err != nil {
		return err
	}
	l := a.list("THREAD", "GRAPH", "KIND", "NAME", "NODE", "SINCE", "UNTIL", "ASKS", "ID")
	var damaged []error
	for t, err := range ops(s).Threads(ctx, q, sel.Filter) {
		var waits []operate.Wait
		if err == nil {
			waits, err = ops(s).Waits(ctx, &t.Thread, len(kinds) == 0 || slices.Contains(kinds, string(operate.KindQueue)))
		}
		if unreadable(err) {
			damaged = append(damaged, err)
		} else if err != nil {
			return l.end("", err)
		}
		for i := range waits {
			if len(kinds) > 0 && !slices.Contains(kinds, string(waits[i].Kind)) {
				continue
			}
			w := waitJSON{t.ID, idBytes(t.ID), t.Graph, waits[i]}
			if err := l.add(w, func() []string { return a.waitCells(&w) }); err != nil {
				return err
			}
		}
	}
	return l.end("nothing waits", damaged...)
}

func (a *app) waitCells(w *waitJSON) []string {
	return []string{
		quoteID(w.Thread), dash(cell(w.Graph)), string(w.Kind), dash(cell(w.Name())), cell(w.Task()), dash(a.momentOf(w.Since)),
		dash(a.momentOf(cmp.Or(w.Due, w.Expires))), asks(&w.Wait), dash(cell(w.ID)),
	}
}
