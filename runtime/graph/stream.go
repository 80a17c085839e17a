package graph

import (
	"context"
	"iter"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Event is one event of a stream. Which fields are set depends on Kind.
type Event[S, U any] struct {
	RunEvent
	Update   U            // EventUpdate and EventTaskUpdate; it must not be modified
	State    S            // EventState; it shares memory as Result.State does
	Question OpenQuestion // EventQuestion; Question.Decode and Answer take it
	Custom   any          // EventCustom
	Child    any          // set if Path is not empty: the Event with the types of the subgraph. It has Update and State; this Event does not
	Result   *Result[S]   // EventRunEnded
}

// Emit passes v to the stream of the run whose node runs under ctx, as an EventCustom: progress,
// or a token of a model's answer. Emit waits until the consumer has taken v. Without a stream that
// chose EventCustom, or after the node has returned, v is dropped.
//
// If an attempt fails, values that it emitted stay emitted; Event.Attempt identifies them. Each
// call starts the time of IdleTimeout again.
func Emit(ctx context.Context, v any) {
	task.Alive(ctx)
	task.Emit(ctx, v)
}

// Listening reports whether Emit has a consumer: whether the run under ctx has a stream that chose
// EventCustom. Without one, a node can leave out work whose only purpose is Emit, such as asking a
// model for tokens instead of a whole answer. Listening returns false outside nodes, after the
// node has returned, and in the worker of a Queue.
func Listening(ctx context.Context) bool { return task.Listening(ctx) }

// Stream is Invoke with events. The run executes while the sequence is ranged over, on the same
// goroutine. Nothing is buffered, so a slow consumer slows the run. Leaving the loop ends the run
// at its newest checkpoint and leaves the thread Ready; Resume continues it. Each range over the
// sequence is a separate run.
//
// With Async an event may be yielded before its checkpoint is stored.
func (t Thread[S, U]) Stream(ctx context.Context, in U, opts ...InvokeOption) iter.Seq2[Event[S, U], error] {
	set := streaming(setting(opts, InvokeOption.invoke))
	return events(t.g, t.thread.id, &in, nil, func(d driven) (result, error) { return t.thread.invoke(ctx, set, d) })
}

// Stream is Run with events. See Thread.Stream for the sequence. Nothing is stored: leaving the
// loop ends the run, and its state is lost.
func (g *Graph[S, U]) Stream(ctx context.Context, in U, opts ...RunOption) iter.Seq2[Event[S, U], error] {
	set := streaming(setting(opts, RunOption.run))
	return events(g, "", &in, nil, func(d driven) (result, error) { return g.core.run(ctx, set, d) })
}

// ResumeStream is Resume with events. See Stream.
func (t Thread[S, U]) ResumeStream(ctx context.Context, opts ...ResumeOption) iter.Seq2[Event[S, U], error] {
	set := streaming(setting(opts, ResumeOption.resume))
	return events(t.g, t.thread.id, nil, t.edit, func(d driven) (result, error) { return t.thread.invoke(ctx, set, d) })
}

// events returns the events of run, which gets an input, or the edit of a Resume, and then the
// result.
func events[S, U any](
	g *Graph[S, U], thread string, in *U, edit *U, run func(driven) (result, error),
) iter.Seq2[Event[S, U], error] {
	return func(yield func(Event[S, U], error) bool) {
		a := newAdapter(g)
		a.input = in
		a.setEdit(edit)
		out := &stream[S, U]{yield: yield, state: a}
		res, err := run(driven{a, in != nil, out})
		if !out.gone {
			last := RunEvent{Kind: EventRunEnded, Thread: thread, Status: res.Status}
			if g != nil {
				last.Graph = g.core.name
			}
			typed := resultWith(res, a.shown)
			yield(Event[S, U]{RunEvent: last, Result: &typed}, err)
		}
	}
}

// event is an Event without the types of its graph. Child is the typed Event of a subgraph.
type event = Event[struct{}, struct{}]

// sink takes the events of a run. It converts them to the types of the graph.
type sink interface {
	// choose sets the kinds that the consumer chose.
	choose(kinds EventKind)
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
	// left reports whether the consumer has left the loop, and telling whether its code runs.
	left() bool
	telling() bool
}

// stream is the sink of a sequence of Events.
type stream[S, U any] struct {
	kinds EventKind
	yield func(Event[S, U], error) bool
	state *adapter[S, U]
	tells bool            // yield runs
	gone  bool            // the consumer has left the loop
	asked map[string]bool // the questions that were passed on, by id
}

func (s *stream[S, U]) choose(kinds EventKind) { s.kinds = kinds }

func (s *stream[S, U]) wants(kinds EventKind) bool { return s.kinds&kinds != 0 }

func (s *stream[S, U]) left() bool { return s.gone }

func (s *stream[S, U]) telling() bool { return s.tells }

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
		s.tells = true
		s.gone = !s.yield(e, nil)
		s.tells = false
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

// feed passes the progress of a run to its stream. It is made from the run when there is something
// to pass on.
type feed struct {
	g      *core
	thread string
	log    *journal.Writer // nil for a run that stores nothing
	sink   sink            // nil for a run without a stream
}

func (r *run) feed() feed { return feed{r.g, r.thread, r.log, r.sink} }

// event returns an event of the run.
func (f feed) event(kind EventKind, step int) event {
	return event{RunEvent: RunEvent{Kind: kind, Graph: f.g.name, Thread: f.thread, Step: step}}
}

// watched reports whether the consumer wants events of tasks during a superstep.
func (f feed) watched() bool {
	return f.sink != nil && (f.g.nests || f.sink.wants(EventTaskStarted|EventTaskEnded|EventTaskRetry|EventTaskFallback|EventTaskCached|
		EventTaskStuck|EventTaskUpdate|EventCustom))
}

// post has post show an event of a task of the given step.
func (f feed) post(e event, step int, post func(func() bool)) {
	post(func() bool { return f.show(e, step) })
}

// Started implements exec.Watcher.
func (f feed) Started(t exec.Seen, by *task.Worker, post func(func() bool)) {
	f.post(f.ofAttempt(EventTaskStarted, t), t.Step, post)
	custom, step := f.ofTask(EventCustom, t), t.Step // goroutines that a node left behind may emit, too
	by.Emitting(func(attempt int, summary string, v any) {
		e := custom
		e.Attempt, e.Summary, e.Custom = attempt, summary, v
		if inner, ok := v.(relayed); ok {
			inner.Path = append([]PathElement{{e.Node, e.Index}}, inner.Path...)
			e = inner.event
		}
		f.post(e, step, post)
	}, f.sink.wants(EventCustom))
}

// Stopped implements exec.Watcher.
func (f feed) Stopped(t exec.Seen, o exec.Outcome, post func(func() bool)) {
	e := f.ofAttempt(EventTaskEnded, t)
	e.Outcome = Outcome(o)
	if e.Outcome.failed() {
		e.Err = t.Err
	}
	f.post(e, t.Step, post)
	if e.Outcome == OutcomeDone && f.sink.wants(EventTaskUpdate) {
		u, n := f.ofAttempt(EventTaskUpdate, t), &f.g.nodes[t.Task.Node]
		post(func() bool { return f.sink.updates(u, t.I, n) })
	}
}

// Retrying implements exec.Watcher.
func (f feed) Retrying(t exec.Seen, delay time.Duration, post func(func() bool)) {
	e := f.ofAttempt(EventTaskRetry, t)
	e.Delay, e.Err = delay, t.Err
	f.post(e, t.Step, post)
}

// Stuck implements exec.Watcher.
func (f feed) Stuck(t exec.Seen, since time.Duration, summary string, post func(func() bool)) {
	e := f.ofTask(EventTaskStuck, t)
	e.Attempt, e.Summary, e.Took = t.Attempt, summary, since
	f.post(e, t.Step, post)
}

// FallingBack implements exec.Watcher.
func (f feed) FallingBack(t exec.Seen, err error, post func(func() bool)) {
	e := f.ofAttempt(EventTaskFallback, t)
	e.Err = err
	f.post(e, t.Step, post)
}

// Cached implements exec.Watcher.
func (f feed) Cached(t exec.Seen, err error, post func(func() bool)) {
	e := f.ofTask(EventTaskCached, t)
	e.Err = err
	f.post(e, t.Step, post)
}

// ofAttempt returns an event of an attempt that has not begun, or has ended.
func (f feed) ofAttempt(kind EventKind, t exec.Seen) event {
	e := f.ofTask(kind, t)
	e.Attempt, e.Summary = t.Attempt, t.Summary
	return e
}

// ofTask returns an event of a task without what its attempts change.
func (f feed) ofTask(kind EventKind, t exec.Seen) event {
	e := f.event(kind, t.Step)
	e.Node, e.Index = ID(t.Node), t.Index
	return e
}

// publish yields the events of the superstep that was just committed. It reports whether the
// consumer still takes events. After it, the slots are no longer tasks of a superstep in progress.
func (r *run) publish() bool {
	done := r.exec.Tasks
	r.exec.Over()
	if r.sink == nil && !r.watchers.any() {
		return true
	}
	next := r.nextIDs()
	if r.watchers.any() && r.log != nil {
		r.watchers.notify(r.ctx, RunEvent{Kind: EventCheckpoint, Step: r.plan.Step, Checkpoint: r.log.Base, Next: next})
	}
	return r.sink == nil || r.feed().publish(r.plan.Step, done, next)
}

// publish yields the events of a superstep. done are its tasks, and next are the nodes that are
// due after it.
func (f feed) publish(step int, done []exec.Task, next []ID) bool {
	e := f.event(EventUpdate, step)
	e.Checkpoint = f.base()
	for i := range done {
		if done[i].Node == start || done[i].Progress == exec.Beaten {
			continue
		}
		n := &f.g.nodes[done[i].Node]
		e.Node, e.Index, e.Summary = n.id, done[i].Index, done[i].Summary
		if !f.sink.updates(e, i, n) {
			return false
		}
	}
	e.Kind, e.Node, e.Index, e.Summary = EventState, "", 0, ""
	if !f.sink.value(e) {
		return false
	}
	e.Kind, e.Next = EventCheckpoint, next
	return f.sink.take(e)
}

// publishQuestions yields the questions of tasks of the given step that were not yielded before.
// It reports whether the consumer still takes events.
func (f feed) publishQuestions(step int, asked []OpenQuestion) bool {
	if f.sink == nil {
		return true
	}
	for _, w := range asked {
		if f.sink.asks(w.ID) {
			e := f.event(EventQuestion, step)
			e.Checkpoint, e.Node, e.Index, e.Summary, e.Question = f.base(), w.Node, w.Index, w.Summary, w
			f.sink.take(e)
		}
	}
	return !f.sink.left()
}

// base returns the checkpoint whose tasks are due; zero if the run stores nothing.
func (f feed) base() checkpoint.ID {
	if f.log == nil {
		return checkpoint.ID{}
	}
	return f.log.Base
}

// show yields the event of a task in progress. It treats a question of a subgraph as one of a task
// of the given step; OpenQuestion.Path has its place.
func (f feed) show(e event, step int) bool {
	if e.Kind == EventQuestion {
		return f.publishQuestions(step, []OpenQuestion{e.Question})
	}
	return f.sink.take(e)
}
