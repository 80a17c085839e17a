package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/shape/value"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	version   int
	namespace string
	full      bool
}

func (a *app) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff THREAD [A [B]]",
		Short: "Show the changes of the state between two checkpoints",
		Long: `Show the changes that turn the state at checkpoint A into the state at B. B is the head unless it is given, and A
is the checkpoint before the head. The two checkpoints can be on different branches.

` + refHelp,
		Example: `  graphctl diff order-7
  graphctl diff order-7 12 head -o jsonl`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.diff(ctx, s, args, &f) })
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.version, "version", 0, "the `number` of a released version; 0 is the open one")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "the `namespace` of a subgraph call; empty is the thread itself")
	flags.BoolVar(&f.full, "full", false, "long values in full; JSON always has them in full")
	return cmd
}

// changeJSON describes one difference.
type changeJSON struct {
	Path   string       `json:"path"`
	Before *value.Value `json:"before,omitempty"` // left out if only the state at B has something here
	After  *value.Value `json:"after,omitempty"`
}

func (a *app) diff(ctx context.Context, s checkpoint.Saver, args []string, f *diffFlags) error {
	id, err := parseID(args[0])
	if err != nil {
		return err
	}
	ref := checkpoint.Ref{Thread: id, Version: f.version, Namespace: f.namespace}
	names := append(append([]string{}, args[1:]...), "head~1", "head")
	if len(args) > 1 {
		names = append(append([]string{}, args[1:]...), "head")
	}
	var states [2]value.Value
	for i := range states {
		if states[i], err = stateAt(ctx, s, ref, names[i]); err != nil {
			return err
		}
	}
	width := cellWidth
	if f.full {
		width = 0
	}
	l := a.list("FIELD", "BEFORE", "AFTER")
	for _, c := range value.Diff(&states[0], &states[1]) {
		err := l.add(changeJSON(c), func() []string {
			return []string{cell(c.Path), side(c.Before, width), side(c.After, width)}
		})
		if err != nil {
			return err
		}
	}
	return l.end("the states are equal")
}

// side returns one side of a difference for a table.
func side(v *value.Value, width int) string {
	if v == nil {
		return "-"
	}
	return inline(v, width)
}

// stateAt returns the state at the checkpoint that the user named.
func stateAt(ctx context.Context, s checkpoint.Saver, ref checkpoint.Ref, name string) (state value.Value, err error) {
	if ref.At, err = ops(s).Checkpoint(ctx, ref, name); err != nil {
		return state, err
	}
	p, err := ops(s).Read(ctx, ref, true)
	if err == nil && p.Chain.Empty() {
		err = &missingError{"thread " + quoteID(ref.Thread) + " has no checkpoints; graphctl threads lists the threads that have"}
	}
	if err != nil {
		return state, err
	}
	return p.State()
}
