package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

const manyHelp = `Name threads, or select them by flags. The command changes named threads immediately. With flags it only prints the
selected threads, unless --yes is given.`

// many is a command that changes one thread or many.
type many struct {
	sel    selection
	yes    bool
	always bool // named threads need --yes, too
	done   string
	would  string
}

func (m *many) flags(cmd *cobra.Command) {
	m.sel.flags(cmd)
	m.sel.allFlag(cmd)
	cmd.Flags().BoolVar(&m.yes, "yes", false, "do it; without this flag the command only prints what it would do")
}

// changedJSON is one thread of a command on many threads.
type changedJSON struct {
	Thread  string `json:"thread"`
	IDBytes string `json:"thread_base64,omitempty"`
	Done    bool   `json:"done"` // false without --yes
	Detail  string `json:"detail,omitempty"`
}

// do does an operation with each thread, or says what it would do.
func (m *many) do(cmd *cobra.Command, a *app, args []string, op operate.Operation) error {
	if err := m.sel.explicit(args); err != nil {
		return err
	}
	op.DryRun = !m.yes && (len(args) == 0 || m.always)
	return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error {
		l := a.list("THREAD", "ACTION", "DETAIL")
		err := l.end("no threads", m.sel.each(ctx, a, s, args, func(id string) error {
			t, err := findThread(ctx, s, id)
			if t.ID == "" || err != nil && !unreadable(err) {
				return err
			}
			done, err := ops(s).Do(ctx, op, &t) // also with damaged data
			if err != nil || done.Skipped && (op.Action == operate.Prune || len(args) == 0) {
				return err
			}
			verb, detail := m.done, detailOf(op, done)
			switch {
			case done.Skipped:
				verb, detail = "left as it is", "is "+statusText(&t)
			case op.DryRun:
				verb = m.would
			}
			return l.add(changedJSON{id, idBytes(id), !op.DryRun && !done.Skipped, detail}, func() []string {
				return []string{quoteID(id), verb, dash(cell(detail))}
			})
		}))
		if err == nil && op.DryRun && l.rows > 0 {
			fmt.Fprintln(a.err, "nothing was changed; pass --yes to do it")
		}
		return err
	})
}

// detailOf says what an operation has changed or would change.
func detailOf(op operate.Operation, done operate.Changed) string {
	records := count(done.Records, "record", "records")
	switch {
	case done.Whole:
		return "the whole thread"
	case done.Version > 0:
		return fmt.Sprintf("version %d, %s", done.Version, records)
	case op.Action == operate.Prune, op.Action == operate.Delete && op.DryRun:
		return count(done.Versions, "version", "versions") + ", " + records
	case op.Action == operate.Delete:
		return count(done.Versions, "version", "versions")
	}
	return op.Reason
}

func (a *app) cancelCommand() *cobra.Command {
	m := many{done: "cancel stored", would: "would cancel"}
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel [THREAD ...]",
		Short: "Cancel the runs and the pending inputs of threads",
		Long: `Cancel the runs and the pending inputs of threads. The contexts of running nodes end, and inputs that wait are refused. If
no run holds a thread, a worker ends the thread.

` + manyHelp,
		Example: `  graphctl cancel order-7 --reason 'the customer called'
  graphctl cancel --status waiting --label tenant=7 --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operate.CheckReason(reason); err != nil {
				return err
			}
			return m.do(cmd, a, args, operate.Operation{Action: operate.Cancel, Reason: reason})
		},
	}
	m.flags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "the `reason` that the result of the run has")
	return cmd
}

func (a *app) wakeCommand() *cobra.Command {
	m := many{done: "woken", would: "would wake"}
	cmd := &cobra.Command{
		Use:   "wake [THREAD ...]",
		Short: "Make threads due, for example after the cause of a failure was mended",
		Long: `Make threads due now, and begin the count of their attempts again. A worker then resumes threads with the status failed
or ready. A thread that waits, is paused, cancelled or done stays so: the program resumes paused and cancelled ones.

` + manyHelp,
		Example: `  graphctl wake order-7
  graphctl wake --status failed --graph orders --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.do(cmd, a, args, operate.Operation{Action: operate.Wake})
		},
	}
	m.flags(cmd)
	return cmd
}

func (a *app) releaseCommand() *cobra.Command {
	m := many{done: "released", would: "would release"}
	var ifHead string
	cmd := &cobra.Command{
		Use:   "release [THREAD ...]",
		Short: "Close the open version of threads",
		Long: `Close the open version of threads. It stays readable, and the next input begins an empty version. Signals, answers
and cancels that wait are refused. A thread that a run holds is busy, and is not released.

` + manyHelp,
		Example: `  graphctl release order-7 --if-head 12
  graphctl release --status done --idle 720h --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if ifHead != "" && len(args) != 1 {
				return &usageError{"--if-head needs exactly one thread"}
			}
			return m.do(cmd, a, args, operate.Operation{Action: operate.Release, IfHead: ifHead})
		},
	}
	m.flags(cmd)
	cmd.Flags().StringVar(&ifHead, "if-head", "", "only if this `checkpoint` is the head; otherwise the exit code is 4")
	return cmd
}
