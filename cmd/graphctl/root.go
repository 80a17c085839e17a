package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The names of the environment variables.
const (
	envSaver = "GRAPHCTL_SAVER"
	envKeys  = "GRAPHCTL_KEYS"
)

// run executes one command line and returns the exit code.
func run(ctx context.Context, a *app, args []string) int {
	out := &watchedWriter{Writer: a.out}
	a.out = out
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if out.err != nil && !errors.Is(err, out.err) {
		err = errors.Join(err, fmt.Errorf("the output is not complete: %w", out.err))
	}
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.err, "graphctl: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(a.err, "graphctl: "+safeText(hint(err)))
	return exitCode(err)
}

// watchedWriter keeps the first error of a write. Later writes return it, too, so that the output
// has no gap.
type watchedWriter struct {
	io.Writer

	err error
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.Writer.Write(b)
	w.err = err
	return n, err
}

// newRoot returns the command with all its subcommands.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "graphctl",
		Short: "Read and change the threads of any saver",
		Long: `Graphctl reads and changes the threads of any saver, without the Go types of the programs that wrote them.

A saver is named by a URL, such as file:///var/lib/app/threads, sqlite:///var/lib/app/threads.db,
redis://host:6379/0, mysql://user:password@host/database or postgres://user:password@host/database.
--saver or the environment variable ` + envSaver + ` contain it. Use the variable for a URL with a password,
because other users of the machine can read command lines.

The keys of a saver that encrypts are in the file of --key-file or in the variable ` + envKeys + `, never in an argument. Each line
is ID:SECRET, with a secret of 32 bytes in base64. The first key encrypts what the command stores, and all keys decrypt. A file
that every user of the machine can read is refused. Compressed payloads are read without a flag.

A thread is named by its id. An id with spaces or control characters is shown in Go syntax, with
double quotes, and that form is accepted, too.`,
		SuggestionsMinimumDistance: 2,

		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	flags := root.PersistentFlags()
	a.source.flags(flags, "", envSaver, envKeys)
	flags.StringVarP(&a.format, "output", "o", "table", "the format of the output: `table, json or jsonl`")
	flags.DurationVar(&a.timeout, "timeout", 0, "the longest `duration` of the command, such as 30s; 0 is no limit")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err.Error()} })
	root.AddGroup(
		&cobra.Group{ID: "read", Title: "Read:"},
		&cobra.Group{ID: "post", Title: "Change a thread:"},
		&cobra.Group{ID: "fleet", Title: "Change graphs, queues and schedules:"},
		&cobra.Group{ID: "move", Title: "Move and check:"},
		&cobra.Group{ID: "clean", Title: "Clean up:"},
	)
	a.commands(root)
	a.complete(root)
	return root
}

// commands adds the subcommands.
func (a *app) commands(root *cobra.Command) {
	for _, c := range []struct {
		group string
		all   []*cobra.Command
	}{
		{"read", []*cobra.Command{
			a.threadsCommand(), a.showCommand(), a.historyCommand(), a.diffCommand(), a.waitingCommand(), a.tailCommand(), a.statsCommand(),
			a.workersCommand(), a.queuesCommand(), a.schedulesCommand(), a.inspectCommand(),
		}},
		{"post", []*cobra.Command{
			a.submitCommand(), a.answerCommand(), a.signalCommand(), a.cancelCommand(), a.wakeCommand(), a.releaseCommand(),
		}},
		{"fleet", []*cobra.Command{a.pauseCommand(true), a.pauseCommand(false), a.triggerCommand()}},
		{"move", []*cobra.Command{a.copyCommand(), a.exportCommand(), a.importCommand(), a.verifyCommand(), a.shardsCommand()}},
		{"clean", []*cobra.Command{a.pruneCommand(), a.deleteCommand()}},
		{"", []*cobra.Command{a.manCommand(), exitCodesTopic()}},
	} {
		for _, cmd := range c.all {
			cmd.GroupID = c.group
			cmd.Args = usageArgs(cmd.Args)
			root.AddCommand(cmd)
		}
	}
}

// usageArgs makes the errors of args errors of usage.
func usageArgs(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, found []string) error {
		if args == nil {
			return nil
		}
		if err := args(cmd, found); err != nil {
			return &usageError{fmt.Sprintf("%s: %v; usage: %s", cmd.Name(), err, cmd.UseLine())}
		}
		return nil
	}
}

func unknownCommand(root *cobra.Command, name string) error {
	text := fmt.Sprintf("there is no command %q", name)
	if like := root.SuggestionsFor(name); len(like) > 0 {
		text += "; is it " + strings.Join(like, " or ") + "?"
	}
	return &usageError{text + "; run graphctl help for all"}
}

// limited returns a context that ends after the timeout of the command line.
func (a *app) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.timeout)
}
