package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

func (a *app) verifyCommand() *cobra.Command {
	sel := selection{released: true}
	var progress bool
	cmd := &cobra.Command{
		Use:   "verify [THREAD ...]",
		Short: "Read everything, and check chains and bytes",
		Long: `Read all versions of threads, and check them: that the saver can read each byte, that ids and numbers of records are in
order, that each delta applies to the state before it, that each state, question and description can be read, and that the listing
agrees with the log. Without arguments, the command verifies all threads. The command changes nothing.

Workers and other runs can continue meanwhile. If a run commits while its thread is read, the listing of that thread is not
compared with the log. A thread that is deleted meanwhile is left out.

If there is a problem, the exit code is 5. If payloads are encrypted and their key is missing, their contents are not checked, and the
exit code is 1.`,
		Example: `  graphctl verify
  graphctl verify --prefix order- -o jsonl`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel.all, sel.tasks = len(args) == 0, true
			if len(args) > 0 && sel.narrow() {
				return sel.explicit(args)
			}
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.verify(ctx, s, args, &sel, progress) })
		},
	}
	sel.flags(cmd)
	progressFlag(cmd, &progress)
	return cmd
}

// problemsError is the error of a saver with problems. It is a checkpoint.ErrDamaged.
type problemsError struct{ found int }

func (e *problemsError) Error() string { return count(e.found, "problem", "problems") + " found" }

// Is reports whether target is ErrDamaged.
func (e *problemsError) Is(target error) bool { return target == checkpoint.ErrDamaged }

// problemJSON is one problem that verify found.
type problemJSON struct {
	*operate.Problem

	IDBytes string `json:"thread_base64,omitempty"`
}

func (a *app) verify(ctx context.Context, s checkpoint.Saver, args []string, sel *selection, forced bool) error {
	p, l, found := a.progress("verified", forced), a.list("THREAD", "VERSION", "NAMESPACE", "SEQ", "PROBLEM"), 0
	report := func(p *operate.Problem) error {
		found++
		return l.add(problemJSON{p, idBytes(p.Thread)}, func() []string {
			seq := "-"
			if p.Seq > 0 {
				seq = strconv.FormatUint(p.Seq, 10)
			}
			return []string{quoteID(p.Thread), strconv.Itoa(p.Version), dash(cell(p.Namespace)), seq, cell(p.Problem)}
		})
	}
	err := sel.each(ctx, a, s, args, func(id string) error {
		err := ops(s).Verify(ctx, id, &p.Totals, report)
		p.thread()
		if errors.Is(err, checkpoint.ErrNotFound) {
			if len(args) == 0 {
				return nil // deleted after it was listed
			}
			err = noThread(id)
		}
		return err
	})
	err = l.end("", err)
	fmt.Fprintln(a.err, p.text("verified"))
	if found > 0 {
		err = errors.Join(err, &problemsError{found})
	}
	return err
}
