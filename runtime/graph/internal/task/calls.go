package task

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// ErrNotDurable is an error of Do. See graph.ErrNotDurable, which is this.
var ErrNotDurable = errors.New("the durable call cannot be made")

// The names of calls begin with one of these. The calls of a Fallback have fallbackMark before it.
const (
	orderedMark  = "do:"
	namedMark    = "named:"
	fallbackMark = "fallback:"
)

// IsCall reports whether a name of a stored result is that of a durable call.
func IsCall(name string) bool {
	name = strings.TrimPrefix(name, fallbackMark)
	return strings.HasPrefix(name, orderedMark) || strings.HasPrefix(name, namedMark)
}

// Calls are the durable calls of one task, with the results of those that succeeded. A node may
// make calls from several goroutines.
type Calls struct {
	// Store stores the result of a call; nil keeps it only in memory. It returns when the result
	// is stored. It is called concurrently.
	Store func(name string, r CallResult) error
	// Broken is why the task cannot make calls; nil if it can.
	Broken error

	mu      sync.Mutex
	results map[string]*CallResult // by name
	places  map[string]string      // by the place of an ordered call: its name
	storing sync.WaitGroup         // calls of Store

	fallback bool            // the Fallback runs
	over     bool            // the attempt is
	made     int             // the ordered calls of this attempt
	ordinals map[string]int  // by the name that the node gave: the ordered calls of this attempt
	running  map[string]bool // the calls in progress, by name
	ordered  string          // the ordered call in progress; empty for none
	failed   bool            // a call of this attempt could not be made durable
}

// CallResult is the result of a durable call.
type CallResult struct {
	Number int // of an ordered call: its number among those of the attempt, from 1; else 0
	Value  []byte
	Stored bool
}

// Known adds a stored result. It must be called before the first attempt.
func (c *Calls) Known(name string, r CallResult) {
	if c.results == nil {
		c.results, c.places = make(map[string]*CallResult), make(map[string]string)
	}
	c.results[name] = &r
	if r.Number > 0 {
		c.places[place(name, r.Number)] = name
	}
}

// place returns the key of the n-th ordered call of the node or of its Fallback, which name
// belongs to.
func place(name string, n int) string {
	if strings.HasPrefix(name, fallbackMark) {
		return fallbackMark + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// Failed reports whether the newest attempt made a call that could not be made durable.
func (c *Calls) Failed() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// EachUnstored calls yield with each result that Store has not stored.
func (c *Calls) EachUnstored(yield func(name string, r CallResult)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, r := range c.results {
		if !r.Stored && c.Store != nil {
			yield(name, *r)
		}
	}
}

// restart forgets the calls that the last attempt made, but not their stored results.
func (c *Calls) restart(fallback bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fallback, c.over, c.failed, c.made, c.ordered = fallback, false, false, 0, ""
	c.ordinals, c.running = nil, nil
}

// end ends the attempt, and waits for results that are being stored.
func (c *Calls) end() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.storing.Wait()
}

// inCall is the context of a durable call.
type inCall struct {
	context.Context
	of   *Context
	name string
}

// Value implements context.Context.
func (c *inCall) Value(key any) any {
	if _, ok := key.(contextKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// Do makes a durable call on behalf of the task that runs under ctx, or returns the stored result.
// With named, the name alone identifies the call.
func Do(ctx context.Context, name string, named bool, call func(context.Context) ([]byte, error)) ([]byte, error) {
	c, inside := find(ctx)
	if c == nil {
		return nil, notDurable(name, "it needs the context of a node; a route cannot make it")
	}
	if inside != "" {
		return nil, notDurable(name, "it is made inside call %q of the same task; make one after the other", inside)
	}
	calls := c.durable()
	if calls == nil {
		return nil, notDurable(name, "the node has returned")
	}
	id, r, err := calls.begin(name, named)
	if err != nil {
		return nil, err
	}
	defer calls.noteEnd(id)
	if r.Value == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.Value, err = call(&inCall{ctx, c, id}); err != nil {
			return nil, err
		}
	}
	return r.Value, calls.keep(name, id, r)
}

func notDurable(name, format string, args ...any) error {
	return fmt.Errorf("%w: call %q: "+format, append([]any{ErrNotDurable, name}, args...)...)
}

// durable returns the durable calls of the task of c; nil if its attempt has ended.
func (c *Context) durable() *Calls {
	w := c.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ended {
		return nil
	}
	if w.carried.Calls == nil {
		w.carried.Calls = w.host.Calls(&w.task, w.fallback)
		w.carried.Calls.restart(w.fallback)
	}
	return w.carried.Calls
}

// begin begins a call. It returns the name under which the result is stored, and the stored result
// if there is one.
func (c *Calls) begin(name string, named bool) (id string, r CallResult, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.failed = c.failed || err != nil }()
	if c.Broken != nil {
		return id, r, fmt.Errorf("call %q: %w", name, c.Broken)
	}
	if id, err = c.identify(name, named); err != nil {
		return id, r, err
	}
	switch {
	case c.over:
		return id, r, notDurable(name, "the node has returned")
	case c.running[id]:
		return id, r, notDurable(name, "it is made twice at the same time; give each call a name of its own")
	}
	if !named {
		if r.Number, err = c.next(name, id); err != nil {
			return id, r, err
		}
		c.ordered = name
	}
	if c.running == nil {
		c.running = make(map[string]bool)
	}
	c.running[id] = true
	if known := c.results[id]; known != nil {
		r = *known
	}
	return id, r, nil
}

// identify returns the name under which the result of a call is stored.
func (c *Calls) identify(name string, named bool) (id string, err error) {
	const longest = 200
	switch {
	case name == "" || len(name) > longest:
		return "", notDurable(name, "its name has %d bytes; give it 1 to %d", len(name), longest)
	case !named && strings.Contains(name, "#"):
		return "", notDurable(name, "its name has a #, which separates the name from its number; use DoNamed or another name")
	case !named && c.ordered != "":
		return "", notDurable(name, "it is made while call %q is in progress; use DoNamed for concurrent calls", c.ordered)
	case named:
		id = namedMark + name
	default:
		if c.ordinals == nil {
			c.ordinals = make(map[string]int)
		}
		c.ordinals[name]++
		if id = orderedMark + name; c.ordinals[name] > 1 {
			id += "#" + strconv.Itoa(c.ordinals[name])
		}
	}
	if c.fallback {
		id = fallbackMark + id
	}
	return id, nil
}

// next returns the number of an ordered call that begins. It returns an error if an earlier
// execution of the node made another call at this place, or this call at another place.
func (c *Calls) next(name, id string) (int, error) {
	c.made++
	at := place(id, c.made)
	before, known := c.places[at]
	if known && before != id {
		return 0, notDurable(name, "it is call %d of the node, and the result of %q is stored for that place; "+
			"a node must make the same calls in the same order until it is done; DoNamed has no order", c.made, plain(before))
	}
	if r := c.results[id]; !known && r != nil {
		return 0, notDurable(name, "it is call %d of the node, and its result is stored as that of call %d; "+
			"a node must make the same calls in the same order until it is done; DoNamed has no order", c.made, r.Number)
	}
	return c.made, nil
}

// plain returns the name that the node gave, with the ordinal.
func plain(id string) string {
	return strings.TrimPrefix(strings.TrimPrefix(id, fallbackMark), orderedMark)
}

// noteEnd notes that a call has returned.
func (c *Calls) noteEnd(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
	if strings.HasPrefix(strings.TrimPrefix(id, fallbackMark), orderedMark) {
		c.ordered = ""
	}
}

// keep keeps the result of a call, and stores it unless it is stored.
func (c *Calls) keep(name, id string, r CallResult) error {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return notDurable(name, "the node has returned before it")
	}
	if r.Stored {
		c.mu.Unlock()
		return nil
	}
	r.Stored = c.Store == nil
	c.Known(id, r)
	c.storing.Add(1)
	c.mu.Unlock()
	defer c.storing.Done()
	if c.Store == nil {
		return nil
	}
	err := c.Store(id, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failed = true
		return fmt.Errorf("call %q has succeeded, and its result is not stored: %w", name, err)
	}
	c.results[id].Stored = true
	return nil
}
