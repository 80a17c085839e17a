package graph

import (
	"context"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// EventKind says what an event is. Kinds can be or-ed, to choose several by Events.
type EventKind uint16

const (
	// EventUpdate: a task's update, once its superstep is committed; in the order in which updates merge. A subgraph over
	// the same state has one for each task in it.
	EventUpdate EventKind = 1 << iota
	// EventValue: the state of a checkpoint, once it is committed; that of the input first.
	EventValue
	// EventTaskStart: a task begins.
	EventTaskStart
	// EventTaskEnd: a task has ended; Outcome says how. Its superstep is not committed yet.
	EventTaskEnd
	// EventCustom: what a node handed to Emit.
	EventCustom
	// EventCheckpoint: a superstep was committed.
	EventCheckpoint
	// EventQuestion: a node waits for an answer. It comes when the question is stored, which may be while other nodes run.
	EventQuestion
	// EventEnd: the last event of a stream, always yielded; it has the Result, and the error of the run is
	// yielded beside it.
	EventEnd

	// EventAll is every kind.
	EventAll = EventUpdate | EventValue | EventTaskStart | EventTaskEnd | EventCustom | EventCheckpoint | EventQuestion | EventEnd
)

// Event is one thing that a run did. Which fields are set depends on Kind.
type Event[S, U any] struct {
	Kind       EventKind
	Step       int           // the superstep's number in the thread
	Checkpoint checkpoint.ID // the superstep's; zero on EventEnd
	Node       ID            // EventUpdate: whose
	Index      int           // EventUpdate: of the send that the task was of, else 0
	Attempt    int           // EventTaskStart, EventTaskEnd, EventCustom: from 1
	Update     U             // EventUpdate; to be read only
	State      S             // EventValue; shared as in Result
	Next       []ID          // EventCheckpoint: the nodes that are due
	Question   *OpenQuestion // EventQuestion
	Custom     any           // EventCustom
	Outcome    Outcome       // EventTaskEnd
	Err        error         // EventTaskEnd: why, if the task failed or was cancelled
	Path       []ID          // of the subgraph nodes that lead to where it happened; nil in the graph itself
	Child      any           // with a Path: the Event as the subgraph has it, of its types; Update and State are only there
	Result     *Result[S]    // EventEnd
}

// Emit hands v to the stream of the run whose node runs under ctx, as an EventCustom: progress, a token of a model's
// answer. It waits until the consumer has taken it. Without a stream that asks for EventCustom, or after the node has
// returned, v is dropped. What an attempt emits is not taken back when it fails; Event.Attempt tells.
func Emit(ctx context.Context, v any) { task.Emit(ctx, v) }

// Stream is Invoke, with events. The run is under way while the sequence is ranged over, on the same goroutine:
// a slow consumer slows the run, and nothing is buffered. Leaving the loop ends the run at its newest
// checkpoint, as Paused; Resume goes on. Each range over the sequence is a run of its own.
//
// With Async an event may come before its checkpoint is stored.
func (t Thread[S, U]) Stream(ctx context.Context, in U, opts ...StreamOption) iter.Seq2[Event[S, U], error] {
	o, err := calling(t, opts, StreamOption.stream)
	return t.stream(ctx, o, err, &in)
}

// ResumeStream is Resume, with events. See Stream.
func (t Thread[S, U]) ResumeStream(ctx context.Context, opts ...ResumeStreamOption) iter.Seq2[Event[S, U], error] {
	o, err := calling(t, opts, ResumeStreamOption.resumeStream)
	return t.stream(ctx, o, err, nil)
}

func (t Thread[S, U]) stream(ctx context.Context, o runOptions, wrong error, in *U) iter.Seq2[Event[S, U], error] {
	return func(yield func(Event[S, U], error) bool) {
		if wrong != nil {
			yield(Event[S, U]{Kind: EventEnd, Result: new(Result[S])}, wrong)
			return
		}
		out := &stream[S, U]{kinds: o.events, yield: yield}
		res, err := t.drive(ctx, o, out, in)
		if !out.gone {
			yield(Event[S, U]{Kind: EventEnd, Result: &res}, err)
		}
	}
}

// event is an Event without the types of its graph. The Child of an event of a subgraph is the Event as the subgraph
// has it.
type event = Event[struct{}, struct{}]

// sink takes the events of a run. It makes the Events of the graph's types.
type sink interface {
	// wants reports whether somebody takes events of the given kinds, or of one of them.
	wants(kinds EventKind) bool
	// take hands on e. Like updates and value, it reports whether somebody still takes events.
	take(e event) bool
	// updates hands on e for each update of a node in slot i.
	updates(e event, i int, n *node) bool
	// value hands on e with the state.
	value(e event) bool
	// asks notes that the question of the given id is handed on. It reports whether that is the first time.
	asks(id string) bool
	// left reports whether nobody takes events any more.
	left() bool
}

// stream is the sink of a sequence of Events.
type stream[S, U any] struct {
	kinds   EventKind
	yield   func(Event[S, U], error) bool
	state   *adapter[S, U]
	telling bool            // yield runs
	gone    bool            // nobody takes events any more
	asked   map[string]bool // the questions handed on, by id
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
	if !s.wants(EventValue) {
		return true
	}
	typed := eventOf[S, U](e)
	typed.State = s.state.live.View()
	s.state.live.Share()
	return s.tell(typed)
}

// eventOf returns e as an Event of a graph's types.
func eventOf[S, U any](e event) Event[S, U] {
	return Event[S, U]{
		Kind: e.Kind, Step: e.Step, Checkpoint: e.Checkpoint, Node: e.Node, Index: e.Index, Attempt: e.Attempt, Next: e.Next,
		Question: e.Question, Custom: e.Custom, Outcome: e.Outcome, Err: e.Err, Path: e.Path, Child: e.Child,
	}
}

// relayed is an event of a subgraph on its way to who listens to the run.
type relayed struct{ event }

// relay returns the event of a subgraph as the graph around it has it.
func relay[S, U any](e Event[S, U]) relayed {
	child := any(e)
	if len(e.Path) > 0 {
		child = e.Child
	}
	return relayed{event{
		Kind: e.Kind, Step: e.Step, Checkpoint: e.Checkpoint, Node: e.Node, Index: e.Index, Attempt: e.Attempt, Next: e.Next,
		Question: e.Question, Custom: e.Custom, Outcome: e.Outcome, Err: e.Err, Path: e.Path, Child: child,
	}}
}

// publisher tells the sink and the observers what a run does.
type publisher struct{ *run }

func (r *run) telling() publisher { return publisher{r} }

// watched reports whether anybody wants to see tasks while they run.
func (r publisher) watched() bool {
	return r.g.nests || r.sink.wants(EventTaskStart|EventTaskEnd|EventCustom)
}

// watcher turns what happens to tasks while they run into events.
type watcher struct{ r *run }

// Started implements exec.Watcher.
func (w watcher) Started(i int, by *task.Worker, post func(func() bool)) {
	e := w.event(EventTaskStart, i)
	e.Attempt = 1
	post(func() bool { return w.r.telling().show(e) })
	by.Emitting(func(attempt int, v any) {
		e := w.event(EventCustom, i)
		e.Attempt, e.Custom = attempt, v
		if inner, ok := v.(relayed); ok {
			inner.Path = append([]ID{e.Node}, inner.Path...)
			e = inner.event
		}
		post(func() bool { return w.r.telling().show(e) })
	})
}

// Stopped implements exec.Watcher.
func (w watcher) Stopped(i int, o exec.Outcome, post func(func() bool)) {
	t := &w.r.exec.Tasks[i]
	e := w.event(EventTaskEnd, i)
	e.Attempt, e.Outcome = t.Attempt, Outcome(o)
	if e.Outcome.failed() {
		e.Err = t.Err
	}
	post(func() bool { return w.r.telling().show(e) })
}

func (w watcher) event(kind EventKind, i int) event {
	t := &w.r.exec.Tasks[i]
	return event{Kind: kind, Step: w.r.plan.Step + 1, Node: w.r.g.nodes[t.Node].id, Index: t.Index}
}

// publish yields what the superstep that has just been committed came to. It reports whether anybody listens.
// From here on the slots are no tasks of a superstep under way.
func (r publisher) publish() bool {
	done := r.exec.Tasks
	r.exec.Over()
	return r.sink == nil && r.watchers == nil || r.publishTasks(done)
}

// publishTasks is publish for the tasks of the superstep.
func (r publisher) publishTasks(done []exec.Task) bool {
	if r.watchers.any() && r.log != nil {
		r.watchers.notify(r.ctx, RunEvent{Kind: Committed, Step: r.plan.Step, Checkpoint: r.log.Base, Next: r.nextIDs()})
	}
	if r.sink == nil {
		return true
	}
	e := event{Step: r.plan.Step, Checkpoint: r.log.Base}
	for i := range done {
		if done[i].Node == start || done[i].Progress == exec.Beaten {
			continue
		}
		n := &r.g.nodes[done[i].Node]
		e.Kind, e.Node, e.Index = EventUpdate, n.id, done[i].Index
		if !r.sink.updates(e, i, n) {
			return false
		}
	}
	return r.sink.value(event{Kind: EventValue, Step: r.plan.Step, Checkpoint: r.log.Base}) &&
		r.sink.take(event{Kind: EventCheckpoint, Step: r.plan.Step, Checkpoint: r.log.Base, Next: r.nextIDs()})
}

// publishQuestions yields those of the questions that were not yielded before. It reports whether anybody listens.
func (r publisher) publishQuestions(asked []OpenQuestion) bool {
	if r.sink == nil {
		return true
	}
	for _, w := range asked {
		if r.sink.asks(w.ID) {
			r.sink.take(event{Kind: EventQuestion, Step: r.plan.Step + 1, Checkpoint: r.log.Base, Node: w.Node, Index: w.Index, Question: &w})
		}
	}
	return !r.sink.left()
}

// show yields the event of a task under way. A question that a subgraph asks is one of the run itself: OpenQuestion.Path says where.
func (r publisher) show(e event) bool {
	if e.Kind == EventQuestion {
		return r.publishQuestions([]OpenQuestion{*e.Question})
	}
	return r.sink.take(e)
}
