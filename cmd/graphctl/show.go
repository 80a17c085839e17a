package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/shape/value"
)

// showFlags are the flags of show.
type showFlags struct {
	version   int
	namespace string
	at        string
	noState   bool
	full      bool
}

func (a *app) showCommand() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:     "show THREAD",
		Aliases: []string{"describe", "get"},
		Short:   "Show one thread",
		Long: `Show a thread: its status, due nodes, state, questions, the signals, timers, children and queues that tasks wait for, messages and versions.

The names of the state's fields come from the description that the thread stores. ` + refHelp,
		Example: `  graphctl show order-7
  graphctl show order-7 --at 12 -o json | jq .state`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.show(ctx, s, args[0], &f) })
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.version, "version", 0, "the `number` of a released version; 0 is the open one")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "the `namespace` of a subgraph call; empty is the thread itself")
	flags.StringVar(&f.at, "at", "head", "the `checkpoint` whose state is shown")
	flags.BoolVar(&f.noState, "no-state", false, "without the state")
	flags.BoolVar(&f.full, "full", false, "long values of the state in full; JSON always has them in full")
	return cmd
}

// page is what show prints about one thread.
type page struct {
	threadJSON

	At        *recordJSON    `json:"checkpoint,omitempty"`
	Due       []string       `json:"due,omitempty"`
	State     *value.Value   `json:"state,omitempty"`
	Questions []operate.Wait `json:"open_questions,omitempty"`
	Waits     []operate.Wait `json:"waits_for,omitempty"` // signals, timers, children and queues
	Tasks     []taskJSON     `json:"tasks,omitempty"`
	Reason    string         `json:"reason,omitempty"` // why the run ended though tasks are due
	Waiting   []messageJSON  `json:"messages,omitempty"`
	Refused   []messageJSON  `json:"refused_messages,omitempty"`
	Replied   []messageJSON  `json:"replied_messages,omitempty"`
	History   []versionJSON  `json:"all_versions,omitempty"`
}

// taskJSON is a due task.
type taskJSON struct {
	operate.Task
	Updates []value.Value `json:"updates,omitempty"` // of a finished task; more than one of a subgraph over the same state
}

func (a *app) show(ctx context.Context, s checkpoint.Saver, arg string, f *showFlags) error {
	id, err := parseID(arg)
	if err != nil {
		return err
	}
	p, err := readPage(ctx, s, checkpoint.Ref{Thread: id, Version: f.version, Namespace: f.namespace}, f)
	if p == nil {
		return err
	}
	return errors.Join(a.one(p, func() error { return a.showText(p, f.full) }), err)
}

// readPage reads everything about a thread. If only the state cannot be read, it returns the rest
// and an error.
func readPage(ctx context.Context, s checkpoint.Saver, ref checkpoint.Ref, f *showFlags) (*page, error) {
	versions, err := s.Versions(ctx, ref.Thread)
	if err != nil {
		return nil, err
	}
	o := ops(s)
	mail, err := o.Inbox(ctx, ref.Thread, 0)
	if err != nil {
		return nil, err
	}
	if len(versions) == 0 && len(mail.Waiting) == 0 {
		return nil, noThread(ref.Thread)
	}
	if ref.At, err = o.Checkpoint(ctx, ref, f.at); err != nil {
		return nil, err
	}
	at, damaged := o.Read(ctx, ref, !f.noState)
	if damaged != nil && !unreadable(damaged) {
		return nil, damaged
	}
	t := &at.Chain.Thread
	if row, listed, err := rowOf(ctx, s, ref.Thread); err != nil {
		return nil, err
	} else if listed && t.Version == 0 {
		*t = row
	}
	t.ID = ref.Thread
	wait := o.Standing(t, t.Now)
	p := &page{threadJSON: threadOf(t, &wait), Due: at.Chain.Next(), Reason: at.Snap.Reason}
	if p.Questions, err = o.Asked(ctx, t); err != nil {
		return nil, err
	}
	if p.Wait != nil && ref.Namespace == "" && ref.At.IsZero() {
		if err := o.Complete(ctx, t, t.Now, p.Wait); err != nil && !unreadable(err) {
			return nil, err
		}
	}
	if p.Waits, err = o.Others(t); err != nil && !unreadable(err) { // verify reports damage
		return nil, err
	}
	queued, err := o.Queued(ctx, at.Snap.Tasks, 0)
	if err != nil && !unreadable(err) { // verify reports damage
		return nil, err
	}
	p.Waits = append(p.Waits, queued...)
	p.Waiting, p.Refused, p.Replied = messagesOf(mail.Waiting), messagesOf(mail.Refused), messagesOf(mail.Replied)
	for _, v := range versions {
		p.History = append(p.History, versionJSON{v.Number, v.Status.String(), utc(v.Released), idText(v.Head), v.Records})
	}
	return p, errors.Join(damaged, p.checkpoint(&at, f))
}

// checkpoint adds a checkpoint, its due tasks and its state.
func (p *page) checkpoint(at *operate.Position, f *showFlags) (err error) {
	if at.Chain.Empty() {
		return nil
	}
	r := recordOf(&at.Chain.Last)
	p.At = &r
	for _, t := range at.Tasks() {
		one := taskJSON{Task: t}
		if t.State == "finished" && at.Locked == nil {
			var failed error
			one.Updates, failed = at.Updates(&t)
			err = errors.Join(err, failed)
		}
		p.Tasks = append(p.Tasks, one)
	}
	if f.noState {
		return err
	}
	state, failed := at.State()
	if failed == nil {
		p.State = &state
	}
	return errors.Join(err, failed)
}

// failureTitle names a task, the attempt that failed and its time.
func (a *app) failureTitle(t *taskJSON) string {
	title := "Failure of " + cell(t.Name())
	if t.Attempt > 0 {
		title += fmt.Sprintf(", attempt %d", t.Attempt)
	}
	if !t.Failed.IsZero() {
		title += ", " + a.moment(t.Failed)
	}
	return title
}

// showFailure prints the text of a failure.
func (a *app) showFailure(title, text string) {
	fmt.Fprintf(a.out, "\n%s:\n  %s\n", title, strings.ReplaceAll(safeText(text), "\n", "\n  "))
}

// showAttempts prints failed attempts, if there are several, and the stacks of panics.
func (a *app) showAttempts(all []operate.Attempt) {
	if len(all) > 1 {
		w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "  FAILED ATTEMPT\tTIME\tWORKER\tERROR")
		for _, t := range all {
			fmt.Fprintf(w, "  %d\t%s\t%s\t%s\n", t.Number, a.moment(t.Failed), dash(cell(t.Worker)), cell(t.Text))
		}
		_ = w.Flush() // a.out reports the error again
	}
	for _, t := range all {
		if t.Stack != "" {
			a.showFailure(fmt.Sprintf("Stack of failed attempt %d", t.Number), t.Stack)
		}
	}
}

// showText prints a page for people.
func (a *app) showText(p *page, full bool) error {
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s:\t%s\n", name, value)
		}
	}
	line("Thread", quoteID(p.ID))
	line("Graph", cell(p.Graph))
	line("Title", cell(p.Title))
	line("Labels", labelText(p.Labels))
	line("Status", p.Status)
	line("Waits for", a.standing(p.Wait))
	line("Version", fmt.Sprintf("%d of %d", p.Version, max(p.Versions, p.Version)))
	if p.At != nil {
		line("Checkpoint", fmt.Sprintf("%s (number %d, step %d, %s)", p.At.ID, p.At.Seq, p.At.Step, p.At.Source))
		line("Metadata", labelText(p.At.Metadata))
	}
	line("Due", cell(strings.Join(p.Due, ", ")))
	line("Priority", p.Priority)
	line("Created", a.momentOf(p.Created))
	line("Updated", a.momentOf(p.Updated))
	line("Due by itself", a.momentOf(p.Wake))
	if p.Holder != "" {
		line("Held", "by "+cell(p.Holder)+" until "+a.momentOf(p.Lease))
	}
	if p.Inputs+p.Others > 0 {
		line("Inbox", fmt.Sprintf("%s, %s", count(p.Inputs, "input", "inputs"), count(p.Others, "other", "others")))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := a.showState(p.State, full); err != nil {
		return err
	}
	for i := range p.Tasks {
		if p.Tasks[i].Updates != nil {
			a.showResult(&p.Tasks[i], full)
		}
	}
	return a.showLists(p)
}

// showResult prints the updates of a finished task, each as JSON on one line.
func (a *app) showResult(r *taskJSON, full bool) {
	width := 2 * cellWidth
	if full {
		width = 0
	}
	fmt.Fprintf(a.out, "\nResult of %s, not committed:\n", cell(r.Name()))
	for i := range r.Updates {
		fmt.Fprintf(a.out, "  %s\n", inline(&r.Updates[i], width))
	}
}

// showState prints the fields of a state, each as JSON on one line.
func (a *app) showState(state *value.Value, full bool) error {
	if state == nil {
		return nil
	}
	width := cellWidth
	if full {
		width = 0
	}
	title := "State"
	if state.Type != "" {
		title += " (" + cell(state.Type) + ")"
	}
	fmt.Fprintf(a.out, "\n%s:\n", title)
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	for i := range state.Fields {
		fmt.Fprintf(w, "  %s:\t%s\n", cell(state.Fields[i].Name), inline(&state.Fields[i].Value, width))
	}
	return w.Flush()
}

// momentOf returns a time for a page; empty if there is none.
func (a *app) momentOf(at *time.Time) string {
	if at == nil {
		return ""
	}
	return a.moment(*at)
}

// showLists prints the questions, failures, messages and versions of a thread.
func (a *app) showLists(p *page) error {
	for i := range p.Tasks {
		if t := &p.Tasks[i]; t.Failure != "" && t.State != "finished" {
			a.showFailure(a.failureTitle(t), t.Failure)
			a.showAttempts(t.Attempts)
		}
	}
	if p.Reason != "" {
		a.showFailure("Failure of the run", p.Reason)
	}
	sections := []struct {
		title string
		head  string
		rows  [][]string
	}{
		{"Questions", "ID\tQUESTION\tNODE\tEXPIRES\tASKS", a.questionRows(p.Questions)},
		{"Waits for", "KIND\tNAME\tNODE\tSINCE\tUNTIL\tSUMMARY", a.waitRows(p.Waits)},
		{"Messages", "NUMBER\tKIND\tID\tNAME\tKEY\tPOSTED\tBYTES", a.messageRows(p.Waiting, false)},
		{"Refused messages", "NUMBER\tKIND\tID\tNAME\tKEY\tPOSTED\tREASON", a.messageRows(p.Refused, true)},
		{"Replied messages", "NUMBER\tKIND\tID\tNAME\tKEY\tPOSTED\tBYTES", a.messageRows(p.Replied, false)},
		{"Versions", "NUMBER\tSTATUS\tRELEASED\tRECORDS\tHEAD", a.versionRows(p.History)},
	}
	for _, section := range sections {
		if len(section.rows) == 0 {
			continue
		}
		fmt.Fprintf(a.out, "\n%s:\n", section.title)
		w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "  "+section.head)
		for _, row := range section.rows {
			fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) questionRows(all []operate.Wait) (rows [][]string) {
	for i := range all {
		q := &all[i]
		rows = append(rows, []string{cell(q.ID), cell(q.Question), cell(q.Task()), dash(a.momentOf(q.Expires)), asks(q)})
	}
	return rows
}

func (a *app) waitRows(all []operate.Wait) (rows [][]string) {
	for i := range all {
		w := &all[i]
		rows = append(rows, []string{
			string(w.Kind), dash(cell(w.Name())), cell(w.Task()), dash(a.momentOf(w.Since)), dash(a.momentOf(cmp.Or(w.Due, w.Expires))), dash(cell(w.Summary)),
		})
	}
	return rows
}

func (a *app) messageRows(all []messageJSON, refused bool) (rows [][]string) {
	for _, m := range all {
		last := strconv.Itoa(m.Bytes)
		if refused {
			last = cell(m.Refused)
		}
		posted := "-"
		if m.Posted != nil {
			posted = a.age(*m.Posted)
		}
		rows = append(rows, []string{
			strconv.FormatUint(m.Number, 10), m.Kind, cell(m.ID), dash(cell(m.Name)), dash(cell(m.Key)), posted, last,
		})
	}
	return rows
}

func (a *app) versionRows(all []versionJSON) (rows [][]string) {
	if len(all) == 1 && all[0].Released == nil {
		return nil
	}
	for _, v := range all {
		rows = append(rows, []string{
			strconv.Itoa(v.Number), v.Status, dash(a.momentOf(v.Released)), strconv.Itoa(v.Records), dash(v.Head),
		})
	}
	return rows
}
