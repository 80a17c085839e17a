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

// Pair is a thread and its Model, to which the same is done. Tasks run one at a time, so that each call can be compared.
type Pair struct {
	Model  *Model
	World  *World
	Thread Thread
	spec   *Spec
	rand   *rand.Rand
	said   []string // the calls so far
	whole  bool     // all checkpoints are stored
	last   checkpoint.ID
}

// NewPair returns a thread called name on s, and its Model.
func NewPair(spec *Spec, s checkpoint.Saver, name string, opts ...graph.Option) (*Pair, error) {
	w := NewWorld()
	opts = append([]graph.Option{graph.Saver(w.Watch(s)), graph.Concurrency(1)}, opts...)
	if !spec.joinsBelow() {
		opts = append(opts, graph.Strict()) // under which a join that a subgraph leaves half reached is its failure
	}
	app, err := spec.Build(w, opts...)
	if err != nil {
		return nil, err
	}
	return &Pair{
		Model: NewModel(spec), World: w, Thread: app.Thread(name), spec: spec,
		rand: rand.New(rand.NewPCG(spec.Seed, 99)),
	}, nil
}

// most is how many calls a thread takes at most; one that needs more does not come to its end.
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
	want, d := p.Model.Invoke(), p.durability()
	res, err := p.Thread.Invoke(ctx, update(p.spec.input(p.Model.inputs)), d, graph.Abandon())
	return want, p.compare(ctx, fmt.Sprintf("invoke %s", d), want, res, err)
}

// Finish resumes the thread until it is finished. again says that its line was forked, or left.
func (p *Pair) Finish(ctx context.Context, out Outcome, again bool) error {
	for calls := 0; out.Status != "finished"; calls++ {
		if calls > most {
			return fmt.Errorf("the thread is not finished after %d calls", most)
		}
		var err error
		if out, err = p.step(ctx, p.Thread, out, again); err != nil {
			return err
		}
		again = false
	}
	return nil
}

// step resumes the thread once, on both sides.
func (p *Pair) step(ctx context.Context, at Thread, out Outcome, again bool) (Outcome, error) {
	if len(out.rerun) > 0 {
		p.World.Mend()
		p.Model.fate.mended = true
	}
	if (!again || at == p.Thread) && len(out.Waiting) == 0 && p.rand.IntN(6) == 0 && !p.Model.asks() {
		if err := p.edit(ctx); err != nil {
			return out, err
		}
	}
	var answers []string
	for i, q := range out.Waiting {
		if p.rand.IntN(3) > 0 || i == 0 && out.Failed == "" {
			answers = append(answers, q)
		}
	}
	d := p.durability()
	opts := []graph.ResumeOption{d}
	for _, id := range out.rerun {
		opts = append(opts, graph.Rerun(graph.ID(id)))
	}
	given, err := p.answers(ctx, at, answers)
	if err != nil {
		return out, err
	}
	want := p.Model.Resume(answers, out.rerun, again)
	res, err := at.Resume(ctx, append(opts, given...)...)
	return want, p.compare(ctx, fmt.Sprintf("resume %s with answers %q, rerun %q", d, answers, out.rerun), want, res, err)
}

// durability draws one for a call.
func (p *Pair) durability() graph.Durability {
	if p.whole {
		return []graph.Durability{graph.Sync, graph.Async}[p.rand.IntN(2)]
	}
	return []graph.Durability{graph.Sync, graph.Sync, graph.Async, graph.OnExit}[p.rand.IntN(4)]
}

// asks reports whether a task under way has asked something: an edit would make it ask something else.
func (m *machine) asks() bool {
	for _, sl := range m.slots {
		if len(sl.asked) > 0 {
			return true
		}
	}
	return false
}

func (p *Pair) edit(ctx context.Context) error {
	p.Model.Edit()
	p.said = append(p.said, "edit")
	_, err := p.Thread.UpdateState(ctx, update(p.spec.edit(p.Model.edits)), "")
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	snap, err := p.Thread.State(ctx)
	if err != nil {
		return err
	}
	return differ("edit: state", Text(snap.State), Text(p.Model.state.State))
}

// answers finds the questions that a thread asks, and answers them.
func (p *Pair) answers(ctx context.Context, at Thread, texts []string) (opts []graph.ResumeOption, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	snap, err := at.State(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range snap.Waiting {
		text, q, err := questionOf(w)
		if err != nil {
			return nil, err
		}
		if slices.Contains(texts, text) {
			opts = append(opts, questions[q].Answer(w, answerTo(text)))
		}
	}
	if len(opts) != len(texts) {
		return nil, fmt.Errorf("the thread waits for %d questions, %d of those in %q", len(snap.Waiting), len(opts), texts)
	}
	return opts, nil
}

// compare compares what a call came to.
func (p *Pair) compare(ctx context.Context, what string, want Outcome, res Result, err error) error {
	p.said, p.last = append(p.said, fmt.Sprintf("%s: %s %q, due %v", what, want.Status, want.Failed, want.Next)), res.Checkpoint
	if failed := failure(err); failed != want.Failed {
		return fmt.Errorf("%s: got the failure %q of error %w, want %q", what, failed, err, want.Failed)
	}
	var asked []string
	for _, w := range res.Waiting {
		text, _, err := questionOf(w)
		if err != nil {
			return err
		}
		asked = append(asked, text)
	}
	snap, err := p.Thread.State(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return errors.Join(
		differ(what+": status", res.Status.String(), want.Status),
		differ(what+": state", Text(res.State), Text(want.State)),
		differ(what+": due", fmt.Sprint(res.Next), fmt.Sprint(want.Next)),
		differ(what+": questions", fmt.Sprintf("%q", asked), fmt.Sprintf("%q", want.Waiting)),
		differ(what+": unjoined", fmt.Sprint(res.Unjoined), fmt.Sprint(want.Unjoined)),
		differ(what+": stored state", Text(snap.State), Text(want.State)),
		differ(what+": stored tasks", p.tasks(snap), p.Model.tasks()),
	)
}

// tasks prints the due tasks of a snapshot, and which have their results.
func (p *Pair) tasks(snap graph.Snapshot[State]) (text string) {
	for _, t := range snap.Tasks {
		text += fmt.Sprintf("%s.%d %t\n", t.Node, t.Index, t.Finished)
	}
	return text
}

func (m *machine) tasks() (text string) {
	for _, t := range m.due {
		sl := m.slots[slotName(t)]
		text += fmt.Sprintf("%s.%d %t\n", m.spec.name(t.node), t.index, sl != nil && sl.ended)
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

// failure is what an Outcome says of an error.
func failure(err error) string {
	var conflict *graph.ConflictError
	var route *graph.RouteError
	var node *graph.NodeError
	var unjoined *graph.UnjoinedError
	switch {
	case err == nil, errors.As(err, &unjoined):
		return ""
	case errors.As(err, &conflict):
		return fmt.Sprintf("conflict %s %s", conflict.Nodes[0], conflict.Nodes[1])
	case errors.As(err, &route):
		return fmt.Sprintf("route %s", string(route.Node))
	case errors.As(err, &node):
		return fmt.Sprintf("node %s.%d", node.Node, node.Index)
	}
	return "unknown"
}

// questionOf returns the text of a question, and which it is of.
func questionOf(w graph.Waiting) (text string, q int, err error) {
	for q := range questions {
		if v, err := questions[q].Of(w); err == nil {
			return string(v), q, nil
		}
	}
	return "", 0, fmt.Errorf("question %s of %s is none of those asked", w.Question, w.ID)
}

func answerTo(text string) wire.Int { return wire.Int(answering(text)) }

// Said returns the newest calls, for a report.
func (p *Pair) Said() string { return strings.Join(p.said[max(len(p.said)-20, 0):], "\n") }
