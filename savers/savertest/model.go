package savertest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// seedVariable is the environment variable with the seed of the random calls. It repeats a
// failure.
const seedVariable = "SAVERTEST_SEED"

// The number of calls in a round, of rounds, and of calls between complete reads.
const (
	modelCalls  = 210
	modelRounds = 3
	modelReads  = 15
)

// testModel makes the same random calls of the saver and of a memory saver, both valid and
// invalid. It compares every result and, from time to time, everything that can be read.
func testModel(tb testing.TB, place Storage) {
	tb.Helper()
	seed := modelSeed(tb)
	rounds := modelRounds
	if testing.Short() {
		rounds = 1
	}
	// All rounds use one saver, with different threads. Another test reopens savers.
	s, model := open(tb, place), memory.New()
	for round := range rounds {
		m := newModeller(tb, s, model, round, seed)
		// The first call for a graph may prepare an index, which ends reservations.
		ready(tb, s, checkpoint.ReadyQuery{Graphs: m.graphs})
		for i := range modelCalls {
			what, got, want := m.call()
			if whole := i == modelCalls-1; got == want && (i%modelReads == 0 || whole) {
				got, want = firstDifference(m.read(s, whole), m.read(model, whole))
			}
			if got != want {
				tb.Fatalf("round %d, after call %d, %s:\n got %s\nwant %s\n%s=%d does it again", round, i, what, got, want, seedVariable, seed)
			}
		}
	}
}

// modelSeed returns the seed of the environment variable, or a new one.
func modelSeed(tb testing.TB) uint64 {
	tb.Helper()
	text := os.Getenv(seedVariable)
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("%s: %v, want a number", seedVariable, err)
	}
	return seed
}

// modeller creates random calls.
type modeller struct {
	tb         testing.TB
	random     *rand.Rand
	got, want  checkpoint.Saver
	prefix     string // the prefix of the threads
	threads    []string
	namespaces []string
	tasks      []string
	graphs     []string
	made       uint64                     // the number of IDs
	ids        map[string][]checkpoint.ID // the IDs of records, by thread
	bases      map[string][]checkpoint.ID // those of ids that are a base
	baseOf     map[checkpoint.ID]checkpoint.ID
	where      map[checkpoint.ID]string // the namespaces of ids
	committed  map[checkpoint.ID]bool   // bases that a record has committed; they are not used as a base again
	fences     map[string][]checkpoint.ID
	step       int
	last       *checkpoint.Append
	pruned     map[string]bool // threads without some of their old records
	touched    map[string]bool // threads that a call may have changed since Ready reserved them
}

// newModeller returns a modeller of one round, which depends on the seed alone.
func newModeller(tb testing.TB, got, want checkpoint.Saver, round int, seed uint64) *modeller {
	tb.Helper()
	prefix := fmt.Sprint("round ", round, " ")
	return &modeller{
		tb: tb, got: got, want: want, random: rand.New(rand.NewPCG(seed, uint64(round))),
		prefix:     prefix,
		threads:    []string{prefix + "a", prefix + "a{}\x00", prefix + "b"},
		namespaces: []string{"", "k", "child\xff"},
		tasks:      []string{"one", "two"},
		graphs:     []string{prefix + "g", prefix + "h", ""},
		ids:        make(map[string][]checkpoint.ID),
		bases:      make(map[string][]checkpoint.ID),
		baseOf:     make(map[checkpoint.ID]checkpoint.ID),
		where:      make(map[checkpoint.ID]string),
		committed:  make(map[checkpoint.ID]bool),
		fences:     make(map[string][]checkpoint.ID),
		pruned:     make(map[string]bool),
		touched:    make(map[string]bool),
	}
}

// oneOf draws an element, or the zero V if there is none.
func oneOf[V any](m *modeller, from []V) (v V) {
	if len(from) == 0 {
		return v
	}
	return from[m.random.IntN(len(from))]
}

// recent picks a random element, usually one of the newest.
func recent[V any](m *modeller, from []V) (v V) {
	if n := len(from); n > 0 && m.random.IntN(4) > 0 {
		return from[n-1]
	}
	return oneOf(m, from)
}

// often draws true in three of four calls.
func (m *modeller) often() bool { return m.random.IntN(4) > 0 }

// rare draws true in one of eight calls.
func (m *modeller) rare() bool { return m.random.IntN(8) == 0 }

// each makes a call of both savers.
func (m *modeller) each(what string, call func(s checkpoint.Saver) (any, error)) (string, string, string) {
	return what, answered(call(m.got)), answered(call(m.want))
}

// call makes one call of both savers. It returns a description and both results.
func (m *modeller) call() (what, got, want string) {
	ctx, thread, each := m.tb.Context(), oneOf(m, m.threads), m.each
	m.touched[thread] = true
	switch n := m.random.IntN(32); {
	case n >= 30:
		return m.outcome(thread, each)
	case n >= 22:
		return m.mailCall(thread)
	case n >= 20:
		read := m.reading(thread)
		return each("read "+thread, func(s checkpoint.Saver) (any, error) { return read(s), nil })
	case n < 11:
		a := m.append(thread)
		m.touched[a.Thread] = true // it may be an Append of another thread, sent again
		return each(appendText(a), func(s checkpoint.Saver) (any, error) {
			a := a
			if a.Open != nil {
				o := *a.Open
				o.Birth = m.birthIn(s, a.Thread, o.Birth)
				a.Open = &o
			}
			done, err := s.Append(ctx, a)
			done.Birth = checkpoint.ID{} // each saver chooses it
			if !done.Now.IsZero() {
				done.Now = created // the clocks may differ
			}
			return done, err
		})
	case n < 15:
		w := checkpoint.PutWrites{
			Thread: thread, Fence: recent(m, m.fences[thread]), Writes: m.writes(thread), Lease: time.Hour,
			Status: m.status(), End: m.rare(), Wake: m.wake(), Progress: m.rare(), Messages: m.handled(thread),
		}
		return each(fmt.Sprintf("put %+v", w), func(s checkpoint.Saver) (any, error) { return s.PutWrites(ctx, w) })
	case n == 15:
		head := checkpoint.ID{}
		if m.rare() {
			head = recent(m, m.ids[thread])
		}
		return each("release "+thread, func(s checkpoint.Saver) (any, error) {
			v, err := s.Release(ctx, thread, head)
			v.Released = time.Time{}
			return v, err
		})
	case n == 16:
		keep := m.keep(thread)
		m.pruned[thread] = true
		return each(fmt.Sprintf("prune %s %+v", thread, keep), func(s checkpoint.Saver) (any, error) { return s.Prune(ctx, thread, keep) })
	case n == 17 && m.rare():
		return each("delete "+thread, func(s checkpoint.Saver) (any, error) { return nil, s.Delete(ctx, thread) })
	case n == 18:
		to := oneOf(m, m.threads)
		m.touched[to], m.pruned[to] = true, m.pruned[to] || m.pruned[thread]
		m.ids[to] = append(m.ids[to], m.ids[thread]...)
		m.bases[to] = append(m.bases[to], m.bases[thread]...)
		return each(fmt.Sprintf("copy %s to %s", thread, to), func(s checkpoint.Saver) (any, error) {
			return nil, checkpoint.Copy(ctx, s, thread, 0, s, to)
		})
	}
	w := checkpoint.PutWrites{
		Thread: thread, Fence: recent(m, m.fences[thread]), End: true, Status: m.status(), Wake: m.wake(), Messages: m.handled(thread),
	}
	return each("end "+thread, func(s checkpoint.Saver) (any, error) { return s.PutWrites(ctx, w) })
}

// outcome stores an outcome.
func (m *modeller) outcome(
	thread string, each func(what string, f func(s checkpoint.Saver) (any, error)) (string, string, string),
) (what, got, want string) {
	ctx := m.tb.Context()
	w := checkpoint.Write{
		Base: recent(m, m.bases[thread]), Task: oneOf(m, m.tasks), Kind: checkpoint.Outcome, Name: oneOf(m, m.tasks),
		Payload: fmt.Append(nil, m.random.IntN(1000)),
	}
	if w.Base.IsZero() {
		w.Base = m.id()
	}
	w.Namespace = m.where[w.Base]
	p := checkpoint.Post{Thread: thread, Outcomes: []checkpoint.Write{w}}
	// A Ready that looks at a leased thread may move its Wake, and another one need not look at
	// it.
	if m.often() && !m.leased(thread) {
		p.Messages = []checkpoint.Message{{ID: "wake", Kind: checkpoint.WakeMessage}}
	}
	return each(fmt.Sprintf("outcome %+v", p), func(s checkpoint.Saver) (any, error) {
		done, err := s.Post(ctx, p)
		if err == nil {
			err = done[0].Err
		}
		return done, err
	})
}

// leased reports whether a run holds a thread.
func (m *modeller) leased(thread string) bool {
	m.tb.Helper()
	for t, err := range m.want.Threads(m.tb.Context(), checkpoint.ThreadQuery{Prefix: thread}) {
		if err != nil {
			m.tb.Fatal(err)
		}
		if t.ID == thread {
			return t.Holder != ""
		}
	}
	return false
}

// appendText returns an Append for messages.
func appendText(a checkpoint.Append) string {
	open := a.Open
	if a.Open = nil; open == nil {
		return fmt.Sprintf("append %+v", a)
	}
	return fmt.Sprintf("append %+v that opens %+v", a, *open)
}

// reading returns a random read.
func (m *modeller) reading(thread string) func(s checkpoint.Saver) string {
	ctx := m.tb.Context()
	if m.random.IntN(3) == 0 {
		q := checkpoint.ThreadQuery{Prefix: m.prefix, After: oneOf(m, m.threads), Limit: m.random.IntN(3)}
		if m.rare() {
			q.Status = m.status()
		}
		if m.rare() {
			q.Labels = m.labels()
		}
		if m.rare() {
			q.Graph = oneOf(m, m.graphs)
		}
		q.Released = !m.often()
		if m.rare() {
			q.Order = checkpoint.NewestFirst
		}
		if q.NewestFirst() {
			q.After, q.Limit = "", 0 // a page needs a time that the savers agree on
			return func(s checkpoint.Saver) string { return newest(ctx, s, q) }
		}
		return func(s checkpoint.Saver) string { return every(s.Threads(ctx, q), timeless) }
	}
	q := checkpoint.Query{Limit: m.random.IntN(5), HasStep: m.rare(), Step: m.random.IntN(m.step + 1)}
	if m.rare() {
		q.Before = recent(m, m.ids[thread])
	}
	if !m.often() {
		q.Sources = []checkpoint.Source{checkpoint.Source(1 + m.random.IntN(5)), checkpoint.Loop}
	}
	if !m.often() {
		q.Next = oneOf(m, m.tasks)
	}
	if m.rare() {
		q.Ran = oneOf(m, m.tasks)
	}
	if m.rare() {
		q.Meta = map[string]string{"step": fmt.Sprint(m.random.IntN(m.step + 1))}
	}
	if m.rare() {
		q.Since = m.created(m.random.IntN(m.step + 1))
	}
	if m.rare() {
		q.Until = m.created(m.random.IntN(m.step + 1))
	}
	p := checkpoint.Ref{Thread: thread, Namespace: oneOf(m, m.namespaces)}
	return func(s checkpoint.Saver) string {
		return every(s.History(ctx, p, q), func(r checkpoint.Record) string { return fmt.Sprintf("%+v", r) })
	}
}

// status draws a status.
func (m *modeller) status() checkpoint.Status {
	return checkpoint.Status(m.random.IntN(int(checkpoint.Cancelled) + 1))
}

// keep draws what a Prune keeps of a thread.
func (m *modeller) keep(thread string) checkpoint.Retention {
	keep := checkpoint.Retention{Last: m.random.IntN(5), Released: m.random.IntN(4) - 1}
	if m.rare() {
		keep.Since = m.created(m.random.IntN(m.step + 1))
	}
	if m.random.IntN(2) == 0 {
		keep.Fence = recent(m, m.fences[thread])
	}
	return keep
}

// append returns a random Append that usually follows the head, or repeats the last Append.
func (m *modeller) append(thread string) checkpoint.Append {
	if m.last != nil && m.rare() {
		return *m.last
	}
	root := load(m.tb, m.want, checkpoint.Ref{Thread: thread})
	a := checkpoint.Append{Thread: thread, Lease: time.Hour, Status: m.status(), Fence: recent(m, m.fences[thread]), After: root.Head}
	if m.random.IntN(3) == 0 || root.Empty() {
		a.Open = &checkpoint.Opening{Holder: "holder of " + thread, TakeOver: m.random.IntN(2) == 0}
		m.describe(a.Open)
		a.Open.Retry = m.often()
	} else {
		a.Namespace = oneOf(m, m.namespaces)
		a.After = load(m.tb, m.want, checkpoint.Ref{Thread: thread, Namespace: a.Namespace}).Head
	}
	if m.rare() {
		a.After = oneOf(m, m.ids[thread])
	}
	graph := oneOf(m, m.graphs)
	before := a.After
	for range 1 + m.random.IntN(3) {
		r := m.record(thread, a.Namespace, before)
		r.Graph = graph
		a.Records = append(a.Records, r)
		before = r.ID
	}
	a.Writes = m.writes(thread, a.Records...)
	a.Messages = m.handled(thread)
	a.End = m.rare()
	a.Wake = m.wake()
	a.Progress = m.rare()
	a.Release = a.End && m.rare()
	if a.Open != nil {
		a.Open.Birth = m.birth()
		if m.often() {
			m.keepUntaken(thread, &a.Messages)
		}
		a.Fence = checkpoint.ID{}
		m.fences[thread] = append(m.fences[thread], a.Records[0].ID)
	}
	if a.Open == nil && m.rare() {
		a.Labels = m.labels()
	}
	m.last = &a
	return a
}

// describe sometimes gives an opening a title and labels.
func (m *modeller) describe(o *checkpoint.Opening) {
	if m.rare() {
		o.Title = "title " + oneOf(m, m.tasks)
	}
	if m.rare() {
		o.Priority = m.priority()
	}
	if m.random.IntN(3) == 0 {
		o.Labels = m.labels()
		if m.rare() {
			o.Labels["two"] = "" // removes the label
		}
	}
}

// priority draws a priority; zero leaves that of the thread.
func (m *modeller) priority() checkpoint.Priority {
	return checkpoint.Priority(m.random.IntN(checkpoint.Priorities + 1))
}

// labels draws a label.
func (m *modeller) labels() map[string]string {
	return map[string]string{oneOf(m, m.tasks): oneOf(m, m.namespaces[1:])}
}

// created returns the time at which a step creates its records.
func (m *modeller) created(step int) time.Time {
	return created.Add(time.Duration(step) * time.Second)
}

// id returns a new ID, greater than those before. Equal seeds give equal IDs.
func (m *modeller) id() (id checkpoint.ID) {
	m.made++
	binary.BigEndian.PutUint64(id[:8], m.made<<16|m.random.Uint64()&0xffff)
	binary.BigEndian.PutUint64(id[8:], m.random.Uint64())
	return id
}

// record draws a record that follows before.
func (m *modeller) record(thread, namespace string, before checkpoint.ID) checkpoint.Record {
	id := m.id()
	// After a Prune, savers need not tell a known id from a repeated call.
	if old := oneOf(m, m.ids[thread]); m.random.IntN(40) == 0 && !old.IsZero() && m.where[old] == namespace && !m.committed[old] && !m.pruned[thread] {
		id = old
	}
	m.step++
	r := checkpoint.Record{
		ID: id, Parent: before, Base: id, Line: id, Step: m.step, Source: checkpoint.Source(1 + m.random.IntN(5)), Created: m.created(m.step),
		Due: []checkpoint.Task{{Node: oneOf(m, m.tasks)}}, Fingerprint: 7,
	}
	if m.step%3 == 0 {
		r.Meta = map[string]string{"step": fmt.Sprint(m.step)}
	}
	if base := recent(m, m.bases[thread]); m.rare() && m.where[base] == namespace && !m.committed[base] && m.stands(thread, base) {
		r.Base = base
	}
	if m.often() {
		r.Commits = m.baseOf[before]
	}
	m.committed[r.Commits] = true
	if r.Snapshot = before.IsZero() || m.rare(); r.Snapshot {
		r.Payload = logSnapshot(fmt.Sprint(m.step))
	} else {
		r.Payload = logDelta(fmt.Sprint(m.step))
	}
	m.ids[thread] = append(m.ids[thread], id)
	m.baseOf[id], m.where[id] = r.Base, namespace
	if r.Base == id {
		m.bases[thread] = append(m.bases[thread], id)
	}
	return r
}

// stands reports whether the open version of a thread has the record with an id.
func (m *modeller) stands(thread string, id checkpoint.ID) bool {
	_, err := m.want.Load(m.tb.Context(), checkpoint.Ref{Thread: thread, Namespace: m.where[id], At: id})
	return !id.IsZero() && err == nil
}

// writes returns random pending writes. Each has a base that stands, or one of the records of the
// same call.
func (m *modeller) writes(thread string, with ...checkpoint.Record) []checkpoint.Write {
	var writes []checkpoint.Write
	for range m.random.IntN(4) {
		if m.rare() {
			writes = append(writes, checkpoint.SchemaWrite(uint64(m.random.IntN(3)), fmt.Append(nil, m.random.IntN(1000))))
			continue
		}
		w := checkpoint.Write{
			Base: recent(m, m.bases[thread]), Task: oneOf(m, m.tasks),
			Kind: checkpoint.Kind(1 + m.random.IntN(5)), Payload: fmt.Append(nil, m.random.IntN(1000)),
		}
		now := slices.ContainsFunc(with, func(r checkpoint.Record) bool { return r.ID == w.Base })
		if !now && !m.stands(thread, w.Base) {
			continue
		}
		w.Namespace = m.where[w.Base]
		if w.Kind == checkpoint.Question || w.Kind == checkpoint.Answer {
			w.Name = oneOf(m, m.tasks)
		}
		writes = append(writes, w)
	}
	return writes
}
