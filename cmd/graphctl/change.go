package main

import (
	"context"
	"fmt"
	"strings"

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

// run calls f for each thread, with act reporting whether f may change the thread. f returns the
// detail for the user.
func (m *many) run(cmd *cobra.Command, a *app, args []string, f func(ctx context.Context, o *operate.Operator, t *checkpoint.Thread, act bool) (string, error)) error {
	if err := m.sel.explicit(args); err != nil {
		return err
	}
	act := m.yes || len(args) > 0 && !m.always
	verb := m.done
	if !act {
		verb = m.would
	}
	return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error {
		l := a.list("THREAD", "ACTION", "DETAIL")
		err := m.sel.each(ctx, a, s, args, func(id string) error {
			t, err := findThread(ctx, s, id)
			if t.ID == "" || err != nil && !unreadable(err) {
				return err
			}
			detail, err := f(ctx, ops(s), &t, act) // also with damaged data
			detail, left := strings.CutPrefix(detail, skipped)
			if err != nil || left && (detail == "" || len(args) == 0) {
				return err
			}
			verb := verb
			if left {
				verb = "left as it is"
			}
			return l.add(changedJSON{id, idBytes(id), act && !left, detail}, func() []string { return []string{quoteID(id), verb, dash(cell(detail))} })
		})
		endErr := l.end("no threads")
		if err == nil && !act && l.rows > 0 {
			fmt.Fprintln(a.err, "nothing was changed; pass --yes to do it")
		}
		if err == nil {
			err = endErr
		}
		return err
	})
}

// skipped begins the detail of a thread that does not change. The thread is listed only if the
// user has named it, and if there is more detail.
const skipped = "\x00"

// do is run for an operation of package operate.
func (m *many) do(cmd *cobra.Command, a *app, args []string, op operate.Operation) error {
	return m.run(cmd, a, args, func(ctx context.Context, o *operate.Operator, t *checkpoint.Thread, act bool) (string, error) {
		op.DryRun = !act
		done, err := o.Do(ctx, op, t)
		switch {
		case done.Skipped:
			return skipped + "is " + statusText(t), err
		case done.Version > 0:
			return fmt.Sprintf("version %d, %s", done.Version, count(done.Records, "record", "records")), err
		case op.Action == operate.Delete && op.DryRun:
			return count(done.Versions, "version", "versions") + ", " + count(done.Records, "record", "records"), err
		case op.Action == operate.Delete:
			return count(done.Versions, "version", "versions"), err
		}
		return op.Reason, err
	})
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
