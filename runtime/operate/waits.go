package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
)

// Kind says what a thread or a task waits for.
type Kind string

// String returns the name of the kind.
func (k Kind) String() string { return string(k) }

// The kinds of waits. A task waits for the first five. A thread waits for one of all.
const (
	KindQuestion Kind = "question" // an answer
	KindSignal   Kind = "signal"
	KindTimer    Kind = "timer"
	KindChild    Kind = "child"   // the end of a child
	KindQueue    Kind = "queue"   // a worker of a queue
	KindRun      Kind = "run"     // the end of the run that holds the thread
	KindWorker   Kind = "worker"  // the thread is due, and no worker has taken it
	KindLease    Kind = "lease"   // the process of its run has died; a worker takes the thread over
	KindRetry    Kind = "retry"   // its last run has failed; a worker runs the thread again
	KindGaveUp   Kind = "gave-up" // its last run has failed, and no worker runs the thread again
	KindResume   Kind = "resume"  // a person, who resumes the thread at a stop or after a fork
)

// TaskKinds returns the kinds of the waits of tasks.
func TaskKinds() []Kind { return []Kind{KindQuestion, KindSignal, KindTimer, KindChild, KindQueue} }

// Kinds returns all kinds.
func Kinds() []Kind {
	return append(TaskKinds(), KindRun, KindWorker, KindLease, KindRetry, KindGaveUp, KindResume)
}

// Wait is one thing that a task waits for. Its names in JSON are stable.
type Wait struct {
	Kind     Kind         `json:"kind,omitempty"`
	ID       string       `json:"id,omitempty"` // of a question
	Question string       `json:"question,omitempty"`
	Signal   string       `json:"signal,omitempty"` // or the graph of a child
	Key      string       `json:"key,omitempty"`    // of a signal, or the thread of a child
	Queue    string       `json:"queue,omitempty"`
	Taken    bool         `json:"taken,omitempty"` // of a queue: a worker has taken the task
	Since    *time.Time   `json:"since,omitempty"` // of a queue: when the task was handed out
	Node     string       `json:"node"`            // with the subgraph calls around it: "sub/review"
	Index    int          `json:"index,omitempty"` // number of the send that the task runs, else 0
	Summary  string       `json:"summary,omitempty"`
	Expires  *time.Time   `json:"expires,omitempty"`
	Due      *time.Time   `json:"due,omitempty"`     // of a timer
	Attempt  int          `json:"attempt,omitempty"` // of a timer: the attempt that begins then; 0 if the node sleeps
	Payload  *value.Value `json:"payload,omitempty"`
	Error    string       `json:"error,omitempty"` // why a question cannot be read
}

// Name returns the name of what the task waits for.
func (w *Wait) Name() string {
	switch {
	case w.Kind == KindChild:
		return w.Key + " of " + w.Signal
	case w.Kind == KindSignal && w.Key != "":
		return w.Signal + " for " + w.Key
	}
	return cmp.Or(w.Question, w.Signal, w.Queue)
}

// Task returns the node and the number of its send: "read[2]".
func (w *Wait) Task() string {
	if w.Index > 0 {
		return fmt.Sprintf("%s[%d]", w.Node, w.Index)
	}
	return w.Node
}

// phrase returns what the task waits for in a few words.
func (w *Wait) phrase() string {
	text := string(w.Kind) + " " + w.Name()
	switch {
	case w.Kind == KindQuestion:
		text = "answer of " + cmp.Or(w.Question, w.ID)
	case w.Attempt > 0:
		text = fmt.Sprintf("attempt %d", w.Attempt)
	case w.Kind == KindTimer:
		text = "time"
	}
	if w.Node != "" {
		text += " at " + w.Task()
	}
	return text
}

// place returns a node with the subgraph calls around it.
func place(path []graph.PathElement, node graph.ID) string {
	text := ""
	for _, p := range path {
		text += string(p.Node) + "/"
	}
	return text + string(node)
}

// asked returns an open question without its payload.
func (q *Question) asked() Wait {
	w := Wait{Kind: KindQuestion, ID: q.ID, Question: q.Question, Node: place(q.Path, q.Node), Index: q.Index, Summary: q.Summary, Expires: utc(q.Expires)}
	if q.Err != nil {
		w.Error = q.Err.Error()
	}
	return w
}

// Others returns the signals, children and timers that a listed thread waits for, without
// payloads. It returns the readable waits together with an error for the others.
func (o *Operator) Others(t *checkpoint.Thread) (all []Wait, err error) {
	for i := range t.Questions {
		if err := o.Locked(t.Questions[i].Payload); err != nil {
			return nil, fmt.Errorf("thread %q: the questions, signals and timers that it waits for cannot be read: %w", t.ID, err)
		}
	}
	signals, err := graph.OpenSignals(*t)
	for _, s := range signals {
		kind := KindSignal
		if s.Child {
			kind = KindChild
		}
		all = append(all, Wait{Kind: kind, Signal: s.Signal, Key: s.Key, Node: place(s.Path, s.Node), Index: s.Index, Summary: s.Summary, Expires: utc(s.Expires)})
	}
	timers, errTimers := graph.OpenTimers(*t)
	for _, s := range timers {
		all = append(all, Wait{Kind: KindTimer, Node: place(s.Path, s.Node), Index: s.Index, Summary: s.Summary, Due: utc(s.Due), Attempt: s.Attempt})
	}
	return all, errors.Join(err, errTimers)
}

// Asked returns the open questions of a thread with their payloads. It reads descriptions only if
// there are questions.
func (o *Operator) Asked(ctx context.Context, t *checkpoint.Thread) (all []Wait, err error) {
	var schemas Schemas
	for _, q := range o.Questions(t) {
		w := q.asked()
		if q.Err == nil {
			if schemas == nil {
				if schemas, err = o.Schemas(ctx, t.ID, t.Version); err != nil {
					return nil, err
				}
			}
			d, err := o.shapeOf(ctx, &q, t, schemas)
			if err != nil {
				return nil, err
			}
			w.read(q.Payload, d)
		}
		all = append(all, w)
	}
	return all, nil
}

// read adds the payload of a question. d describes it; nil if it is not known.
func (w *Wait) read(payload []byte, d *shape.Question) {
	var p *shape.Payload
	if d != nil {
		p = &d.Question
	}
	v, err := value.Payload(p, payload)
	if err != nil {
		w.Error = err.Error()
		return
	}
	w.Payload = &v
}

// Queued returns those of the Tasks of a Snapshot that wait for workers of queues, and whether a
// worker has taken them. It makes one call of the saver for each of the most tasks that were
// handed out first; 0 is all. The others come last and count as Taken.
func (o *Operator) Queued(ctx context.Context, tasks []graph.TaskState, most int) (all []Wait, err error) {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t graph.TaskState) bool { return t.Queue == "" })
	if most > 0 {
		slices.SortStableFunc(tasks, func(a, b graph.TaskState) int { return a.Queued.Compare(b.Queued) })
	}
	for i := range tasks {
		t := &tasks[i]
		taken := true
		if most == 0 || i < most {
			task, err := o.Find(ctx, t.QueueThread)
			if err != nil && !errors.Is(err, checkpoint.ErrNotFound) { // somebody has removed it, or it has just ended
				return all, err
			}
			taken = task.Wake.After(now(&task))
		}
		all = append(all, Wait{Kind: KindQueue, Queue: t.Queue, Taken: taken, Since: utc(t.Queued), Node: string(t.Node), Index: t.Index})
	}
	return all, nil
}

// Waits returns everything that the tasks of a listed thread wait for, with payloads. With queues,
// it also loads a waiting thread to find the queues. It returns the readable waits together with
// an error for the others.
func (o *Operator) Waits(ctx context.Context, t *checkpoint.Thread, queues bool) ([]Wait, error) {
	return o.waits(ctx, t, queues, 0)
}

// waits is Waits. most is that of Queued.
func (o *Operator) waits(ctx context.Context, t *checkpoint.Thread, queues bool, most int) ([]Wait, error) {
	all, err := o.Asked(ctx, t)
	if err != nil {
		return nil, err
	}
	others, err := o.Others(t)
	all = append(all, others...)
	if err != nil || !queues || t.Status != checkpoint.Waiting {
		return all, err
	}
	p, err := o.position(ctx, checkpoint.Ref{Thread: t.ID}, false)
	if err != nil {
		return all, err
	}
	queued, err := o.Queued(ctx, p.Snap.Tasks, most)
	return append(all, queued...), err
}

// Standing says in one phrase what a thread waits for. Its names in JSON are stable.
type Standing struct {
	Kind  Kind       `json:"kind"`            // empty if the thread waits for nothing, because its work has ended
	Text  string     `json:"text"`            // such as "answer of approve at review"
	Since *time.Time `json:"since,omitempty"` // nil if it is unknown
	Until *time.Time `json:"until,omitempty"` // when the thread is due by itself
	// Stuck reports that nobody has served the wait for longer than its bound, or that nobody
	// will.
	Stuck bool `json:"stuck,omitempty"`

	queue bool   // Complete finds out which queue it is
	more  string // the end of Text
}

// The bounds of waits. Waits for workers have overdue, and those for people, signals and children
// have Operator.LongWait.
const (
	overdue         = time.Minute
	defaultLongWait = 7 * 24 * time.Hour
)

// The names of the graphs of threads that are only leases: those of registered workers, and of the
// permits of graph.MaxConcurrentGlobal.
const (
	registryGraph = graph.ReservedPrefix + "worker"
	permitGraph   = graph.ReservedPrefix + "limit"
)

// mostTasks is the number of tasks in queues that Complete reads at most.
const mostTasks = 10

// Standing returns what a listed thread waits for, at the time now on the clock of the saver. It
// reads nothing. Waits for queues are not listed: Complete adds them.
func (o *Operator) Standing(t *checkpoint.Thread, now time.Time) Standing {
	s := Standing{Since: utc(t.Updated)}
	late := !t.Wake.IsZero() && now.Sub(t.Wake) > overdue
	switch {
	case t.Holder != "":
		s.Kind, s.Text = KindRun, "its run"
		if s.Stuck = t.Cancels > 0; s.Stuck {
			s.Text = "cancel pending: the end of its run"
		}
		return s
	case t.Graph == registryGraph || t.Graph == permitGraph:
		return Standing{} // nobody takes over the lease of a dead process, which is all of the thread
	case t.Status == checkpoint.Running && t.Version > 0:
		s.Kind, s.Text, s.Since, s.Stuck = KindLease, "lease of a dead process", utc(t.Wake), late || t.Wake.IsZero()
		return s
	case t.Status == checkpoint.Failed && t.Wake.IsZero():
		s.Kind, s.Text, s.Stuck = KindGaveUp, "gave up"+afterRuns(t.FailedAttempts()), true
	case t.Status == checkpoint.Failed && t.Wake.After(now):
		s.Kind, s.Text, s.Until = KindRetry, "retry"+afterRuns(t.FailedAttempts()), utc(t.Wake)
	case !t.Wake.IsZero() && !t.Wake.After(now):
		s.Kind, s.Text, s.Since, s.Stuck = KindWorker, "a worker", utc(t.Wake), late
		if late {
			s.Text = "a worker, but none takes it"
		}
	case t.Status == checkpoint.Paused:
		s.Kind, s.Text = KindResume, "a person, at a stop"
	case t.Status == checkpoint.Waiting:
		o.waiting(t, &s)
	case !t.Wake.IsZero():
		s.Kind, s.Text, s.Until = KindTimer, "time", utc(t.Wake)
	case t.Status == checkpoint.Ready: // such as a fork
		s.Kind, s.Text = KindResume, "a resume, because no worker runs it by itself"
	default:
		return Standing{}
	}
	if s.Kind != KindWorker && t.Wake.IsZero() && now.Sub(t.Updated) > cmp.Or(o.LongWait, defaultLongWait) {
		s.Stuck = true
	}
	if t.Version == 0 {
		s.more += ", not begun"
	}
	if t.Cancels > 0 {
		s.more += ", cancelling"
	}
	if t.Inputs > 0 && t.Version > 0 {
		s.more += fmt.Sprintf(", %d queued", t.Inputs)
	}
	s.Text += s.more
	return s
}

// afterRuns returns how many runs of workers in a row have failed, as the end of a phrase. It says
// nothing of one run, which can have several failed attempts of a task.
func afterRuns(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" after %d failed runs", n)
}

// waiting says what the tasks of a thread wait for.
func (o *Operator) waiting(t *checkpoint.Thread, s *Standing) {
	var all []Wait
	for _, q := range o.Questions(t) {
		all = append(all, q.asked())
	}
	others, err := o.Others(t)
	all = append(all, others...)
	switch {
	case err != nil && len(all) == 0:
		s.Kind, s.Text = KindQuestion, "answers that cannot be read here"
	case len(all) == 0:
		s.Kind, s.Text, s.queue = KindQueue, "a queue", true
	default:
		s.of(all)
	}
	if s.Until == nil && !t.Wake.IsZero() {
		s.Until = utc(t.Wake)
	}
}

// of says that the thread waits for the first of waits.
func (s *Standing) of(all []Wait) {
	s.Kind, s.Text, s.Until = all[0].Kind, all[0].phrase(), cmp.Or(all[0].Due, all[0].Expires)
	if len(all) > 1 {
		s.Text += fmt.Sprintf(" and %d more", len(all)-1)
	}
}

// Complete completes a Standing by what a list does not say. This is the queues for whose workers
// a thread waits, and the nodes that are in progress or due. It makes one call of the saver, and
// one more for each of the 10 tasks in queues that were handed out first.
func (o *Operator) Complete(ctx context.Context, t *checkpoint.Thread, now time.Time, s *Standing) error {
	switch {
	case t.Version == 0:
		return nil
	case s.queue:
		all, err := o.waits(ctx, t, true, mostTasks)
		if s.queue = false; err != nil || len(all) == 0 {
			return err
		}
		if i := slices.IndexFunc(all, func(w Wait) bool { return !w.Taken }); i > 0 {
			all[0], all[i] = all[i], all[0]
		}
		s.of(all)
		s.Since = all[0].Since
		if all[0].Taken {
			s.Text += ", in progress"
		} else if s.Since != nil && now.Sub(*s.Since) > overdue {
			s.Text, s.Stuck = s.Text+", but no worker takes it", true
		}
		s.Text += s.more
	case s.Kind == KindRun || s.Kind == KindLease || s.Kind == KindRetry || s.Kind == KindGaveUp || s.Kind == KindWorker:
		q := checkpoint.Query{Headers: true, Limit: 1} // a resume has no due tasks of its own
		for r, err := range o.Saver.History(ctx, checkpoint.Ref{Thread: t.ID, Version: t.Version}, q) {
			if err != nil {
				return err
			}
			if due := (&checkpoint.Chain{Due: r.Due}).Next(); len(due) > 0 {
				s.Text += " at " + strings.Join(due, ", ")
			}
		}
	}
	return nil
}

// utc returns a time for JSON; nil for the zero time.
func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
