package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// treeWidth is the number of branches that the drawing of a history has room for.
const treeWidth = 12

// historyFlags are the flags of history.
type historyFlags struct {
	version, limit, step           int
	namespace, before, next, ran   string
	sources                        []string
	since, until                   time.Duration
	flat, resumes, ascii, metadata bool
}

func (a *app) historyCommand() *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:     "history THREAD",
		Aliases: []string{"log"},
		Short:   "Show the checkpoints of a thread as a tree",
		Long: `Show the checkpoints of a thread, newest first, as a tree. A fork or a replay begins a branch. The left column is
the branch of the head. Filters, such as --ran, and --flat show a list without the tree.

The command reads no states, so it is fast on long histories. --limit and --before page. ` + refHelp,
		Example: `  graphctl history order-7
  graphctl history order-7 --limit 50 --before 1200
  graphctl history order-7 --ran answer -o jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error {
				return a.history(ctx, s, args[0], &f, cmd.Flags().Changed("step"))
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.version, "version", 0, "the `number` of a released version; 0 is the open one")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "the `namespace` of a subgraph call; empty is the thread itself")
	flags.IntVar(&f.limit, "limit", 100, "at most this `number` of checkpoints; 0 is all")
	flags.StringVar(&f.before, "before", "", "only checkpoints before this `checkpoint`, for paging")
	flags.IntVar(&f.step, "step", 0, "only checkpoints of the superstep with this `number`")
	flags.StringVar(&f.next, "next", "", "only checkpoints at which this `node` is due")
	flags.StringVar(&f.ran, "ran", "", "only checkpoints whose superstep ran this `node`")
	flags.StringSliceVar(&f.sources, "source", nil, "only checkpoints with these `sources`: input, loop, update, fork, resume")
	flags.DurationVar(&f.since, "since", 0, "only checkpoints younger than this `duration`")
	flags.DurationVar(&f.until, "until", 0, "only checkpoints older than this `duration`")
	flags.BoolVar(&f.flat, "flat", false, "a list without the tree")
	flags.BoolVar(&f.resumes, "resumes", false, "also the records of resumes, which are no checkpoints")
	flags.BoolVar(&f.ascii, "ascii", false, "draw the tree with ASCII characters")
	flags.BoolVar(&f.metadata, "metadata", false, "a column with the metadata of the caller")
	return cmd
}

// query returns the filters, and whether they leave out records of the tree.
func (f *historyFlags) query(now time.Time, stepped bool) (q checkpoint.Query, filtered bool, err error) {
	q = checkpoint.Query{Headers: true, Next: f.next, Ran: f.ran, Step: f.step, HasStep: stepped}
	for _, name := range f.sources {
		source, err := operate.Choose("source", name, tree.Sources()...)
		if err != nil {
			return q, false, err
		}
		q.Sources = append(q.Sources, source)
	}
	if f.since > 0 {
		q.Since = now.Add(-f.since)
	}
	if f.until > 0 {
		q.Until = now.Add(-f.until)
	}
	filtered = q.Next != "" || q.Ran != "" || q.HasStep || len(q.Sources) > 0 || f.since > 0 || f.until > 0
	if f.resumes && len(q.Sources) == 0 {
		q.Sources = tree.Sources()
	}
	return q, filtered, nil
}

func (a *app) history(ctx context.Context, s checkpoint.Saver, thread string, f *historyFlags, stepped bool) error {
	id, err := parseID(thread)
	if err != nil {
		return err
	}
	q, filtered, err := f.query(a.now(), stepped)
	if err != nil {
		return err
	}
	at := checkpoint.Ref{Thread: id, Version: f.version, Namespace: f.namespace}
	before, err := ops(s).Checkpoint(ctx, at, f.before)
	if err != nil {
		return err
	}
	h := &historian{a: a, f: f, thread: id, style: tree.Lines(), tree: !f.flat && !filtered, l: a.historyList(f)}
	if f.ascii || strings.Contains(a.env("LC_ALL")+a.env("LANG"), "ASCII") || a.env("TERM") == "dumb" || os.PathSeparator == '\\' {
		h.style = tree.ASCII()
	}
	if h.tree {
		h.skipTo = before
		q.Sources = tree.Sources()
	} else {
		q.Before = before
	}
	if f.limit > 0 && !h.tree {
		q.Limit = f.limit + 1
	}
	return h.print(ctx, s, at, q)
}

func (a *app) historyList(f *historyFlags) *list {
	columns := []string{"", "SEQ", "CHECKPOINT", "STEP", "SOURCE", "RAN", "DUE", "AGE"}
	if f.metadata {
		columns = append(columns, "METADATA")
	}
	return a.list(columns...)
}

// historian prints a history.
type historian struct {
	a       *app
	f       *historyFlags
	thread  string
	style   tree.Style
	tree    bool
	skipTo  checkpoint.ID // print only records after this one; zero prints all
	lanes   tree.Lanes
	l       *list
	last    checkpoint.Record
	more    bool // there is another record
	printed int
}

func (h *historian) print(ctx context.Context, s checkpoint.Saver, at checkpoint.Ref, q checkpoint.Query) error {
	found := false
	for r, err := range s.History(ctx, at, q) {
		if err != nil {
			return h.l.end("", err)
		}
		found = true
		stop, err := h.record(&r)
		if err != nil {
			return err
		}
		if stop {
			break
		}
	}
	if !found && !h.skipTo.IsZero() || !found && h.printed == 0 {
		if err := h.exists(ctx, s, at); err != nil {
			return err
		}
	}
	if !h.skipTo.IsZero() {
		return &missingError{fmt.Sprintf("thread %s has no checkpoint %s; graphctl history without --before lists them", quoteID(h.thread), h.skipTo)}
	}
	if err := h.l.end("no checkpoints"); err != nil {
		return err
	}
	if h.more && h.a.format == "table" {
		fmt.Fprintf(h.a.err, "older checkpoints: --before %d\n", h.last.Seq)
	}
	return nil
}

// exists returns an error if the thread does not exist.
func (h *historian) exists(ctx context.Context, s checkpoint.Saver, at checkpoint.Ref) error {
	versions, err := s.Versions(ctx, at.Thread)
	if err == nil && len(versions) == 0 {
		err = noThread(at.Thread)
	}
	return err
}

// record prints one record. stop reports that the page is full.
func (h *historian) record(r *checkpoint.Record) (stop bool, err error) {
	var row tree.Row
	if h.tree {
		row = h.lanes.Add(r)
	}
	if !h.skipTo.IsZero() {
		if r.ID == h.skipTo {
			h.skipTo = checkpoint.ID{}
		}
		return false, nil
	}
	hidden := r.Source == checkpoint.Resume && !h.f.resumes && h.tree
	if h.f.limit > 0 && h.printed >= h.f.limit && !hidden {
		h.more = true
		return true, nil
	}
	joint, line := h.style.Draw(row, treeWidth)
	if !h.tree {
		joint, line = "", ""
	}
	if joint != "" && h.a.format == "table" && h.printed > 0 {
		h.l.text(joint)
	}
	if hidden {
		return false, nil
	}
	h.printed++
	h.last = *r
	j := recordOf(r)
	if h.tree {
		j.Lane = &row.Lane
	}
	return false, h.l.add(j, func() []string { return h.cells(r, line) })
}

func (h *historian) cells(r *checkpoint.Record, line string) []string {
	due := cell(strings.Join(dueNames(r.Due), ","))
	if r.Base != r.ID && len(r.Due) == 0 && r.Source != checkpoint.Resume {
		due = "(as before)"
	}
	if len(r.PendingRoutes) > 0 {
		due = "routes of " + cell(strings.Join(r.PendingRoutes, ","))
	}
	cells := []string{
		line, strconv.FormatUint(r.Seq, 10), r.ID.String(), strconv.Itoa(r.Step), r.Source.String(),
		dash(cell(strings.Join(r.Ran, ","))), dash(due), h.a.age(r.Created),
	}
	if h.f.metadata {
		cells = append(cells, dash(labelText(metadata(r))))
	}
	return cells
}
