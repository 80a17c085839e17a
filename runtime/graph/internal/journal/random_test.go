package journal_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// A story is the random writes of a run: supersteps of a graph and of calls in calls. They ask,
// fail, lose races, remember and are remembered. Two runs make the same writes, one that stores
// everything and one with OnExit. Both must see the same at all times.
type story struct {
	*rand.Rand
	testing.TB
	sync, exit *scene
	root       *part
	all        map[string]*part // by namespace
	ids        int
}

// part is the run itself or a call: what it has written last.
type part struct {
	namespace, name string
	node            string
	outer           *part
	base            checkpoint.ID // of the record that made it due
	sync, exit      *journal.Writer
	step, tasks     int
	done            bool
	calls           map[string]*part  // in progress, by name
	memory          map[string]string // by node
}

// id returns an id that depends on the seed alone.
func (s *story) id() checkpoint.ID {
	s.ids++
	return checkpoint.ID{1, byte(s.ids >> 8), byte(s.ids)}
}

// tell begins a story: an opening, and some supersteps that are stored. Then both runs are
// resumed.
func tell(tb testing.TB, seed uint64) *story {
	tb.Helper()
	s := &story{Rand: rand.New(rand.NewPCG(seed, 0)), TB: tb, all: make(map[string]*part)}
	a, b := newSpy(), newSpy()
	opening := s.id()
	s.sync, s.exit = beginAs(tb, a, journal.NewSync(config(a)), opening), beginAs(tb, b, journal.NewSync(config(b)), opening)
	s.root = &part{calls: make(map[string]*part), memory: make(map[string]string), sync: s.sync.root, exit: s.exit.root}
	s.all[""] = s.root
	s.commit(s.root, false)
	for range s.IntN(15) {
		s.act()
	}
	s.end()
	opening = s.id()
	s.sync, s.exit = s.sync.resumeAs(journal.NewSync(config(a)), opening), s.exit.resumeAs(journal.NewOnExit(config(b)), opening)
	for _, p := range s.all {
		if p.namespace != "" {
			p.sync, p.exit = s.branch(s.sync, p), s.branch(s.exit, p)
		}
	}
	s.root.sync, s.root.exit = s.sync.root, s.exit.root
	b.up()
	return s
}

// branch is that of a call which an earlier run has begun.
func (s *story) branch(sc *scene, p *part) *journal.Writer {
	b := sc.root.Child(p.namespace)
	b.Head, b.Base = p.sync.Head, p.sync.Base
	return b
}

// live returns the parts in progress, from outside in.
func (s *story) live() []*part {
	all := []*part{s.root}
	for i := 0; i < len(all); i++ {
		for _, name := range slices.Sorted(maps.Keys(all[i].calls)) {
			all = append(all, all[i].calls[name])
		}
	}
	return all
}

// act writes one thing that a run may write next.
func (s *story) act() {
	all := s.live()
	p := all[s.IntN(len(all))]
	switch n := s.IntN(10); {
	case p.done:
	case n < 4 && len(p.calls) < 3 && strings.Count(p.namespace, "/") < 2:
		s.begin(p)
	case n < 7:
		s.commit(p, p.outer != nil && s.IntN(2) == 0)
	default:
		kind := []checkpoint.Kind{checkpoint.Result, checkpoint.Question, checkpoint.Failure}[s.IntN(3)]
		s.put(p, fmt.Sprint("task", s.IntN(2)), kind)
	}
}

// begin has a node of p call a subgraph. Node "m" remembers; node "n" stores parts of its result.
func (s *story) begin(p *part) {
	node := []string{"m", "m", "n"}[s.IntN(3)]
	key := journal.TaskKey(checkpoint.ID{1}, journal.Scope(p.namespace), p.step+1, node, p.tasks)
	p.tasks++
	c := &part{
		name: journal.CallName(key, p.sync.Base, checkpoint.ID{}), node: node, outer: p, base: p.sync.Base, step: 1,
		calls: make(map[string]*part), memory: make(map[string]string),
	}
	c.namespace = journal.Within(p.namespace, c.name)
	if before := s.all[p.memory[node]]; node == "m" && before != nil && before != s.root {
		maps.Copy(c.memory, before.memory)
	}
	c.sync, c.exit = p.sync.Child(c.namespace), p.exit.Child(c.namespace)
	p.calls[c.name], s.all[c.namespace] = c, c
	rec := s.record(c)
	rec.Source, rec.Commits, rec.Snapshot, rec.Payload = checkpoint.Input, checkpoint.ID{}, true, snapshotOf(s.ids)
	c.sync.Begin(rec)
	c.exit.Begin(rec)
	s.put(c, "task", checkpoint.Failure)
}

func (s *story) record(p *part) checkpoint.Record {
	id := s.id()
	rec := checkpoint.Record{
		ID: id, Parent: p.sync.Head, Base: id, Line: checkpoint.ID{1}, Commits: p.sync.Base, Source: checkpoint.Loop, Step: p.step,
		Due: []checkpoint.Task{{Node: "x"}}, Payload: deltaOf(s.ids), Meta: make(map[string]string),
	}
	if s.IntN(5) == 0 {
		rec.Snapshot, rec.Payload = true, snapshotOf(s.ids)
	}
	for node, namespace := range p.memory {
		journal.SetMemory(rec.Meta, node, namespace)
	}
	return rec
}

func (s *story) put(p *part, task string, kind checkpoint.Kind) {
	w := write(p.sync, kind, task, "")
	if w.Payload = fmt.Append(nil, s.ids); kind == checkpoint.Question {
		w.Name = "q"
	}
	s.sync.put(p.sync, w)
	s.exit.put(p.exit, w)
}

// commit ends a superstep of p, and with last the call. Calls in it that are done may be
// remembered; the others lose: what they ask is withdrawn.
func (s *story) commit(p *part, last bool) {
	for _, name := range slices.Sorted(maps.Keys(p.calls)) {
		if c := p.calls[name]; c.done && c.node == "m" {
			p.memory["m"] = c.namespace
		}
	}
	withdrawn := s.withdrawn(s.sync, p)
	if diff := gocmp.Diff(withdrawn, s.withdrawn(s.exit, p), cmpopts.EquateEmpty()); diff != "" {
		s.Fatalf("the calls in %q ask other things with OnExit (-sync +on exit):\n%s", p.namespace, diff)
	}
	clear(p.calls)
	p.step++
	rec := s.record(p)
	writes := withdrawn
	if p.outer != nil && p.node == "n" {
		part := write(p.outer.sync, checkpoint.Result, p.name, journal.StepName(p.step))
		writes = append([]checkpoint.Write{part}, writes...)
	}
	if p.done = last; last {
		rec.Due = nil
	} else if s.IntN(4) == 0 {
		writes = append(writes, checkpoint.Write{Namespace: p.namespace, Base: rec.ID, Task: journal.StopTask, Kind: checkpoint.Question})
	}
	for _, b := range []*journal.Writer{p.sync, p.exit} {
		if err := b.Commit(s.Context(), &rec, writes, journal.Change{}); err != nil {
			s.Fatalf("Commit in %q: %v", p.namespace, err)
		}
	}
}

// withdrawn answers what the calls in p ask.
func (s *story) withdrawn(sc *scene, p *part) []checkpoint.Write {
	var answers []checkpoint.Write
	for _, q := range sc.load("").Thread.Questions {
		if p.calls[journal.CallIn(p.namespace, q.Namespace)] != nil {
			q.Kind, q.Payload = checkpoint.Answer, []byte{0xc0}
			answers = append(answers, q)
		}
	}
	sortWrites(answers)
	return answers
}

func sortWrites(writes []checkpoint.Write) {
	slices.SortFunc(writes, func(a, b checkpoint.Write) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), bytes.Compare(a.Base[:], b.Base[:]), cmp.Compare(a.Task, b.Task),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// end ends both runs in the middle of a superstep.
func (s *story) end() {
	s.Helper()
	for _, sc := range []*scene{s.sync, s.exit} {
		if err := sc.end(checkpoint.Failed, write(s.root.sync, checkpoint.Result, "last", "")); err != nil {
			s.Fatalf("the last write: %v", err)
		}
	}
}

// reached returns the namespaces that the thread's newest record leads to: calls in progress, and
// what is remembered.
func (s *story) reached() []string {
	var all []string
	for next := s.live(); len(next) > 0; next = next[1:] {
		if all = append(all, next[0].namespace); next[0].namespace != "" || len(next[0].memory) > 0 {
			for _, namespace := range next[0].memory {
				if !slices.Contains(all, namespace) {
					next = append(next, s.all[namespace])
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// seen is what Load says of a namespace, as far as it does not depend on how the records are cut.
type seen struct {
	Head, Base checkpoint.ID
	Step, N    int
	Due        []checkpoint.Task
	Meta       map[string]string
	Writes     []checkpoint.Write
	Committed  bool
}

func (s *story) see(sc *scene, load func(string) checkpoint.Chain) (map[string]seen, []checkpoint.Write) {
	all := make(map[string]seen)
	for _, namespace := range s.reached() {
		c := load(namespace)
		if c.Empty() {
			sc.Fatalf("nothing is there of %q, which the thread leads to", namespace)
		}
		last := c.Last
		writes := slices.Clone(c.Writes)
		sortWrites(writes)
		all[namespace] = seen{c.Head, last.Base, last.Step, value(sc, c), c.Due, last.Meta, writes, c.Committed}
	}
	questions := load("").Thread.Questions
	sortWrites(questions)
	return all, questions
}

// compare checks that both runs see the same, and with stored that others do.
func (s *story) compare(what string, stored bool) {
	s.Helper()
	readSync, readExit := s.sync.load, s.exit.load
	if stored {
		readSync, readExit = s.sync.stored, s.exit.stored
	}
	want, asks := s.see(s.sync, readSync)
	got, asked := s.see(s.exit, readExit)
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		s.Fatalf("%s: OnExit shows something else than Sync (-sync +on exit):\n%s", what, diff)
	}
	if diff := gocmp.Diff(asks, asked, cmpopts.EquateEmpty()); diff != "" {
		s.Fatalf("%s: with OnExit other questions are open (-sync +on exit):\n%s", what, diff)
	}
}

// stories returns how many stories a test tells.
func stories() uint64 {
	if testing.Short() {
		return 30
	}
	return 80
}

// TestOnExitShowsWhatSyncStores tells many stories.
func TestOnExitShowsWhatSyncStores(t *testing.T) {
	for seed := range stories() {
		s := tell(t, seed)
		for n := range s.IntN(60) {
			s.act()
			s.compare(fmt.Sprintf("story %d, write %d", seed, n), false)
		}
		wantCalls(s.exit)
		s.end()
		s.compare(fmt.Sprintf("story %d, at the end", seed), true)
		if got, most := len(s.exit.made()), len(s.reached()); got > most {
			t.Errorf("story %d: the last write is %d calls of the saver, want one for each of at most %d namespaces", seed, got, most)
		}
	}
}

// TestOnExitLeavesAWholeThreadWhereverItEnds fails at each call of the last write, once before
// and once after it is stored. The stored thread is whole, and repeating the last write stores
// the rest.
func TestOnExitLeavesAWholeThreadWhereverItEnds(t *testing.T) {
	for seed := range stories() {
		for fails, calls := 0, 1; fails < 2*calls; fails++ {
			s := tell(t, seed)
			opening := s.heads()
			for range s.IntN(60) {
				s.act()
			}
			s.exit.down(fails / 2)
			s.exit.late = fails%2 == 1
			if err := s.exit.end(checkpoint.Failed, write(s.root.sync, checkpoint.Result, "last", "")); err == nil {
				break // all calls have failed once
			}
			calls = len(s.exit.made()) + 1
			if s.exit.stored("").Thread.Status == checkpoint.Running {
				s.whole(opening)
			}
			s.exit.up()
			s.end()
			s.compare(fmt.Sprintf("story %d, repeated after call %d", seed, fails/2), true)
		}
	}
}

// heads returns the heads of what the thread leads to now, by namespace.
func (s *story) heads() map[string]checkpoint.ID {
	heads := make(map[string]checkpoint.ID)
	for _, p := range s.live() {
		heads[p.namespace] = p.sync.Head
	}
	return heads
}

// whole checks what a run left that ended before its commit point. opening has the heads when it
// began.
func (s *story) whole(opening map[string]checkpoint.ID) {
	s.Helper()
	bases := make(map[checkpoint.ID]bool) // of what the thread leads to
	s.wholePart(s.root, opening, bases)
	for _, q := range s.exit.stored("").Thread.Questions {
		if !bases[q.Base] {
			s.Errorf("the thread asks %v in %q, and nothing leads there", q.Task, q.Namespace)
		}
	}
}

// wholePart checks what is stored of p, and of the calls that its stored record makes due.
func (s *story) wholePart(p *part, opening map[string]checkpoint.ID, bases map[checkpoint.ID]bool) {
	s.Helper()
	c := s.exit.stored(p.namespace)
	moved := c.Head != opening[p.namespace]
	if moved && c.Head != p.sync.Head {
		s.Fatalf("%q is at %s, want the opening of the run or its end", p.namespace, c.Head)
	}
	last := c.Last
	bases[last.Base] = true
	for _, remembered := range journal.Memory(last.Meta) {
		if c := s.exit.stored(remembered); c.Empty() {
			s.Fatalf("nothing is stored of %q, which %q remembers", remembered, p.namespace)
		}
	}
	s.hasParts(p, last.Step)
	for _, call := range s.all {
		if call.outer != p || call.base != last.Base {
			continue
		}
		_, before := opening[call.namespace]
		switch c := s.exit.stored(call.namespace); {
		case !c.Empty():
			s.wholePart(call, opening, bases)
		case moved || before:
			s.Fatalf("nothing is stored of %q, which the thread leads to", call.namespace)
		}
	}
}

// hasParts checks that the parts of a call's result are stored up to a step.
func (s *story) hasParts(p *part, step int) {
	s.Helper()
	if p.node != "n" {
		return
	}
	for n := 2; n <= step; n++ {
		if !slices.ContainsFunc(s.exit.stored(p.outer.namespace).Writes, func(w checkpoint.Write) bool {
			return w.Kind == checkpoint.Result && w.Task == p.name && w.Name == journal.StepName(n)
		}) {
			s.Fatalf("%q is at step %d, and part %d of its result is not stored", p.namespace, step, n)
		}
	}
}
