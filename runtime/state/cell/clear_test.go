package cell_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

type updater = func(u *ref.EverythingUpdate)

// clearing has three updates for each kind of field: one that writes it, one that clears it, and
// one that writes it after Clear. want is the state after the last one.
var clearing = []struct {
	field               string
	write, clear, after updater
	want                ref.Everything
}{
	{"Set", func(u *ref.EverythingUpdate) { u.Set.Set("a") }, func(u *ref.EverythingUpdate) { u.Set.Clear() },
		func(u *ref.EverythingUpdate) { u.Set.Clear(); u.Set.Set("b") }, ref.Everything{Set: "b"}},
	{"Labels", func(u *ref.EverythingUpdate) { u.Labels.Set(map[string]string{"a": "b"}) }, func(u *ref.EverythingUpdate) { u.Labels.Clear() },
		func(u *ref.EverythingUpdate) { u.Labels.Clear(); u.Labels.Set(map[string]string{}) }, ref.Everything{Labels: map[string]string{}}},
	{"First", func(u *ref.EverythingUpdate) { u.First.Set("a") }, func(u *ref.EverythingUpdate) { u.First.Clear() },
		func(u *ref.EverythingUpdate) { u.First.Set("lost"); u.First.Clear(); u.First.Set("b") }, ref.Everything{First: "b"}},
	{"Sum", func(u *ref.EverythingUpdate) { u.Sum.Add(40) }, func(u *ref.EverythingUpdate) { u.Sum.Clear() },
		func(u *ref.EverythingUpdate) { u.Sum.Add(100); u.Sum.Clear(); u.Sum.Add(3) }, ref.Everything{Sum: 3}},
	{"Min", func(u *ref.EverythingUpdate) { u.Min.Offer(-5) }, func(u *ref.EverythingUpdate) { u.Min.Clear() },
		func(u *ref.EverythingUpdate) { u.Min.Offer(-9); u.Min.Clear(); u.Min.Offer(7) }, ref.Everything{Min: 7}},
	{"Max", func(u *ref.EverythingUpdate) { u.Max.Offer("z") }, func(u *ref.EverythingUpdate) { u.Max.Clear() },
		func(u *ref.EverythingUpdate) { u.Max.Offer("zz"); u.Max.Clear(); u.Max.Offer("b") }, ref.Everything{Max: "b"}},
	{"And", func(u *ref.EverythingUpdate) { u.And.And(false) }, func(u *ref.EverythingUpdate) { u.And.Clear() },
		func(u *ref.EverythingUpdate) { u.And.And(false); u.And.Clear(); u.And.And(true) }, ref.Everything{And: true}},
	{"Or", func(u *ref.EverythingUpdate) { u.Or.Or(true) }, func(u *ref.EverythingUpdate) { u.Or.Clear() },
		func(u *ref.EverythingUpdate) { u.Or.Or(true); u.Or.Clear(); u.Or.Or(false) }, ref.Everything{}},
	{"Log", func(u *ref.EverythingUpdate) { u.Log.Append("a") }, func(u *ref.EverythingUpdate) { u.Log.Clear() },
		func(u *ref.EverythingUpdate) { u.Log.Clear(); u.Log.Append("b") }, ref.Everything{Log: []string{"b"}}},
	{"Messages", func(u *ref.EverythingUpdate) { u.Messages.Upsert(ref.Message{ID: "a"}) }, func(u *ref.EverythingUpdate) { u.Messages.Clear() },
		func(u *ref.EverythingUpdate) { u.Messages.Clear(); u.Messages.Upsert(ref.Message{ID: "b"}) }, ref.Everything{Messages: []ref.Message{{ID: "b"}}}},
	{"Tags", func(u *ref.EverythingUpdate) { u.Tags.Add("a", "b") }, func(u *ref.EverythingUpdate) { u.Tags.Clear() },
		func(u *ref.EverythingUpdate) { u.Tags.Clear(); u.Tags.Add("b", "a", "b") }, ref.Everything{Tags: []ref.Status{"b", "a"}}},
	{"Votes", func(u *ref.EverythingUpdate) { u.Votes.Put(true, 1) }, func(u *ref.EverythingUpdate) { u.Votes.Clear() },
		func(u *ref.EverythingUpdate) { u.Votes.Clear(); u.Votes.Put(false, 2) }, ref.Everything{Votes: map[bool]int{false: 2}}},
	{"Plan", func(u *ref.EverythingUpdate) { u.Plan.Reduce(ref.PlanEdit{Goal: "g", Step: "1"}) }, func(u *ref.EverythingUpdate) { u.Plan.Clear() },
		func(u *ref.EverythingUpdate) { u.Plan.Clear(); u.Plan.Reduce(ref.PlanEdit{Step: "2"}) },
		ref.Everything{Plan: &ref.Plan{Steps: []string{"2"}}}},
	{"Draft", func(u *ref.EverythingUpdate) { u.Draft.Set("a") }, func(u *ref.EverythingUpdate) { u.Draft.Clear() },
		func(u *ref.EverythingUpdate) { u.Draft.Clear(); u.Draft.Set("b") }, ref.Everything{Draft: "b"}},
}

// TestClearMakesAFieldUnset clears each kind of field after it was written. The field is then as
// if it was never written, in memory and in the stored data.
func TestClearMakesAFieldUnset(t *testing.T) {
	for _, tt := range clearing {
		t.Run(tt.field, func(t *testing.T) {
			l := newLive(cell.Options{Record: true})
			merged(t, l, tt.write)
			checkpointed := stored(t, l)
			if got := merged(t, l, tt.clear); !cmp.Equal(got, ref.Everything{}) {
				t.Errorf("after Clear the state is %+v, want the zero state", got)
			}
			d, err := l.AppendDelta(nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(stored(t, l)); got != "\x80" {
				t.Errorf("after Clear the snapshot is %x, want an empty one", got)
			}
			again := newLive(cell.Options{})
			if err := errors.Join(again.Decode(checkpointed), again.Apply(d)); err != nil {
				t.Fatal(err)
			}
			if got := string(stored(t, again)); got != "\x80" {
				t.Errorf("read from the delta, the snapshot is %x, want an empty one", got)
			}
		})
	}
}

func TestOperationsAfterClearApplyToTheUnsetField(t *testing.T) {
	for _, tt := range clearing {
		for from, before := range map[string][]updater{"unset": nil, "written": {tt.write}} {
			l := newLive(cell.Options{Record: true})
			if got := merged(t, l, append(before, tt.after)...); !cmp.Equal(got, tt.want) {
				t.Errorf("%s, %s before: got %+v, want %+v", tt.field, from, got, tt.want)
			}
		}
	}
}

// TestClearOfOneTaskConflictsWithAWriteOfAnother holds in both orders, because the order of tasks
// would decide the value.
func TestClearOfOneTaskConflictsWithAWriteOfAnother(t *testing.T) {
	for _, tt := range clearing {
		for name, tasks := range map[string][2]updater{
			"clear, write": {tt.clear, tt.write}, "write, clear": {tt.write, tt.clear}, "clear, clear": {tt.clear, tt.clear},
			"write, clear and write": {tt.write, tt.after},
		} {
			l := newLive(cell.Options{Record: true})
			var err error
			for task, make := range tasks {
				var u ref.EverythingUpdate
				make(&u)
				err = errors.Join(err, l.Merge(task, &u))
			}
			var got *state.ConflictError
			if want := (state.ConflictError{Field: tt.field, Tasks: [2]int{0, 1}}); !errors.As(err, &got) || *got != want {
				t.Errorf("%s, %s: got %v, want a conflict of tasks 0 and 1 on the field", tt.field, name, err)
			}
		}
	}
}

// TestTheLastTaskWinsEvenIfItClears covers the reducers by which the last task wins anyway.
func TestTheLastTaskWinsEvenIfItClears(t *testing.T) {
	set := func(u *ref.EverythingUpdate) { u.Last.Set("a"); u.Cache.Set(&ref.Cache{Hits: 1}) }
	clear := func(u *ref.EverythingUpdate) { u.Last.Clear(); u.Cache.Clear() }
	for want, tasks := range map[string][2]updater{"{a 1}": {clear, set}, "{ 0}": {set, clear}} {
		l := newLive(cell.Options{Record: true})
		for task, make := range tasks {
			var u ref.EverythingUpdate
			make(&u)
			if err := l.Merge(task, &u); err != nil {
				t.Fatal(err)
			}
		}
		hits := 0
		if c := l.View().Cache; c != nil {
			hits = c.Hits
		}
		if got := fmt.Sprintf("{%s %d}", l.View().Last, hits); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestClearDiscardsASumThatDoesNotFit(t *testing.T) {
	l := newLive(cell.Options{Record: true})
	got := merged(t, l, func(u *ref.EverythingUpdate) { u.Sum.Add(math.MaxInt64) }, func(u *ref.EverythingUpdate) {
		u.Sum.Add(math.MaxInt64)
		u.Sum.Add(1)
		u.Sum.Clear()
		u.Sum.Add(math.MaxInt64)
	})
	if got.Sum != math.MaxInt64 {
		t.Errorf("got %d, want %d", got.Sum, int64(math.MaxInt64))
	}
}

// TestReplaceAndClearHaveOneMeaning compares the four types that have both: Replace without
// elements leaves an empty list or map, Clear a nil one.
func TestReplaceAndClearHaveOneMeaning(t *testing.T) {
	fill := func(u *ref.EverythingUpdate) {
		u.Log.Append("a")
		u.Messages.Upsert(ref.Message{ID: "a"})
		u.Tags.Add("a")
		u.Votes.Put(true, 1)
	}
	for name, tt := range map[string]struct {
		change updater
		want   ref.Everything
	}{
		"Replace": {func(u *ref.EverythingUpdate) {
			u.Log.Replace("b")
			u.Messages.Replace(ref.Message{ID: "b"}, ref.Message{ID: "b"})
			u.Tags.Replace("b", "c", "b")
			u.Votes.Replace(map[bool]int{false: 1})
		}, ref.Everything{Log: []string{"b"}, Messages: []ref.Message{{ID: "b"}}, Tags: []ref.Status{"b", "c"}, Votes: map[bool]int{false: 1}}},
		"Replace by nothing": {func(u *ref.EverythingUpdate) {
			u.Log.Replace()
			u.Messages.Replace()
			u.Tags.Replace()
			u.Votes.Replace(nil)
		}, ref.Everything{Log: []string{}, Messages: []ref.Message{}, Tags: []ref.Status{}, Votes: map[bool]int{}}},
		"Clear": {func(u *ref.EverythingUpdate) {
			u.Log.Clear()
			u.Messages.Clear()
			u.Tags.Clear()
			u.Votes.Clear()
		}, ref.Everything{}},
	} {
		l := newLive(cell.Options{Record: true})
		if diff := cmp.Diff(tt.want, merged(t, l, fill, tt.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func stored(t *testing.T, l live) []byte {
	t.Helper()
	b, err := l.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
