package graph

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

// PerLabel returns a Limiter that has a limiter for each value of a label of the thread. The
// attempts of threads with the same value share the limiter that the function returns for it, so
// values do not wait for each other. A global limiter needs a name with the value:
//
//	graph.PerLabel("tenant", func(tenant string) graph.Limiter {
//		return graph.RateGlobal(saver, "model of "+tenant, 600, time.Minute)
//	})
//
// Threads without the label, and runs without a thread, have the value "". If the function returns
// nil, the attempts with that value are not limited. See ThreadLabel for the labels that an
// attempt sees. Its errors fail the task, as do limiters that Compile would report.
//
// The process keeps the limiters that attempts hold or wait for, and the 10,000 others that were
// used last. So a Rate begins again after attempts with 10,000 other values. For a value that is
// not kept, the function is called again. Its calls do not overlap, and must not wait for
// attempts. Compile reports an empty name and a nil function.
func PerLabel(name string, limiter func(value string) Limiter) Limiter {
	return &perLabel{label: name, limiter: limiter, all: make(map[string]*labelled)}
}

// keptLimiters is how many limiters a PerLabel keeps that no attempt uses.
const keptLimiters = 10_000

// perLabel is a limiter for each value of a label.
type perLabel struct {
	label   string
	limiter func(value string) Limiter

	mu     sync.Mutex
	all    map[string]*labelled
	unused list.List // of *labelled, used longest ago first
}

// labelled is the limiter of a value. The mutex of perLabel guards users and place.
type labelled struct {
	Limiter // nil for none
	value   string
	users   int           // the attempts that wait for it or hold it
	place   *list.Element // the newest in unused; nil for none yet
}

// Acquire implements Limiter.
func (p *perLabel) Acquire(ctx context.Context) (release func(), err error) {
	name, err := ThreadLabel(ctx, p.label)
	if err != nil && !errors.Is(err, ErrNoLabel) {
		return nil, err
	}
	l, err := p.use(name)
	if err != nil || l == nil {
		return nil, err
	}
	held := false
	defer func() { // also after a panic
		if !held {
			p.leave(l)
		}
	}()
	inner, err := l.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	held = true
	return func() {
		defer p.leave(l)
		if inner != nil {
			inner()
		}
	}, nil
}

// use returns the limiter of a value, which gets one more user; nil for none.
func (p *perLabel) use(name string) (*labelled, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.all[name]
	if l == nil {
		made := p.limiter(name)
		if value.IsNil(made) {
			return nil, nil
		}
		if fault := faultOf(made); fault != "" {
			return nil, fmt.Errorf("graph: PerLabel %s, for the value %q: the Limiter %s", quoted(ID(p.label)), name, fault)
		}
		l = &labelled{Limiter: made, value: name}
		p.all[name] = l
	}
	if l.place != nil {
		p.unused.Remove(l.place) // nothing if it has users
	}
	l.users++
	return l, nil
}

// leave ends a use of a limiter.
func (p *perLabel) leave(l *labelled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.users--; l.users > 0 {
		return
	}
	l.place = p.unused.PushBack(l)
	if p.unused.Len() > keptLimiters {
		oldest := p.unused.Remove(p.unused.Front()).(*labelled)
		delete(p.all, oldest.value)
	}
}
