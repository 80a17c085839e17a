package journal

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// A task of a node with a queue is executed by another process, perhaps several times: after each
// answer, by Retry, and after a Rerun. Each execution has a name, which is the name of its stored
// outcome:
//
//	round "/" answers "." attempt   the outcome of an execution, as an Execution
//	round "/" name                  the result of a durable call named so
//	round "/" answers "." attempt "/out"   the execution was handed out, as a HandedOut
//	round "/calls"                  results of durable calls may be stored: empty
//	round "/note." number           a note of Progress, from 1: the text. A later one replaces it
//	round                           ends the round: empty, or a byte 1 to drop notes before it
//
// All three parts are numbers that follow from what is stored, so another holder of the thread
// makes the same names. A round ends by Rerun, by an edit of the thread, and when a run ends
// because the task has failed. Outcomes of a round that has ended count for nothing.

// ExecutionName returns the name of the execution of a task in a round, after so many answers.
func ExecutionName(round, answers, attempt int) string {
	return inRound(round, strconv.Itoa(answers)+"."+strconv.Itoa(attempt))
}

func inRound(round int, name string) string { return strconv.Itoa(round) + "/" + name }

// HandedOutName returns the name of the outcome that notes that an execution was handed out.
func HandedOutName(execution string) string { return execution + "/out" }

// IsNote reports whether the name of an outcome notes only that an execution was handed out, or
// how far it is.
func IsNote(name string) bool { return strings.HasSuffix(name, "/out") || isProgress(name) }

// isProgress reports whether the name of an outcome is that of a note of Progress.
func isProgress(name string) bool { return strings.Contains(name, "/note.") }

// NoteName returns the name of the outcome that is a note of Progress of a task, from 1.
func NoteName(round, n int) string { return inRound(round, "note."+strconv.Itoa(n)) }

// ProgressNotes returns how many notes of Progress are stored among the writes of a task.
func ProgressNotes(writes []checkpoint.Write) (n int) {
	for i := range writes {
		if writes[i].Kind == checkpoint.Outcome && isProgress(writes[i].Name) {
			n++
		}
	}
	return n
}

// Forget makes a write that ends a round drop the notes of Progress before it.
func Forget(w *checkpoint.Write) { w.Payload = []byte{1} }

// HandedOut says which queue an execution was handed out to, and when.
type HandedOut struct {
	Queue string
	Node  string        // the id of the node; a newer version of the graph may have another one
	Birth checkpoint.ID // of the thread; a copy of the thread has another one
	At    time.Time     // on the saver's clock
}

// AppendHandedOut appends h as an array of the time in microseconds, the queue, the node and the
// birth.
func AppendHandedOut(b []byte, h HandedOut) []byte {
	b = wire.AppendInt(wire.AppendArrayLen(b, 4), h.At.UnixMicro())
	return wire.AppendBytes(wire.AppendBytes(wire.AppendBytes(b, []byte(h.Queue)), []byte(h.Node)), h.Birth[:])
}

// ReadHandedOut reads what AppendHandedOut wrote. It returns the zero HandedOut for anything else,
// and then the execution is handed out again.
func ReadHandedOut(b []byte) (h HandedOut) {
	r := wire.NewReader("hand-out", b)
	if r.ArrayLen() != 4 {
		return HandedOut{}
	}
	at := r.Int64()
	h.Queue, h.Node, h.At = string(r.Bytes()), string(r.Bytes()), time.UnixMicro(at).UTC()
	if r.FixedBytes(h.Birth[:]); r.End() != nil {
		return HandedOut{}
	}
	return h
}

// HandedOut returns the number of the newest attempt of a task that was handed out or has an
// outcome. It counts those of a round, after so many answers. It returns 0 for none. Attempts that
// the run executed itself, and those before another answer, leave no such names.
func (p *Pending) HandedOut(key string, round, answers int) (attempt int) {
	for name := range p.outcomes[key] {
		if of, n, ok := executionOf(name, round); ok && of == answers {
			attempt = max(attempt, n)
		}
	}
	return attempt
}

// executionOf reads the name of an execution of a round, or of its hand-out.
func executionOf(name string, round int) (answers, attempt int, ok bool) {
	name, ok = strings.CutPrefix(strings.TrimSuffix(name, "/out"), inRound(round, ""))
	before, after, _ := strings.Cut(name, ".")
	answers, err := strconv.Atoi(before)
	attempt, failed := strconv.Atoi(after)
	return answers, attempt, ok && err == nil && failed == nil
}

// Waiting returns the hand-out of the newest execution of a task if it has no outcome yet, and the
// name of the execution. The name is empty if no worker of a queue has to execute the task.
func (p *Pending) Waiting(key string) (h HandedOut, execution string) {
	all, round := p.outcomes[key], p.Round(key)
	answers, attempt := -1, 0
	for name := range all {
		if a, n, ok := executionOf(name, round); ok && (a > answers || a == answers && n > attempt) {
			answers, attempt = a, n
		}
	}
	execution = ExecutionName(round, answers, attempt)
	out, waits := all[HandedOutName(execution)]
	if _, ended := all[execution]; !waits || ended {
		return HandedOut{}, ""
	}
	return ReadHandedOut(out), execution
}

// AnswersOf returns the number of answers before the execution of a name; -1 for another name.
func AnswersOf(execution string) int {
	_, rest, _ := strings.Cut(execution, "/")
	answers, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(answers); err == nil {
		return n
	}
	return -1
}

// CallsName returns the name of the outcome that is stored before the result of a durable call.
func CallsName(round int) string { return inRound(round, "calls") }

// RoundName returns the name of the outcome that ends a round.
func RoundName(round int) string { return strconv.Itoa(round) }

// EndRound returns the write that ends a round of a task.
func EndRound(base checkpoint.ID, namespace, key string, round int) checkpoint.Write {
	return checkpoint.Write{Namespace: namespace, Base: base, Task: key, Kind: checkpoint.Outcome, Name: RoundName(round)}
}

// Round returns the number of rounds of a task that have ended: that of the present one.
func Round(writes []checkpoint.Write, base checkpoint.ID, key string) (round int) {
	for i := range writes {
		if w := &writes[i]; w.Kind == checkpoint.Outcome && w.Base == base && w.Task == key && !strings.Contains(w.Name, "/") {
			round++
		}
	}
	return round
}

// outcomes are the stored outcomes of one task, by name.
type outcomes map[string][]byte

func (p *Pending) addOutcome(w *checkpoint.Write) {
	if p.outcomes == nil {
		p.outcomes = make(map[string]outcomes)
	}
	if p.outcomes[w.Task] == nil {
		p.outcomes[w.Task] = make(outcomes)
	}
	p.outcomes[w.Task][w.Name] = w.Payload
	switch {
	case isProgress(w.Name):
		p.note(w)
	case len(w.Payload) > 0 && !strings.Contains(w.Name, "/"): // Forget
		delete(p.notes, w.Task)
	}
}

// Round returns the present round of a task.
func (p *Pending) Round(key string) (round int) {
	for name := range p.outcomes[key] {
		if !strings.Contains(name, "/") {
			round++
		}
	}
	return round
}

// Outcome returns the stored outcome of an execution.
func (p *Pending) Outcome(key, name string) ([]byte, bool) {
	b, ok := p.outcomes[key][name]
	return b, ok
}

// ExecutedElsewhere reports whether a task was handed out to a worker of a queue, or has an
// outcome of one.
func (p *Pending) ExecutedElsewhere(key string) bool { return len(p.outcomes[key]) > 0 }

// TakeCalls makes the results of durable calls that executions of a task stored in a round results
// of the task. isCall recognises their names.
func (p *Pending) TakeCalls(key string, round int, isCall func(name string) bool) {
	for name, b := range p.outcomes[key] {
		if call, ok := strings.CutPrefix(name, inRound(round, "")); ok && isCall(call) {
			p.addResult(&checkpoint.Write{Task: key, Kind: checkpoint.Result, Name: call, Payload: b})
		}
	}
}

// CallOutcome returns the outcome that stores the result of a durable call.
func CallOutcome(result checkpoint.Write, round int) checkpoint.Write {
	result.Kind, result.Name = checkpoint.Outcome, inRound(round, result.Name)
	return result
}

// Execution is the outcome of one execution of a task.
type Execution struct {
	Result  []byte // as a Result of the task; nil unless it succeeded
	Asked   []AskedElsewhere
	Failure string // why it failed; empty if it did not
	Class   uint64 // of the failure, as the runtime numbers them
	Policy  int    // the policy of Retry that applies to the failure, from 1; 0 for none
	Delay   time.Duration
	Summary string
	Parts   map[string]string // of the result, by name
}

// AskedElsewhere is a question that an execution asked.
type AskedElsewhere struct {
	Place   string
	Payload []byte
	Due     time.Time
}

// executionFormat is the number of the form of an Execution.
const executionFormat = 3

// AppendExecution appends an execution as an array. It begins with the number of the format,
// whether the task succeeded, the result as binary, and the questions. Then it has the failure,
// its class, its policy, its delay in nanoseconds and the summary. An array of the names and
// values of the parts follows. A question is an array of its place, its payload, and when it is
// due in microseconds.
func AppendExecution(b []byte, e *Execution) []byte {
	b = wire.AppendUint(wire.AppendArrayLen(b, 10), executionFormat)
	b = wire.AppendBytes(wire.AppendBool(b, e.Result != nil), e.Result)
	b = wire.AppendArrayLen(b, len(e.Asked))
	for _, a := range e.Asked {
		due := int64(0)
		if !a.Due.IsZero() {
			due = a.Due.UnixMicro()
		}
		b = wire.AppendInt(wire.AppendBytes(wire.AppendString(wire.AppendArrayLen(b, 3), a.Place), a.Payload), due)
	}
	b = wire.AppendUint(wire.AppendString(b, e.Failure), e.Class)
	b = wire.AppendInt(wire.AppendInt(b, int64(e.Policy)), int64(e.Delay))
	b = wire.AppendArrayLen(wire.AppendString(b, e.Summary), 2*len(e.Parts))
	for _, name := range slices.Sorted(maps.Keys(e.Parts)) {
		b = wire.AppendString(wire.AppendString(b, name), e.Parts[name])
	}
	return b
}

// ReadExecution reads what AppendExecution wrote.
func ReadExecution(b []byte) (e Execution, err error) {
	r := wire.NewReader("outcome", b)
	n, stored := r.ArrayLen(), r.Uint64()
	if r.OK() && stored != executionFormat {
		return e, fmt.Errorf("the outcome is stored in format %d, and this program reads format %d; let workers of the same version of graphgen run the tasks of the queue",
			stored, executionFormat)
	}
	if n != 10 {
		r.Damage(0, fmt.Errorf("got %d elements; want the 10 of an outcome", n))
	}
	succeeded, result := r.Bool(), r.Bytes()
	if succeeded {
		e.Result = append([]byte{}, result...)
	}
	for range r.ArrayLen() {
		r.ArrayLen()
		a := AskedElsewhere{Place: r.Str(), Payload: r.Bytes()}
		if due := r.Int64(); due != 0 {
			a.Due = time.UnixMicro(due).UTC()
		}
		if !r.OK() {
			break
		}
		e.Asked = append(e.Asked, a)
	}
	e.Failure, e.Class = r.Str(), r.Uint64()
	e.Policy, e.Delay = int(r.Int64()), time.Duration(r.Int64())
	e.Summary = r.Str()
	for n := r.ArrayLen(); n > 0 && r.OK(); n -= 2 {
		if e.Parts == nil {
			e.Parts = make(map[string]string)
		}
		name := r.Str()
		e.Parts[name] = r.Str()
	}
	return e, r.End()
}
