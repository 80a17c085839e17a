package graph_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// everyThread is a thread whose state has a field for every reducer.
type everyThread = graph.Thread[ref.Everything, ref.EverythingUpdate]

// anyUpdate makes a random update. One that is alone in its superstep may write any field.
func anyUpdate(r *rand.Rand, alone bool) (u ref.EverythingUpdate) {
	word := func() string { return string(rune('a' + r.IntN(20))) }
	for range 1 + r.IntN(5) {
		switch r.IntN(14) {
		case 0:
			u.Last.Set(ref.Status(word()))
		case 1:
			u.First.Set(word())
		case 2:
			u.Sum.Add(r.Int64N(100))
		case 3:
			u.Min.Offer(r.IntN(100))
		case 4:
			u.Log.Append(word(), word())
		case 5:
			u.Docs.Append(ref.Doc{Title: word(), Pages: []string{word()}})
		case 6, 7, 8:
			u.Messages.Upsert(ref.Message{ID: word(), Role: ref.Status(word()), Text: word()}, ref.Message{ID: word() + word()})
		case 9:
			u.Tags.Add(ref.Status(word()), ref.Status(word()))
		case 10:
			u.Facts.Put(word(), ref.Fact{Source: word()})
		case 11:
			u.Facts.Delete(word())
		case 12:
			u.Plan.Reduce(ref.PlanEdit{Step: word()})
		case 13:
			u.Cache.Set(&ref.Cache{Hits: r.IntN(9)})
		}
	}
	if !alone {
		return u
	}
	switch r.IntN(10) {
	case 0:
		u.Draft.Set(word())
	case 1, 2:
		u.Set.Set(strings.Repeat(word(), r.IntN(40<<10))) // superseded soon: the chain gets snapshots
	case 3:
		u.Messages.Remove(word(), word())
	case 4:
		u.Labels.Set(map[string]string{word(): word()})
	case 5:
		u.Log.Remove(word())
	}
	return u
}

// everyWorld is a storage, and the processes that use one thread in it.
type everyWorld struct {
	t         *testing.T
	s         *memory.Saver
	processes []everyThread
	failing   bool
}

// newEveryWorld returns a world of so many processes. The behaviour of its nodes depends only on
// the seed and the step.
func newEveryWorld(t *testing.T, seed uint64, processes int, opts ...graph.Option) *everyWorld {
	t.Helper()
	w := &everyWorld{t: t, s: memory.New()}
	node := func(alone bool) func(ctx context.Context, s ref.Everything) (ref.EverythingUpdate, error) {
		return func(ctx context.Context, s ref.Everything) (ref.EverythingUpdate, error) {
			task := graph.CurrentTask(ctx)
			if w.failing && task.Node == "c" {
				return ref.EverythingUpdate{}, errBroken
			}
			u := anyUpdate(rand.New(rand.NewPCG(seed, uint64(task.Step)<<8|uint64(task.Node[0]))), alone)
			if s.Cache != nil || s.Draft != "" { // what a run sees of fields that are not there for long
				u.Log.Append(fmt.Sprint(s.Cache != nil, s.Draft))
			}
			return u, nil
		}
	}
	for range processes {
		b := graph.New("g", ref.EverythingSchema)
		b.Node("a", node(false))
		b.Node("b", node(false))
		b.Node("c", node(true))
		b.Join([]graph.ID{"a", "b"}, "c")
		b.Edge("c", graph.End)
		if seed%2 == 0 {
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
		} else { // sometimes one of them, so that the join is left half reached
			b.Route(graph.Start, func(_ context.Context, s ref.Everything) (graph.Next, error) {
				if s.Sum%3 == 0 {
					return graph.To("a"), nil
				}
				return graph.To("a", "b"), nil
			}, "a", "b")
		}
		g, err := b.Compile(append(opts, graph.Saver(w.s))...)
		if err != nil {
			t.Fatal(err)
		}
		w.processes = append(w.processes, g.Thread("t"))
	}
	return w
}

// records describes the records of the thread, with names for ids.
func (w *everyWorld) records(t *testing.T) []string {
	t.Helper()
	var all []checkpoint.Record
	for rec, err := range w.s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{
		Sources: []checkpoint.Source{checkpoint.Input, checkpoint.Loop, checkpoint.Update, checkpoint.Fork, checkpoint.Resume},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
	slices.Reverse(all)
	names := map[checkpoint.ID]int{}
	var lines []string
	for i := range all {
		rec := &all[i]
		names[rec.ID] = i + 1
		lines = append(lines, fmt.Sprintf("%d: %s %d, parent %d base %d line %d commits %d, due %v joins %v request %q meta %v, snapshot %t %.200x",
			i+1, rec.Source, rec.Step, names[rec.Parent], names[rec.Base], names[rec.Line], names[rec.Commits],
			rec.Due, rec.Joins, rec.Request, slices.Sorted(maps.Keys(rec.Meta)), rec.Snapshot, rec.Payload))
	}
	return lines
}

// history describes the checkpoints of the thread as a process sees them.
func (w *everyWorld) history(t *testing.T) []graph.Snapshot[ref.Everything] {
	t.Helper()
	return collect(t, w.processes[0].History(t.Context(), checkpoint.Query{}))
}

// states returns what State shows each process; nothing if there is no thread. In a world with
// fewer than three, the last shows it several times.
func (w *everyWorld) states(t *testing.T) (all []graph.Snapshot[ref.Everything]) {
	t.Helper()
	for i := range 3 {
		snap, err := w.processes[min(i, len(w.processes)-1)].State(t.Context())
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			t.Fatal(err)
		}
		all = append(all, snap)
	}
	return all
}

// compareStates compares what State shows, except for ids.
func compareStates(t *testing.T, of string, got, want []graph.Snapshot[ref.Everything]) {
	t.Helper()
	for i := range want {
		got, want := got[i], want[i]
		fields := state.FieldNames(ref.EverythingSchema.Diff(want.State, got.State))
		if fields != nil || got.Step != want.Step || got.Source != want.Source || got.Status != want.Status || !slices.Equal(got.Next, want.Next) {
			t.Fatalf("%s: State of process %d differs in %v; got step %d, %v, %v, due %v, want step %d, %v, %v, due %v",
				of, i, fields, got.Step, got.Source, got.Status, got.Next, want.Step, want.Source, want.Status, want.Next)
		}
	}
}

// moved is something that happens to the thread. It is the same in every world.
type moved struct {
	name string
	do   func(w *everyWorld, th everyThread) error
}

// someMove draws what happens next.
func someMove(r *rand.Rand, turn int) moved {
	d := []graph.Durability{graph.Sync, graph.Async, graph.OnExit}[r.IntN(3)]
	in := r.Uint64()
	invoke := func(w *everyWorld, th everyThread, opts ...graph.InvokeOption) error {
		_, err := th.Invoke(w.t.Context(), anyUpdate(rand.New(rand.NewPCG(in, 0)), true), append(opts, d)...)
		return err
	}
	edit := func(w *everyWorld, th everyThread) error {
		_, err := th.UpdateState(w.t.Context(), anyUpdate(rand.New(rand.NewPCG(in, 0)), true))
		return err
	}
	at := func(w *everyWorld, th everyThread) everyThread {
		snaps := w.history(w.t)
		if len(snaps) == 0 {
			return th
		}
		return th.At(snaps[int(in%uint64(len(snaps)))].Checkpoint)
	}
	switch r.IntN(16) {
	case 0:
		return moved{"edit", func(w *everyWorld, th everyThread) error { return edit(w, th) }}
	case 1:
		return moved{"replay", func(w *everyWorld, th everyThread) error {
			_, err := at(w, th).Resume(w.t.Context(), d)
			return err
		}}
	case 2:
		return moved{"fork", func(w *everyWorld, th everyThread) error { return edit(w, at(w, th)) }}
	case 3:
		return moved{"release", func(w *everyWorld, th everyThread) error {
			_, err := th.Release(w.t.Context())
			return err
		}}
	case 4:
		return moved{"delete", func(w *everyWorld, _ everyThread) error { return w.s.Delete(w.t.Context(), "t") }}
	case 5:
		return moved{"prune", func(w *everyWorld, _ everyThread) error {
			_, err := w.s.Prune(w.t.Context(), "t", checkpoint.Retention{Last: 3})
			return err
		}}
	case 6:
		return moved{"move", func(w *everyWorld, _ everyThread) error { return w.copied(w.t, w.s, nil) }}
	case 7:
		return moved{"fail", func(w *everyWorld, th everyThread) error {
			w.failing = true
			err := invoke(w, th, graph.DiscardPending())
			w.failing = false
			return err
		}}
	case 8:
		return moved{"take over", func(w *everyWorld, th everyThread) error {
			return invoke(w, th, graph.TakeOver(), graph.DiscardPending())
		}}
	case 9:
		return moved{"request", func(w *everyWorld, th everyThread) error {
			return invoke(w, th, graph.RequestID(fmt.Sprint(turn/4)))
		}}
	case 10:
		return moved{"resume", func(w *everyWorld, th everyThread) error {
			_, err := th.Resume(w.t.Context(), d)
			return err
		}}
	}
	return moved{"input", func(w *everyWorld, th everyThread) error { return invoke(w, th) }}
}

// copied exports the thread, changes the items, deletes the thread, and imports it to a storage.
func (w *everyWorld) copied(t *testing.T, to *memory.Saver, change func(*checkpoint.ExportItem)) error {
	t.Helper()
	var items []checkpoint.ExportItem
	for item, err := range w.s.Export(t.Context(), "t", 0) {
		if err != nil {
			return err
		}
		if change != nil {
			change(&item)
		}
		items = append(items, item)
	}
	if err := w.s.Delete(t.Context(), "t"); err != nil {
		return err
	}
	return to.Import(t.Context(), "t", func(yield func(checkpoint.ExportItem, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	})
}

// TestHotThreadsAreWhatStorageSays compares three worlds. One process keeps nothing in memory, one
// keeps heads, and three processes keep heads and take turns. After all calls the histories are
// the same. The stored bytes are the same too, unless a Prune has shortened the chain that a
// process remembers.
func TestHotThreadsAreWhatStorageSays(t *testing.T) {
	rounds := uint64(60)
	if testing.Short() {
		rounds = 8
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var opts []graph.Option
			if seed%3 == 0 {
				opts = append(opts, graph.DropUnknownFields())
			}
			worlds := map[string]*everyWorld{
				"cold":   newEveryWorld(t, seed, 1, append(opts, graph.HotThreads(0))...),
				"hot":    newEveryWorld(t, seed, 1, opts...),
				"shared": newEveryWorld(t, seed, 1, append(opts, graph.SharedState())...),
				"turns":  newEveryWorld(t, seed, 3, opts...),
			}
			for _, w := range worlds {
				w.begin(t, seed, seed%3 == 0)
			}
			r := rand.New(rand.NewPCG(seed, 1))
			var said []string
			pruned := false
			for turn := range 40 {
				m := someMove(r, turn)
				process := r.IntN(12)
				var first string
				for _, name := range []string{"cold", "hot", "shared", "turns"} {
					w := worlds[name]
					err := m.do(w, w.processes[process%len(w.processes)])
					outcome := strings.Split(outcomeOf(err), "\n")[0]
					if name == "cold" {
						first = outcome
						said = append(said, m.name+": "+outcome)
					}
					if outcome != first {
						t.Fatalf("%q: %s is %s, want %s", said, name, outcome, first)
					}
				}
				switch m.name {
				case "prune":
					pruned = true
				case "release", "delete":
					pruned = false
				}
				compareWorlds(t, said, worlds, !pruned)
			}
		})
	}
}

// begin adds a few turns of another process to the thread, and fields that the code does not have.
// One is Lox, and with nested another one is in messages.
func (w *everyWorld) begin(t *testing.T, seed uint64, nested bool) {
	t.Helper()
	before := newEveryWorld(t, seed, 1, graph.HotThreads(0))
	for i := range uint64(3) {
		if _, err := before.processes[0].Invoke(t.Context(), anyUpdate(rand.New(rand.NewPCG(seed, i)), true)); err != nil {
			t.Fatal(err)
		}
	}
	if err := before.copied(t, w.s, func(item *checkpoint.ExportItem) {
		if item.Record == nil {
			return
		}
		item.Record.Payload = bytes.ReplaceAll(item.Record.Payload, []byte("\xa3Log"), []byte("\xa3Lox"))
		if nested {
			item.Record.Payload = bytes.ReplaceAll(item.Record.Payload, []byte("\xa4Role"), []byte("\xa4Rank"))
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// outcomeOf returns the class of an error.
func outcomeOf(err error) string {
	if err == nil {
		return "well"
	}
	for _, class := range []error{
		graph.ErrUnfinished, graph.ErrRequestReused, graph.ErrReleased, checkpoint.ErrNotFound, checkpoint.ErrConflict, errBroken,
	} {
		if errors.Is(err, class) {
			return class.Error()
		}
	}
	return err.Error()
}

// compareWorlds compares the thread in each world with that in the cold one.
func compareWorlds(t *testing.T, said []string, worlds map[string]*everyWorld, whole bool) {
	t.Helper()
	history, records := worlds["cold"].history(t), worlds["cold"].records(t)
	shown := worlds["cold"].states(t)
	for name, w := range worlds {
		compareStates(t, fmt.Sprintf("%q: %s", said, name), w.states(t), shown)
		got := w.history(t)
		if len(got) != len(history) {
			t.Fatalf("%q: %s has %d checkpoints, want %d", said, name, len(got), len(history))
		}
		for i, want := range history {
			got := got[i]
			fields := state.FieldNames(ref.EverythingSchema.Diff(want.State, got.State))
			if fields != nil || got.Step != want.Step || got.Source != want.Source || !slices.Equal(got.Next, want.Next) {
				t.Fatalf("%q: %s differs %d before the head, at step %d, in %v: due are %v, want %v",
					said, name, i, want.Step, fields, got.Next, want.Next)
			}
		}
		if whole {
			same(t, fmt.Sprintf("%q: records of %s", said, name), w.records(t), records)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// TestALongHotThreadGetsItsSnapshots takes turns until the headers of the chain outweigh its
// state: a hot thread is compacted at the same record as a cold one.
func TestALongHotThreadGetsItsSnapshots(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		t.Parallel()
		snapshots := map[string][]uint64{}
		for name, opts := range map[string][]graph.Option{"cold": {graph.HotThreads(0)}, "hot": nil, "shared": {graph.SharedState()}} {
			b := newWork()
			b.Node("a", func(context.Context, work) (update, error) { return update{}, nil })
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			th, s := newThread(t, b, append(opts, d)...)
			for range 500 {
				done(t, graph.Done)(th.Invoke(t.Context(), input))
			}
			for rec, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				if rec.Snapshot {
					snapshots[name] = append(snapshots[name], rec.Seq)
				}
			}
		}
		if len(snapshots["cold"]) < 2 {
			t.Fatalf("the cold thread has snapshots at %d, want another one than the first", snapshots["cold"])
		}
		same(t, "snapshots of the hot thread", snapshots["hot"], snapshots["cold"])
		same(t, "snapshots of the one that shares its state", snapshots["shared"], snapshots["cold"])
	})
}
