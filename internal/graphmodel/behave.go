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

// doing is what one task is about.
type doing struct {
	node    int
	index   int
	job     Job
	answers []int64
	mended  bool // the world is
}

// does returns what a task changes, given what it sees.
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

// anyChange is one that does not conflict with what others do.
func anyChange(r *rand.Rand) change {
	kinds := []what{addLog, setLast, setFirst, offerBest, offerLow, setAny, putFact, putFact, dropFact, addTag, addTag, dropTag, putItem, putItem, dropItem, pushStack}
	return change{kinds[r.IntN(len(kinds))], string(rune('a' + r.IntN(4))), fmt.Sprint("v", r.IntN(50)), r.Int64N(100) - 50}
}

// ownChange is one that conflicts with what others do to the same fields.
func ownChange(r *rand.Rand) change {
	kinds := []what{setDraft, addNote, addNote, dropNote, replaceNotes, clearNotes}
	return change{kinds[r.IntN(len(kinds))], "", fmt.Sprint("n", r.IntN(4)), 0}
}

// pick is one of the things that a route or node chose.
type pick struct {
	node int // or End
	sent bool
	job  Job
	up   []pick // with Parent: what the graph around it is to do
}

// chooses returns what a route, or a node that routes, chooses. Once Count has come to the limit it goes forward only.
func (s *Spec) chooses(d doing, view State) []pick {
	r := rand.New(rand.NewPCG(hash(s.Seed, "next", d.node, d.index, d.job, Text(view)), 2))
	var open []int
	for _, to := range s.targets(d.node) {
		if view.Count < s.Limit || to == End || to == Parent || to > d.node {
			open = append(open, to)
		}
	}
	var picks []pick
	for i := range 1 + r.IntN(3) {
		p := s.picked(r, open[r.IntN(len(open))], fmt.Sprintf("%s.%d/%d", s.name(d.node), d.index, i))
		if p.node == Parent {
			ups := s.outer.Nodes[s.place].Ups
			for range 1 + r.IntN(2) {
				p.up = append(p.up, s.outer.picked(r, ups[r.IntN(len(ups))], p.job.Name))
			}
		}
		picks = append(picks, p)
	}
	return picks
}

// picked is a choice of a node, with something to send if it takes that.
func (s *Spec) picked(r *rand.Rand, node int, name string) pick {
	p := pick{node: node}
	if node >= 0 && s.Nodes[node].takes() {
		p.sent, p.job = true, Job{name, r.IntN(10)}
	}
	return p
}

// entering is what a subgraph begins with.
func (s *Spec) entering(node int, view State) []change {
	return []change{
		{what: addLog, text: fmt.Sprintf("in %08x", uint32(hash(s.Seed, "in", node, Text(view))))},
		{what: setDraft, text: "given"},
	}
}

// leaving is what a subgraph's node changes, of what the child came to.
func (s *Spec) leaving(node int, view, child State) []change {
	seen := hash(s.Seed, "out", node, Text(view), Text(child))
	return []change{
		{what: addLog, text: fmt.Sprintf("%s %08x", s.Nodes[node].Name, uint32(seen))},
		{what: addCount, number: 1},
		{what: putFact, key: "child", text: child.Last},
		{what: putItem, key: "child", number: child.Count},
		{what: setLast, text: child.Last},
	}
}

// asking is what a task asks the k-th time, and answering what people say to that.
func (s *Spec) asking(d doing, k int, view State) string {
	return fmt.Sprintf("%s.%d asks %d of %08x", s.Nodes[d.node].Name, d.index, k, uint32(hash(s.Seed, d.job, Text(view))))
}

func answering(question string) int64 { return int64(hash("answer", question) % 1000) }

// Input returns what the n-th input of a thread changes.
func (s *Spec) input(n int) []change {
	r := rand.New(rand.NewPCG(hash(s.Seed, "input", n), 3))
	c := []change{{what: addLog, text: fmt.Sprint("input ", n)}, {what: setDraft, text: "given"}, {what: addNote, text: "n0"}}
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
