package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// The environment variables of the target of a copy.
const (
	envToSaver = "GRAPHCTL_TO"
	envToKeys  = "GRAPHCTL_TO_KEYS"
)

const resumeHelp = `A version that the target has already is left out. So repeat an interrupted command to continue it. Each version is
stored whole or not at all. A thread that fails does not stop the others.`

// transferFlags are the flags of copy and export.
type transferFlags struct {
	sel      selection
	openOnly bool
	progress bool
}

func (f *transferFlags) flags(cmd *cobra.Command) {
	f.sel.released = true
	f.sel.flags(cmd)
	f.sel.allFlag(cmd)
	cmd.Flags().BoolVar(&f.openOnly, "open-only", false, "without released versions")
	progressFlag(cmd, &f.progress)
}

func progressFlag(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "progress", false, "print the progress each second, also if standard error is no terminal")
}

func (a *app) copyCommand() *cobra.Command {
	var f transferFlags
	var to store
	cmd := &cobra.Command{
		Use:   "copy --to URL [THREAD ...]",
		Short: "Copy threads to another saver of any kind",
		Long: `Copy threads to another saver of any kind, with all versions, questions and messages. Name threads, select them by
flags, or pass --all. The storage of the target is created if it does not exist.

` + resumeHelp + `

A run can hold a thread during the copy: the copy has one of its checkpoints. For a move, stop the workers first, because tasks
of the copy have the same keys. Inputs that wait on a thread without an open version become due in the target.`,
		Example: `  graphctl copy --all --to postgres://app@new/app
  graphctl copy order-7 --to sqlite:debug.db --to-key-file keys --to-compress`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.sel.tasks = true
			if err := f.sel.explicit(args); err != nil {
				return err
			}
			return a.with(cmd, func(ctx context.Context, from checkpoint.Saver) error {
				target, err := a.open(ctx, &to, true)
				if err != nil {
					return err
				}
				return errors.Join(a.copy(ctx, from, target, args, &f), target.Close())
			})
		},
	}
	f.flags(cmd)
	to.flags(cmd.Flags(), "to-", envToSaver, envToKeys)
	return cmd
}

func (a *app) copy(ctx context.Context, from, to checkpoint.Saver, args []string, f *transferFlags) error {
	p := a.progress("copied", f.progress)
	in := &operate.Importer{To: to, Totals: &p.Totals}
	err := f.sel.each(ctx, a, from, args, func(id string) error {
		versions, err := versionsOf(ctx, from, id, f.openOnly)
		if err != nil {
			return err
		}
		for _, v := range versions {
			if err := in.Version(ctx, v, archive.Items(ctx, from, v)); err != nil {
				return err
			}
		}
		p.thread()
		return nil
	})
	return errors.Join(err, a.end(p))
}
