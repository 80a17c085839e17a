package redis_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestItDoesWhatTheMemorySaverDoes makes the same random calls of both, sensible ones and wrong ones, and compares
// every answer and, now and then, all that can be read.
func TestItDoesWhatTheMemorySaverDoes(t *testing.T) {
	rounds, calls := 6, 150
	if testing.Short() {
		rounds = 1
	}
	stored, refused := 0, 0
	for seed := range rounds {
		m := &model{
			t: t, random: rand.New(rand.NewPCG(uint64(seed), 3)), got: open(t), want: memory.New(),
			ids: map[string][]checkpoint.ID{}, fences: map[string][]checkpoint.ID{},
		}
		for i := range calls {
			what, got, want := m.call()
			if got != want {
				t.Fatalf("seed %d, call %d, %s:\n got %s\nwant %s", seed, i, what, got, want)
			}
			if strings.Contains(want, "error:") {
				refused++
			} else {
				stored++
			}
			if i%5 != 0 && i != calls-1 {
				continue
			}
			if got, want := m.dump(m.got), m.dump(m.want); got != want {
				t.Fatalf("seed %d, after call %d, %s:\n%s", seed, i, what, firstDifference(got, want))
			}
		}
	}
	t.Logf("%d rounds of %d calls: %d did something, %d were refused", rounds, calls, stored, refused)
}

var (
	threadIDs  = []string{"a", "a{}\x00", "b"}
	namespaces = []string{"", "k", "child\xff"}
	tasks      = []string{"one", "two"}
)

type model struct {
	t         *testing.T
	random    *rand.Rand
	got, want checkpoint.Saver
	ids       map[string][]checkpoint.ID // made for records, by thread
	fences    map[string][]checkpoint.ID
	step      int
	last      *checkpoint.Append
}

func pick[V any](m *model, from []V) (v V) {
	if len(from) == 0 {
		return v
	}
	return from[m.random.IntN(len(from))]
}

// recent picks mostly the newest.
func recent[V any](m *model, from []V) (v V) {
	if n := len(from); n > 0 && m.random.IntN(4) > 0 {
		return from[n-1]
	}
	return pick(m, from)
}

func (m *model) often() bool { return m.random.IntN(4) > 0 }
func (m *model) rare() bool  { return m.random.IntN(8) == 0 }

// call makes one call of both savers.
func (m *model) call() (what, got, want string) {
	ctx, thread := m.t.Context(), pick(m, threadIDs)
	each := func(what string, f func(s checkpoint.Saver) (any, error)) (string, string, string) {
		return what, outcome(f(m.got)), outcome(f(m.want))
	}
	switch n := m.random.IntN(20); {
	case n < 11:
		a := m.append(thread)
		return each(fmt.Sprintf("append %+v", a), func(s checkpoint.Saver) (any, error) { return s.Append(ctx, a) })
	case n < 15:
		w := checkpoint.PutWrites{
			Thread: thread, Fence: recent(m, m.fences[thread]), Writes: m.writes(thread), Lease: time.Hour,
			Status: checkpoint.Status(m.random.IntN(6)), End: m.rare(),
		}
		return each(fmt.Sprintf("put %+v", w), func(s checkpoint.Saver) (any, error) { return nil, s.PutWrites(ctx, w) })
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
		keep := checkpoint.Keep{Last: m.random.IntN(5), Released: m.random.IntN(4) - 1}
		if m.rare() {
			keep.Since = created(m.random.IntN(m.step + 1))
		}
		return each(fmt.Sprintf("prune %s %+v", thread, keep), func(s checkpoint.Saver) (any, error) { return s.Prune(ctx, thread, keep) })
	case n == 17 && m.rare():
		return each("delete "+thread, func(s checkpoint.Saver) (any, error) { return nil, s.Delete(ctx, thread) })
	case n == 18:
		to := pick(m, threadIDs)
		m.ids[to] = append(m.ids[to], m.ids[thread]...)
		return each(fmt.Sprintf("copy %s to %s", thread, to), func(s checkpoint.Saver) (any, error) {
			return nil, checkpoint.Copy(ctx, s, thread, 0, s, to)
		})
	default:
		w := checkpoint.PutWrites{Thread: thread, Fence: recent(m, m.fences[thread]), End: true, Status: checkpoint.Status(m.random.IntN(6))}
		return each("end "+thread, func(s checkpoint.Saver) (any, error) { return nil, s.PutWrites(ctx, w) })
	}
}

// append makes up an Append that mostly fits what stands, or gives the last one again.
func (m *model) append(thread string) checkpoint.Append {
	if m.last != nil && m.rare() {
		return *m.last
	}
	chain, err := m.want.Load(m.t.Context(), checkpoint.Place{Thread: thread})
	if err != nil {
		m.t.Fatal(err)
	}
	a := checkpoint.Append{Thread: thread, Lease: time.Hour, Status: checkpoint.Status(m.random.IntN(6)), Fence: recent(m, m.fences[thread])}
	if m.random.IntN(3) == 0 || len(chain.Records) == 0 {
		a.Open = &checkpoint.Opening{Holder: "holder of " + thread, TakeOver: m.random.IntN(2) == 0}
	} else {
		a.Namespace = pick(m, namespaces)
	}
	if a.Namespace != "" {
		if chain, err = m.want.Load(m.t.Context(), checkpoint.Place{Thread: thread, Namespace: a.Namespace}); err != nil {
			m.t.Fatal(err)
		}
	}
	a.After = chain.Head
	if m.rare() {
		a.After = pick(m, m.ids[thread])
	}
	before := a.After
	for range 1 + m.random.IntN(3) {
		r := m.record(thread, before)
		a.Records = append(a.Records, r)
		before = r.ID
	}
	a.Writes = m.writes(thread)
	a.End = m.rare()
	a.Release = a.End && m.rare()
	if a.Open != nil {
		a.Fence = checkpoint.ID{}
		m.fences[thread] = append(m.fences[thread], a.Records[0].ID)
	}
	m.last = &a
	return a
}

func created(step int) time.Time { return time.Date(2026, 1, 1, 0, 0, step, 0, time.UTC) }

func (m *model) record(thread string, before checkpoint.ID) checkpoint.Record {
	id, err := checkpoint.NewID()
	if err != nil {
		m.t.Fatal(err)
	}
	if m.random.IntN(40) == 0 && len(m.ids[thread]) > 0 {
		id = pick(m, m.ids[thread])
	}
	m.step++
	r := checkpoint.Record{
		ID: id, Parent: before, Base: id, Line: id, Step: m.step, Source: checkpoint.Source(1 + m.random.IntN(5)), Created: created(m.step),
		Due: []checkpoint.Task{{Node: pick(m, tasks)}}, Graph: "g", Fingerprint: 7,
	}
	if m.rare() {
		r.Base = recent(m, append(m.ids[thread], id))
	}
	if m.often() {
		r.Commits = before
	} else if m.rare() {
		r.Commits = pick(m, m.ids[thread])
	}
	if r.Snapshot = before.IsZero() || m.rare(); r.Snapshot {
		r.Payload = state(fmt.Sprint(m.step))
	} else {
		r.Payload = change(fmt.Sprint(m.step))
	}
	m.ids[thread] = append(m.ids[thread], id)
	return r
}

// state and change are a state with one list and a change that appends to it.
func state(element string) []byte {
	b := wire.AppendString(wire.AppendMapLen(nil, 1), "log")
	return wire.AppendString(wire.AppendArrayLen(b, 1), element)
}

func change(element string) []byte {
	const opAppend = 1
	b := wire.AppendInt(wire.AppendArrayLen(nil, 2), 0)
	b = wire.AppendString(wire.AppendMapLen(b, 1), "log")
	b = wire.AppendInt(wire.AppendArrayLen(b, 2), opAppend)
	return wire.AppendString(wire.AppendArrayLen(b, 1), element)
}

func (m *model) writes(thread string) []checkpoint.Write {
	var writes []checkpoint.Write
	for range m.random.IntN(4) {
		w := checkpoint.Write{
			Namespace: pick(m, namespaces), Base: recent(m, m.ids[thread]), Task: pick(m, tasks),
			Kind: checkpoint.Kind(1 + m.random.IntN(5)), Payload: fmt.Append(nil, m.random.IntN(1000)),
		}
		if w.Base.IsZero() {
			continue
		}
		if w.Kind == checkpoint.Question || w.Kind == checkpoint.Answer {
			w.Name = pick(m, tasks)
		}
		writes = append(writes, w)
	}
	return writes
}

// outcome prints what a call came to.
func outcome(v any, err error) string {
	if err != nil {
		return "error: " + kindOf(err)
	}
	return fmt.Sprintf("%+v", v)
}

// kindOf prints what can be told of an error by its type.
func kindOf(err error) string {
	var conflict *checkpoint.ConflictError
	var busy *checkpoint.BusyError
	var invalid *checkpoint.InvalidError
	switch {
	case errors.As(err, &conflict):
		return fmt.Sprintf("conflict %+v", *conflict)
	case errors.As(err, &busy):
		return fmt.Sprintf("busy %q %q", busy.Thread, busy.Holder)
	case errors.As(err, &invalid):
		return fmt.Sprintf("invalid %+v", *invalid)
	case errors.Is(err, checkpoint.ErrNotFound):
		return "not found"
	}
	return err.Error()
}

// dump prints all that can be read.
func (m *model) dump(s checkpoint.Saver) string {
	var b strings.Builder
	ctx := m.t.Context()
	for status := range checkpoint.Done + 1 {
		fmt.Fprintf(&b, "threads with status %d: %s\n", status, all(s.Threads(ctx, checkpoint.ThreadQuery{Status: status}), timeless))
	}
	for _, thread := range threadIDs {
		versions, err := s.Versions(ctx, thread)
		for i := range versions {
			open := versions[i].Released.IsZero()
			versions[i].Released = time.Time{}
			fmt.Fprintf(&b, "%q version %+v open %t\n", thread, versions[i], open)
		}
		if err != nil {
			fmt.Fprintf(&b, "%q versions: %s\n", thread, kindOf(err))
		}
		for version := range len(versions) + 1 {
			number := 0
			if version > 0 {
				number = versions[version-1].Number
			}
			m.dumpVersion(ctx, &b, s, thread, number)
		}
	}
	return b.String()
}

func (m *model) dumpVersion(ctx context.Context, b *strings.Builder, s checkpoint.Saver, thread string, version int) {
	for _, namespace := range namespaces {
		p := checkpoint.Place{Thread: thread, Version: version, Namespace: namespace}
		fmt.Fprintf(b, "%+v: %s\n", p, outcome(loaded(s.Load(ctx, p))))
		any := checkpoint.Query{Sources: []checkpoint.Source{1, 2, 3, 4, 5}}
		for r, err := range s.History(ctx, p, any) {
			fmt.Fprintf(b, "%+v record: %s\n", p, outcome(r, err))
			if err == nil && r.Seq%3 == 0 {
				p.At = r.ID
				fmt.Fprintf(b, "%+v: %s\n", p, outcome(loaded(s.Load(ctx, p))))
			}
		}
	}
	fmt.Fprintf(b, "%q version %d export: %s\n", thread, version, all(s.Export(ctx, thread, version), func(i checkpoint.Item) string {
		switch {
		case i.Thread != nil:
			return timeless(*i.Thread)
		case i.Record != nil:
			return fmt.Sprintf("%+v", *i.Record)
		}
		return fmt.Sprintf("%+v", *i.Write)
	}))
}

func loaded(c checkpoint.Chain, err error) (any, error) {
	return strings.Join([]string{
		fmt.Sprint(c.Version, c.Records, c.Head, c.Due, c.Writes, c.Committed), timeless(c.Thread),
	}, " "), err
}

// timeless prints a thread without the times of the saver's clock.
func timeless(t checkpoint.Thread) string {
	t.Updated = time.Time{}
	if !t.Lease.IsZero() {
		t.Lease = time.Unix(1, 0).UTC()
	}
	return fmt.Sprintf("%+v", t)
}

func all[V any](seq iter.Seq2[V, error], show func(V) string) string {
	var b strings.Builder
	for v, err := range seq {
		if err != nil {
			return b.String() + "error: " + kindOf(err)
		}
		b.WriteString("\n\t" + show(v))
	}
	return b.String()
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "nothing", "nothing"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return " got " + a + "\nwant " + b
		}
	}
	return "no difference"
}
