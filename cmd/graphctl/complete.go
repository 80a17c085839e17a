package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// completions is the number of threads that a shell offers.
const completions = 100

// completeThreads offers the ids of threads for an argument of a command. at is the number of the
// argument; -1 is each one. Ids that need quotes are left out.
func (a *app) completeThreads(at int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if at >= 0 && len(args) != at || at < 0 && cmd.Name() == "export" && len(args) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		s, err := a.open(ctx, &a.source, false)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer func() { _ = s.Close() }() // it was only read
		var found []cobra.Completion
		for t, err := range s.Threads(ctx, checkpoint.ThreadQuery{Prefix: begun, Limit: completions}) {
			if err == nil && plain(t.ID) && !strings.ContainsAny(t.ID, " \t") {
				found = append(found, cobra.CompletionWithDesc(t.ID, t.Status.String()))
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeQuestions offers the ids and names of the open questions of a thread.
func (a *app) completeQuestions(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.completeThreads(0)(cmd, args, begun)
	}
	id, err := parseID(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := a.open(cmd.Context(), &a.source, false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = s.Close() }() // it was only read
	t, listed, err := rowOf(cmd.Context(), s, id)
	if err != nil || !listed {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []cobra.Completion
	for _, q := range questionsOf(&t) {
		if strings.HasPrefix(q.ID, begun) && plain(q.ID) {
			found = append(found, cobra.CompletionWithDesc(q.ID, cell(q.Question)))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// complete adds the completion of arguments to the commands.
func (a *app) complete(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "show", "history", "diff", "tail", "submit", "signal":
			cmd.ValidArgsFunction = a.completeThreads(0)
		case "answer":
			cmd.ValidArgsFunction = a.completeQuestions
		case "cancel", "wake", "release", "prune", "delete", "copy", "verify", "export":
			cmd.ValidArgsFunction = a.completeThreads(-1)
		}
	}
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
}
