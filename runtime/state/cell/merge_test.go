package cell_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/shape"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// merged returns the state after updates, each as a superstep of one task.
func merged(t *testing.T, l live, updates ...func(u *ref.EverythingUpdate)) ref.Everything {
	t.Helper()
	for _, make := range updates {
		var u ref.EverythingUpdate
		make(&u)
		if err := l.Merge(0, &u); err != nil {
			t.Fatal(err)
		}
		l.EndStep()
	}
	return l.View()
}

func TestReducersMergeWhatTheySay(t *testing.T) {
	type up = func(u *ref.EverythingUpdate)
	tests := []struct {
		name    string
		updates []up
		want    ref.Everything
	}{
		{"replace takes the newest", []up{
			func(u *ref.EverythingUpdate) { u.Set.Set("a") },
			func(u *ref.EverythingUpdate) { u.Set.Set("b"); u.Set.Set("") },
		}, ref.Everything{}},
		{"first takes the first, even a zero one", []up{
			func(u *ref.EverythingUpdate) { u.First.Set("") },
			func(u *ref.EverythingUpdate) { u.First.Set("late") },
		}, ref.Everything{}},
		{"sum adds", []up{
			func(u *ref.EverythingUpdate) { u.Sum.Add(2); u.Sum.Add(3); u.Ratio.Add(0.5) },
			func(u *ref.EverythingUpdate) { u.Sum.Add(-10); u.Ratio.Add(0.25) },
		}, ref.Everything{Sum: -5, Ratio: 0.75}},
		{"min starts with what it is first offered", []up{
			func(u *ref.EverythingUpdate) { u.Min.Offer(9); u.Min.Offer(7) },
			func(u *ref.EverythingUpdate) { u.Min.Offer(8) },
		}, ref.Everything{Min: 7}},
		{"max keeps the greatest", []up{
			func(u *ref.EverythingUpdate) { u.Max.Offer("b"); u.Max.Offer("a") },
			func(u *ref.EverythingUpdate) { u.Max.Offer("aa") },
		}, ref.Everything{Max: "b"}},
		{"and starts with what it first gets", []up{
			func(u *ref.EverythingUpdate) { u.And.And(true) },
		}, ref.Everything{And: true}},
		{"and stays false", []up{
			func(u *ref.EverythingUpdate) { u.And.And(true); u.And.And(false) },
			func(u *ref.EverythingUpdate) { u.And.And(true) },
		}, ref.Everything{}},
		{"or stays true", []up{
			func(u *ref.EverythingUpdate) { u.Or.Or(true); u.Or.Or(false) },
			func(u *ref.EverythingUpdate) { u.Or.Or(false) },
		}, ref.Everything{Or: true}},
		{"append, remove and replace apply in order", []up{
			func(u *ref.EverythingUpdate) { u.Log.Append("a", "b"); u.Log.Append("a"); u.Log.Remove("a") },
			func(u *ref.EverythingUpdate) { u.Log.Append("c"); u.Log.Replace("d"); u.Log.Append("e") },
		}, ref.Everything{Log: []string{"d", "e"}}},
		{"replace without elements is empty, not nil", []up{
			func(u *ref.EverythingUpdate) { u.Log.Append("a") },
			func(u *ref.EverythingUpdate) { u.Log.Replace() },
		}, ref.Everything{Log: []string{}}},
		{"clear is as never written", []up{
			func(u *ref.EverythingUpdate) { u.Log.Append("a") },
			func(u *ref.EverythingUpdate) { u.Log.Clear() },
		}, ref.Everything{}},
		{"remove compares deeply", []up{
			func(u *ref.EverythingUpdate) {
				u.Docs.Append(ref.Doc{Title: "a", Pages: []string{"1"}}, ref.Doc{Title: "a", Pages: []string{}}, ref.Doc{Title: "a"})
			},
			func(u *ref.EverythingUpdate) {
				u.Docs.Remove(ref.Doc{Title: "a", Pages: []string{"1"}}, ref.Doc{Title: "a"})
			},
		}, ref.Everything{Docs: []ref.Doc{{Title: "a", Pages: []string{}}}}},
		{"upsert replaces in place and appends the rest", []up{
			func(u *ref.EverythingUpdate) {
				u.Messages.Upsert(ref.Message{ID: "1", Text: "a"}, ref.Message{ID: "2"}, ref.Message{ID: "1", Text: "b"})
			},
			func(u *ref.EverythingUpdate) {
				u.Messages.Upsert(ref.Message{ID: "3"}, ref.Message{ID: "2", Text: "c"})
				u.Messages.Remove("3", "9")
			},
		}, ref.Everything{Messages: []ref.Message{{ID: "1", Text: "b"}, {ID: "2", Text: "c"}}}},
		{"keyed replace keeps one element a key", []up{
			func(u *ref.EverythingUpdate) {
				u.Messages.Replace(ref.Message{ID: "1"}, ref.Message{ID: "2"}, ref.Message{ID: "1", Text: "b"})
			},
		}, ref.Everything{Messages: []ref.Message{{ID: "1", Text: "b"}, {ID: "2"}}}},
		{"union adds what is not there", []up{
			func(u *ref.EverythingUpdate) { u.Tags.Add("a", "b", "a"); u.Tags.Remove("a") },
			func(u *ref.EverythingUpdate) { u.Tags.Add("b", "a") },
		}, ref.Everything{Tags: []ref.Status{"b", "a"}}},
		{"merge puts and deletes in order", []up{
			func(u *ref.EverythingUpdate) {
				u.Ranks.Put(1, "a")
				u.Ranks.Merge(map[int8]string{1: "b", 2: "c"})
				u.Ranks.Delete(2)
				u.Ranks.Put(3, "d")
			},
		}, ref.Everything{Ranks: map[int8]string{1: "b", 3: "d"}}},
		{"map replace forgets the rest", []up{
			func(u *ref.EverythingUpdate) { u.Votes.Put(true, 1) },
			func(u *ref.EverythingUpdate) { u.Votes.Put(true, 5); u.Votes.Replace(map[bool]int{false: 2}) },
		}, ref.Everything{Votes: map[bool]int{false: 2}}},
		{"reduce calls the function for each", []up{
			func(u *ref.EverythingUpdate) {
				u.Plan.Reduce(ref.PlanEdit{Goal: "g"})
				u.Plan.Reduce(ref.PlanEdit{Step: "1"})
			},
			func(u *ref.EverythingUpdate) { u.Plan.Reduce(ref.PlanEdit{Step: "2"}) },
		}, ref.Everything{Plan: &ref.Plan{Goal: "g", Steps: []string{"1", "2"}}}},
		{"untracked is kept in memory", []up{
			func(u *ref.EverythingUpdate) { u.Cache.Set(&ref.Cache{Hits: 3}) },
		}, ref.Everything{Cache: &ref.Cache{Hits: 3}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, l := range map[string]live{"recording": newLive(cell.Options{Record: true}), "not recording": newLive(cell.Options{})} {
				if diff := cmp.Diff(tt.want, merged(t, l, tt.updates...)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestTheZeroUpdateChangesNothing(t *testing.T) {
	l := newLive(cell.Options{Record: true})
	if got := merged(t, l, func(*ref.EverythingUpdate) {}); len(ref.EverythingSchema.Diff(got, ref.Everything{})) != 0 {
		t.Errorf("got %v, want the zero state", got)
	}
	d, err := l.AppendDelta(nil)
	if want := "\x92\x00\x80"; err != nil || string(d) != want {
		t.Errorf("delta is %x, %v, want %x", d, err, want)
	}
	s, err := l.AppendSnapshot(nil)
	if want := "\x80"; err != nil || string(s) != want {
		t.Errorf("snapshot is %x, %v, want %x", s, err, want)
	}
}

func TestWhatWasNeverWrittenTravels(t *testing.T) {
	// Min was offered 0: that is a value, and 5 is not less. In the other state nothing was
	// offered.
	offered := newLive(cell.Options{})
	merged(t, offered, func(u *ref.EverythingUpdate) { u.Min.Offer(0) })
	b, err := offered.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		snapshot []byte
		want     int
	}{{"written", b, 0}, {"never written", []byte{0x80}, 5}} {
		l := newLive(cell.Options{})
		if err := l.Decode(tt.snapshot); err != nil {
			t.Fatal(err)
		}
		if got := merged(t, l, func(u *ref.EverythingUpdate) { u.Min.Offer(5) }).Min; got != tt.want {
			t.Errorf("%s: after an offer of 5 Min is %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestConflicts(t *testing.T) {
	type up = func(u *ref.EverythingUpdate)
	set := func(u *ref.EverythingUpdate) { u.Set.Set("x") }
	tests := []struct {
		name  string
		tasks []up
		want  *state.ConflictError
	}{
		{"two set a replaced field", []up{set, func(*ref.EverythingUpdate) {}, set}, &state.ConflictError{Field: "Set", Tasks: [2]int{0, 2}}},
		{"two set an ephemeral field", []up{
			func(u *ref.EverythingUpdate) { u.Draft.Set("a") },
			func(u *ref.EverythingUpdate) { u.Draft.Set("a") },
		}, &state.ConflictError{Field: "Draft", Tasks: [2]int{0, 1}}},
		{"one sets and others do not", []up{func(*ref.EverythingUpdate) {}, set}, nil},
		{"last lets the last win", []up{
			func(u *ref.EverythingUpdate) { u.Last.Set("a") },
			func(u *ref.EverythingUpdate) { u.Last.Set("b") },
		}, nil},
		{"two append", []up{
			func(u *ref.EverythingUpdate) { u.Log.Append("a") },
			func(u *ref.EverythingUpdate) { u.Log.Append("b") },
		}, nil},
		{"one appends, another replaces", []up{
			func(u *ref.EverythingUpdate) { u.Log.Append("a") },
			func(u *ref.EverythingUpdate) { u.Log.Replace("b") },
		}, &state.ConflictError{Field: "Log", Tasks: [2]int{0, 1}}},
		{"one clears, another appends", []up{
			func(*ref.EverythingUpdate) {},
			func(u *ref.EverythingUpdate) { u.Docs.Clear() },
			func(u *ref.EverythingUpdate) { u.Docs.Append(ref.Doc{}) },
		}, &state.ConflictError{Field: "Docs", Tasks: [2]int{1, 2}}},
		{"one replaces, another upserts", []up{
			func(u *ref.EverythingUpdate) { u.Messages.Replace() },
			func(u *ref.EverythingUpdate) { u.Messages.Upsert(ref.Message{}) },
		}, &state.ConflictError{Field: "Messages", Tasks: [2]int{0, 1}}},
		{"one removes what is not there, another replaces", []up{
			func(u *ref.EverythingUpdate) { u.Messages.Remove("nobody") },
			func(u *ref.EverythingUpdate) { u.Messages.Clear() },
		}, &state.ConflictError{Field: "Messages", Tasks: [2]int{0, 1}}},
		{"two merge, the third replaces", []up{
			func(u *ref.EverythingUpdate) { u.Facts.Put("a", ref.Fact{}) },
			func(u *ref.EverythingUpdate) { u.Facts.Put("a", ref.Fact{}) },
			func(u *ref.EverythingUpdate) { u.Facts.Replace(nil) },
		}, &state.ConflictError{Field: "Facts", Tasks: [2]int{0, 2}}},
		{"one does both itself", []up{
			func(u *ref.EverythingUpdate) { u.Log.Append("a"); u.Log.Clear(); u.Log.Append("b") },
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLive(cell.Options{})
			var err error
			for task, make := range tt.tasks {
				var u ref.EverythingUpdate
				make(&u)
				if err == nil {
					err = l.Merge(task, &u)
				}
			}
			var got *state.ConflictError
			errors.As(err, &got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("conflict (-want +got):\n%s", diff)
			}
			if tt.want == nil && err != nil {
				t.Errorf("got error %v, want none", err)
			}
		})
	}
}

func TestTheNextSuperstepMayWriteAgain(t *testing.T) {
	ends := map[string]func(l live) error{
		"EndStep":        func(l live) error { l.EndStep(); return nil },
		"AppendDelta":    func(l live) error { _, err := l.AppendDelta(nil); return err },
		"AppendSnapshot": func(l live) error { _, err := l.AppendSnapshot(nil); return err },
	}
	for name, end := range ends {
		l := newLive(cell.Options{Record: true})
		for task := range 3 {
			var u ref.EverythingUpdate
			u.Set.Set("x")
			u.Log.Replace("y")
			if err := l.Merge(task, &u); err != nil {
				t.Errorf("after %s: %v", name, err)
			}
			if err := end(l); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAnEphemeralFieldLivesForTheNextSuperstep(t *testing.T) {
	l := newLive(cell.Options{Record: true})
	draft := func(u *ref.EverythingUpdate) { u.Draft.Set("d") }
	none := func(*ref.EverythingUpdate) {}
	reread := func() live {
		s, err := l.AppendSnapshot(nil)
		if err != nil {
			t.Fatal(err)
		}
		again := newLive(cell.Options{Record: true})
		if err := again.Decode(s); err != nil {
			t.Fatal(err)
		}
		return again
	}
	steps := []struct {
		update func(u *ref.EverythingUpdate)
		want   string
	}{{draft, "d"}, {none, ""}, {draft, "d"}, {draft, "d"}, {none, ""}, {none, ""}}
	for i, step := range steps {
		if got := merged(t, l, step.update).Draft; got != step.want {
			t.Errorf("after superstep %d Draft is %q, want %q", i, got, step.want)
		}
		l = reread() // the stored state continues where the run stopped
		if got := l.View().Draft; got != step.want {
			t.Errorf("read back after superstep %d Draft is %q, want %q", i, got, step.want)
		}
	}
}

func TestAnEditThatIsStoredCountsAsASuperstepBefore(t *testing.T) {
	l := newLive(cell.Options{Record: true})
	var u ref.EverythingUpdate
	u.Draft.Set("edited")
	if err := l.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AppendDelta(nil); err != nil {
		t.Fatal(err)
	}
	if got := l.View().Draft; got != "edited" {
		t.Errorf("after the edit Draft is %q, want it to stay", got)
	}
	l.EndStep()
	if got := l.View().Draft; got != "" {
		t.Errorf("after the next superstep Draft is %q, want none", got)
	}
}

func TestUntrackedFieldsAreNotStored(t *testing.T) {
	l := newLive(cell.Options{Record: true})
	merged(t, l, func(u *ref.EverythingUpdate) { u.Cache.Set(&ref.Cache{}) })
	if d, err := l.AppendDelta(nil); err != nil || string(d) != "\x92\x00\x80" {
		t.Errorf("delta is %x, %v, want nothing in it", d, err)
	}
	if s, err := l.AppendSnapshot(nil); err != nil || string(s) != "\x80" {
		t.Errorf("snapshot is %x, %v, want nothing in it", s, err)
	}
	var u ref.EverythingUpdate
	u.Cache.Set(&ref.Cache{})
	if b, err := ref.EverythingSchema.AppendUpdate(nil, &u); err != nil || string(b) != "\x80" {
		t.Errorf("update is %x, %v, want nothing in it", b, err)
	}
}

func TestWithoutRecordThereAreNoDeltas(t *testing.T) {
	l := newLive(cell.Options{})
	merged(t, l, func(u *ref.EverythingUpdate) { u.Log.Append("a") })
	if _, err := l.AppendDelta(nil); err == nil {
		t.Error("AppendDelta without Options.Record: got no error")
	}
	if live, dead := l.Sizes(); live != 0 || dead != 0 {
		t.Errorf("Sizes() = %d, %d, want 0, 0", live, dead)
	}
}

func TestAValueThatCannotBeStoredIsNamed(t *testing.T) {
	round := &ref.Plan{}
	round.Next = round
	l := ref.StateSchema.New(cell.Options{Record: true})
	var u ref.StateUpdate
	u.Plan.Set(round)
	err := l.Merge(0, &u)
	var got *state.MergeError
	if !errors.As(err, &got) || got.Field != "Plan" {
		t.Errorf("Merge: got %v, want a *MergeError of Plan", err)
	}
	if _, err := l.AppendDelta(nil); !errors.As(err, &got) {
		t.Errorf("AppendDelta after it: got %v, want a *MergeError", err)
	}
	plain := ref.StateSchema.New(cell.Options{})
	if err := plain.Merge(0, &u); err != nil {
		t.Errorf("Merge without Options.Record: %v, want no error, since nothing is stored", err)
	}
	if _, err := plain.AppendSnapshot(nil); !errors.As(err, &got) || got.Field != "Plan" {
		t.Errorf("AppendSnapshot: got %v, want a *MergeError of Plan", err)
	}
	if _, err := ref.StateSchema.AppendUpdate(nil, &u); !errors.As(err, &got) || got.Field != "Plan" {
		t.Errorf("AppendUpdate: got %v, want a *MergeError of Plan", err)
	}
}

func TestAPanicOfAReducerPassesThrough(t *testing.T) {
	defer func() {
		if got := recover(); got != "out of plans" {
			t.Errorf("recovered %v, want what the reducer panicked with", got)
		}
	}()
	f := cell.ReduceField[int, int]{
		Field: shape.Field{Name: "N", Wire: "N", Reducer: "reduce=f"}, Codec: cell.Int[int]{}, Input: cell.Int[int]{},
		Reduce: func(int, int) int { panic("out of plans") },
	}
	var core cell.Core
	core.Init("S", cell.Options{}, 1)
	var cell cell.ReduceCell[int, int]
	cell.Bind(&core, &f, new(int))
	var u state.Reduce[int]
	u.Reduce(1)
	cell.Merge(&u)
}

func TestNaNIsTheLeast(t *testing.T) {
	f := cell.MaxField[float64]{Field: shape.Field{Name: "N", Wire: "N", Reducer: "max"}, Codec: cell.Float[float64]{}}
	var core cell.Core
	core.Init("S", cell.Options{}, 1)
	var n float64
	var cell cell.MaxCell[float64]
	cell.Bind(&core, &f, &n)
	for _, v := range []float64{math.NaN(), -5, math.NaN()} {
		var u state.Max[float64]
		u.Offer(v)
		cell.Merge(&u)
	}
	if n != -5 {
		t.Errorf("the greatest of NaN and -5 is %v, want -5", n)
	}
}

func TestApplyMergesForTests(t *testing.T) {
	s := ref.Everything{Log: append(make([]string, 0, 9), "a"), Min: 3, Facts: map[string]ref.Fact{"k": {}}}
	before := ref.EverythingSchema.Clone(s)
	got, err := state.Apply(ref.EverythingSchema, s, ref.EverythingUpdate{
		Log: state.Append("b"), Set: state.Set("x"), Sum: state.Add[int64](2), Facts: state.Put("l", ref.Fact{Source: "s"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := ref.Everything{
		Log: []string{"a", "b"}, Min: 3, Set: "x", Sum: 2, Facts: map[string]ref.Fact{"k": {}, "l": {Source: "s"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Apply (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, s); diff != "" {
		t.Errorf("Apply changed its argument (-before +after):\n%s", diff)
	}
	if spare := s.Log[:2][1]; spare != "" {
		t.Errorf("Apply wrote %q behind its argument's list", spare)
	}
	var u ref.EverythingUpdate
	u.Min.Offer(5)
	if got, err := state.Apply(ref.EverythingSchema, s, u); err != nil || got.Min != 3 {
		t.Errorf("Min after an offer of 5 to 3: %d, %v, want 3", got.Min, err)
	}
	if got, err := state.Apply(ref.EverythingSchema, ref.Everything{}, u); err != nil || got.Min != 5 {
		t.Errorf("Min after an offer of 5 to none: %d, %v, want 5", got.Min, err)
	}
}

func TestALoadedStateIsStoredWhole(t *testing.T) {
	s := ref.Everything{Log: []string{"a"}, Facts: map[string]ref.Fact{"k": {Source: "s"}}, Messages: []ref.Message{{ID: "1"}}, Sum: 4}
	l := newLive(cell.Options{Record: true})
	merged(t, l, func(u *ref.EverythingUpdate) { u.Set.Set("gone") })
	l.Load(s)
	size, _ := l.Sizes()
	b, err := l.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	if size != len(b) {
		t.Errorf("Sizes() says %d bytes, the snapshot has %d", size, len(b))
	}
	again := newLive(cell.Options{})
	if err := again.Decode(b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, again.View()); diff != "" {
		t.Errorf("loaded and stored (-want +got):\n%s", diff)
	}
}

func TestFieldsAreDescribedInOrder(t *testing.T) {
	fields := ref.EverythingSchema.Fields
	i := slices.IndexFunc(fields, func(f shape.Field) bool { return f.Name == "Docs" })
	if i != 12 {
		t.Fatalf("Docs is field %d, want 12", i)
	}
	want := shape.Field{Name: "Docs", Wire: "docs", Was: []string{"old_docs", "papers"}, Reducer: "append", Type: "[]Doc"}
	if diff := cmp.Diff(want, fields[i]); diff != "" {
		t.Errorf("Docs (-want +got):\n%s", diff)
	}
}
