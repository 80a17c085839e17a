package cell_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

func TestArgumentsAreCopied(t *testing.T) {
	words := []string{"a", "b", "c"}
	msgs := []ref.Message{{ID: "1"}, {ID: "2"}}
	facts := map[string]ref.Fact{"k": {Source: "s"}}
	vector := []float64{1, 2}
	labels := map[string]string{"k": "v"}
	keys := []string{"9"}
	var u ref.EverythingUpdate
	u.Log.Append(words[:2]...)
	u.Messages.Upsert(msgs...)
	u.Messages.Remove(keys...)
	u.Facts.Merge(facts)
	u.Log.Append("d")
	if words[2] != "c" {
		t.Errorf("a later Append wrote %q behind the argument of an earlier one", words[2])
	}
	l := newLive(cell.Options{})
	u.Vector.Set(vector)
	u.Labels.Set(labels)
	if err := l.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	words[0], msgs[0].ID, vector[0], labels["k"], keys[0] = "changed", "changed", 99, "changed", "1"
	facts["new"] = ref.Fact{}
	want := ref.Everything{
		Log: []string{"a", "b", "d"}, Messages: []ref.Message{{ID: "1"}, {ID: "2"}}, Facts: map[string]ref.Fact{"k": {Source: "s"}},
		Vector: []float64{1, 2}, Labels: map[string]string{"k": "v"},
	}
	if diff := cmp.Diff(want, l.View()); diff != "" {
		t.Errorf("the state follows its arguments (-want +got):\n%s", diff)
	}
}

func TestANodesAppendStaysItsOwn(t *testing.T) {
	l := newLive(cell.Options{})
	for _, word := range []string{"a", "b", "c", "d", "e"} {
		v := l.View()
		own := append(v.Log, "mine")
		merged(t, l, func(u *ref.EverythingUpdate) { u.Log.Append(word) })
		if got := own[len(own)-1]; got != "mine" {
			t.Errorf("what the node appended to its view became %q", got)
		}
	}
	if want := []string{"a", "b", "c", "d", "e"}; !cmp.Equal(l.View().Log, want) {
		t.Errorf("Log is %q, want %q", l.View().Log, want)
	}
}

func TestAnUpdateCanBeMergedIntoTwoRuns(t *testing.T) {
	var u ref.EverythingUpdate
	u.Log.Replace("a", "b")
	u.Messages.Replace(ref.Message{ID: "1"})
	u.Facts.Replace(map[string]ref.Fact{"k": {}})
	var runs [2]live
	for i := range runs {
		runs[i] = newLive(cell.Options{})
		if err := runs[i].Merge(0, &u); err != nil {
			t.Fatal(err)
		}
	}
	merged(t, runs[0], func(u *ref.EverythingUpdate) {
		u.Log.Append("c")
		u.Messages.Upsert(ref.Message{ID: "1", Text: "changed"}, ref.Message{ID: "2"})
		u.Facts.Put("k", ref.Fact{Source: "changed"})
	})
	want := ref.Everything{Log: []string{"a", "b"}, Messages: []ref.Message{{ID: "1"}}, Facts: map[string]ref.Fact{"k": {}}}
	if diff := cmp.Diff(want, runs[1].View()); diff != "" {
		t.Errorf("one run wrote into the other (-want +got):\n%s", diff)
	}
}

func TestASharedViewNeverChanges(t *testing.T) {
	build := func(u *ref.EverythingUpdate) {
		u.Log.Append("a", "b", "c")
		u.Messages.Upsert(ref.Message{ID: "1"}, ref.Message{ID: "2"})
		u.Facts.Put("k", ref.Fact{})
		u.Tags.Add("x", "y")
	}
	change := func(u *ref.EverythingUpdate) {
		u.Log.Remove("a")
		u.Log.Append("d")
		u.Messages.Upsert(ref.Message{ID: "1", Text: "changed"})
		u.Messages.Remove("2")
		u.Facts.Put("k", ref.Fact{Source: "changed"})
		u.Facts.Delete("l")
		u.Tags.Remove("x")
	}
	for _, record := range []bool{false, true} {
		l := newLive(cell.Options{Record: record})
		v := merged(t, l, build)
		l.Share()
		want := ref.EverythingSchema.Clone(v)
		merged(t, l, change, change)
		if diff := state.FieldNames(ref.EverythingSchema.Diff(want, v)); diff != nil {
			t.Errorf("record %v: the shared view changed in %v", record, diff)
		}
	}
}

func TestASharedViewNeverChangesByDeltas(t *testing.T) {
	source := newLive(cell.Options{Record: true})
	replica := newLive(cell.Options{})
	if err := replica.Decode([]byte{0x80}); err != nil {
		t.Fatal(err)
	}
	var views, clones []ref.Everything
	for range 3 {
		for _, change := range []func(u *ref.EverythingUpdate){
			func(u *ref.EverythingUpdate) {
				u.Log.Append("a", "b", "c")
				u.Messages.Upsert(ref.Message{ID: "1"}, ref.Message{ID: "2"})
				u.Facts.Put("k", ref.Fact{})
			},
			func(u *ref.EverythingUpdate) {
				u.Log.Remove("a")
				u.Messages.Upsert(ref.Message{ID: "1", Text: "changed"})
				u.Facts.Put("k", ref.Fact{Source: "changed"})
			},
			func(u *ref.EverythingUpdate) { u.Facts.Delete("k"); u.Messages.Remove("2") },
		} {
			merged(t, source, change)
			d, err := source.AppendDelta(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := replica.Apply(d); err != nil {
				t.Fatal(err)
			}
			views = append(views, replica.View())
			clones = append(clones, ref.EverythingSchema.Clone(replica.View()))
			replica.Share()
		}
	}
	for i := range views {
		if diff := state.FieldNames(ref.EverythingSchema.Diff(views[i], clones[i])); diff != nil {
			t.Errorf("view %d changed in %v", i, diff)
		}
	}
}

func TestCloneSharesNothingThatCanBeWrittenThrough(t *testing.T) {
	full := func() ref.Everything {
		return ref.Everything{
			Vector: []float64{1}, Labels: map[string]string{"k": "v"}, Log: []string{"a"},
			Docs:     []ref.Doc{{Title: "t", Pages: []string{"p"}}},
			Messages: []ref.Message{{ID: "1", Calls: []ref.ToolCall{{ID: "c", Args: []byte("x")}}}},
			Tags:     []ref.Status{"a"}, Facts: map[string]ref.Fact{"k": {}}, Votes: map[bool]int{true: 1}, Ranks: map[int8]string{1: "a"},
			Plan: &ref.Plan{Steps: []string{"s"}, Next: &ref.Plan{Goal: "g", Steps: []string{"t"}}},
		}
	}
	s := full()
	clone := ref.EverythingSchema.Clone(s)
	if diff := state.FieldNames(ref.EverythingSchema.Diff(s, clone)); diff != nil {
		t.Fatalf("the clone differs in %v", diff)
	}
	s.Vector[0], s.Labels["k"], s.Log[0], s.Tags[0] = 9, "w", "b", "b"
	s.Docs[0].Pages[0], s.Messages[0].Calls[0].Args[0], s.Messages[0].Calls[0].ID = "q", 'y', "d"
	s.Facts["k"], s.Votes[true], s.Ranks[1] = ref.Fact{Source: "s"}, 2, "b"
	s.Plan.Steps[0], s.Plan.Next.Goal, s.Plan.Next.Steps[0] = "z", "z", "z"
	if diff := cmp.Diff(full(), clone); diff != "" {
		t.Errorf("the clone follows the original (-want +got):\n%s", diff)
	}
	want := []string{"Vector", "Labels", "Log", "Docs", "Messages", "Tags", "Facts", "Votes", "Ranks", "Plan"}
	if got := state.FieldNames(ref.EverythingSchema.Diff(s, clone)); !cmp.Equal(got, want) {
		t.Errorf("Changed = %v, want %v", got, want)
	}
}

func TestNilAndEmptyDiffer(t *testing.T) {
	for _, s := range []ref.Everything{
		{Vector: []float64{}}, {Labels: map[string]string{}}, {Log: []string{}}, {Docs: []ref.Doc{}}, {Messages: []ref.Message{}},
		{Tags: []ref.Status{}}, {Facts: map[string]ref.Fact{}}, {Votes: map[bool]int{}}, {Ranks: map[int8]string{}}, {Plan: &ref.Plan{}},
	} {
		if len(ref.EverythingSchema.Diff(s, ref.Everything{})) == 0 || len(ref.EverythingSchema.Diff(ref.Everything{}, s)) == 0 {
			t.Errorf("%+v equals the zero state", s)
		}
		l := newLive(cell.Options{})
		l.Load(s)
		b, err := l.AppendSnapshot(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Decode(b); err != nil {
			t.Fatal(err)
		}
		if len(ref.EverythingSchema.Diff(l.View(), s)) != 0 {
			t.Errorf("%+v came back as %+v", s, l.View())
		}
	}
}

func TestViewMayBeCalledByManyGoroutines(t *testing.T) {
	l := newLive(cell.Options{})
	merged(t, l, func(u *ref.EverythingUpdate) { u.Log.Append("a"); u.Facts.Put("k", ref.Fact{}) })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			v := l.View()
			if own := append(v.Log, "b"); len(own) != 2 || v.Facts["k"].Source != "" {
				t.Errorf("a view has %v", own)
			}
		})
	}
	wg.Wait()
}
