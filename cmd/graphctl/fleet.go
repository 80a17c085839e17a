package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

func (a *app) workersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "workers",
		Short: "List the workers that have registered",
		Long: `List the workers with the option Register: whether they are alive, their slots, and the graphs and queues that they serve. A
worker that has died is gone, and stays in the list for an hour.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error {
				all, failed := worker.Workers(ctx, s)
				l := a.list("WORKER", "STATE", "SINCE", "SLOTS", "GRAPHS", "QUEUES", "PROGRAM")
				for i := range all {
					w := &all[i]
					if err := l.add(w, func() []string { return a.workerCells(w) }); err != nil {
						return err
					}
				}
				return l.end("no worker has registered; the option Register of a worker does it", failed)
			})
		},
	}
}

func (a *app) workerCells(w *worker.Registered) []string {
	state, since := "alive", w.Began
	switch {
	case !w.Alive:
		state, since = "gone", w.Since
	case w.Draining:
		state = "draining"
	}
	var queues []string
	for _, q := range w.Queues {
		queues = append(queues, fmt.Sprintf("%s %d/%d", q.Queue, q.Used, q.Slots))
	}
	return []string{
		cell(w.Name), state, a.age(since), usedText(w.Used, w.Slots), dash(cell(strings.Join(w.Graphs, ","))),
		dash(cell(strings.Join(queues, ","))), dash(cell(w.Program)),
	}
}

// usedText returns how many slots are used.
func usedText(used, slots int) string {
	if slots == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", used, slots)
}

func (a *app) queuesCommand() *cobra.Command {
	var graphs []string
	var most int
	cmd := &cobra.Command{
		Use:   "queues",
		Short: "Show what is due of graphs and queues, and who serves it",
		Long: `Show for each graph and each queue how much is due, since when, the workers and slots that serve it, and whether it is paused.
The graphs are those of registered workers, the paused ones, and those of --graph. The queues are those of registered workers, and the
paused ones. Each costs one call of the saver.`,
		Example: `  graphctl queues --graph orders`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error {
				f, failed := ops(s).Fleet(ctx, most, graphs...)
				l := a.list("KIND", "NAME", "GRAPHS", "DUE", "OLDEST", "WORKERS", "SLOTS", "STATE")
				for _, load := range append(f.Graphs, f.Queues...) {
					if err := l.add(load, func() []string { return a.loadCells(&load, f.Now) }); err != nil {
						return err
					}
				}
				return l.end("no graph or queue is known; name graphs by --graph", failed)
			})
		},
	}
	cmd.Flags().StringArrayVarP(&graphs, "graph", "g", nil, "also the graph with this `name`; repeat it for several")
	cmd.Flags().IntVar(&most, "count", 100, "count at most this `number` of due threads of each")
	return cmd
}

func (a *app) loadCells(l *operate.Load, now time.Time) []string {
	kind, name, graphs := "queue", l.Queue, strings.Join(l.Graphs, ",")
	if l.Queue == "" {
		kind, name, graphs = "graph", graphs, ""
	}
	due, state := strconv.Itoa(l.Due), "-"
	if l.More {
		due += "+"
	}
	switch {
	case l.Paused:
		state = "paused"
	case l.Stuck(now):
		state = "STUCK"
	}
	return []string{kind, cell(name), dash(cell(graphs)), due, a.ageOf(l.Oldest), strconv.Itoa(l.Workers), usedText(l.Used, l.Slots), state}
}

func (a *app) schedulesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schedules",
		Short: "List schedules, their next ticks and newest outcomes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error {
				l := a.list("SCHEDULE", "WHEN", "GRAPH", "NEXT", "LAST", "OUTCOME", "FIRED", "SKIPPED", "MISSED", "STATE")
				var failed []error
				for one, err := range ops(s).Schedules(ctx) {
					if err != nil {
						failed = append(failed, err)
					}
					if one.When == "" { // it could not be read
						continue
					}
					if err := l.add(one, func() []string { return a.scheduleCells(&one) }); err != nil {
						return err
					}
				}
				return l.end("no schedules", failed...)
			})
		},
	}
}

func (a *app) scheduleCells(s *operate.Schedule) []string {
	next, last, outcome, state := "-", "-", "", "-"
	if len(s.Next) > 0 {
		next = a.age(s.Next[0])
	}
	if s.Last != nil {
		last, outcome = a.age(s.Last.At), strings.Trim(s.Last.Status+": "+s.Last.Error, ": ")
	}
	if s.Paused {
		state = strings.TrimSuffix("paused: "+s.Note, ": ")
	}
	return []string{
		cell(s.ID), cell(s.When), cell(s.Graph), next, last, dash(cell(outcome)), strconv.FormatInt(s.Fired, 10),
		strconv.FormatInt(s.Skipped, 10), strconv.FormatInt(s.Missed, 10), cell(state),
	}
}

// turnedJSON is the result of a command on a graph, a queue or a schedule.
type turnedJSON struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Done string `json:"done"`
}

// turned prints that a command was done.
func (a *app) turned(kind, name, done string) error {
	return a.one(turnedJSON{kind, name, done}, func() error {
		_, err := fmt.Fprintf(a.out, "%s %s: %s\n", kind, cell(name), done)
		return err
	})
}

// pauseCommand returns the command pause, or unpause.
func (a *app) pauseCommand(pause bool) *cobra.Command {
	var t operate.Target
	var note string
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Make workers begin nothing of a graph, a queue or a schedule",
		Long: `Make workers begin nothing of a graph, a queue or a schedule, until unpause. Inputs are still accepted, and what is in progress
finishes. The pause is stored, so it outlives all processes. The pause of a graph is also one of its queues.`,
		Example: `  graphctl pause --queue gpu
  graphctl pause --schedule nightly --note "the source is down"`,
		Args: cobra.NoArgs,
	}
	done, do := "paused", (*operate.Operator).Pause
	if !pause {
		cmd.Use, cmd.Short, cmd.Long, cmd.Example = "unpause", "End the pause of a graph, a queue or a schedule", "", "  graphctl unpause --graph orders"
		done, do = "not paused", (*operate.Operator).Unpause
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error {
			if err := do(ops(s), ctx, t, note); err != nil {
				return err
			}
			kind := "graph"
			switch {
			case t.Queue != "":
				kind = "queue"
			case t.Schedule != "":
				kind = "schedule"
			}
			return a.turned(kind, t.Graph+t.Queue+t.Schedule, done)
		})
	}
	flags := cmd.Flags()
	flags.StringVarP(&t.Graph, "graph", "g", "", "the `name` of a graph")
	flags.StringVar(&t.Queue, "queue", "", "the `name` of a queue, of all graphs")
	flags.StringVar(&t.Schedule, "schedule", "", "the `id` of a schedule")
	flags.StringVar(&note, "note", "", "the `reason`, which is stored with a schedule")
	return cmd
}

func (a *app) triggerCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "trigger SCHEDULE",
		Short: "Fire a schedule now, or the ticks of a range",
		Long: `Fire a schedule now. With --from and --to, fire its ticks from one time until before another one. Ticks that have fired do not fire
again, as long as their threads exist. The command stores a message, and a worker with the schedules fires.`,
		Example: `  graphctl trigger nightly
  graphctl trigger nightly --from 2026-11-23T00:00:00Z --to 2026-11-30T00:00:00Z`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error {
				if from == "" && to == "" {
					if err := ops(s).Trigger(ctx, args[0]); err != nil {
						return err
					}
					return a.turned("schedule", args[0], "triggered")
				}
				begin, err := time.Parse(time.RFC3339, from)
				end, errEnd := time.Parse(time.RFC3339, to)
				if err != nil || errEnd != nil {
					return &usageError{fmt.Sprintf("--from %q and --to %q; want two times such as 2026-11-23T00:00:00Z", from, to)}
				}
				if err := ops(s).Backfill(ctx, args[0], begin, end); err != nil {
					return err
				}
				return a.turned("schedule", args[0], "ticks triggered")
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the `time` of the first tick")
	cmd.Flags().StringVar(&to, "to", "", "the `time` before which the last tick is")
	return cmd
}
