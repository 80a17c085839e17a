package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

const dryHelp = `The command only prints what it would do, unless --yes is given.`

func (a *app) deleteCommand() *cobra.Command {
	m := many{sel: selection{released: true}, done: "deleted", would: "would delete", always: true}
	cmd := &cobra.Command{
		Use:   "delete [THREAD ...]",
		Short: "Delete threads with all versions",
		Long: `Delete threads with all versions and messages. A thread that a run holds is busy, and is not deleted. Name threads,
select them by flags, or pass --all.

` + dryHelp,
		Example: `  graphctl delete order-7
  graphctl delete --status done --idle 720h --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.do(cmd, a, args, operate.Operation{Action: operate.Delete})
		},
	}
	m.flags(cmd)
	return cmd
}

// pruneFlags are the flags of prune.
type pruneFlags struct {
	last, released int
	since, ended   time.Duration
}

func (a *app) pruneCommand() *cobra.Command {
	m := many{sel: selection{released: true}, done: "pruned", would: "would prune", always: true}
	var f pruneFlags
	cmd := &cobra.Command{
		Use:   "prune [THREAD ...]",
		Short: "Remove old checkpoints, old versions and finished threads",
		Long: `Remove old checkpoints, old versions and finished threads. The remaining checkpoints always load. If --keep-last and
--keep-since are both given, a checkpoint is kept if one of them keeps it. Name threads, select them by flags, or pass --all.

` + dryHelp + ` For that it prunes a copy of each thread in memory.`,
		Example: `  graphctl prune --all --keep-last 100 --keep-released 3
  graphctl prune --graph orders --ended 2160h --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			keep, err := f.retention(a.now(), cmd.Flags().Changed("keep-released"))
			if err != nil {
				return err
			}
			return m.do(cmd, a, args, operate.Operation{Action: operate.Prune, Keep: keep})
		},
	}
	m.flags(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.last, "keep-last", 0, "keep this `number` of newest checkpoints in each namespace")
	flags.DurationVar(&f.since, "keep-since", 0, "keep the checkpoints of this `duration`, such as 720h")
	flags.IntVar(&f.released, "keep-released", 0, "keep this `number` of newest released versions; 0 removes all of them")
	flags.DurationVar(&f.ended, "ended", 0, "remove whole threads that have been done, cancelled or released for this `duration`")
	return cmd
}

// retention returns the flags as a Retention.
func (f *pruneFlags) retention(now time.Time, released bool) (keep checkpoint.Retention, err error) {
	switch {
	case f.last < 0 || f.since < 0 || f.released < 0 || f.ended < 0:
		return keep, &usageError{"numbers and durations of prune must not be negative"}
	case f.last == 0 && f.since == 0 && !released && f.ended == 0:
		return keep, &usageError{"what is kept? Pass --keep-last, --keep-since, --keep-released or --ended"}
	}
	keep.Last = f.last
	if f.since > 0 {
		keep.Since = now.Add(-f.since)
	}
	if f.ended > 0 {
		keep.Ended = now.Add(-f.ended)
	}
	if released {
		if keep.Released = f.released; f.released == 0 {
			keep.Released = -1
		}
	}
	return keep, nil
}
