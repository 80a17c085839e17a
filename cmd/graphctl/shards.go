package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/savers/open"
	"github.com/graphgen-go/graphgen/savers/shards"
)

func (a *app) shardsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shards",
		Short: "Show the layout of shards, or change it",
		Long: `Show the weights of the shards of a shards: saver, and the phase of the last change of them.

To add a shard, to drain one or to change a weight: write the list of all shards to a file, with the weight 0 for those that
lose all threads. Announce it, start all processes with that file, and then move the threads. They stay in use meanwhile.`,
		Example: `  graphctl shards --saver shards:///etc/app/shards
  graphctl shards announce shards:///etc/app/shards.new
  graphctl shards move --saver shards:///etc/app/shards.new`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.withShards(cmd, a.showShards) },
	}
	cmd.AddCommand(a.announceCommand(), a.moveCommand())
	return cmd
}

func (a *app) announceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "announce URL",
		Short: "Store another layout next to the one in force; nothing moves yet",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := open.Shards(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := a.limited(cmd.Context())
			defer cancel()
			if err := shards.Announce(ctx, all...); err != nil {
				return err
			}
			fmt.Fprintln(a.err, "announced; start all processes with this list, and then run: graphctl shards move")
			return nil
		},
	}
}

func (a *app) moveCommand() *cobra.Command {
	var rate int
	cmd := &cobra.Command{
		Use:   "move",
		Short: "Move threads to the places that the announced layout gives them",
		Long: `Move threads to the places that the announced layout gives them, and end the change. All processes must have the new list
of shards. The command can be interrupted and run again, also on several machines.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withShards(cmd, func(ctx context.Context, s *shards.Saver) error {
				report := func(p shards.Phase, n int) { fmt.Fprintf(a.err, "%s: %d threads\n", p, n) }
				return s.Rebalance(ctx, shards.Rebalancing{Rate: rate, Report: report})
			})
		},
	}
	cmd.Flags().IntVar(&rate, "rate", 0, "how many threads move in a second at most; 0 is no limit")
	return cmd
}

// withShards calls f with the shards of the command line, and closes them.
func (a *app) withShards(cmd *cobra.Command, f func(ctx context.Context, s *shards.Saver) error) error {
	if err := a.checkFormat(); err != nil {
		return err
	}
	rawURL := a.source.url
	if rawURL == "" {
		rawURL = a.env(a.source.envURL)
	}
	all, err := open.Shards(rawURL)
	if err != nil {
		return err
	}
	ctx, cancel := a.limited(cmd.Context())
	defer cancel()
	s, err := shards.Open(ctx, all...)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, s), s.Close())
}

// shardRow is a shard of the layout as the command prints it.
type shardRow struct {
	Shard  string `json:"shard"`
	Weight int    `json:"weight"`
	Next   int    `json:"next"`
	Phase  string `json:"phase"`
}

func (a *app) showShards(ctx context.Context, s *shards.Saver) error {
	layout, err := s.Layout(ctx)
	if err != nil {
		return err
	}
	var all []shardRow
	for _, p := range layout.Shards {
		all = append(all, shardRow{p.Name, p.Weight, p.Weight, layout.Phase.String()})
	}
	if layout.To != nil {
		all = shardRows(all, layout)
	}
	l := a.list("SHARD", "WEIGHT", "NEXT", "PHASE")
	for i := range all {
		r := &all[i]
		if err := l.add(r, func() []string { return []string{cell(r.Shard), strconv.Itoa(r.Weight), strconv.Itoa(r.Next), r.Phase} }); err != nil {
			return err
		}
	}
	return l.end("no shards")
}

// shardRows adds the layout that a change leads to.
func shardRows(all []shardRow, layout shards.Layout) []shardRow {
	for i := range all {
		all[i].Next = 0
	}
next:
	for _, p := range layout.To {
		for i := range all {
			if all[i].Shard == p.Name {
				all[i].Next = p.Weight
				continue next
			}
		}
		all = append(all, shardRow{p.Name, 0, p.Weight, layout.Phase.String()})
	}
	return all
}
