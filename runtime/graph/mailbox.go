package graph

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// A receive is a question that a signal answers. The opening of a run answers the receives that
// tasks wait for. While the run is in progress, a node that receives takes a message by itself.
// When the run has nothing else to do, it answers the receives of tasks that wait. Each write that
// stores an answer also takes the message.

// mailbox gives messages to the tasks of a run in progress: it reads them, lets package inbox
// decide about them, and stores the decision. The run and its subgraph calls share it.
type mailbox struct {
	mu    sync.Mutex
	root  *run // the run itself; nil until start
	box   inbox.Box
	given map[string]checkpoint.Message // taken, and perhaps not stored, by the id of the receive
}

// start begins to give messages for the run r, with those that its opening has left.
func (b *mailbox) start(r *opener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.root, b.given, b.box = r.run, make(map[string]checkpoint.Message), r.mail
	b.box.Begin()
	b.box.Return(r.act.Messages.Return)
}

// readNew reads the messages that are newer than those that the run has read.
func (b *mailbox) readNew() error {
	return b.read(checkpoint.MailQuery{Thread: b.root.thread, After: b.box.Known}, b.root.log.Posted())
}

// readAll reads all messages. An answer to a question of the run may be older than the newest
// message that the run has read.
func (b *mailbox) readAll() error {
	return b.read(checkpoint.MailQuery{Thread: b.root.thread}, 0)
}

// read reads messages. newest is the newest one of the thread that was known before; 0 for none.
func (b *mailbox) read(q checkpoint.MailQuery, newest uint64) error {
	all, err := b.root.g.mail(b.root.ctx, q)
	if err == nil {
		b.box.ReadLate(all, newest)
	}
	return err
}

// seeTaken notes that a run has seen the messages that a decision takes, as far as they follow
// those that it had seen. A message after a gap must make the thread due when the run ends.
func seeTaken(log *journal.Writer, a *inbox.Act) {
	for _, number := range a.Messages.Take {
		if seen, waits := log.Seen(); number == seen+1 {
			log.See(number, waits)
		}
	}
}

// back adds signals that went back to the inbox.
func (b *mailbox) back(returned []checkpoint.Message) {
	if b == nil || len(returned) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.box.Return(returned)
}

// replied makes callers of Ask in this process look for the replies that were stored.
func (b *mailbox) replied(replies []checkpoint.Message) {
	if b != nil && b.root != nil && len(replies) > 0 {
		b.root.g.news.Changed(b.root.thread)
	}
}

// next takes the oldest signal that a task waits for. It reads new messages if none is known.
func (b *mailbox) next(w task.Awaited, check func([]byte) error) (m checkpoint.Message, a inbox.Act, ok bool, err error) {
	if m, a, ok = b.box.Next(w, check); ok {
		return m, a, ok, nil
	}
	if err := b.readNew(); err != nil {
		return m, a, false, err
	}
	m, more, ok := b.box.Next(w, check)
	a.Add(more)
	return m, a, ok, nil
}

// receive takes a signal for the task with the given key of the run r, and stores that. It returns
// nil if there is none. After an error the signal is kept for the same receive.
func (b *mailbox) receive(r *run, key string, w task.Awaited, check func([]byte) error) (answer []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := key + "/" + w.Place
	var a inbox.Act
	m, ok := b.given[id]
	if ok {
		a.Messages.Take = []uint64{m.Number}
	} else if m, a, ok, err = b.next(w, check); err != nil {
		return nil, err
	}
	if !ok {
		if a.Empty() {
			return nil, nil
		}
		return nil, r.saving("put writes", b.root.log.Put(r.ctx, nil, journal.Change{Messages: a.Messages}))
	}
	b.given[id] = m
	of := r.log.About(key)
	of.Name = w.Place
	a.Writes = inbox.Received(of, &m, b.root.log.Base)
	if err := r.log.Put(r.ctx, a.Writes, journal.Change{Messages: a.Messages}); err != nil {
		return nil, r.saving("put writes", err)
	}
	if err := r.log.WaitStored(); err != nil {
		return nil, r.saving("put writes", err)
	}
	delete(b.given, id)
	seeTaken(b.root.log, &a) // not before: a message whose taking failed must make the thread due
	return a.Writes[0].Payload, nil
}

// take returns the function by which a task of node n receives.
func (r *run) take(n *node, index int) func(task.Awaited) ([]byte, error) {
	if r.opt.box == nil {
		return nil
	}
	return func(w task.Awaited) ([]byte, error) {
		key := r.keys.Task(r.plan.Step+1, string(n.id), index)
		return r.opt.box.receive(r, key, w, func(payload []byte) error {
			return r.opt.box.root.g.redactedError(n.checkOf(w.Signal)(payload))
		})
	}
}

// receives reports whether a node can receive a signal: it lists the signal, or the signal reports
// the end of a child.
func (n *node) receives(signal string) bool {
	_, _, child := task.ChildOf(signal)
	return child || slices.ContainsFunc(n.signals, func(s receivable) bool { return s.name == signal })
}

// checkOf returns the function that checks the payload of a signal.
func (n *node) checkOf(signal string) func([]byte) error {
	if _, _, child := task.ChildOf(signal); child {
		return func(b []byte) error { _, err := readChildEnd(b); return err }
	}
	for _, s := range n.signals {
		if s.name == signal {
			return s.check
		}
	}
	return func([]byte) error { return fmt.Errorf("node %s does not list the signal any more", quoted(n.id)) }
}

// addSignals adds the signals of a node, and of the subgraph that it runs, to those of the graph.
func (g *compiled) addSignals(n *node) {
	if g.signals == nil {
		g.signals = make(map[string]bool)
	}
	for _, s := range n.signals {
		g.signals[s.name] = true
		g.replies = g.replies || s.replies
	}
	if n.sub != nil {
		g.replies = g.replies || n.sub.replies
		for name := range n.sub.signals {
			g.signals[name] = true
		}
	}
}

// questions reads stored open questions for the decisions of package inbox.
func (g *core) questions(open []checkpoint.Write) []inbox.Question {
	all := make([]inbox.Question, len(open))
	for i := range open {
		q := &all[i]
		q.Stored = open[i]
		of, err := journal.ReadQuestion(open[i].Payload)
		if err != nil {
			continue // the run returns the error when it restores the task
		}
		q.Of = of
		name, receives := task.SignalOf(of.Name)
		if !receives {
			continue
		}
		q.At = g.position(&of, 0)
		n := g.nodeAt(pathOf(of.Path), ID(of.Node))
		if n != nil && n.receives(name) {
			q.Check = func(payload []byte) error { return g.redactedError(n.checkOf(name)(payload)) }
		}
	}
	return all
}

// inTaskOrder returns open questions in task order, as far as the present declaration of the nodes
// tells it. The questions are those of a call of g, which is depth calls deep in its thread. A
// question that cannot be read comes first; its reader returns the error.
func inTaskOrder(g *core, open []checkpoint.Write, depth int) []checkpoint.Write {
	all := make([]inbox.Question, len(open))
	for i := range open {
		all[i].Stored = open[i]
		if q, err := journal.ReadQuestion(open[i].Payload); err == nil {
			all[i].At = g.position(&q, depth)
		}
	}
	inbox.InTaskOrder(all)
	ordered := make([]checkpoint.Write, len(all))
	for i := range all {
		ordered[i] = all[i].Stored
	}
	return ordered
}

// position returns the ranks of the nodes that lead to the task of a question, each with the
// number of the send. It leaves out the outermost calls, up to a depth.
func (g *core) position(q *journal.Question, depth int) (at []int) {
	path := append(slices.Clip(q.Path), journal.PathElement{Node: q.Node, Index: q.Index})
	for _, e := range path[min(depth, len(path)):] {
		if g == nil {
			break
		}
		n, _ := g.find(e.Node)
		at = append(at, g.rank(n), e.Index)
		g = g.subgraphOf(e.Node)
	}
	return at
}

// rank returns the place of node n in task order. That of all task nodes is the last, because
// their tasks are in the order of the sends.
func (g *core) rank(n int) int {
	if n >= start && g.nodes[n].decode != nil {
		return len(g.nodes)
	}
	return n
}

// asking reads the open questions of the run for the decisions of package inbox.
func (b *mailbox) asking(asked []subgraph.Asked) []inbox.Question {
	return b.root.g.questions(writesOf(asked))
}

// writesOf returns open questions as they are stored.
func writesOf(asked []subgraph.Asked) []checkpoint.Write {
	all := make([]checkpoint.Write, len(asked))
	for i, a := range asked {
		all[i] = checkpoint.Write{Namespace: a.Namespace, Base: a.Base, Task: a.Task, Kind: checkpoint.Question, Name: a.Place, Payload: a.Question}
	}
	return all
}

// come reports whether a signal has come for a receive among the open questions. It reads messages
// if the saver has reported new ones.
func (b *mailbox) come(asked []subgraph.Asked) (bool, error) {
	if b == nil || !receives(asked) {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.root.log.Posted() > b.box.Known {
		if err := b.readNew(); err != nil {
			return false, err
		}
	}
	return b.box.Has(b.asking(asked)), nil
}

// wakes reports whether a signal waits that can be given to an open question, as far as that is
// known without reading. A signal whose taking failed may wait.
func (b *mailbox) wakes(asked []subgraph.Asked) bool {
	if b == nil || b.root == nil || !receives(asked) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.given) > 0 || b.box.Has(b.asking(asked))
}

// receives reports whether there is a receive among open questions.
func receives(asked []subgraph.Asked) bool {
	return slices.ContainsFunc(asked, func(a subgraph.Asked) bool { return task.IsSignal(a.Place) })
}

// wake decides what tasks that wait are given at now, and calls store with the decision. It reads
// all messages if a question is due: later no message can come that was posted in time.
func (b *mailbox) wake(asked []subgraph.Asked, now time.Time, store func(inbox.Act) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := b.asking(asked)
	if inbox.Expires(open, now) {
		if err := b.readAll(); err != nil {
			return err
		}
	}
	a := b.box.Wake(open, b.root.log.Base, now)
	err := store(a)
	if err == nil {
		seeTaken(b.root.log, &a)
	}
	return err
}

// nextDue returns the earliest time at which an open question expires; zero for none. A question
// to which an answer was posted in time does not expire.
func (b *mailbox) nextDue(asked []subgraph.Asked) time.Time {
	asked = slices.DeleteFunc(asked, func(a subgraph.Asked) bool { return a.Due.IsZero() })
	if len(asked) == 0 {
		return time.Time{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	open := slices.DeleteFunc(b.asking(asked), func(q inbox.Question) bool { return b.box.InTime(&q) })
	_, next := inbox.Expire(open, nil, time.Time{})
	return next
}
