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
)

// tailFlags are the flags of tail.
type tailFlags struct {
	sel   selection
	every time.Duration
	lines int
	end   bool
}

func (a *app) tailCommand() *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use:     "tail [THREAD]",
		Aliases: []string{"watch"},
		Short:   "Print new checkpoints of a thread, or changes of many threads, while they happen",
		Long: `Print new checkpoints of a thread while they are stored, and changes of its status. Without a thread, print each selected
thread when it changes. The command asks the saver each --every. It misses no checkpoint of a thread, but can miss a status that
lasts shorter.

It ends by an interrupt, by --timeout, and with --end.`,
		Example: `  graphctl tail order-7 --end
  graphctl tail --graph orders -o jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.every <= 0 {
				return &usageError{"--every must be more than 0"}
			}
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.tail(ctx, s, args, &f) })
		},
	}
	f.sel.flags(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&f.every, "every", time.Second, "the pause `duration` between two polls")
	flags.IntVarP(&f.lines, "lines", "n", 10, "the `number` of older checkpoints to print first")
	flags.BoolVar(&f.end, "end", false, "end when no selected thread is running or ready")
	return cmd
}

// eventJSON is one line of tail.
type eventJSON struct {
	Time       *time.Time  `json:"time,omitempty"`
	Thread     string      `json:"thread"`
	IDBytes    string      `json:"thread_base64,omitempty"`
	Status     string      `json:"status"`
	Step       int         `json:"step"`
	Questions  int         `json:"questions,omitempty"`
	Gone       bool        `json:"gone,omitempty"` // the thread was deleted, or its version was released
	Checkpoint *recordJSON `json:"checkpoint,omitempty"`
}

// follower prints the changes of threads.
type follower struct {
	a    *app
	s    checkpoint.Saver
	f    *tailFlags
	one  string // the thread that is followed; empty for many
	seq  uint64 // of the newest printed checkpoint of that thread
	seen map[string]checkpoint.Thread
	l    *list
}

func (a *app) tail(ctx context.Context, s checkpoint.Saver, args []string, f *tailFlags) error {
	w := &follower{a: a, s: s, f: f, seen: make(map[string]checkpoint.Thread), l: a.list("TIME", "THREAD", "STATUS", "STEP", "SOURCE", "RAN", "DUE")}
	if len(args) > 0 {
		id, err := parseID(args[0])
		if err != nil {
			return err
		}
		if f.sel.narrow() {
			return &usageError{"name a thread, or select threads by flags; both together are ambiguous"}
		}
		if _, err := findThread(ctx, s, id); err != nil && !unreadable(err) {
			return err
		}
		w.one = id
	}
	for {
		busy, err := w.poll(ctx)
		if err != nil {
			return w.l.end("", err)
		}
		if f.end && !busy {
			return w.l.end("")
		}
		if err := w.l.table.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return w.l.end("") // --timeout is one of the ways to end
			}
			return w.l.end("", ctx.Err())
		case <-time.After(f.every):
		}
	}
}

// poll prints the changes since the last poll. busy reports that a thread is running or ready.
func (w *follower) poll(ctx context.Context) (busy bool, err error) {
	threads := make(map[string]bool)
	visit := func(t *checkpoint.Thread) error {
		threads[t.ID] = true
		busy = busy || t.Status == checkpoint.Running || t.Status == checkpoint.Ready
		before, known := w.seen[t.ID]
		w.seen[t.ID] = *t
		if known && before.Head == t.Head && before.Status == t.Status && before.Version == t.Version && len(before.Questions) == len(t.Questions) {
			return nil
		}
		return w.changed(ctx, t, &before, known)
	}
	if w.one != "" {
		t, listed, err := rowOf(ctx, w.s, w.one)
		if err == nil && listed {
			err = visit(&t)
		}
		if err != nil {
			return busy, err
		}
		return busy, w.gone(threads)
	}
	q, err := w.f.sel.query(ctx, w.s, w.a.now())
	if err != nil {
		return busy, err
	}
	for t, err := range ops(w.s).Threads(ctx, q, w.f.sel.Filter) {
		if err == nil {
			err = visit(&t.Thread)
		}
		if err != nil && !unreadable(err) { // verify reports damage
			return busy, err
		}
	}
	return busy, w.gone(threads)
}

// gone prints the threads that are not listed any more.
func (w *follower) gone(listed map[string]bool) error {
	for id, t := range w.seen {
		if listed[id] {
			continue
		}
		delete(w.seen, id)
		if w.one == "" && w.f.sel.narrow() {
			continue // it may only have left the selection
		}
		e := eventJSON{Time: utc(w.a.now()), Thread: id, IDBytes: idBytes(id), Status: t.Status.String(), Step: t.Step, Gone: true}
		if err := w.print(&e); err != nil {
			return err
		}
	}
	return nil
}

// changed prints the new checkpoints of the thread that is followed, or one line for any other.
func (w *follower) changed(ctx context.Context, t, before *checkpoint.Thread, known bool) error {
	e := eventJSON{
		Time: utc(t.Updated), Thread: t.ID, IDBytes: idBytes(t.ID), Status: t.Status.String(), Step: t.Step, Questions: len(questionsOf(t)),
	}
	if w.one == "" || t.Version == 0 {
		return w.print(&e)
	}
	q := checkpoint.Query{Headers: true}
	if !known {
		q.Limit = max(w.f.lines, 1)
	}
	var fresh []recordJSON
	for r, err := range w.s.History(ctx, checkpoint.Ref{Thread: t.ID, Version: t.Version}, q) {
		if err != nil {
			return err
		}
		if known && t.Version == before.Version && r.Seq <= w.seq {
			break
		}
		fresh = append(fresh, recordOf(&r))
	}
	slices.Reverse(fresh)
	if len(fresh) > 0 {
		w.seq = fresh[len(fresh)-1].Seq
	}
	for i := range fresh {
		line := e
		line.Time, line.Step, line.Checkpoint = fresh[i].Created, fresh[i].Step, &fresh[i]
		if err := w.print(&line); err != nil {
			return err
		}
	}
	if len(fresh) == 0 {
		return w.print(&e)
	}
	return nil
}

func (w *follower) print(e *eventJSON) error {
	return w.l.add(e, func() []string {
		at, status := "-", e.Status
		if e.Time != nil {
			at = e.Time.UTC().Format(time.RFC3339)
		}
		if e.Gone {
			status = "gone"
		}
		// The widest status and source have 9 and 6 letters. Lines of later polls are below those
		// before.
		cells := []string{at, quoteID(e.Thread), fmt.Sprintf("%-9s", status), fmt.Sprintf("%-4d", e.Step)}
		if e.Checkpoint == nil {
			return append(cells, "-", "-", "-")
		}
		return append(cells, fmt.Sprintf("%-6s", e.Checkpoint.Source), dash(cell(strings.Join(e.Checkpoint.Ran, ","))), dash(cell(strings.Join(e.Checkpoint.Due, ","))))
	})
}
