package cell_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

func TestADiffPrintsWhatDiffersALineAField(t *testing.T) {
	msg := func(id, text string) ref.Message { return ref.Message{ID: id, Text: text} }
	before := ref.Everything{
		Set: "draft", Sum: 1, Log: []string{"a", "b"}, Tags: []ref.Status{"x", "y", "z"}, Ratio: 0.5,
		Docs:     []ref.Doc{{Title: "one"}, {Title: "two"}},
		Messages: []ref.Message{msg("1", "a"), msg("2", "b"), msg("3", "c")},
		Facts:    map[string]ref.Fact{"k": {Score: 1}, "l": {Score: 2}, "m": {}},
		Ranks:    map[int8]string{},
		Plan:     &ref.Plan{Goal: "g"},
	}
	after := ref.Everything{
		Set: "", Sum: 43, Log: []string{"a", "b", "c\nd"}, Tags: []ref.Status{"x", "z"}, Ratio: 0.5,
		Docs:     []ref.Doc{{Title: "zero"}, {Title: "two"}},
		Messages: []ref.Message{msg("1", "z"), msg("3", "c"), msg("4", "d")},
		Facts:    map[string]ref.Fact{"k": {Score: 1}, "m": {Text: "t"}, "n": {}},
		Plan:     &ref.Plan{Goal: "h"},
	}
	want := strings.Join([]string{
		`Set: draft -> ""`,
		`Sum: 1 -> 43`,
		`Log: append [c\nd]`,
		`Docs: remove [{Title:one Pages:[]}] at 0; insert [{Title:zero Pages:[]}] at 0`,
		`Messages: remove [` + fmt.Sprintf("%+v", msg("2", "b")) + `]; change ` + fmt.Sprintf("%+v", msg("1", "a")) + ` -> ` +
			fmt.Sprintf("%+v", msg("1", "z")) + `; add [` + fmt.Sprintf("%+v", msg("4", "d")) + `]`,
		`Tags: remove [y] at 1`,
		`Facts: remove map[l:{Source: Text: Score:2}]; change map[m:{Source: Text: Score:0} -> {Source: Text:t Score:0}]; ` +
			`add map[n:{Source: Text: Score:0}]`,
		`Ranks: map[] -> nil`,
		`Plan: &{Goal:g Steps:[] Next:<nil>} -> &{Goal:h Steps:[] Next:<nil>}`,
	}, "\n")
	d := ref.EverythingDiffOf(before, after)
	if diff := cmp.Diff(want, d.String()); diff != "" {
		t.Errorf("the diff prints (-want +got):\n%s", diff)
	}
	if d.IsZero() {
		t.Error("IsZero() = true of a diff that prints something")
	}
	wantFields := []string{"Set", "Sum", "Log", "Docs", "Messages", "Tags", "Facts", "Ranks", "Plan"}
	if got := state.FieldNames(d.Changes()); !slices.Equal(got, wantFields) {
		t.Errorf("Changes: got %q, want %q", got, wantFields)
	}
	if d.Sum.Before != 1 || d.Sum.After != 43 || !d.Ratio.IsZero() || d.Ratio.Before != 0 {
		t.Errorf("got Sum %v, Ratio %+v; want 1 -> 43 and the zero Change", d.Sum, d.Ratio)
	}
}

func TestStatesThatAreEqualDifferInNothing(t *testing.T) {
	d := ref.EverythingDiffOf(everything(t), everything(t))
	if !d.IsZero() || d.Changes() != nil || d.String() != "" {
		t.Errorf("got %q in %v, want nothing", d, d.Changes())
	}
	var none ref.EverythingDiff
	if !none.IsZero() {
		t.Error("the zero diff is not zero")
	}
	for _, c := range []fmt.Stringer{none.Set, none.Log, none.Messages, none.Facts} {
		if got := c.String(); got != "" {
			t.Errorf("a zero %T prints %q, want nothing", c, got)
		}
	}
}

func TestUntrackedFieldsAreNotCompared(t *testing.T) {
	d := ref.EverythingDiffOf(ref.Everything{Cache: &ref.Cache{Hits: 1}}, ref.Everything{})
	if !d.IsZero() {
		t.Errorf("got %v, want nothing", d)
	}
}

func TestNilAndEmptyDifferAndNothingMoreIsSaid(t *testing.T) {
	empty := ref.Everything{Log: []string{}, Messages: []ref.Message{}, Facts: map[string]ref.Fact{}}
	d := ref.EverythingDiffOf(ref.Everything{}, empty)
	if got, want := d.String(), "Log: nil -> []\nMessages: nil -> []\nFacts: nil -> map[]"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(d.Log.Added)+len(d.Log.Removed)+len(d.Messages.Added)+len(d.Facts.Added) > 0 || d.Messages.Moved {
		t.Errorf("got %+v, want nothing added, removed or moved", d)
	}
}

func TestElementsAreDistinguishedByTheirKeys(t *testing.T) {
	list := func(ids string) []ref.Message {
		var list []ref.Message
		for _, id := range ids {
			text := ""
			if id >= 'A' && id <= 'Z' { // the same key in lower case, with another text
				text, id = "changed", id-'A'+'a'
			}
			list = append(list, ref.Message{ID: string(id), Text: text})
		}
		return list
	}
	ids := func(list []ref.Message) string {
		var b strings.Builder
		for _, m := range list {
			b.WriteString(m.ID)
		}
		return b.String()
	}
	tests := []struct {
		before, after           string
		removed, changed, added string
		moved                   bool
	}{
		{"abc", "abcd", "", "", "d", false},
		{"abc", "aBc", "", "b", "", false},
		{"abc", "ab", "c", "", "", false},
		{"abc", "ac", "b", "", "", false},
		{"abc", "bCd", "a", "c", "d", false},
		{"abc", "xyz", "abc", "", "xyz", false},
		{"abc", "acb", "", "", "", true},
		{"abc", "abxc", "", "", "x", true},
		{"abc", "xabc", "", "", "x", true},
		{"abcde", "aDE", "bc", "de", "", false},
		{"abcde", "axDe", "bc", "d", "x", true},
		{"abcd", "dA", "bc", "a", "", true},
		{"", "abc", "", "", "abc", false},
		{"abc", "", "abc", "", "", false},
	}
	for _, tt := range tests {
		d := ref.EverythingDiffOf(ref.Everything{Messages: list(tt.before)}, ref.Everything{Messages: list(tt.after)}).Messages
		var changed strings.Builder
		for _, c := range d.Changed {
			if c.Before.ID != c.After.ID || c.Before.Text == c.After.Text {
				t.Errorf("%s to %s: %+v is no change of one element", tt.before, tt.after, c)
			}
			changed.WriteString(c.After.ID)
		}
		got := []any{ids(d.Removed), changed.String(), ids(d.Added), d.Moved}
		if want := []any{tt.removed, tt.changed, tt.added, tt.moved}; !cmp.Equal(got, want) {
			t.Errorf("%s to %s: got removed, changed, added, moved %q, want %q", tt.before, tt.after, got, want)
		}
		if d.Moved != strings.HasSuffix(d.String(), "move") {
			t.Errorf("%s to %s: moved is %v, but it prints %q", tt.before, tt.after, d.Moved, d)
		}
	}
	// A key that stands twice is no reason to fail.
	for _, pair := range [][2]string{{"aab", "ba"}, {"ab", "bba"}, {"aa", "aaa"}, {"aabb", "bAba"}} {
		d := ref.EverythingDiffOf(ref.Everything{Messages: list(pair[0])}, ref.Everything{Messages: list(pair[1])}).Messages
		if d.IsZero() || ids(d.Before) != pair[0] || len(d.Before)-len(d.Removed) != len(d.After)-len(d.Added) {
			t.Errorf("%s to %s: got %+v", pair[0], pair[1], d)
		}
	}
}

// everything returns a state with something in every field.
func everything(t *testing.T) ref.Everything {
	t.Helper()
	l, d, m := newLive(cell.Options{}), dice{rand.New(rand.NewPCG(1, 5))}, new(model)
	for range 100 {
		u := d.update(m, false)
		if err := l.Merge(0, &u); err != nil {
			t.Fatal(err)
		}
		l.EndStep()
	}
	return l.View()
}

// TestADiffLeadsFromOneStateToTheOther makes states by random updates, and applies their diffs by
// hand.
func TestADiffLeadsFromOneStateToTheOther(t *testing.T) {
	for seed := range uint64(40) {
		d := dice{rand.New(rand.NewPCG(seed, 3))}
		l := newLive(cell.Options{})
		var states []ref.Everything
		m := new(model)
		for range 6 {
			states = append(states, ref.EverythingSchema.Clone(l.View()))
			u := d.update(m, true)
			if err := l.Merge(0, &u); err != nil {
				t.Fatal(err)
			}
			l.EndStep()
		}
		for i, before := range states {
			for j, after := range states {
				checkDiff(t, before, after)
				if t.Failed() {
					t.Fatalf("with seed %d, from %d to %d", seed, i, j)
				}
			}
		}
	}
}

// checkDiff checks the diff of two states.
func checkDiff(t *testing.T, before, after ref.Everything) {
	t.Helper()
	keep := [2]ref.Everything{ref.EverythingSchema.Clone(before), ref.EverythingSchema.Clone(after)}
	d := ref.EverythingDiffOf(before, after)
	checkIsZero(t, before, after, d)
	if got, want := state.FieldNames(d.Changes()), state.FieldNames(ref.EverythingSchema.Diff(before, after)); !slices.Equal(got, want) {
		t.Errorf("Changes() has %q, want %q", got, want)
	}
	got := apply(before, &d)
	if fields := state.FieldNames(ref.EverythingSchema.Diff(got, after)); fields != nil {
		t.Errorf("applied by hand, %q are not what they should be (-want +got):\n%s\nthe diff was\n%s", fields, cmp.Diff(after, got), d)
	}
	if len(ref.EverythingSchema.Diff(before, keep[0])) != 0 || len(ref.EverythingSchema.Diff(after, keep[1])) != 0 {
		t.Error("comparing or applying changed a state")
	}
}

// apply does to s what d says, by the parts of the changes alone where they say enough.
func apply(s ref.Everything, d *ref.EverythingDiff) ref.Everything {
	set(&s.Set, d.Set)
	set(&s.Vector, d.Vector)
	set(&s.Labels, d.Labels)
	set(&s.Last, d.Last)
	set(&s.First, d.First)
	set(&s.Sum, d.Sum)
	set(&s.Ratio, d.Ratio)
	set(&s.Min, d.Min)
	set(&s.Max, d.Max)
	set(&s.And, d.And)
	set(&s.Or, d.Or)
	set(&s.Plan, d.Plan)
	set(&s.Draft, d.Draft)
	splice(&s.Log, d.Log)
	splice(&s.Docs, d.Docs)
	splice(&s.Tags, d.Tags)
	edit(&s.Facts, d.Facts)
	edit(&s.Votes, d.Votes)
	edit(&s.Ranks, d.Ranks)
	if c := d.Messages; !c.IsZero() {
		list := slices.DeleteFunc(slices.Clone(s.Messages), func(m ref.Message) bool {
			return slices.ContainsFunc(c.Removed, func(gone ref.Message) bool { return gone.ID == m.ID })
		})
		for _, change := range c.Changed {
			list[slices.IndexFunc(list, func(m ref.Message) bool { return m.ID == change.Before.ID })] = change.After
		}
		list = append(list, c.Added...)
		if c.Moved || len(list) == 0 {
			list = c.After
		}
		s.Messages = list
	}
	return s
}

func set[T any](v *T, c state.Change[T]) {
	if !c.IsZero() {
		*v = c.After
	}
}

func splice[T any](list *[]T, c state.ListChange[T]) {
	if c.IsZero() {
		return
	}
	if *list = slices.Concat((*list)[:c.At], c.Added, (*list)[c.At+len(c.Removed):]); len(*list) == 0 {
		*list = c.After
	}
}

func edit[K comparable, V any](m *map[K]V, c state.MapChange[K, V]) {
	if c.IsZero() {
		return
	}
	got := make(map[K]V)
	maps.Copy(got, *m)
	for key := range c.Removed {
		delete(got, key)
	}
	for key, both := range c.Changed {
		got[key] = both.After
	}
	maps.Copy(got, c.Added)
	if *m = got; len(got) == 0 {
		*m = c.After
	}
}

func TestRemovingUpsertingAndAppendingMoveNothing(t *testing.T) {
	for seed := range uint64(100) {
		d := dice{rand.New(rand.NewPCG(seed, 4))}
		l := newLive(cell.Options{})
		for range 10 {
			before := ref.EverythingSchema.Clone(l.View())
			gone := d.words()
			var u ref.EverythingUpdate
			u.Messages.Remove(gone...)
			u.Messages.Upsert(without(d.messages(), func(m ref.Message) bool { return slices.Contains(gone, m.ID) })...)
			u.Log.Append(d.words()...)
			if err := l.Merge(0, &u); err != nil {
				t.Fatal(err)
			}
			l.EndStep()
			diff := ref.EverythingDiffOf(before, l.View())
			if diff.Messages.Moved {
				t.Fatalf("seed %d: %v moved elements:\n%s", seed, u, diff)
			}
			if !diff.Log.IsZero() && (len(diff.Log.Removed) > 0 || diff.Log.At != len(before.Log)) {
				t.Fatalf("seed %d: appending looks like %v", seed, diff.Log)
			}
		}
	}
}

func TestPartsOfListsCannotBeAppendedInto(t *testing.T) {
	messages := []ref.Message{{ID: "1"}, {ID: "2"}, {ID: "3"}}
	long := ref.Everything{Log: []string{"a", "b", "c"}, Messages: messages[:2]}
	short := ref.Everything{Log: []string{"a", "c"}, Messages: messages[:1]}
	there, back := ref.EverythingDiffOf(short, long), ref.EverythingDiffOf(long, short)
	for name, room := range map[string]int{
		"Log.Added":        cap(there.Log.Added) - 1,
		"Log.Removed":      cap(back.Log.Removed) - 1,
		"Messages.Added":   cap(there.Messages.Added) - 1,
		"Messages.Removed": cap(back.Messages.Removed) - 1,
	} {
		if room != 0 {
			t.Errorf("%s has room for %d more, which belongs to the state", name, room)
		}
	}
}

func TestADiffAllocatesForWhatDiffersOnly(t *testing.T) {
	big := ref.Everything{Facts: make(map[string]ref.Fact)}
	for i := range 1000 {
		id := fmt.Sprint(i)
		big.Log = append(big.Log, id)
		big.Messages = append(big.Messages, ref.Message{ID: id})
		big.Facts[id] = ref.Fact{Text: id}
	}
	other := func(change func(s *ref.Everything)) ref.Everything {
		s := ref.EverythingSchema.Clone(big)
		change(&s)
		return s
	}
	tests := []struct {
		name  string
		after ref.Everything
		most  float64
	}{
		{"nothing", other(func(*ref.Everything) {}), 0},
		{"values", other(func(s *ref.Everything) { s.Set, s.Sum, s.Vector = "x", 5, []float64{1} }), 0},
		{"an appended element", other(func(s *ref.Everything) { s.Log = append(s.Log, "x") }), 0},
		{"a removed element", other(func(s *ref.Everything) { s.Log = slices.Delete(s.Log, 3, 4) }), 0},
		{"a message that is added", other(func(s *ref.Everything) { s.Messages = append(s.Messages, ref.Message{ID: "x"}) }), 0},
		{"a message that is removed", other(func(s *ref.Everything) { s.Messages = slices.Delete(s.Messages, 3, 4) }), 0},
		{"a message that is changed", other(func(s *ref.Everything) { s.Messages[5].Text = "x" }), 1},
		{"an entry", other(func(s *ref.Everything) { s.Facts["x"] = ref.Fact{} }), 4},
	}
	var d ref.EverythingDiff
	for _, tt := range tests {
		if got := testing.AllocsPerRun(20, func() { d = ref.EverythingDiffOf(big, tt.after) }); got > tt.most {
			t.Errorf("a diff of %s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
		if d.IsZero() != (tt.name == "nothing") {
			t.Errorf("a diff of %s is zero: %v", tt.name, d.IsZero())
		}
	}
}

// checkIsZero checks that a diff is zero if and only if two states are equal. They are equal if
// they are stored as the same bytes, or if reflection finds no difference.
func checkIsZero(t *testing.T, before, after ref.Everything, d ref.EverythingDiff) {
	t.Helper()
	a, b := newLive(cell.Options{}), newLive(cell.Options{})
	a.Load(before)
	b.Load(after)
	same := bytes.Equal(written(t, a), written(t, b))
	if !same && d.IsZero() {
		same = cmp.Equal(before, after, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(ref.Everything{}, "Cache"))
	}
	if d.IsZero() != same {
		t.Errorf("IsZero() = %v, but the states being equal is %v:\n%s", d.IsZero(), same, d)
	}
}

// FuzzDiff reads two snapshots, and applies their diff by hand.
func FuzzDiff(f *testing.F) {
	snapshot, deltas := samples(f)
	f.Add(snapshot, deltas[0])
	f.Add([]byte("\x81\xa3Log\xc0"), []byte("\x92\x00\x81\xa3Log\x92\x01\x90"))
	f.Fuzz(func(t *testing.T, snapshot, delta []byte) {
		l := newLive(cell.Options{Record: true})
		if l.Decode(snapshot) != nil {
			return
		}
		before := ref.EverythingSchema.Clone(l.View())
		if l.Apply(delta) != nil {
			return
		}
		checkDecoded(t, before, l.View())
	})
}

// checkDecoded checks the diff of two states that were read, there and back.
func checkDecoded(t *testing.T, before, after ref.Everything) {
	t.Helper()
	for _, pair := range [][2]ref.Everything{{before, after}, {after, before}} {
		if !twice(before.Messages) && !twice(after.Messages) {
			checkDiff(t, pair[0], pair[1])
			continue
		}
		d := ref.EverythingDiffOf(pair[0], pair[1])
		checkIsZero(t, pair[0], pair[1], d)
	}
}

// twice reports whether a key stands twice in a list, which no update leads to.
func twice(list []ref.Message) bool {
	seen := make(map[string]bool)
	for _, m := range list {
		if seen[m.ID] {
			return true
		}
		seen[m.ID] = true
	}
	return false
}
