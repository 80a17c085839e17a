package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// The kinds of waits.
const (
	kindQuestion = "question"
	kindSignal   = "signal"
	kindTimer    = "timer"
	kindChild    = "child" // the end of a child
	kindQueue    = "queue" // a worker of a queue
)

func (a *app) waitingCommand() *cobra.Command {
	var sel selection
	var kinds []string
	cmd := &cobra.Command{
		Use:   "waiting",
		Short: "List the questions, signals, timers, children and queues that threads wait for",
		Long: `List the questions, signals, timers, children and queues that tasks of threads wait for. One thread can have several. A task
waits also while other tasks of its thread still run. Queues are listed once no run holds the thread.`,
		Example: `  graphctl waiting --graph orders
  graphctl waiting --kind question -o jsonl | jq .payload`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, kind := range kinds {
				if !slices.Contains(waitKinds(), kind) {
					return &usageError{"--kind " + kind + "; want one of " + strings.Join(waitKinds(), ", ")}
				}
			}
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.waiting(ctx, s, &sel, kinds) })
		},
	}
	sel.flags(cmd)
	cmd.Flags().StringSliceVar(&kinds, "kind", nil, "only waits of these `kinds`: question, signal, timer, child or queue")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(waitKinds(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func waitKinds() []string { return []string{kindQuestion, kindSignal, kindTimer, kindChild, kindQueue} }

func (a *app) waiting(ctx context.Context, s checkpoint.Saver, sel *selection, kinds []string) error {
	q, err := sel.query(ctx, s, a.now())
	if err != nil {
		return err
	}
	l := a.list("THREAD", "GRAPH", "KIND", "NAME", "NODE", "SINCE", "UNTIL", "ASKS", "ID")
	var damaged []error
	for t, err := range s.Threads(ctx, q) {
		var waits []questionJSON
		if err == nil && len(t.Questions) > 0 {
			waits, err = waitsOf(ctx, s, &t)
		}
		if err == nil && t.Status == checkpoint.Waiting && (len(kinds) == 0 || slices.Contains(kinds, kindQueue)) {
			var queued []questionJSON
			queued, err = readQueued(ctx, s, t.ID)
			waits = append(waits, queued...)
		}
		if unreadable(err) {
			damaged = append(damaged, err)
		} else if err != nil {
			return errors.Join(err, l.end(""))
		}
		for i := range waits {
			w := &waits[i]
			if len(kinds) > 0 && !slices.Contains(kinds, w.Kind) {
				continue
			}
			w.Thread, w.IDBytes, w.Graph = t.ID, idBytes(t.ID), t.Graph
			if err := l.add(w, func() []string { return a.waitCells(w) }); err != nil {
				return err
			}
		}
	}
	return errors.Join(l.end("nothing waits"), errors.Join(damaged...))
}

func (a *app) waitCells(w *questionJSON) []string {
	name, until := w.awaited()
	return []string{
		quoteID(w.Thread), dash(cell(w.Graph)), w.Kind, dash(cell(name)), cell(w.place()), dash(a.momentOf(w.Since)), dash(a.momentOf(until)), w.asks(), dash(cell(w.ID)),
	}
}

// awaited returns the name of what a task waits for, and until when it waits.
func (j *questionJSON) awaited() (name string, until *time.Time) {
	name, until = j.Question, j.Expires
	switch j.Kind {
	case kindSignal:
		name = j.Signal
		if j.Key != "" {
			name += " for " + j.Key
		}
	case kindChild:
		name = j.Key + " of " + j.Signal
	case kindQueue:
		name = j.Queue
	case kindTimer:
		until = j.Due
	}
	return name, until
}

// waitsOf returns what the tasks of a thread wait for. It returns the readable waits together with
// an error for the others.
func waitsOf(ctx context.Context, s checkpoint.Saver, t *checkpoint.Thread) ([]questionJSON, error) {
	all, err := readQuestions(ctx, s, t.ID, t)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Kind = kindQuestion
	}
	others, err := otherWaits(t)
	return append(all, others...), err
}

// otherWaits returns the signals and timers that the tasks of a thread wait for. It returns the
// readable ones together with an error for the others.
func otherWaits(t *checkpoint.Thread) (all []questionJSON, err error) {
	for i := range t.Questions {
		if err := sealed(t.Questions[i].Payload); err != nil {
			return nil, fmt.Errorf("thread %s: the questions, signals and timers that it waits for cannot be read: %w", quoteID(t.ID), err)
		}
	}
	signals, err := graph.OpenSignals(*t)
	for _, w := range signals {
		kind := kindSignal
		if w.Child {
			kind = kindChild
		}
		all = append(all, questionJSON{
			Kind: kind, Signal: w.Signal, Key: w.Key, Node: nodePath(w.Path, w.Node), Index: w.Index, Summary: w.Summary, Expires: utc(w.Expires),
		})
	}
	timers, errTimers := graph.OpenTimers(*t)
	for _, w := range timers {
		all = append(all, questionJSON{
			Kind: kindTimer, Node: nodePath(w.Path, w.Node), Index: w.Index, Summary: w.Summary, Due: utc(w.Due),
		})
	}
	return all, errors.Join(err, errTimers)
}

// readQueued returns the tasks of a thread that wait for a worker of a queue.
func readQueued(ctx context.Context, s checkpoint.Saver, thread string) ([]questionJSON, error) {
	ref := checkpoint.Ref{Thread: thread}
	c, err := s.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	return queuedTasks(ref, c)
}

// queuedTasks returns the tasks at a checkpoint that wait for a worker of a queue.
func queuedTasks(ref checkpoint.Ref, c checkpoint.Chain) (all []questionJSON, err error) {
	if c.Empty() {
		return nil, nil
	}
	// No payload of the other writes has to be decrypted.
	c.Thread.Questions = nil
	c.Writes = slices.DeleteFunc(slices.Clone(c.Writes), func(w checkpoint.Write) bool {
		return w.Kind != checkpoint.Result && w.Kind != checkpoint.Outcome
	})
	p, err := graph.ReadPosition(ref, &c)
	if err != nil {
		return nil, err
	}
	for i := range p.Tasks {
		if t := &p.Tasks[i]; t.Queue != "" {
			all = append(all, questionJSON{Kind: kindQueue, Queue: t.Queue, Since: utc(t.Queued), Node: string(t.Node), Index: t.Index})
		}
	}
	return all, nil
}
