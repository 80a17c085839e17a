package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Errors of Ask. See graph.ErrWaiting and graph.ErrNotAskable, which are these.
var (
	ErrWaiting    = errors.New("the node waits for an answer, a signal, a time or a child; return this error")
	ErrNotAskable = errors.New("the question cannot be asked")
)

// Asks are the questions of one task and what was answered to them. A node may ask from several
// goroutines.
type Asks struct {
	mu       sync.Mutex
	Declared []string                                     // the questions that the node lists, with SignalName for signals; nil for any
	Take     func(Awaited) ([]byte, error)                // takes a message for the task and stores that; nil without one; a nil func for never
	Stored   map[string][]byte                            // asked before, by place
	Unread   map[string]error                             // by place: why what was asked before cannot be read; nil for none
	Due      map[string]time.Time                         // by place: when a stored question is due
	Answers  map[string][]byte                            // by place
	Now      func() time.Time                             // the clock of due times; nil if every time has come
	Wrap     func(question string, payload []byte) []byte // nil for none
	ordinals map[string]int                               // by question: how often it was asked in this attempt
	open     []Asked
	places   map[string]bool // of those in open that were asked in this attempt
}

// Asked is a question without an answer.
type Asked struct {
	Place   string    // what tells it from the task's other questions
	Payload []byte    // wrapped
	Due     time.Time // when it is due: a timer, or the end of a question; zero for never
}

// Open returns the questions that have no answer: those of the newest attempt, and before one
// those stored.
func (a *Asks) Open() []Asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
}

// Answered returns how many answers the task has.
func (a *Asks) Answered() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.Answers)
}

// Hold makes questions open that an execution in another process has asked for the task that runs
// under ctx. It reports whether the task may ask.
func Hold(ctx context.Context, asked []Asked) bool {
	c, _ := find(ctx)
	if c == nil {
		return false
	}
	a, ended := c.timers()
	if ended || a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = append(a.open, asked...)
	return true
}

// Restart forgets what was asked: the node runs again.
func (a *Asks) Restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open, a.ordinals, a.places = nil, nil, nil
}

// Hold makes the stored questions that have no answer the open ones, in the order of places.
func (a *Asks) Hold(places []string) {
	for _, place := range places {
		if _, answered := a.Answers[place]; !answered {
			a.open = append(a.open, Asked{place, a.Stored[place], a.Due[place]})
		}
	}
}

// Ask asks on behalf of the task that runs under ctx, and returns the answer. as is the name of
// the place, when the node gives one; else the place is the ordinal of the question's calls. The
// question expires after the given time, unless that is zero.
func Ask(ctx context.Context, question, as string, payload []byte, expire time.Duration) ([]byte, error) {
	c, _ := find(ctx)
	if c == nil {
		return nil, fmt.Errorf("%w: question %q needs the context of a node; a route cannot ask", ErrNotAskable, question)
	}
	asks, ended := c.asks()
	switch {
	case ended:
		return nil, fmt.Errorf("%w: question %q: the node has returned", ErrNotAskable, question)
	case asks == nil:
		return nil, fmt.Errorf("%w: question %q: list it among the options of the node, and run it on a thread", ErrNotAskable, question)
	}
	return asks.ask(question, as, payload, expire)
}

// Waits reports whether the task that runs under ctx has questions without an answer.
func Waits(ctx context.Context) bool {
	c, _ := find(ctx)
	if c == nil {
		return false
	}
	a, _ := c.asks()
	return a != nil && len(a.Open()) > 0
}

// asks returns the questions of the task of c, and whether its attempt has ended.
func (c *Context) asks() (a *Asks, ended bool) {
	w := c.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ended {
		return nil, true
	}
	return w.carried.Asks, false
}

func (a *Asks) ask(question, as string, payload []byte, expire time.Duration) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.declares(question) {
		return nil, fmt.Errorf("%w: question %q: list it among the options of the node", ErrNotAskable, question)
	}
	place := a.place(question, as)
	if a.Wrap != nil {
		payload = a.Wrap(question, payload)
	}
	if before, ok := a.Stored[place]; ok && !bytes.Equal(before, payload) {
		if err := a.Unread[place]; err != nil {
			return nil, fmt.Errorf("%w: question %q: what was asked before at %q: %w", ErrNotAskable, question, place, err)
		}
		return nil, fmt.Errorf("%w: question %q asks something else than it did before at %q; a node has to ask the same until it is done; to let it ask again, edit the thread as the node before it", ErrNotAskable, question, place)
	}
	if answer, ok := a.Answers[place]; ok {
		if string(answer) == Passed {
			return nil, fmt.Errorf("%w: %q", ErrExpired, question)
		}
		return answer, nil
	}
	if a.places[place] {
		return nil, fmt.Errorf("%w: question %q is asked twice as %q; give each a name of its own", ErrNotAskable, question, place)
	}
	if a.places == nil {
		a.places = make(map[string]bool)
	}
	a.places[place] = true
	var due time.Time
	if expire != 0 && a.Now != nil {
		due = a.due(place, a.Now().Add(expire))
	}
	a.open = append(a.open, Asked{place, payload, due})
	return nil, ErrWaiting
}

// declares reports whether the node lists a question.
func (a *Asks) declares(question string) bool {
	return a.Declared == nil || slices.Contains(a.Declared, question)
}

// place returns the key of a question in its task: its name, with the name as. Without as it has
// the number of the question among those of its name.
func (a *Asks) place(question, as string) string {
	if as != "" {
		return question + ":" + as
	}
	if a.ordinals == nil {
		a.ordinals = make(map[string]int)
	}
	a.ordinals[question]++
	if n := a.ordinals[question]; n > 1 {
		return question + "#" + strconv.Itoa(n)
	}
	return question
}
