package graph

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Event is one event of a stream. Which fields are set depends on Kind.
type Event[S, U any] struct {
	RunEvent
	Update   U             // EventUpdate and EventTaskUpdate; it must not be modified
	State    S             // EventState; it shares memory as Result.State does
	Question *OpenQuestion // EventQuestion
	Custom   any           // EventCustom
	Child    any           // set if Path is not empty: the Event with the types of the subgraph. It has Update and State; this Event does not
	Result   *Result[S]    // EventRunEnded
}

// Emit passes v to the stream of the run whose node runs under ctx, as an EventCustom: progress,
// or a token of a model's answer. Emit waits until the consumer has taken v. Without a stream that
// chose EventCustom, or after the node has returned, v is dropped.
//
// If an attempt fails, values that it emitted stay emitted; Event.Attempt identifies them.
func Emit(ctx context.Context, v any) { task.Emit(ctx, v) }

// Stream is Invoke with events. The run executes while the sequence is ranged over, on the same
// goroutine. Nothing is buffered, so a slow consumer slows the run. Leaving the loop ends the run
// at its newest checkpoint and leaves the thread Ready; Resume continues it. Each range over the
// sequence is a separate run.
//
// With Async an event may be yielded before its checkpoint is stored.
func (t Thread[S, U]) Stream(ctx context.Context, in U, opts ...StreamOption) iter.Seq2[Event[S, U], error] {
	o, err := calling(t, opts, StreamOption.stream)
	return t.stream(ctx, o, err, &in)
}

// Stream is Run with events. See Thread.Stream for the sequence. Nothing is stored: leaving the
// loop ends the run, and its state is lost.
func (g *Graph[S, U]) Stream(ctx context.Context, in U, opts ...RunStreamOption) iter.Seq2[Event[S, U], error] {
	o, wrong := running(g.opt.limits, opts, RunStreamOption.runStream)
	return func(yield func(Event[S, U], error) bool) {
		if wrong != nil {
			wrong := fmt.Errorf("graph: %s: %w", g.name, wrong)
			yield(Event[S, U]{RunEvent: RunEvent{Kind: EventRunEnded, Graph: g.name}, Result: new(Result[S])}, wrong)
			return
		}
		out := &stream[S, U]{kinds: o.events, yield: yield}
		res, err := g.run(ctx, in, o, out)
		if !out.gone {
			yield(Event[S, U]{RunEvent: RunEvent{Kind: EventRunEnded, Graph: g.name, Status: res.Status}, Result: &res}, err)
		}
	}
}

// ResumeStream is Resume with events. See Stream.
func (t Thread[S, U]) ResumeStream(ctx context.Context, opts ...ResumeStreamOption) iter.Seq2[Event[S, U], error] {
	o, err := calling(t, opts, ResumeStreamOption.resumeStream)
	return t.stream(ctx, o, err, nil)
}

func (t Thread[S, U]) stream(ctx context.Context, o runOptions, wrong error, in *U) iter.Seq2[Event[S, U], error] {
	return func(yield func(Event[S, U], error) bool) {
		if wrong != nil {
			yield(Event[S, U]{RunEvent: RunEvent{Kind: EventRunEnded, Thread: t.id}, Result: new(Result[S])}, wrong)
			return
		}
		out := &stream[S, U]{kinds: o.events, yield: yield}
		res, err := driver[S, U]{t}.drive(ctx, o, out, in)
		if !out.gone {
			yield(Event[S, U]{RunEvent: RunEvent{Kind: EventRunEnded, Graph: t.g.name, Thread: t.id, Status: res.Status}, Result: &res}, err)
		}
	}
}

// event is an Event without the types of its graph. Child is the typed Event of a subgraph.
type event = Event[struct{}, struct{}]

// sink takes the events of a run. It converts them to the types of the graph.
type sink interface {
	// wants reports whether the consumer chose at least one of the given kinds.
	wants(kinds EventKind) bool
	// take passes e on. Like updates and value, it reports whether the consumer still takes
	// events.
	take(e event) bool
	// updates passes e on once for each update of a node in slot i.
	updates(e event, i int, n *node) bool
	// value passes e on with the state.
	value(e event) bool
	// asks records that the question with the given id is passed on. It reports whether that is
	// the first time.
	asks(id string) bool
	// left reports whether the consumer has left the loop.
	left() bool
}

// stream is the sink of a sequence of Events.
type stream[S, U any] struct {
	kinds   EventKind
	yield   func(Event[S, U], error) bool
	state   *adapter[S, U]
	telling bool            // yield runs
	gone    bool            // the consumer has left the loop
	asked   map[string]bool // the questions that were passed on, by id
}

func (s *stream[S, U]) wants(kinds EventKind) bool { return s.kinds&kinds != 0 }

func (s *stream[S, U]) left() bool { return s.gone }

func (s *stream[S, U]) asks(id string) bool {
	if s.asked[id] {
		return false
	}
	if s.asked == nil {
		s.asked = make(map[string]bool)
	}
	s.asked[id] = true
	return true
}

func (s *stream[S, U]) take(e event) bool { return s.tell(eventOf[S, U](e)) }

// tell yields e, if the stream has chosen its kind.
func (s *stream[S, U]) tell(e Event[S, U]) bool {
	if !s.gone && s.kinds&e.Kind != 0 {
		s.telling = true
		s.gone = !s.yield(e, nil)
		s.telling = false
	}
	return !s.gone
}

func (s *stream[S, U]) updates(e event, i int, n *node) bool {
	typed := eventOf[S, U](e)
	for _, u := range s.state.updatesIn(i, n) {
		typed.Update = u
		if !s.tell(typed) {
			return false
		}
	}
	return true
}

func (s *stream[S, U]) value(e event) bool {
	if !s.wants(EventState) {
		return true
	}
	typed := eventOf[S, U](e)
	typed.State = s.state.live.View()
	s.state.live.Share()
	return s.tell(typed)
}

// eventOf returns e as an Event of a graph's types.
func eventOf[S, U any](e event) Event[S, U] {
	return Event[S, U]{RunEvent: e.RunEvent, Question: e.Question, Custom: e.Custom, Child: e.Child}
}

// relayed is an event of a subgraph on its way to the stream of the run.
type relayed struct{ event }

// relay returns the event of a subgraph as an event of its parent graph.
func relay[S, U any](e Event[S, U]) relayed {
	child := any(e)
	if len(e.Path) > 0 {
		child = e.Child
	}
	return relayed{event{RunEvent: e.RunEvent, Question: e.Question, Custom: e.Custom, Child: child}}
}

// publisher reports the progress of a run to the sink and the observers.
type publisher struct{ *run }

func (r *run) telling() publisher { return publisher{r} }

// event returns an event of the run.
func (r publisher) event(kind EventKind, step int) event {
	return event{RunEvent: RunEvent{Kind: kind, Graph: r.g.name, Thread: r.thread, Step: step}}
}

// watched reports whether the consumer wants events of tasks during a superstep.
func (r publisher) watched() bool {
	return r.g.nests || r.sink.wants(EventTaskStarted|EventTaskEnded|EventTaskRetry|EventTaskFallback|EventTaskCached|EventTaskStuck|
		EventTaskUpdate|EventCustom)
}

// watcher turns the progress of tasks into events.
type watcher struct{ r *run }

// Started implements exec.Watcher.
func (w watcher) Started(i int, by *task.Worker, post func(func() bool)) {
	e := w.event(EventTaskStarted, i)
	post(func() bool { return w.r.telling().show(e) })
	by.Emitting(func(attempt int, summary string, v any) {
		e := w.place(EventCustom, i)
		e.Attempt, e.Summary, e.Custom = attempt, summary, v
		if inner, ok := v.(relayed); ok {
			inner.Path = append([]PathElement{{e.Node, e.Index}}, inner.Path...)
			e = inner.event
		}
		post(func() bool { return w.r.telling().show(e) })
	})
}

// Stopped implements exec.Watcher.
func (w watcher) Stopped(i int, o exec.Outcome, post func(func() bool)) {
	t := &w.r.exec.Tasks[i]
	e := w.event(EventTaskEnded, i)
	e.Outcome = Outcome(o)
	if e.Outcome.failed() {
		e.Err = t.Err
	}
	post(func() bool { return w.r.telling().show(e) })
	if e.Outcome == OutcomeDone && w.r.sink.wants(EventTaskUpdate) {
		u := w.event(EventTaskUpdate, i)
		n := &w.r.g.nodes[t.Node]
		post(func() bool { return w.r.sink.updates(u, i, n) })
	}
}

// Retrying implements exec.Watcher.
func (w watcher) Retrying(i int, delay time.Duration, post func(func() bool)) {
	e := w.event(EventTaskRetry, i)
	e.Delay, e.Err = delay, w.r.exec.Tasks[i].Err
	post(func() bool { return w.r.telling().show(e) })
}

// Stuck implements exec.Watcher.
func (w watcher) Stuck(i int, since time.Duration, summary string, post func(func() bool)) {
	e := w.place(EventTaskStuck, i)
	e.Attempt, e.Summary, e.Took = w.r.exec.Tasks[i].Attempt, summary, since
	post(func() bool { return w.r.telling().show(e) })
}

// FallingBack implements exec.Watcher.
func (w watcher) FallingBack(i int, err error, post func(func() bool)) {
	e := w.event(EventTaskFallback, i)
	e.Err = err
	post(func() bool { return w.r.telling().show(e) })
}

// Cached implements exec.Watcher.
func (w watcher) Cached(i int, err error, post func(func() bool)) {
	e := w.place(EventTaskCached, i)
	e.Err = err
	post(func() bool { return w.r.telling().show(e) })
}

// event returns an event of an attempt that has not begun, or has ended.
func (w watcher) event(kind EventKind, i int) event {
	t := &w.r.exec.Tasks[i]
	e := w.place(kind, i)
	e.Attempt, e.Summary = t.Attempt, t.Summary
	return e
}

// place returns an event of a task without what its attempts change. Goroutines that a node left
// behind call it, too.
func (w watcher) place(kind EventKind, i int) event {
	t := &w.r.exec.Tasks[i]
	e := w.r.telling().event(kind, w.r.plan.Step+1)
	e.Node, e.Index = w.r.g.nodes[t.Node].id, t.Index
	return e
}

// publish yields the events of the superstep that was just committed. It reports whether the
// consumer still takes events. After it, the slots are no longer tasks of a superstep in progress.
func (r publisher) publish() bool {
	done := r.exec.Tasks
	r.exec.Over()
	return r.sink == nil && r.watchers == nil || r.publishTasks(done)
}

// publishTasks is publish for the tasks of the superstep.
func (r publisher) publishTasks(done []exec.Task) bool {
	if r.watchers.any() && r.log != nil {
		r.watchers.notify(r.ctx, RunEvent{Kind: EventCheckpoint, Step: r.plan.Step, Checkpoint: r.log.Base, Next: r.nextIDs()})
	}
	if r.sink == nil {
		return true
	}
	e := r.event(EventUpdate, r.plan.Step)
	e.Checkpoint = r.base()
	for i := range done {
		if done[i].Node == start || done[i].Progress == exec.Beaten {
			continue
		}
		n := &r.g.nodes[done[i].Node]
		e.Node, e.Index, e.Summary = n.id, done[i].Index, done[i].Summary
		if !r.sink.updates(e, i, n) {
			return false
		}
	}
	e.Kind, e.Node, e.Index, e.Summary = EventState, "", 0, ""
	if !r.sink.value(e) {
		return false
	}
	e.Kind, e.Next = EventCheckpoint, r.nextIDs()
	return r.sink.take(e)
}

// publishQuestions yields the questions that were not yielded before. It reports whether the
// consumer still takes events.
func (r publisher) publishQuestions(asked []OpenQuestion) bool {
	if r.sink == nil {
		return true
	}
	for _, w := range asked {
		if r.sink.asks(w.ID) {
			e := r.event(EventQuestion, r.plan.Step+1)
			e.Checkpoint, e.Node, e.Index, e.Summary, e.Question = r.base(), w.Node, w.Index, w.Summary, &w
			r.sink.take(e)
		}
	}
	return !r.sink.left()
}

// base returns the checkpoint whose tasks are due; zero if the run stores nothing.
func (r publisher) base() checkpoint.ID {
	if r.log == nil {
		return checkpoint.ID{}
	}
	return r.log.Base
}

// show yields the event of a task in progress. It treats a question of a subgraph as one of the
// run itself; OpenQuestion.Path has its place.
func (r publisher) show(e event) bool {
	if e.Kind == EventQuestion {
		return r.publishQuestions([]OpenQuestion{*e.Question})
	}
	return r.sink.take(e)
}
