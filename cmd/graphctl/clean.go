package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/memory"
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
			return m.run(cmd, a, args, func(ctx context.Context, o *operate.Operator, t *checkpoint.Thread, act bool) (string, error) {
				return pruneOne(ctx, o.Saver, t.ID, keep, act)
			})
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

func pruneOne(ctx context.Context, s checkpoint.Saver, id string, keep checkpoint.Retention, act bool) (string, error) {
	prune := prunable
	if act {
		prune = func(ctx context.Context, s checkpoint.Saver, id string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			return s.Prune(ctx, id, keep)
		}
	}
	removed, err := prune(ctx, s, id, keep)
	switch {
	case err != nil:
		return "", err
	case removed.Deleted:
		return "the whole thread", nil
	case removed.Records+removed.Versions == 0:
		return skipped, nil
	}
	return fmt.Sprintf("%s, %s", count(removed.Versions, "version", "versions"), count(removed.Records, "record", "records")), nil
}

// prunable returns what Prune would remove. It prunes a copy of the thread in memory.
func prunable(ctx context.Context, s checkpoint.Saver, id string, keep checkpoint.Retention) (result checkpoint.PruneResult, err error) {
	versions, err := versionsOf(ctx, s, id, false)
	if err != nil {
		return result, err
	}
	if result.Deleted, err = over(ctx, s, versions, keep.Ended); err != nil || result.Deleted {
		return result, err
	}
	trial := newGuard(memory.New())
	defer func() { err = errors.Join(err, trial.Close()) }()
	in := &importer{to: trial, progress: &progress{}}
	for _, v := range versions {
		if err := in.version(ctx, v, archive.Items(ctx, s, v)); err != nil {
			return result, err
		}
	}
	keep.Ended = time.Time{}
	return trial.Prune(ctx, id, keep)
}

// over reports whether a Retention with this Ended removes the whole thread with these versions.
func over(ctx context.Context, s checkpoint.Saver, versions []checkpoint.Version, ended time.Time) (bool, error) {
	if ended.IsZero() || len(versions) == 0 {
		return false, nil
	}
	last := &versions[len(versions)-1]
	mail, err := s.Mail(ctx, checkpoint.MailQuery{Thread: last.Thread})
	keeps := func(m checkpoint.Message) bool { return m.Kind == checkpoint.InputMessage || !m.Posted.Before(ended) }
	if err != nil || slices.ContainsFunc(mail, keeps) {
		return false, err
	}
	chain, err := s.Load(ctx, checkpoint.Ref{Thread: last.Thread, Version: last.Number})
	if err != nil {
		return false, err
	}
	finished := !last.Released.IsZero() || last.Status == checkpoint.Done || last.Status == checkpoint.Cancelled
	return finished && chain.Thread.Updated.Before(ended), nil
}
