package graph

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// A receive is a question that a signal answers. The opening of a run answers the receives that
// tasks wait for. While the run is in progress, a node that receives takes a message by itself.
// When the run has nothing else to do, it answers the receives of tasks that wait. Each act that
// stores an answer also takes the message.

// signalbox is the signals of a thread that no task has taken, as far as its run knows them. The
// run and its subgraph calls share it.
type signalbox struct {
	mu      sync.Mutex
	root    *run // the run itself; nil until start
	known   uint64
	signals []checkpoint.Message          // up to the number known, in order, that are not taken
	taken   map[uint64]bool               // by this run, stored or not
	given   map[string]checkpoint.Message // taken, and perhaps not stored, by the id of the receive
	// answered are the questions that do not expire, although they are due, by their ids. The next
	// run takes their answers.
	answered map[string]bool
}

// start begins to take messages for the run r, with those that its opening has left.
func (b *signalbox) start(r *opener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.root, b.taken, b.given, b.answered = r.run, make(map[uint64]bool), make(map[string]checkpoint.Message), make(map[string]bool)
	b.known, b.signals = r.mail.read, r.mail.signals
	for _, m := range r.mail.handled.Return {
		b.add(m)
	}
}

// add adds a message, unless the box has it or the run has taken it.
func (b *signalbox) add(m checkpoint.Message) {
	at, found := slices.BinarySearchFunc(b.signals, m.Number, func(m checkpoint.Message, n uint64) int { return cmp.Compare(m.Number, n) })
	if !found && !b.taken[m.Number] {
		b.signals = slices.Insert(b.signals, at, m)
	}
}

// next returns the oldest message that a task may take. It reads messages if none is known.
// Messages whose payload check refuses are refused.
func (b *signalbox) next(w task.Awaited, check func([]byte) error) (m checkpoint.Message, ok bool, refused []checkpoint.Refusal, err error) {
	for again := true; ; {
		i := matching(b.signals, w)
		switch {
		case i >= 0:
			m = b.signals[i]
			b.signals = slices.Delete(b.signals, i, i+1)
			if err := check(m.Payload); err != nil {
				refused = append(refused, refusal(m.Number, undecodable(m.Name, err)))
				continue
			}
			return m, true, refused, nil
		case !again:
			return m, false, refused, nil
		}
		again = false
		if err := b.read(); err != nil {
			return m, false, refused, err
		}
	}
}

// matching returns the index of the oldest message that a task may take, or -1.
func matching(signals []checkpoint.Message, w task.Awaited) int {
	return slices.IndexFunc(signals, func(m checkpoint.Message) bool {
		return m.Name == w.Signal && m.Key == w.Key && (w.Due.IsZero() || !m.Posted.After(w.Due))
	})
}

func undecodable(signal string, err error) string {
	return fmt.Sprintf("the payload of signal %q is of another type: %v", signal, err)
}

// read reads the messages that are not known.
func (b *signalbox) read() error {
	posted := b.root.log.Posted()
	all, err := b.root.g.mail(b.root.ctx, checkpoint.MailQuery{Thread: b.root.thread, After: b.known})
	if err != nil {
		return err
	}
	b.known = max(b.known, posted)
	for i := range all {
		b.known = max(b.known, all[i].Number)
		if all[i].Kind == checkpoint.SignalMessage {
			b.add(all[i])
		}
	}
	return nil
}

// took notes that a write has taken a message. If it is the next one after those that the run had
// seen, the run has seen it, too.
func (b *signalbox) took(m *checkpoint.Message) {
	b.taken[m.Number] = true
	if seen, waits := b.root.log.Looked(); m.Number == seen+1 {
		b.root.log.Look(m.Number, waits)
	}
}

// back adds messages that went back to the inbox.
func (b *signalbox) back(returned []checkpoint.Message) {
	if b == nil || len(returned) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range returned {
		delete(b.taken, m.Number)
		b.add(m)
	}
}

// receive takes a message for the task with the given key of the run r, and stores that. It
// returns nil if there is none. After an error the message is kept for the same receive.
func (b *signalbox) receive(r *run, key string, w task.Awaited, check func([]byte) error) (answer []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := key + "/" + w.Place
	var h checkpoint.Handled
	m, ok := b.given[id]
	if !ok {
		if m, ok, h.Refuse, err = b.next(w, check); err != nil {
			return nil, err
		}
	}
	if !ok {
		if len(h.Refuse) == 0 {
			return nil, nil
		}
		return nil, r.saving("put writes", b.root.log.Put(r.ctx, nil, journal.Outcome{Messages: h}))
	}
	b.given[id], b.taken[m.Number] = m, true
	h.Take = []uint64{m.Number}
	writes := b.writes(checkpoint.Write{Namespace: r.log.Namespace, Base: r.log.Base, Task: key, Name: w.Place}, &m)
	if err := r.log.Put(r.ctx, writes, journal.Outcome{Messages: h}); err != nil {
		return nil, r.saving("put writes", err)
	}
	if err := r.log.Stored(); err != nil {
		return nil, r.saving("put writes", err)
	}
	delete(b.given, id)
	b.took(&m) // not before: a message whose taking failed must make the thread due
	return writes[0].Payload, nil
}

// writes returns the writes that give a message to a receive.
func (b *signalbox) writes(receive checkpoint.Write, m *checkpoint.Message) []checkpoint.Write {
	return giving(receive, m, b.root.log.Base)
}

// giving is writes for a thread whose due tasks have a base.
func giving(receive checkpoint.Write, m *checkpoint.Message, base checkpoint.ID) []checkpoint.Write {
	receive.Kind, receive.Payload = checkpoint.Answer, journal.AppendSignal(nil, m)
	writes := []checkpoint.Write{receive}
	if receive.Namespace != "" {
		note := journal.Received{Namespace: receive.Namespace, Task: receive.Task, Message: *m}
		writes = append(writes, note.Write(base))
	}
	return writes
}

// take returns the function by which a task of node n receives.
func (r host) take(n *node, index int) func(task.Awaited) ([]byte, error) {
	if len(n.signals) == 0 || r.opt.box == nil {
		return nil
	}
	return func(w task.Awaited) ([]byte, error) {
		key := r.keys.Task(r.plan.Step+1, string(n.id), index)
		return r.opt.box.receive(r.run, key, w, n.checkOf(w.Signal))
	}
}

// checkOf returns the function that checks the payload of a signal.
func (n *node) checkOf(signal string) func([]byte) error {
	for _, s := range n.signals {
		if s.name == signal {
			return s.check
		}
	}
	return func([]byte) error { return fmt.Errorf("node %s does not list the signal any more", quoted(n.id)) }
}

// checkerOf returns the function that checks a signal that a stored receive waits for. It returns
// nil if the node is gone or does not list the signal any more.
func (g *core) checkerOf(q *journal.Question) func([]byte) error {
	n := g.nodeAt(pathOf(q.Path), ID(q.Node))
	name, _ := task.SignalOf(q.Name)
	if n == nil || !slices.ContainsFunc(n.signals, func(s receivable) bool { return s.name == name }) {
		return nil
	}
	return n.checkOf(name)
}

// addSignals notes the signals of a node, and of the subgraph that it runs.
func (g *core) addSignals(n *node) {
	if g.signals == nil {
		g.signals = make(map[string]bool)
	}
	for _, s := range n.signals {
		g.signals[s.name] = true
	}
	if n.sub != nil {
		for name := range n.sub.signals {
			g.signals[name] = true
		}
	}
}

// assign answers receives among the open questions, in their order, as far as there are messages.
// It returns the writes, and the messages that they take.
func (b *signalbox) assign(asked []subgraph.Asked) (writes []checkpoint.Write, h checkpoint.Handled) {
	for i := range asked {
		a := &asked[i]
		if !task.IsSignal(a.Place) {
			continue
		}
		w, check := b.awaits(a)
		for check != nil {
			at := matching(b.signals, w)
			if at < 0 {
				break
			}
			m := b.signals[at]
			b.signals = slices.Delete(b.signals, at, at+1)
			if err := check(m.Payload); err != nil {
				h.Refuse = append(h.Refuse, refusal(m.Number, undecodable(m.Name, err)))
				continue
			}
			b.took(&m)
			h.Take = append(h.Take, m.Number)
			writes = append(writes, b.writes(checkpoint.Write{Namespace: a.Namespace, Base: a.Base, Task: a.Task, Name: a.Place}, &m)...)
			break
		}
	}
	return writes, h
}

// awaits returns what a stored receive waits for, and the function that checks it; nil if nothing
// can be given to it.
func (b *signalbox) awaits(a *subgraph.Asked) (w task.Awaited, check func([]byte) error) {
	w, q, err := awaitedAt(a.Place, a.Question, a.Due)
	if err != nil {
		return w, nil // there is no error: the run wrote or read it
	}
	return w, b.root.g.checkerOf(&q)
}

// awaitedAt returns what a stored receive waits for, with its question.
func awaitedAt(place string, stored []byte, due time.Time) (w task.Awaited, q journal.Question, err error) {
	q, err = journal.ReadQuestion(stored)
	name, _ := task.SignalOf(q.Name)
	return task.Awaited{Place: place, Signal: name, Key: string(q.Payload), Due: due}, q, err
}

// come reports whether a message has come for a receive among the open questions. It reads
// messages if the saver has reported new ones.
func (b *signalbox) come(asked []subgraph.Asked) (bool, error) {
	if b == nil || !slices.ContainsFunc(asked, func(a subgraph.Asked) bool { return task.IsSignal(a.Place) }) {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.root.log.Posted() > b.known {
		if err := b.read(); err != nil {
			return false, err
		}
	}
	return slices.ContainsFunc(asked, b.has), nil
}

// has reports whether a known message can be given to an open question.
func (b *signalbox) has(a subgraph.Asked) bool {
	if !task.IsSignal(a.Place) {
		return false
	}
	w, check := b.awaits(&a)
	return check != nil && matching(b.signals, w) >= 0
}

// wakes reports whether a message waits that can be given to an open question, as far as that is
// known without reading. A message whose taking failed may wait.
func (b *signalbox) wakes(asked []subgraph.Asked) bool {
	if b == nil || b.root == nil || !slices.ContainsFunc(asked, func(a subgraph.Asked) bool { return task.IsSignal(a.Place) }) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.given) > 0 || slices.ContainsFunc(asked, b.has)
}

// readDue reads all messages if an open question or a receive is due at now. Later no message can
// come that was posted in time. It notes the questions to which such an answer waits.
func (b *signalbox) readDue(asked []subgraph.Asked, now time.Time) error {
	expires := func(a subgraph.Asked) bool { return !task.IsTimer(a.Place) && passed(a.Due, now) }
	if !slices.ContainsFunc(asked, expires) {
		return nil
	}
	all, err := b.root.g.mail(b.root.ctx, checkpoint.MailQuery{Thread: b.root.thread})
	if err != nil {
		return err
	}
	posted := make(map[string]time.Time)
	for i := range all {
		b.known = max(b.known, all[i].Number)
		switch m := &all[i]; m.Kind {
		case checkpoint.AnswerMessage:
			posted[m.Name] = m.Posted
		case checkpoint.SignalMessage:
			b.add(*m)
		}
	}
	for i := range asked {
		id := asked[i].Task + "/" + asked[i].Place
		if at, ok := posted[id]; ok && !at.After(asked[i].Due) {
			b.answered[id] = true
		}
	}
	return nil
}

// unanswered returns the open questions without those that a run can answer after this one,
// because an answer was posted in time.
func (b *signalbox) unanswered(asked []subgraph.Asked) []subgraph.Asked {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(asked, func(a subgraph.Asked) bool { return b.answered[a.Task+"/"+a.Place] })
}

func refusal(number uint64, reason string) checkpoint.Refusal {
	return checkpoint.Refusal{Number: number, Reason: cut(reason, checkpoint.MaxReason)}
}
