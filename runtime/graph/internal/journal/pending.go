package journal

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// Pending is what is stored of the tasks of one superstep that has not committed. The zero
// Pending is nothing.
type Pending struct {
	results map[string][]byte            // by task
	parts   map[string]map[string][]byte // by subgraph call and name
	asked   map[string]*Asked            // by task
	notes   map[string]string            // by task: the newest note of Progress
	failed  map[string]int               // by task: the ordinal of the newest failed attempt

	outcomes map[string]outcomes // by task: of executions in other processes
}

// Asked is what is stored of the questions of one task. A place tells a question from the others
// of the task.
type Asked struct {
	Places    []string // in the order stored
	Questions map[string][]byte
	Answers   map[string][]byte
}

// Open reports whether a question has no answer.
func (a *Asked) Open() bool {
	for _, place := range a.Places {
		if _, ok := a.Answers[place]; !ok {
			return true
		}
	}
	return false
}

// Gather returns those of the writes that belong to base, in a namespace.
func Gather(writes []checkpoint.Write, base checkpoint.ID, namespace string) (p Pending) {
	for i := range writes {
		w := &writes[i]
		if w.Base != base || w.Namespace != namespace {
			continue
		}
		switch w.Kind {
		case checkpoint.Result:
			p.addResult(w)
		case checkpoint.Failure:
			p.addFailure(w)
		case checkpoint.Question, checkpoint.Answer:
			p.addAsked(w)
		case checkpoint.Outcome:
			p.addOutcome(w)
		}
	}
	return p
}

// note makes the payload of a write the newest note of Progress of its task.
func (p *Pending) note(w *checkpoint.Write) {
	if p.notes == nil {
		p.notes = make(map[string]string)
	}
	p.notes[w.Task] = string(w.Payload)
}

// addFailure notes what a stored failure says of its task.
func (p *Pending) addFailure(w *checkpoint.Write) {
	switch {
	case w.Name == ProgressName:
		p.note(w)
	case IsAttempt(w.Name):
		if p.failed == nil {
			p.failed = make(map[string]int)
		}
		if a, err := ReadAttempt(w.Payload); err == nil { // else State returns the error
			p.failed[w.Task] = max(p.failed[w.Task], a.Ordinal)
		}
	}
}

func (p *Pending) addResult(w *checkpoint.Write) {
	if w.Name == "" {
		if p.results == nil {
			p.results = make(map[string][]byte)
		}
		p.results[w.Task] = w.Payload
		return
	}
	if p.parts == nil {
		p.parts = make(map[string]map[string][]byte)
	}
	if p.parts[w.Task] == nil {
		p.parts[w.Task] = make(map[string][]byte)
	}
	p.parts[w.Task][w.Name] = w.Payload
}

func (p *Pending) addAsked(w *checkpoint.Write) {
	if p.asked == nil {
		p.asked = make(map[string]*Asked)
	}
	a := p.asked[w.Task]
	if a == nil {
		a = &Asked{Questions: make(map[string][]byte), Answers: make(map[string][]byte)}
		p.asked[w.Task] = a
	}
	if w.Kind == checkpoint.Answer {
		a.Answers[w.Name] = w.Payload
		return
	}
	if _, again := a.Questions[w.Name]; !again {
		a.Places = append(a.Places, w.Name)
	}
	a.Questions[w.Name] = w.Payload
}

// Result returns the stored result of a task.
func (p *Pending) Result(key string) ([]byte, bool) {
	b, ok := p.results[key]
	return b, ok
}

// Progress returns the newest note of Progress of a task. ok is false if none is stored.
func (p *Pending) Progress(key string) (note string, ok bool) {
	note, ok = p.notes[key]
	return note, ok
}

// HasFailed reports whether failed attempts of some task are stored.
func (p *Pending) HasFailed() bool { return len(p.failed) > 0 }

// Failed returns how many attempts of a task have failed, as far as it is stored.
func (p *Pending) Failed(key string) int { return p.failed[key] }

// Results reports whether the result of some task is stored.
func (p *Pending) Results() bool { return len(p.results) > 0 }

// Named reports whether results with names are stored.
func (p *Pending) Named() bool { return len(p.parts) > 0 }

// Kept returns the updates of failed attempts among the named results of a task, in their order.
func Kept(parts map[string][]byte) (updates [][]byte) {
	for {
		b, ok := parts[KeptName(len(updates)+1)]
		if !ok {
			return updates
		}
		updates = append(updates, b)
	}
}

// Parts returns the stored results of a task or subgraph call that have names; nil for none.
func (p *Pending) Parts(key string) map[string][]byte { return p.parts[key] }

// Asked returns what a task asked; nil for nothing.
func (p *Pending) Asked(key string) *Asked { return p.asked[key] }

// HasAsked reports whether some task asked.
func (p *Pending) HasAsked() bool { return len(p.asked) > 0 }

// Stop returns what is stored of the stop of the namespace's own call; nil for none.
func (p *Pending) Stop() *Asked { return p.asked[StopTask] }
