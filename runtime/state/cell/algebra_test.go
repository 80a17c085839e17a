package cell_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

type live = cell.Live[ref.Everything, ref.EverythingUpdate]

func newLive(opts cell.Options) live { return ref.EverythingSchema.New(opts) }

// dice makes random updates out of few words, so that they often meet.
type dice struct{ *rand.Rand }

func (d dice) word() string { return string(rune('a' + d.IntN(12))) }

func (d dice) words() []string {
	words := make([]string, d.IntN(4))
	for i := range words {
		words[i] = d.word()
	}
	return words
}

func (d dice) message() ref.Message {
	m := ref.Message{ID: d.word(), Role: ref.Status(d.word()), At: time.Unix(d.Int64N(3), d.Int64N(2)).UTC()}
	m.Text = string(bytes.Repeat([]byte("x"), d.IntN(40)))
	if d.IntN(2) == 0 {
		m.Calls = []ref.ToolCall{{ID: d.word(), Args: []byte(d.word())}, {Tool: d.word()}}
	}
	return m
}

func (d dice) messages() []ref.Message {
	list := make([]ref.Message, d.IntN(12))
	for i := range list {
		list[i] = d.message()
	}
	return list
}

func (d dice) doc() ref.Doc { return ref.Doc{Title: d.word(), Pages: d.words()} }

func (d dice) fact() ref.Fact { return ref.Fact{Source: d.word(), Score: d.NormFloat64()} }

func (d dice) facts() map[string]ref.Fact {
	m := make(map[string]ref.Fact)
	for range d.IntN(20) {
		m[d.word()+d.word()] = d.fact()
	}
	return m
}

// update makes an update. A task that is alone in its superstep may do what is a conflict
// otherwise.
func (d dice) update(m *model, alone bool) ref.EverythingUpdate {
	var u ref.EverythingUpdate
	m.firstOpen = !m.first
	for range 1 + d.IntN(6) {
		d.scalar(&u, m, alone)
		d.collection(&u, m, alone)
	}
	return u
}

// scalar calls an operation of a field with one value, and does to m what that should do.
func (d dice) scalar(u *ref.EverythingUpdate, m *model, alone bool) {
	switch d.IntN(16) {
	case 0:
		last := ref.Status(d.word())
		u.Last.Set(last)
		m.Last = last
	case 1:
		first := d.word()
		u.First.Set(first)
		m.setFirst(first)
	case 2:
		n := d.Int64N(1000) - 500
		u.Sum.Add(n)
		m.Sum += n
	case 3:
		u.Ratio.Add(d.Float32())
	case 4:
		n := d.IntN(300) - 100
		u.Min.Offer(n)
		m.offerMin(n)
	case 5:
		word := d.word()
		u.Max.Offer(word)
		m.offerMax(word)
	case 6:
		ok := d.IntN(3) > 0
		u.And.And(ok)
		m.And, m.and = ok && (m.And || !m.and), true
	case 7:
		ok := d.IntN(3) == 0
		u.Or.Or(ok)
		m.Or = m.Or || ok
	case 8:
		d.reduce(u, m, ref.PlanEdit{Goal: d.word()})
	case 9:
		d.reduce(u, m, ref.PlanEdit{Step: d.word()})
	}
	if alone {
		d.setAlone(u)
		d.clear(u, m)
	}
}

func (d dice) reduce(u *ref.EverythingUpdate, m *model, in ref.PlanEdit) {
	u.Plan.Reduce(in)
	plan := ref.Plan{}
	if m.Plan != nil {
		plan = *m.Plan
	}
	if in.Goal != "" {
		plan.Goal = in.Goal
	} else {
		plan.Steps = append(slices.Clip(plan.Steps), in.Step)
	}
	m.Plan = &plan
}

// setAlone sets a field that only one task of a superstep may set.
func (d dice) setAlone(u *ref.EverythingUpdate) {
	switch d.IntN(12) {
	case 0:
		u.Set.Set(d.word())
	case 1:
		u.Vector.Set([]float64{d.Float64(), 1})
	case 2:
		u.Labels.Set(map[string]string{d.word(): d.word(), d.word(): ""})
	case 3:
		u.Draft.Set(d.word())
	case 4:
		u.Vector.Set(nil)
	}
}

// clear clears a field with one value, and does to m what that should do.
func (d dice) clear(u *ref.EverythingUpdate, m *model) {
	switch d.IntN(40) {
	case 0:
		u.Set.Clear()
	case 1:
		u.Vector.Clear()
	case 2:
		u.Labels.Clear()
	case 3:
		u.Draft.Clear()
	case 4:
		u.Ratio.Clear()
	case 5:
		u.Last.Clear()
		m.Last = ""
	case 6:
		u.First.Clear()
		m.First, m.firstOpen, m.first = "", true, false
	case 7:
		u.Sum.Clear()
		m.Sum = 0
	case 8:
		u.Min.Clear()
		m.Min, m.min = 0, false
	case 9:
		u.Max.Clear()
		m.Max, m.max = "", false
	case 10:
		u.And.Clear()
		m.And, m.and = false, false
	case 11:
		u.Or.Clear()
		m.Or = false
	case 12:
		u.Plan.Clear()
		m.Plan = nil
	}
}

// collection calls an operation of a list or map, and does to m what that should do.
func (d dice) collection(u *ref.EverythingUpdate, m *model, alone bool) {
	switch d.IntN(16) {
	case 0, 1:
		list := d.words()
		u.Log.Append(list...)
		m.Log = append(m.Log, list...)
	case 2:
		word := d.word()
		u.Log.Remove(word)
		m.Log = without(m.Log, func(w string) bool { return w == word })
	case 3:
		list := []ref.Doc{d.doc(), d.doc()}
		u.Docs.Append(list...)
		m.Docs = append(m.Docs, list...)
	case 4:
		doc := d.doc()
		u.Docs.Remove(doc)
		m.Docs = without(m.Docs, func(x ref.Doc) bool { return cmp.Equal(x, doc) })
	case 5, 6:
		list := d.messages()
		u.Messages.Upsert(list...)
		m.upsert(list)
	case 7:
		keys := d.words()
		u.Messages.Remove(keys...)
		m.Messages = without(m.Messages, func(x ref.Message) bool { return slices.Contains(keys, x.ID) })
	case 8, 9:
		for _, w := range d.words() {
			x, y := ref.Status(w), ref.Status(d.word())
			u.Tags.Add(x, y)
			m.add(x, y)
		}
	case 10:
		tag := ref.Status(d.word())
		u.Tags.Remove(tag)
		m.Tags = without(m.Tags, func(x ref.Status) bool { return x == tag })
	case 11:
		key, fact := d.word(), d.fact()
		u.Facts.Put(key, fact)
		merge(&m.Facts, map[string]ref.Fact{key: fact})
	case 12:
		facts := d.facts()
		u.Facts.Merge(facts)
		merge(&m.Facts, facts)
	case 13:
		for _, key := range d.words() {
			u.Facts.Delete(key)
			delete(m.Facts, key)
		}
	case 14:
		key, n := d.IntN(2) == 0, d.IntN(300)
		u.Votes.Put(key, n)
		merge(&m.Votes, map[bool]int{key: n})
	case 15:
		ranks, gone := map[int8]string{int8(d.IntN(300)): d.word(), -3: d.word()}, int8(d.IntN(300))
		u.Ranks.Merge(ranks)
		u.Ranks.Delete(gone)
		merge(&m.Ranks, ranks)
		delete(m.Ranks, gone)
	}
	if alone {
		d.rewrite(u, m)
	}
}

// rewrite calls an operation that only one task of a superstep may call.
func (d dice) rewrite(u *ref.EverythingUpdate, m *model) {
	switch d.IntN(24) {
	case 0:
		list := d.words()
		u.Log.Replace(list...)
		m.Log = append([]string{}, list...)
	case 1:
		u.Log.Clear()
		m.Log = nil
	case 2:
		list := d.messages()
		u.Messages.Replace(list...)
		m.Messages = []ref.Message{}
		m.upsert(list)
	case 3:
		u.Messages.Clear()
		m.Messages = nil
	case 4:
		facts := d.facts()
		u.Facts.Replace(facts)
		m.Facts = facts
	case 5:
		u.Facts.Replace(nil)
		m.Facts = map[string]ref.Fact{}
	case 6:
		u.Docs.Clear()
		m.Docs = nil
	case 7:
		u.Facts.Clear()
		m.Facts = nil
	case 8:
		u.Votes.Clear()
		m.Votes = nil
	case 9:
		u.Tags.Clear()
		m.Tags = nil
	case 10:
		tags := []ref.Status{ref.Status(d.word()), ref.Status(d.word())}
		u.Tags.Replace(tags...)
		m.Tags = []ref.Status{}
		m.add(tags...)
	case 11:
		u.Tags.Replace()
		m.Tags = []ref.Status{}
	}
}

// model is what the state should be, by the simplest code there is.
type model struct {
	ref.Everything
	first, min, max, and bool // were ever written
	firstOpen            bool // the update may set First: of several calls, the last counts
}

func (m *model) setFirst(s string) {
	if m.firstOpen {
		m.First, m.first = s, true
	}
}

func (m *model) offerMin(n int) {
	if !m.min || n < m.Min {
		m.Min, m.min = n, true
	}
}

func (m *model) offerMax(s string) {
	if !m.max || s > m.Max {
		m.Max, m.max = s, true
	}
}

func (m *model) upsert(list []ref.Message) {
	for _, msg := range list {
		i := slices.IndexFunc(m.Messages, func(x ref.Message) bool { return x.ID == msg.ID })
		if i >= 0 {
			m.Messages[i] = msg
		} else {
			m.Messages = append(m.Messages, msg)
		}
	}
}

func (m *model) add(tags ...ref.Status) {
	for _, tag := range tags {
		if !slices.Contains(m.Tags, tag) {
			m.Tags = append(m.Tags, tag)
		}
	}
}

// check compares s with the model, except fields that are set as a whole and the sum of floats.
func (m *model) check(t *testing.T, s ref.Everything) {
	t.Helper()
	s.Set, s.Vector, s.Labels, s.Draft, s.Ratio = "", nil, nil, "", 0
	if diff := cmp.Diff(m.Everything, s); diff != "" {
		t.Fatalf("merged otherwise than it should be (-want +got):\n%s", diff)
	}
}

func without[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

func merge[K comparable, V any](m *map[K]V, entries map[K]V) {
	if *m == nil && len(entries) > 0 {
		*m = make(map[K]V)
	}
	maps.Copy(*m, entries)
}

// replicas are Lives that must all have the same state, each in another way.
type replicas struct {
	t         *testing.T
	recorded  live // merges, and appends deltas
	snapped   live // merges, and appends snapshots
	plain     live // merges updates that were written and read, and records nothing
	applied   live // reads the deltas
	seed      []byte
	deltas    [][]byte
	book      ledger
	kept      []ref.Everything // views that were shared
	keptClone []ref.Everything
}

func newReplicas(t *testing.T, seed []byte) *replicas {
	t.Helper()
	r := &replicas{t: t, seed: seed, book: newLedger(t, seed)}
	for _, p := range []struct {
		live *live
		opts cell.Options
	}{
		{&r.recorded, cell.Options{Record: true}}, {&r.snapped, cell.Options{Record: true}},
		{&r.plain, cell.Options{}}, {&r.applied, cell.Options{Record: true}},
	} {
		*p.live = newLive(p.opts)
		if err := (*p.live).Decode(seed); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// merge merges an update everywhere.
func (r *replicas) merge(task int, u ref.EverythingUpdate) {
	r.t.Helper()
	b, err := ref.EverythingSchema.AppendUpdate(nil, &u)
	if err != nil {
		r.t.Fatal(err)
	}
	var read ref.EverythingUpdate
	if err := ref.EverythingSchema.DecodeUpdate(b, &read); err != nil {
		r.t.Fatalf("decode of %v: %v", u, err)
	}
	if !u.Equal(read) || !read.Equal(u) {
		r.t.Fatalf("update read back: got %v, want %v", read, u)
	}
	again, err := ref.EverythingSchema.AppendUpdate(nil, &read)
	if err != nil || !bytes.Equal(again, b) {
		r.t.Fatalf("update written again: got %x, want %x (%v)", again, b, err)
	}
	if err := r.plain.Merge(task, &read); err != nil {
		r.t.Fatal(err)
	}
	for _, l := range []live{r.recorded, r.snapped} {
		if err := l.Merge(task, &u); err != nil {
			r.t.Fatal(err)
		}
	}
}

// endStep ends a superstep and compares everything with everything.
func (r *replicas) endStep() {
	r.t.Helper()
	for _, l := range []live{r.recorded, r.snapped, r.plain} {
		l.EndStep()
	}
	d, err := r.recorded.AppendDelta(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.deltas = append(r.deltas, d)
	snapshot, err := r.snapped.AppendSnapshot(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.applied.Apply(d); err != nil {
		r.t.Fatal(err)
	}
	want := r.snapped.View()
	for name, l := range map[string]live{"recorded": r.recorded, "plain": r.plain, "applied": r.applied} {
		if diff := state.FieldNames(ref.EverythingSchema.Diff(want, l.View())); diff != nil {
			r.t.Fatalf("%s differs in %v (-snapped +%s):\n%s", name, diff, name, cmp.Diff(want, l.View()))
		}
	}
	folded, err := checkpoint.Fold(r.seed, r.deltas...)
	if err != nil || !bytes.Equal(folded, snapshot) {
		r.t.Fatalf("folded: %v\n got %x\nwant %x", err, folded, snapshot)
	}
	r.checkSizes(d, len(snapshot))
}

// change sometimes makes one replica continue from another, as a resumed run does.
func (r *replicas) change(d dice) {
	r.t.Helper()
	if d.IntN(4) == 0 {
		r.recorded, r.applied = r.applied, r.recorded
	}
	if d.IntN(4) == 0 {
		b, err := r.snapped.AppendSnapshot(nil)
		if err != nil {
			r.t.Fatal(err)
		}
		if err := r.plain.Decode(b); err != nil {
			r.t.Fatal(err)
		}
	}
}

// checkSizes compares what Lives say of their sizes with what was written.
func (r *replicas) checkSizes(d []byte, size int) {
	r.t.Helper()
	if told, want := r.book.apply(d); told != want {
		r.t.Fatalf("the delta says that %d bytes are dead, want %d; it is %x", told, want, d)
	}
	for name, l := range map[string]live{"recorded": r.recorded, "applied": r.applied} {
		if live, dead := l.Sizes(); live != size || dead != r.book.dead {
			r.t.Fatalf("%s: Sizes() = %d, %d, want %d, %d", name, live, dead, size, r.book.dead)
		}
	}
	if live, dead := r.snapped.Sizes(); live != size || dead != 0 {
		r.t.Fatalf("after a snapshot: Sizes() = %d, %d, want %d, 0", live, dead, size)
	}
}

// look does what a node may do to its view, and sometimes keeps the view.
func (r *replicas) look(keep bool) {
	v := r.recorded.View()
	_ = append(v.Log, "scribble")
	_ = append(v.Messages, ref.Message{ID: "scribble"})
	_ = append(v.Tags, "scribble")
	_ = append(v.Docs, ref.Doc{Title: "scribble"})
	_ = append(v.Vector, 99)
	if keep {
		r.recorded.Share()
		r.kept = append(r.kept, v)
		r.keptClone = append(r.keptClone, ref.EverythingSchema.Clone(v))
	}
}

// finish checks what can only be checked at the end.
func (r *replicas) finish() {
	r.t.Helper()
	for i, v := range r.kept {
		if diff := state.FieldNames(ref.EverythingSchema.Diff(v, r.keptClone[i])); diff != nil {
			r.t.Errorf("shared view %d was written to in %v", i, diff)
		}
	}
	joined, err := delta.Concat(r.deltas...)
	if err != nil {
		r.t.Fatal(err)
	}
	l := newLive(cell.Options{Record: true})
	if err := l.Decode(r.seed); err != nil {
		r.t.Fatal(err)
	}
	if err := l.Apply(joined); err != nil {
		r.t.Fatal(err)
	}
	gotLive, gotDead := l.Sizes()
	wantLive, wantDead := r.recorded.Sizes()
	if gotLive != wantLive || gotDead != wantDead {
		r.t.Errorf("after the joined delta Sizes() = %d, %d, want %d, %d", gotLive, gotDead, wantLive, wantDead)
	}
	got, err := l.AppendSnapshot(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	want, err := r.recorded.AppendSnapshot(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		r.t.Errorf("the joined delta comes to other bytes:\n got %x\nwant %x", got, want)
	}
	decoded := newLive(cell.Options{})
	if err := decoded.Decode(want); err != nil {
		r.t.Fatal(err)
	}
	if diff := state.FieldNames(ref.EverythingSchema.Diff(decoded.View(), r.recorded.View())); diff != nil {
		r.t.Errorf("the decoded snapshot differs in %v", diff)
	}
}

func TestEveryWayToAStateHasTheSameResult(t *testing.T) {
	// The seed has fields that the code does not have, before, between and after those that it
	// has.
	seed := wire.AppendMapLen(nil, 4)
	seed = wire.AppendInt(wire.AppendString(seed, "Aardvark"), 1)
	seed = wire.AppendString(wire.AppendArrayLen(wire.AppendString(seed, "Log"), 1), "seed")
	seed = wire.AppendNil(wire.AppendString(seed, "Mz"))
	seed = wire.AppendMapLen(wire.AppendString(seed, "zebra"), 0)
	rounds := uint64(60)
	if testing.Short() {
		rounds = 12
	}
	for n := range rounds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			d := dice{rand.New(rand.NewPCG(n, 1))}
			from := []byte{0x80}
			if n%2 == 0 {
				from = seed
			}
			r := newReplicas(t, from)
			want := model{Everything: r.plain.View()}
			for range 40 {
				tasks := 1 + d.IntN(3)
				for task := range tasks {
					r.look(d.IntN(4) == 0)
					r.merge(task, d.update(&want, tasks == 1))
				}
				r.endStep()
				want.check(t, r.plain.View())
				r.change(d)
			}
			r.finish()
		})
	}
}

func TestLongListsCostWhatTheyHold(t *testing.T) {
	l := newLive(cell.Options{Record: true})
	var deltas [][]byte
	for i := range 1000 {
		var u ref.EverythingUpdate
		u.Log.Append(fmt.Sprint(i))
		if err := l.Merge(0, &u); err != nil {
			t.Fatal(err)
		}
		d, err := l.AppendDelta(nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(d) > 20 {
			t.Fatalf("delta %d of one appended number has %d bytes, want at most 20", i, len(d))
		}
		deltas = append(deltas, d)
	}
	if _, dead := l.Sizes(); dead != 0 {
		t.Errorf("appending made %d bytes dead, want 0", dead)
	}
	folded, err := checkpoint.Fold([]byte{0x80}, deltas...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := l.AppendSnapshot(nil)
	if err != nil || !bytes.Equal(folded, want) {
		t.Errorf("1000 folded appends differ from the snapshot (%v)", err)
	}
}

// ledger reads deltas by their description in the package's documentation, as simply as it can be
// done, to know how many bytes they displace.
type ledger struct {
	t      *testing.T
	fields map[string]string
	dead   int
}

func newLedger(t *testing.T, snapshot []byte) ledger {
	t.Helper()
	l := ledger{t: t, fields: make(map[string]string)}
	r := wire.NewReader("", snapshot)
	for range r.MapLen() {
		name := r.Str()
		l.fields[name] = r.Raw()
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	return l
}

// apply returns the dead bytes that the delta tells and those that it makes.
func (l *ledger) apply(d []byte) (told, made int) {
	r := wire.NewReader("", d)
	r.FixedArray(2)
	told = r.Int()
	for range r.MapLen() {
		name := r.Str()
		for range r.ArrayLen() / 2 {
			value, n := l.op(r.Int(), l.fields[name], r.Raw())
			made += n
			l.fields[name] = value
			if value == "" {
				delete(l.fields, name)
			}
		}
	}
	if err := r.End(); err != nil {
		l.t.Fatal(err)
	}
	l.dead += made
	return told, made
}

// op returns what an operation makes of a value, and the bytes that it displaces.
func (l *ledger) op(op int, old, operand string) (value string, dead int) {
	in := wire.NewStringReader("", operand)
	switch op {
	case 0: // set
		return operand, len(old)
	case 6: // clear
		return "", len(old)
	case 2, 3: // put, delete
		return l.table(op, old, &in)
	}
	list := elements(old, 1)
	switch op {
	case 1: // append
		list = append(list, elements(operand, 1)...)
	case 4: // set at
		in.ArrayLen()
		i := in.Int()
		dead = len(list[i])
		list[i] = in.Raw()
	case 5: // remove at
		for n := range in.ArrayLen() {
			i := in.Int() - n
			dead += len(list[i])
			list = slices.Delete(list, i, i+1)
		}
	}
	b := wire.AppendArrayLen(nil, len(list))
	for _, raw := range list {
		b = append(b, raw...)
	}
	return string(b), dead
}

func (l *ledger) table(op int, old string, in *wire.Reader) (value string, dead int) {
	list := elements(old, 2)
	drop := func(key string) {
		for i := 0; i < len(list); i += 2 {
			if list[i] == key {
				dead += len(list[i]) + len(list[i+1])
				list = slices.Delete(list, i, i+2)
				return
			}
		}
	}
	if op == 3 {
		for range in.ArrayLen() {
			drop(in.Raw())
		}
	} else {
		for range in.MapLen() {
			key := in.Raw()
			drop(key)
			list = append(list, key, in.Raw())
		}
	}
	b := wire.AppendMapLen(nil, len(list)/2)
	for _, raw := range list {
		b = append(b, raw...)
	}
	return string(b), dead
}

// elements returns the encoded elements of an array, or the keys and values of a map.
func elements(raw string, each int) []string {
	if raw == "" || raw == "\xc0" {
		return nil
	}
	r := wire.NewStringReader("", raw)
	var n int
	if each == 1 {
		n = r.ArrayLen()
	} else {
		n = 2 * r.MapLen()
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.Raw()
	}
	return list
}
