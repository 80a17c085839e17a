package graphmodel

import (
	"fmt"
	"math/rand/v2"
)

// change is one operation on one field. Which of key, text and number count depends on what.
type change struct {
	what   what
	key    string
	text   string
	number int64
}

type what int

const (
	addLog what = iota
	addCount
	setLast
	setFirst
	offerBest
	offerLow
	clearLow
	offerPeak
	addTurn
	setAny
	putFact
	dropFact
	addTag
	dropTag
	putItem
	dropItem
	setDraft
	setText
	addNote
	dropNote
	replaceNotes
	clearNotes
	pushStack
)

// doing is what decides what a task does.
type doing struct {
	node    int
	index   int
	job     Job
	answers []int64 // and before them the results of its durable calls
	mended  bool    // the World is
}

// does returns what a task changes in the state that it sees.
func (s *Spec) does(d doing, view State) []change {
	n := &s.Nodes[d.node]
	seen := hash(s.Seed, d.node, d.index, d.job, Text(view), d.answers)
	r := rand.New(rand.NewPCG(seen, 1))
	c := []change{
		{what: addLog, text: fmt.Sprintf("%s.%d %08x", n.Name, d.index, uint32(seen))},
		{what: addCount, number: 1 + r.Int64N(2)},
	}
	for range r.IntN(5) {
		c = append(c, anyChange(r))
	}
	if n.Owner {
		for range r.IntN(3) {
			c = append(c, ownChange(r))
		}
	}
	switch {
	case n.Clashes == 1, n.Clashes == 2 && !d.mended:
		c = append(c, change{what: setText, text: fmt.Sprint(n.Name, r.IntN(100))})
	case n.Booms && !d.mended:
		c = append(c, change{what: pushStack, text: boom})
	}
	return c
}

// anyChange draws a change that does not conflict with those of other tasks.
func anyChange(r *rand.Rand) change {
	kinds := []what{
		addLog, setLast, setFirst, offerBest, setAny, putFact, putFact, dropFact,
		addTag, addTag, dropTag, putItem, putItem, dropItem, pushStack, addTurn, offerPeak,
	}
	kind, key := kinds[r.IntN(len(kinds))], string(rune('a'+r.IntN(4)))
	return change{kind, key, fmt.Sprint("v", r.IntN(50)), r.Int64N(100) - 50}
}

// ownChange draws a change that conflicts with those of other tasks to the same fields.
func ownChange(r *rand.Rand) change {
	kinds := []what{setDraft, addNote, addNote, dropNote, replaceNotes, clearNotes, offerLow, offerLow, clearLow}
	return change{kinds[r.IntN(len(kinds))], "", fmt.Sprint("n", r.IntN(4)), r.Int64N(100) - 50}
}

// target is one of the things that a route or node chose.
type target struct {
	node      int // or End
	sent      bool
	job       Job
	forParent []target // of Parent: what was chosen for the parent
}

// chooses returns what a route, or a node that chooses for itself, chooses: once Count has reached
// the limit, only what leads forward.
func (s *Spec) chooses(d doing, view State) []target {
	r := rand.New(rand.NewPCG(hash(s.Seed, "next", d.node, d.index, d.job, Text(view)), 2))
	var open []int
	for _, to := range s.targets(d.node) {
		if view.Count < s.Limit || to == End || to == Parent || to > d.node {
			open = append(open, to)
		}
	}
	var choice []target
	for i := range 1 + r.IntN(3) {
		p := s.target(r, open[r.IntN(len(open))], fmt.Sprintf("%s.%d/%d", s.name(d.node), d.index, i))
		if p.node == Parent {
			ups := s.parent.Nodes[s.place].Ups
			for range 1 + r.IntN(2) {
				p.forParent = append(p.forParent, s.parent.target(r, ups[r.IntN(len(ups))], p.job.Name))
			}
		}
		choice = append(choice, p)
	}
	return choice
}

// target returns a target, with a payload if its node takes one.
func (s *Spec) target(r *rand.Rand, node int, name string) target {
	p := target{node: node}
	if node >= 0 && s.Nodes[node].takes() {
		p.sent, p.job = true, Job{name, r.IntN(10)}
	}
	return p
}

// failing is what an attempt changes that fails.
var failing = []change{{what: addLog, text: "of a failed attempt"}}

// falling is what the fallback of a task changes.
func (s *Spec) falling(d doing, view State) []change {
	seen := hash(s.Seed, "fallback", d.node, d.index, d.job, Text(view))
	return []change{
		{what: addLog, text: fmt.Sprintf("fallback of %s.%d %08x", s.Nodes[d.node].Name, d.index, uint32(seen))},
		{what: addCount, number: 1},
	}
}

// entering is the input of a call.
func (s *Spec) entering(d doing, view State) []change {
	return []change{
		{what: addLog, text: fmt.Sprintf("in %08x", uint32(hash(s.Seed, "in", d.node, d.index, d.job, Text(view))))},
		{what: setDraft, text: "given"},
	}
}

// leaving is what a subgraph's node changes, given the last state of its call.
func (s *Spec) leaving(d doing, view, child State) []change {
	seen := hash(s.Seed, "out", d.node, d.index, d.job, Text(view), Text(child))
	return []change{
		{what: addLog, text: fmt.Sprintf("%s %08x", s.Nodes[d.node].Name, uint32(seen))},
		{what: addCount, number: 1},
		{what: putFact, key: "child", text: child.Last},
		{what: putItem, key: "child", number: child.Count},
		{what: setLast, text: child.Last},
	}
}

// calling is the result of the k-th durable call of a task.
func (s *Spec) calling(d doing, k int, view State) int64 {
	return int64(hash(s.Seed, "call", d.node, d.index, d.job, k, Text(view)) % 1000)
}

// beginning is the number of the input of the child that a task begins.
func (s *Spec) beginning(d doing, view State) int {
	return 1 + int(hash(s.Seed, "child", d.node, d.index, d.job, Text(view))%1000)
}

// ended is what a task makes of the last state of its child.
func ended(end State) int64 { return int64(hash("ended", Text(end)) % 1000) }

// asking is the k-th question of a task.
func (s *Spec) asking(d doing, k int, view State) string {
	seen := uint32(hash(s.Seed, d.job, Text(view)))
	return fmt.Sprintf("%s.%d asks %d of %08x", s.Nodes[d.node].Name, d.index, k, seen)
}

// answering is the answer to a question.
func answering(question string) int64 { return int64(hash("answer", question) % 1000) }

// input returns what the n-th input of a thread changes.
func (s *Spec) input(n int) []change {
	r := rand.New(rand.NewPCG(hash(s.Seed, "input", n), 3))
	c := []change{
		{what: addLog, text: fmt.Sprint("input ", n)},
		{what: setDraft, text: "given"},
		{what: addNote, text: "n0"},
	}
	for range r.IntN(4) {
		c = append(c, anyChange(r))
	}
	return c
}

// edit returns what the n-th edit of a thread changes.
func (s *Spec) edit(n int) []change {
	r := rand.New(rand.NewPCG(hash(s.Seed, "edit", n), 4))
	c := []change{{what: addLog, text: fmt.Sprint("edit ", n)}, {what: setText, text: fmt.Sprint("edit ", n)}}
	for range r.IntN(4) {
		c = append(c, anyChange(r))
	}
	return append(c, ownChange(r))
}

// editAs returns what the n-th edit changes as task i of a superstep. Only the first sets a field
// that only one task may set (rule 3.2).
func (s *Spec) editAs(n, i int) []change {
	if i == 0 {
		return s.edit(n)
	}
	r := rand.New(rand.NewPCG(hash(s.Seed, "edit", n), 4))
	return []change{{what: addLog, text: fmt.Sprint("edit ", n)}, anyChange(r)}
}

// update makes changes an update of the state.
func update(changes []change) StateUpdate {
	var u StateUpdate
	for _, c := range changes {
		c.add(&u)
	}
	return u
}

func (c change) add(u *StateUpdate) {
	switch c.what {
	case addLog:
		u.Log.Append(c.text)
	case addCount:
		u.Count.Add(c.number)
	case setLast:
		u.Last.Set(c.text)
	case setFirst:
		u.First.Set(c.text)
	case offerBest:
		u.Best.Offer(c.number)
	case offerLow:
		u.Low.Offer(c.number)
	case clearLow:
		u.Low.Clear()
	case setAny:
		u.Any.Or(c.number > 0)
	case putFact:
		u.Facts.Put(c.key, c.text)
	case dropFact:
		u.Facts.Delete(c.key)
	case addTag:
		u.Tags.Add(c.text)
	case dropTag:
		u.Tags.Remove(c.text)
	case putItem:
		u.Items.Upsert(Item{c.key, c.number})
	case dropItem:
		u.Items.Remove(c.key)
	default:
		c.addOther(u)
	}
}

func (c change) addOther(u *StateUpdate) {
	switch c.what {
	case offerPeak:
		u.Peak.Offer(c.number)
	case addTurn:
		u.Turn.Append(c.text)
	case setDraft:
		u.Draft.Set(c.text)
	case setText:
		u.Text.Set(c.text)
	case addNote:
		u.Notes.Append(c.text)
	case dropNote:
		u.Notes.Remove(c.text)
	case replaceNotes:
		u.Notes.Replace(c.text, "kept")
	case clearNotes:
		u.Notes.Clear()
	case pushStack:
		u.Stack.Reduce(c.text)
	}
}
