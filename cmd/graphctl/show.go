package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
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
	Failures  []failureJSON  `json:"failures,omitempty"`
	Results   []resultJSON   `json:"results,omitempty"`
	Waiting   []messageJSON  `json:"messages,omitempty"`
	Refused   []messageJSON  `json:"refused_messages,omitempty"`
	Replied   []messageJSON  `json:"replied_messages,omitempty"`
	History   []versionJSON  `json:"all_versions,omitempty"`
}

// resultJSON is the stored result of a finished task whose superstep has not committed.
type resultJSON struct {
	Node    string        `json:"node"`
	Index   int           `json:"index,omitempty"`
	Updates []value.Value `json:"updates"` // one, or more of a subgraph over the same state
}

// task returns the task as tables name it.
func (r *resultJSON) task() string { return (&operate.Wait{Node: r.Node, Index: r.Index}).Task() }

// failureJSON is the stored failure of a due task, or of the run.
type failureJSON struct {
	Node  string `json:"node,omitempty"` // empty if it is of the run
	Index int    `json:"index,omitempty"`
	Text  string `json:"text"`

	// The attempt that failed, and when. Both are missing if they are not stored or cannot be
	// read.
	Attempt int        `json:"attempt,omitempty"`
	Failed  *time.Time `json:"failed,omitempty"`
}

func (a *app) show(ctx context.Context, s checkpoint.Saver, arg string, f *showFlags) error {
	id, err := parseID(arg)
	if err != nil {
		return err
	}
	at := place{id, f.version, f.namespace}
	p, err := readPage(ctx, s, at, f)
	if p == nil {
		return err
	}
	return errors.Join(a.one(p, func() error { return a.showText(p, f.full) }), err)
}

// readPage reads everything about a thread. If only the state cannot be read, it returns the rest
// and an error.
func readPage(ctx context.Context, s checkpoint.Saver, at place, f *showFlags) (*page, error) {
	versions, err := s.Versions(ctx, at.thread)
	if err != nil {
		return nil, err
	}
	waiting, err := s.Mail(ctx, checkpoint.MailQuery{Thread: at.thread})
	if err != nil {
		return nil, err
	}
	if len(versions) == 0 && len(waiting) == 0 {
		return nil, noThread(at.thread)
	}
	handled, err := s.Mail(ctx, checkpoint.MailQuery{Thread: at.thread, Handled: true})
	if err != nil {
		return nil, err
	}
	ref := at.ref()
	if ref.At, err = find(ctx, s, at, f.at); err != nil {
		return nil, err
	}
	c, err := s.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	if row, listed, err := rowOf(ctx, s, at.thread); err != nil {
		return nil, err
	} else if listed && c.Thread.Version == 0 {
		c.Thread = row
	}
	c.Thread.ID = at.thread
	p := &page{threadJSON: threadOf(&c.Thread), Due: c.Next()}
	if p.Questions, err = ops(s).Asked(ctx, &c.Thread); err != nil {
		return nil, err
	}
	if p.Wait != nil && at.namespace == "" && ref.At.IsZero() {
		if err := ops(s).Complete(ctx, &c.Thread, c.Thread.Now, p.Wait); err != nil && !unreadable(err) {
			return nil, err
		}
	}
	if p.Waits, err = ops(s).Others(&c.Thread); err != nil && !unreadable(err) { // verify reports damage
		return nil, err
	}
	queued, err := ops(s).Queued(ctx, ref, c)
	if err != nil && !unreadable(err) { // verify reports damage
		return nil, err
	}
	p.Waits = append(p.Waits, queued...)
	if p.Failures, err = failures(ref, c); err != nil && !unreadable(err) { // verify reports damage
		return nil, err
	}
	for i := range waiting {
		p.Waiting = append(p.Waiting, messageOf(&waiting[i]))
	}
	for i := range handled {
		if m := messageOf(&handled[i]); m.Replied {
			p.Replied = append(p.Replied, m)
		} else {
			p.Refused = append(p.Refused, m)
		}
	}
	for _, v := range versions {
		p.History = append(p.History, versionJSON{v.Number, v.Status.String(), utc(v.Released), idText(v.Head), v.Records})
	}
	return p, p.checkpoint(ctx, s, at, &c, f)
}

// checkpoint adds a checkpoint and its state.
func (p *page) checkpoint(ctx context.Context, s checkpoint.Saver, at place, c *checkpoint.Chain, f *showFlags) error {
	if c.Empty() {
		return nil
	}
	r := recordOf(&c.Last)
	p.At = &r
	if f.noState {
		return nil
	}
	known, err := ops(s).Schemas(ctx, at.thread, at.version)
	if err != nil {
		return err
	}
	state, err := stateOf(c, known)
	if err != nil {
		return err
	}
	p.State = &state
	p.Results, err = results(at.ref(), c, known)
	return err
}

// results returns the stored results at a checkpoint, in task order.
func results(ref checkpoint.Ref, c *checkpoint.Chain, known operate.Schemas) (all []resultJSON, err error) {
	if c.Committed {
		return nil, nil
	}
	of := graph.StoredUpdates(ref, c)
	for _, d := range c.Due {
		r := resultJSON{Node: d.Node, Index: int(d.Index)}
		updates, err := of(graph.TaskState{Node: graph.ID(d.Node), Index: r.Index})
		if err != nil {
			return nil, err
		}
		for _, b := range updates {
			v, err := value.Update(known.State(c.Last.Fingerprint), b)
			if err != nil {
				return nil, fmt.Errorf("the result of %s cannot be read: %w: %w", r.task(), checkpoint.ErrDamaged, err)
			}
			r.Updates = append(r.Updates, v)
		}
		if updates != nil {
			all = append(all, r)
		}
	}
	return all, nil
}

// failures returns the stored failures at a checkpoint: those of due tasks, in task order, then
// that of the run.
func failures(ref checkpoint.Ref, c checkpoint.Chain) ([]failureJSON, error) {
	if c.Empty() {
		return nil, nil
	}
	// No payload of the other writes has to be decrypted.
	c.Thread.Questions = nil
	c.Writes = slices.DeleteFunc(slices.Clone(c.Writes), func(w checkpoint.Write) bool {
		if w.Kind == checkpoint.Failure {
			return w.Name != "" && sealed(w.Payload) != nil
		}
		return w.Kind != checkpoint.Result
	})
	s, err := graph.ReadPosition(ref, &c)
	if err != nil {
		return nil, err
	}
	var all []failureJSON
	for i := range s.Tasks {
		if t := &s.Tasks[i]; !t.Finished && t.Failure != "" {
			all = append(all, failureJSON{string(t.Node), t.Index, failureText(t.Failure), t.Attempt, utc(t.FailedAt)})
		}
	}
	if s.Reason != "" {
		all = append(all, failureJSON{Text: failureText(s.Reason)})
	}
	return all, nil
}

// failureText returns the text of a failure, or the reason why it cannot be read.
func failureText(text string) string {
	if err := sealed([]byte(text)); err != nil {
		return err.Error()
	}
	return text
}

// failureTitle names the task of a failure, its attempt and its time.
func (a *app) failureTitle(f *failureJSON) string {
	if f.Node == "" {
		return "Failure of the run"
	}
	title := "Failure of " + cell((&operate.Wait{Node: f.Node, Index: f.Index}).Task())
	if f.Attempt > 0 {
		title += fmt.Sprintf(", attempt %d", f.Attempt)
	}
	if f.Failed != nil {
		title += ", " + a.moment(*f.Failed)
	}
	return title
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
	for i := range p.Results {
		a.showResult(&p.Results[i], full)
	}
	return a.showLists(p)
}

// showResult prints the updates of a finished task, each as JSON on one line.
func (a *app) showResult(r *resultJSON, full bool) {
	width := 2 * cellWidth
	if full {
		width = 0
	}
	fmt.Fprintf(a.out, "\nResult of %s, not committed:\n", cell(r.task()))
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
	for i := range p.Failures {
		f := &p.Failures[i]
		fmt.Fprintf(a.out, "\n%s:\n  %s\n", a.failureTitle(f), strings.ReplaceAll(safeText(f.Text), "\n", "\n  "))
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
