package graphmodel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Pair is a thread and its Model, which get the same calls. Tasks run one at a time, so that each
// call can be compared.
type Pair struct {
	Model  *Model
	World  *World
	Thread Thread
	spec   *Spec
	timed  bool              // the nodes wait for more than answers
	ids    map[string]string // of the questions that the thread has asked, by their texts
	rand   *rand.Rand
	said   []string // the calls so far
	whole  bool     // all checkpoints are stored
	last   checkpoint.ID

	// These are of a Pair that corresponds.
	corresponds bool
	app         *App
	saver       checkpoint.Saver
	limits      int      // how many inputs have an ExecutionTimeout
	rerun       []string // the nodes whose results have to be dropped
	requests    []string // the ids of the inputs that were submitted
	cancels     int
	leave       context.CancelFunc // ends the context of the call in progress
}

// NewPair returns a thread called name on s, and its Model.
func NewPair(spec *Spec, s checkpoint.Saver, name string, opts ...graph.Option) (*Pair, error) {
	w := NewWorld()
	w.Settles, w.Replies = spec.waits(), spec.Replies
	opts = append([]graph.Option{graph.Saver(w.Saver(s)), graph.Concurrency(1)}, opts...)
	if !spec.joinsBelow() {
		opts = append(opts, graph.Strict()) // a subgraph that ends with a join half reached fails under it (rule 5.6)
	}
	app, err := spec.Build(w, opts...)
	if err != nil {
		return nil, err
	}
	return &Pair{
		Model: NewModel(spec), World: w, Thread: app.Thread(name), spec: spec, timed: spec.waits(), app: app, saver: s,
		ids:  make(map[string]string),
		rand: rand.New(rand.NewPCG(spec.Seed, 99)),
	}, nil
}

// most bounds the calls of a thread. One that needs more does not end.
const most = 1000

// Run gives the thread an input, and resumes it until it is finished.
func (p *Pair) Run(ctx context.Context) error {
	out, err := p.invoke(ctx)
	if err != nil {
		return err
	}
	return p.Finish(ctx, out, false)
}

func (p *Pair) invoke(ctx context.Context) (Outcome, error) {
	if err := p.meanwhile(ctx, nil); err != nil {
		return Outcome{}, err
	}
	stops, d := p.stops(), p.durability()
	limit := p.limit()
	want := p.Model.Invoke(stops, "", limit)
	opts := withStops[graph.InvokeOption](stops.options(p.spec), d, graph.DiscardPending())
	if limit > 0 {
		opts = append(opts, graph.ExecutionTimeout(limit))
	}
	res, err := p.Thread.Invoke(p.during(ctx), update(p.spec.input(p.Model.inputs)), opts...)
	return want, p.compare(ctx, fmt.Sprintf("invoke %s with stops %s", d, stops.text(p.spec)), want, res, err)
}

// stops draws stops for every third call.
func (p *Pair) stops() *CallStops {
	if p.rand.IntN(3) > 0 {
		return nil
	}
	return p.spec.callStops(p.rand)
}

// withStops adds the stops of a call to its other options.
func withStops[O any](stops []graph.InterruptOption, opts ...O) []O {
	for _, stop := range stops {
		if o, ok := stop.(O); ok {
			opts = append(opts, o)
		}
	}
	return opts
}

// refused checks that a resume with a stop that cannot hold runs and stores nothing (rule 13.14).
func (p *Pair) refused(ctx context.Context, at Thread) error {
	ran := p.World.Ran()
	before, err := at.State(ctx)
	if err != nil {
		return err
	}
	if _, err := at.Resume(ctx, p.spec.wrongStop(p.rand)); failure(err) != unknown {
		return fmt.Errorf("resume with a stop that cannot hold: got error %w, want that of its option", err)
	}
	after, err := at.State(ctx)
	if err != nil {
		return err
	}
	shown := func(s graph.Snapshot[State]) string { return fmt.Sprint(described(s), s.Status, s.Stops, s.Reason) }
	return errors.Join(
		differ("tasks and routes of a refused resume", fmt.Sprint(p.World.Ran()-ran), "0"),
		differ("thread after a refused resume", shown(after), shown(before)),
	)
}

// Finish resumes the thread until it is finished. unseen is as in Model.Resume.
func (p *Pair) Finish(ctx context.Context, out Outcome, unseen bool) error {
	for calls := 0; out.Status != "done"; calls++ {
		if calls > most {
			return fmt.Errorf("the thread is not finished after %d calls", most)
		}
		var err error
		if out, err = p.step(ctx, p.Thread, out, unseen); err != nil {
			return err
		}
		unseen = false
	}
	return nil
}

// step resumes the thread once, on both sides.
func (p *Pair) step(ctx context.Context, at Thread, out Outcome, unseen bool) (Outcome, error) {
	if len(out.rerun) > 0 {
		p.World.Mend()
		p.Model.fate.mended = true
	}
	if err := p.meanwhile(ctx, out.open); err != nil {
		return out, err
	}
	resume := at.Resume
	if (!unseen || at == p.Thread) && p.rand.IntN(4) == 0 {
		if err := p.editCall(ctx); err != nil {
			return out, err
		}
	}
	if (!unseen || at == p.Thread) && len(out.Waiting) == 0 && p.rand.IntN(6) == 0 && !p.Model.asks() {
		if p.rand.IntN(2) == 0 { // rule 16.15
			p.Model.Edit()
			p.Model.withEdit = true
			resume = at.Edit(update(p.spec.edit(p.Model.edits))).Resume
		} else if err := p.edit(ctx); err != nil {
			return out, err
		}
	}
	var answers []string
	for i, q := range p.answerable(out.open) {
		if p.rand.IntN(3) > 0 || i == 0 && out.Failed == "" {
			answers = append(answers, q)
		}
	}
	if p.rand.IntN(8) == 0 {
		if err := p.refused(ctx, at); err != nil {
			return out, err
		}
	}
	stops, d := p.stops(), p.durability()
	opts := withStops[graph.ResumeOption](stops.options(p.spec), d)
	for _, id := range out.rerun {
		opts = append(opts, graph.Rerun(graph.ID(id)))
	}
	given, err := p.answers(ctx, at, answers)
	if err != nil {
		return out, err
	}
	want := p.Model.Resume(answers, out.rerun, unseen, stops)
	res, err := resume(p.during(ctx), append(opts, given...)...)
	what := fmt.Sprintf("resume %s with answers %q, rerun %q, stops %s", d, answers, out.rerun, stops.text(p.spec))
	return want, p.compare(ctx, what, want, res, err)
}

// durability draws one for a call (rule 14.6).
func (p *Pair) durability() graph.Durability {
	d := []graph.Durability{graph.Sync, graph.Sync, graph.Async, graph.OnExit}
	if p.whole {
		d = []graph.Durability{graph.Sync, graph.Async}
	}
	drawn := d[p.rand.IntN(len(d))]
	p.Model.onExit = drawn == graph.OnExit
	return drawn
}

// asks reports whether a task of the superstep in progress has asked something. An edit would make
// it ask something else (rule 12.4).
func (m *machine) asks() bool {
	for _, t := range m.tasks {
		if t.hasAsked() || t.call != nil && !t.call.done && t.call.asks() {
			return true
		}
	}
	return false
}

// editCall edits a stopped call, at any depth, if there is one.
func (p *Pair) editCall(ctx context.Context) error {
	calls := p.Model.callsAtAnyDepth()
	if len(calls) == 0 {
		return nil
	}
	c := calls[p.rand.IntN(len(calls))]
	if c.asks() {
		return nil
	}
	in, spec := p.Thread, p.spec
	for _, d := range c.path {
		snap, err := in.State(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(snap.Calls, func(call graph.SubgraphCall) bool {
			return string(call.Node) == spec.name(d.node) && call.Index == d.index
		})
		if i < 0 {
			return fmt.Errorf("got the calls %v, want one of %s.%d", snap.Calls, spec.name(d.node), d.index)
		}
		spec = spec.Nodes[d.node].Child
		child, err := spec.build(p.World, StateSchema, nil, []graph.Option{graph.SubgraphOnly()})
		if err != nil {
			return err
		}
		in = graph.Inside(in, snap.Calls[i], child)
	}
	p.Model.EditCall(c)
	what := fmt.Sprint("edit of the call ", c.path)
	p.said = append(p.said, what)
	if _, err := in.UpdateState(ctx, update(p.Model.changesOf(c))); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	snap, err := in.State(ctx)
	if err != nil {
		return err
	}
	return differ(what+": state", Text(snap.State), Text(c.state.State))
}

func (p *Pair) edit(ctx context.Context) error {
	p.Model.Edit()
	p.said = append(p.said, "edit")
	_, err := p.Thread.UpdateState(ctx, update(p.spec.edit(p.Model.edits)))
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	snap, err := p.Thread.State(ctx)
	if err != nil {
		return err
	}
	return differ("edit: state", Text(snap.State), Text(p.Model.state.State))
}

// answers finds open questions of a thread by their texts, and answers them.
func (p *Pair) answers(ctx context.Context, at Thread, texts []string) (opts []graph.ResumeOption, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	snap, err := at.State(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range snap.Questions {
		text, q, err := questionOf(w)
		if err != nil {
			return nil, err
		}
		if slices.Contains(texts, text) {
			opts = append(opts, questions[q].Answer(w, answerTo(text)))
		}
	}
	if len(opts) != len(texts) {
		return nil, fmt.Errorf("the thread waits for %d questions, %d of those in %q", len(snap.Questions), len(opts), texts)
	}
	return opts, nil
}

// compare compares the outcomes of a call, and what is stored after it (rule 14.5).
func (p *Pair) compare(ctx context.Context, what string, want Outcome, res Result, err error) error {
	p.said = append(p.said, fmt.Sprintf("%s: %s %q, due %v", what, want.Status, want.Failed, want.Next))
	p.last, p.rerun = res.Checkpoint, want.rerun
	if failed := failure(err); failed != want.Failed {
		return fmt.Errorf("%s: got the failure %q of error %w, want %q", what, failed, err, want.Failed)
	}
	asked, err := p.texts(res.Questions)
	if err != nil {
		return err
	}
	snap, err := p.Thread.State(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	stopped := fmt.Sprint(len(res.Stops) > 0, len(snap.Stops) > 0) // of a call next to another one that asks or fails
	if want.Status == "paused" || want.Status == "done" {
		stopped = fmt.Sprint(want.Status == "paused", want.Status == "paused")
	}
	return errors.Join(
		p.compareWaits(ctx, what, want, res),
		differ(what+": status", res.Status.String(), want.Status),
		differ(what+": state", Text(res.State), Text(want.State)),
		differ(what+": due", fmt.Sprint(res.Next), fmt.Sprint(want.Next)),
		differ(what+": questions", fmt.Sprintf("%q", asked), fmt.Sprintf("%q", want.Waiting)),
		differ(what+": unjoined", fmt.Sprint(res.Unjoined), fmt.Sprint(want.Unjoined)),
		differ(what+": stored status", snap.Status.String(), want.Status),
		differ(what+": has a reason", fmt.Sprint(snap.Reason != ""), fmt.Sprint(slices.Contains([]string{"failed", "cancelled", "ready"}, want.Status))),
		differ(what+": has stops", fmt.Sprint(len(res.Stops) > 0, len(snap.Stops) > 0), stopped),
		differ(what+": stored state", Text(snap.State), Text(want.State)),
		differ(what+": stored tasks", tasksIn(snap), p.Model.dueTasks()),
	)
}

// texts returns the texts of questions, and remembers their ids. A late answer needs the id of a
// question that the thread does not list any more.
func (p *Pair) texts(asked []graph.OpenQuestion) (texts []string, err error) {
	for _, q := range asked {
		text, _, err := questionOf(q)
		if err != nil {
			return nil, err
		}
		p.ids[text] = q.ID
		texts = append(texts, text)
	}
	return texts, nil
}

// tasksIn prints the due tasks of a snapshot, and which have results.
func tasksIn(snap graph.Snapshot[State]) (text string) {
	for _, t := range snap.Tasks {
		text += fmt.Sprintf("%s.%d %t\n", t.Node, t.Index, t.Finished)
	}
	return text
}

func (m *machine) dueTasks() (text string) {
	for _, d := range m.due {
		t := m.tasks[d.key()]
		text += fmt.Sprintf("%s.%d %t\n", m.spec.name(d.node), d.index, t != nil && t.succeeded)
	}
	return text
}

// differ returns an error when two texts are not the same, with the first line that is not.
func differ(what, got, want string) error {
	if got == want {
		return nil
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Errorf("%s, line %d of %d and %d:\n got %s\nwant %s", what, i+1, len(a), len(b), a[i], b[i])
		}
	}
	return fmt.Errorf("%s: got %d lines, want %d:\n got %s\nwant %s", what, len(a), len(b), got, want)
}

// failure is how an Outcome names an error.
func failure(err error) string {
	var conflict *graph.ConflictError
	var route *graph.RouteError
	var node *graph.NodeError
	var unjoined *graph.UnjoinedError
	var cancelled *graph.CancelledError
	switch {
	case err == nil, errors.As(err, &unjoined):
		return ""
	case errors.As(err, &cancelled):
		return ""
	case errors.As(err, &conflict):
		return fmt.Sprintf("conflict %s %s", conflict.Nodes[0], conflict.Nodes[1])
	case errors.As(err, &route):
		return fmt.Sprintf("route %s", string(route.Node))
	case errors.As(err, &node):
		return fmt.Sprintf("node %s.%d", node.Node, node.Index)
	}
	return unknown
}

// unknown is the failure of an error that is not of a node, a route or a conflict.
const unknown = "unknown"

// questionOf returns the text of a question, and the number of its kind.
func questionOf(w graph.OpenQuestion) (text string, q int, err error) {
	for q := range questions {
		if v, err := questions[q].Decode(w); err == nil {
			return string(v), q, nil
		}
	}
	return "", 0, fmt.Errorf("question %s of %s is of no kind that nodes ask", w.Question, w.ID)
}

func answerTo(text string) wire.Int { return wire.Int(answering(text)) }

// Said returns the newest calls, for a report.
func (p *Pair) Said() string { return strings.Join(p.said[max(len(p.said)-20, 0):], "\n") }
