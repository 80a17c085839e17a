package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// selection is the threads that a command works on: those that are named, or those that the
// filters select.
type selection struct {
	operate.Selection

	after, afterCreated string
	limit               int
	all                 bool
	released            bool // also threads whose versions are all released
	tasks               bool // all threads include tasks of queues
}

// flags adds the filters to a command.
func (s *selection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.Status, "status", "", "only threads with this `status`: running, waiting, paused, failed, done, ready or cancelled")
	f.StringVarP(&s.Graph, "graph", "g", "", "only threads of the graph with this `name`")
	f.StringArrayVarP(&s.Labels, "label", "l", nil, "only threads with the label `name=value`; several flags select threads with all of them")
	f.StringVar(&s.Prefix, "prefix", "", "only threads whose id begins with this `text`")
	f.DurationVar(&s.Idle, "idle", 0, "only threads that no run holds, last updated longer than this `duration` ago")
	f.DurationVar(&s.Older, "older", 0, "only threads created longer than this `duration` ago, such as 720h")
	f.DurationVar(&s.Newer, "newer", 0, "only threads created less than this `duration` ago")
	f.StringVar((*string)(&s.Waits), "waits", "", "only threads that wait for this `kind`: "+strings.Join(texts(operate.Kinds()), ", ")+
		"; queue is for threads whose tasks wait for nothing else")
	f.DurationVar(&s.Waited, "waited", 0, "only threads that have waited longer than this `duration`, for whatever they wait")
	f.BoolVar(&s.Stuck, "stuck", false, "only threads that nobody serves: due without a worker for a minute, given up, or waiting for 7 days; "+
		"a queue counts if tasks wait for nothing else")
	f.StringVar(&s.Text, "search", "", "only threads with this `text` in the id, the title or a label")
	f.StringVar(&s.Node, "node", "", searchHelp("only threads with a due task of the node with this `name`"))
	f.StringVar(&s.Error, "error", "", searchHelp("only failed threads with this `text` in the error of a task"))
	f.StringVar(&s.after, "after", "", "only threads that follow the thread with this `id` in the order, for paging")
	f.IntVar(&s.limit, "limit", 0, "at most this `number` of threads; 0 is all")
	_ = cmd.RegisterFlagCompletionFunc("waits", cobra.FixedCompletions(texts(operate.Kinds()), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(texts(operate.Statuses()), cobra.ShellCompDirectiveNoFileComp))
}

// searchHelp returns the help of a flag that reads each thread.
func searchHelp(text string) string {
	return fmt.Sprintf("%s, among the newest %d", text, operate.Searched)
}

// allFlag adds the flag that selects all threads, for commands that change them.
func (s *selection) allFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.all, "all", false, "all threads")
}

// texts returns the texts of constants, as flags name them.
func texts[T fmt.Stringer](all []T) (names []string) {
	for _, one := range all {
		names = append(names, one.String())
	}
	return names
}

// query returns the filters as a query of the saver.
func (s *selection) query(ctx context.Context, saver checkpoint.Saver, now time.Time) (q checkpoint.ThreadQuery, err error) {
	if q, err = s.Query(now); err != nil {
		return q, err
	}
	q.Limit, q.Released = s.limit, s.released
	if q.Prefix, err = parseID(s.Prefix); err != nil {
		return q, err
	}
	if q.After, err = parseID(s.after); err != nil {
		return q, err
	}
	return q, s.follow(ctx, saver, &q)
}

// follow checks the order of q and the place that it begins at.
func (s *selection) follow(ctx context.Context, saver checkpoint.Saver, q *checkpoint.ThreadQuery) (err error) {
	switch {
	case s.Order == checkpoint.ByID.String() && (q.Filtered() || s.Searches()):
		return &usageError{"--sort id is for lists without filters; leave it out, or the filters other than --prefix"}
	case s.afterCreated != "" && !q.NewestFirst():
		return &usageError{"--after-created has no effect with --sort id; leave it out"}
	case s.afterCreated != "" && q.After == "":
		return &usageError{"--after-created needs --after with the id of the thread"}
	case s.afterCreated != "":
		if q.AfterCreated, err = time.Parse(time.RFC3339Nano, s.afterCreated); err != nil {
			return &usageError{fmt.Sprintf("--after-created %q is not a time; copy it from -o json", s.afterCreated)}
		}
	case q.After != "" && q.NewestFirst():
		t, listed, err := rowOf(ctx, saver, q.After)
		if err == nil && !listed && (!q.Released || t.Created.IsZero()) {
			err = &missingError{fmt.Sprintf("there is no thread %s, so its place is unknown; use graphctl threads with --after-created, or --sort id", quoteID(q.After))}
		}
		if err != nil {
			return err
		}
		q.AfterCreated = t.Created
	}
	return nil
}

// narrow reports whether the filters select fewer than all threads.
func (s *selection) narrow() bool { return !s.All() || s.limit > 0 }

// explicit returns an error if neither threads nor filters nor --all are given.
func (s *selection) explicit(args []string) error {
	switch {
	case len(args) > 0 && (s.narrow() || s.all):
		return &usageError{"name threads, or select them by flags; both together are ambiguous"}
	case len(args) == 0 && !s.narrow() && !s.all:
		return &usageError{"which threads? Name them, select them by flags such as --status, or pass --all"}
	}
	return nil
}

// listError is an error that ended the list of the threads, so further threads can be missing.
type listError struct{ error }

func (e *listError) Unwrap() error { return e.error }

// each calls f for the id of each selected thread. A thread that fails does not stop the others:
// each is reported, and each returns the errors at the end.
func (s *selection) each(ctx context.Context, a *app, saver checkpoint.Saver, args []string, f func(id string) error) error {
	var errs []error
	failed := func(id string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, fmt.Errorf("thread %s: %w", quoteID(id), err))
		return nil
	}
	for _, arg := range args {
		id, err := parseID(arg)
		if err == nil {
			err = f(id)
		}
		if err != nil {
			if err := failed(id, err); err != nil {
				return err
			}
		}
	}
	if len(args) > 0 {
		return errors.Join(errs...)
	}
	q, err := s.query(ctx, saver, a.now())
	if err != nil {
		return err
	}
	lists := []checkpoint.ThreadQuery{q}
	if s.tasks && !s.narrow() {
		lists = append(lists, checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix})
	}
	for _, q := range lists {
		for t, err := range ops(saver).Threads(ctx, q, s.Filter) {
			if err != nil && !unreadable(err) {
				return errors.Join(append(errs, &listError{err})...)
			}
			if err == nil {
				err = f(t.ID)
			}
			if err != nil {
				if err := failed(t.ID, err); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(errs...)
}
