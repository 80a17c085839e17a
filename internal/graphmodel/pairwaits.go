package graphmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// A Pair of a graph whose nodes wait runs in a bubble of testing/synctest. So its saver and its
// Model have the same clock.

// meanwhile lets time pass between two calls, and sends signals. open is what the thread waits
// for.
func (p *Pair) meanwhile(ctx context.Context, open []place) error {
	if !p.timed {
		return nil
	}
	box := p.Model.fate.box
	now := time.Now().Truncate(time.Second).Add(time.Second) // pauses of Retry take nanoseconds
	if next := box.limited(nextDue(open)).Truncate(time.Second); next.After(now) {
		switch p.rand.IntN(4) {
		case 0:
			now = next
		case 1:
			now = next.Add(time.Second)
		case 2:
			now = now.Add(next.Sub(now) / 2).Truncate(time.Second)
		}
	}
	if p.World.Arrive != nil && now.Before(box.expires) && now.Add(time.Minute).After(box.expires) {
		now = box.expires.Truncate(time.Second).Add(time.Second) // not while tasks run
	}
	time.Sleep(time.Until(now)) //nolint:forbidigo // in a bubble
	box.now = now
	for range p.rand.IntN(3) {
		k := p.rand.IntN(len(signalNames))
		name, key := signalNames[k], []string{"", "", "x", "y"}[p.rand.IntN(4)]
		if len(open) > 0 && p.rand.IntN(3) > 0 {
			if w := open[p.rand.IntN(len(open))]; w.kind == forSignal {
				name, key = w.name, w.key
			}
		}
		if err := p.signal(ctx, name, key); err != nil {
			return err
		}
	}
	return nil
}

// unblock lets the times come for which a thread waits, and sends the signals. So the next resume
// can make progress, and makes its branch that of the thread (rule 12.9).
func (p *Pair) unblock(ctx context.Context, open []place) error {
	if next := nextDue(open); !next.IsZero() {
		time.Sleep(time.Until(next)) //nolint:forbidigo // in a bubble
	}
	for _, w := range open {
		if w.kind != forSignal {
			continue
		}
		if err := p.signal(ctx, w.name, w.key); err != nil {
			return err
		}
	}
	return nil
}

// clock returns the time on the clock of the memory saver, which counts microseconds.
func clock() time.Time { return time.Now().Truncate(time.Microsecond) }

// signal sends a signal to the thread.
func (p *Pair) signal(ctx context.Context, name, key string) error {
	if !p.spec.listens() {
		return nil
	}
	s := &post{kind: aSignal, name: name, key: key}
	p.Model.fate.box.now = clock()
	p.Model.send(s, p.Model.fate.box.now)
	p.said = append(p.said, fmt.Sprintf("signal %d, %s for %q", s.number, name, key))
	return p.sendSignal(ctx, s)
}

// sendSignal sends a signal that the model has got already.
func (p *Pair) sendSignal(ctx context.Context, s *post) error {
	var opts []graph.SignalOption
	if s.key != "" {
		opts = append(opts, graph.For(s.key))
	}
	i := slices.Index(signalNames, s.name)
	return p.Thread.Signal(ctx, signals[i].With(wire.Int(payloadOf(uint64(s.number), s.name, s.key)), opts...))
}

// answerable are the texts of the open questions that have not expired (rule 22.8).
func (p *Pair) answerable(open []place) (texts []string) {
	for _, w := range open {
		if w.kind == forAnswer && !p.Model.fate.box.tooLate(w.wait) {
			texts = append(texts, w.name)
		}
	}
	return texts
}

// compareWaits compares what a run waits for, the inbox, and when the thread is due.
func (p *Pair) compareWaits(ctx context.Context, what string, want Outcome, res Result) error {
	if !p.timed {
		return nil
	}
	return errors.Join(
		p.compareInbox(ctx, what),
		differ(what+": timers", fmt.Sprint(shownTimers(res.Timers)), fmt.Sprint(want.Timers)),
		differ(what+": signals that it waits for", fmt.Sprint(shownSignals(res.Signals)), fmt.Sprint(want.Signals)),
	)
}

// shownTimers prints timers as an Outcome does.
func shownTimers(all []graph.Timer) (texts []string) {
	for _, t := range all {
		texts = append(texts, pathText(t.Path, t.Node, t.Index)+at(t.Due))
	}
	return texts
}

// shownSignals prints receives as an Outcome does.
func shownSignals(all []graph.OpenSignal) (texts []string) {
	for _, s := range all {
		texts = append(texts, s.Signal+"/"+s.Key+" "+pathText(s.Path, s.Node, s.Index)+at(s.Expires))
	}
	return texts
}

// pathText prints where a task is.
func pathText(path []graph.PathElement, node graph.ID, index int) (text string) {
	for _, e := range path {
		text += fmt.Sprintf("%s.%d/", e.Node, e.Index)
	}
	return text + fmt.Sprintf("%s.%d", node, index)
}

// messagesText prints messages as mailText and refusedText do.
func messagesText(all []checkpoint.Message) string {
	lines := map[uint64]string{}
	for i := range all {
		switch m := &all[i]; {
		case m.Refused != "":
			lines[m.Number] = whyRefused(m.Refused)
		case m.Kind == checkpoint.InputMessage:
			lines[m.Number] = "input " + m.ID
		case m.Kind == checkpoint.SignalMessage:
			lines[m.Number] = fmt.Sprintf("signal %s/%s", m.Name, m.Key)
		default:
			lines[m.Number] = m.Kind.String()
		}
	}
	return numbered(lines)
}

// whyRefused is how the model names the reason of a refusal.
func whyRefused(reason string) string {
	for text, why := range map[string]string{
		"it was answered by a Resume": "answered", "does not wait for it": "not asked", "its time was": "expired",
		"no unfinished work before the cancel": "nothing to cancel", " has run": "has run",
		"refuses it: negative": "wrong",
	} {
		if strings.Contains(reason, text) {
			return why
		}
	}
	return reason
}

// listens reports whether a node, at any depth, receives signals.
func (s *Spec) listens() bool {
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Receives > 0 || n.Child != nil && n.Child.listens() {
			return true
		}
	}
	return false
}

// hasAsked reports whether the task has asked a question.
func (t *task) hasAsked() bool {
	for _, w := range t.waits {
		if w.kind == forAnswer {
			return true
		}
	}
	return false
}
