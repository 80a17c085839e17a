package cell_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

func TestUpdatesPrintWhatTheyChange(t *testing.T) {
	var u ref.EverythingUpdate
	u.Log.Append("a")
	u.Log.Clear()
	u.Log.Append("b", "c")
	u.Messages.Remove("1")
	u.Tags.Add("x")
	u.Facts.Put("k", ref.Fact{Source: "s"})
	u.Facts.Delete("l")
	u.Sum.Add(42)
	u.Min.Offer(1)
	u.And.And(false)
	u.Or.Or(true)
	u.Votes.Clear()
	u.Plan.Clear()
	u.Plan.Reduce(ref.PlanEdit{Goal: "g"})
	u.Plan.Reduce(ref.PlanEdit{Step: "s"})
	u.Set.Set("")
	u.First.Clear()
	u.Ratio.Clear()
	u.Ratio.Add(0.5)
	want := "EverythingUpdate{Set: set , First: clear, Sum: add 42, Ratio: clear; add 0.5, Min: offer 1, And: and false, Or: or true, " +
		"Log: clear; append [b c], Messages: remove [1], Tags: add [x], Facts: put map[k:{Source:s Text: Score:0}]; delete [l], " +
		"Votes: clear, Plan: clear; reduce {Goal:g Step:}; reduce {Goal: Step:s}}"
	if got := fmt.Sprint(u); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := fmt.Sprint(ref.EverythingUpdate{}), "EverythingUpdate{}"; got != want {
		t.Errorf("the zero update prints %s, want %s", got, want)
	}
}

// each has one update a way of changing a field; no two of them do the same.
var each = []func(u *ref.EverythingUpdate){
	func(*ref.EverythingUpdate) {},
	func(u *ref.EverythingUpdate) { u.Set.Set("") },
	func(u *ref.EverythingUpdate) { u.Set.Set("a") },
	func(u *ref.EverythingUpdate) { u.Vector.Set(nil) },
	func(u *ref.EverythingUpdate) { u.Vector.Set([]float64{}) },
	func(u *ref.EverythingUpdate) { u.Labels.Set(map[string]string{"a": ""}) },
	func(u *ref.EverythingUpdate) { u.Last.Set("") },
	func(u *ref.EverythingUpdate) { u.First.Set("") },
	func(u *ref.EverythingUpdate) { u.Sum.Add(0) },
	func(u *ref.EverythingUpdate) { u.Sum.Add(1) },
	func(u *ref.EverythingUpdate) { u.Ratio.Add(0.5) },
	func(u *ref.EverythingUpdate) { u.Min.Offer(0) },
	func(u *ref.EverythingUpdate) { u.Min.Offer(1) },
	func(u *ref.EverythingUpdate) { u.Max.Offer("") },
	func(u *ref.EverythingUpdate) { u.And.And(true) },
	func(u *ref.EverythingUpdate) { u.And.And(false) },
	func(u *ref.EverythingUpdate) { u.Or.Or(true) },
	func(u *ref.EverythingUpdate) { u.Or.Or(false) },
	func(u *ref.EverythingUpdate) { u.Log.Append("a") },
	func(u *ref.EverythingUpdate) { u.Log.Remove("a") },
	func(u *ref.EverythingUpdate) { u.Log.Replace("a") },
	func(u *ref.EverythingUpdate) { u.Log.Replace() },
	func(u *ref.EverythingUpdate) { u.Log.Clear() },
	func(u *ref.EverythingUpdate) { u.Log.Append("a"); u.Log.Remove("a") },
	func(u *ref.EverythingUpdate) { u.Docs.Append(ref.Doc{}) },
	func(u *ref.EverythingUpdate) { u.Docs.Append(ref.Doc{Pages: []string{}}) },
	func(u *ref.EverythingUpdate) { u.Messages.Upsert(ref.Message{ID: "a"}) },
	func(u *ref.EverythingUpdate) { u.Messages.Remove("a") },
	func(u *ref.EverythingUpdate) { u.Messages.Replace(ref.Message{ID: "a"}) },
	func(u *ref.EverythingUpdate) { u.Messages.Clear() },
	func(u *ref.EverythingUpdate) { u.Tags.Add("a") },
	func(u *ref.EverythingUpdate) { u.Tags.Remove("a") },
	func(u *ref.EverythingUpdate) { u.Facts.Put("a", ref.Fact{}) },
	func(u *ref.EverythingUpdate) { u.Facts.Delete("a") },
	func(u *ref.EverythingUpdate) { u.Facts.Replace(nil) },
	func(u *ref.EverythingUpdate) { u.Facts.Replace(map[string]ref.Fact{"a": {}}) },
	func(u *ref.EverythingUpdate) { u.Votes.Put(false, 0) },
	func(u *ref.EverythingUpdate) { u.Ranks.Put(-100, "") },
	func(u *ref.EverythingUpdate) { u.Plan.Reduce(ref.PlanEdit{}) },
	func(u *ref.EverythingUpdate) { u.Plan.Reduce(ref.PlanEdit{}); u.Plan.Reduce(ref.PlanEdit{}) },
	func(u *ref.EverythingUpdate) { u.Draft.Set("") },
	func(u *ref.EverythingUpdate) { u.Set.Clear() },
	func(u *ref.EverythingUpdate) { u.Vector.Clear() },
	func(u *ref.EverythingUpdate) { u.Last.Clear() },
	func(u *ref.EverythingUpdate) { u.First.Clear() },
	func(u *ref.EverythingUpdate) { u.First.Clear(); u.First.Set("") },
	func(u *ref.EverythingUpdate) { u.Sum.Clear() },
	func(u *ref.EverythingUpdate) { u.Sum.Clear(); u.Sum.Add(1) },
	func(u *ref.EverythingUpdate) { u.Min.Clear() },
	func(u *ref.EverythingUpdate) { u.Min.Clear(); u.Min.Offer(1) },
	func(u *ref.EverythingUpdate) { u.Max.Clear() },
	func(u *ref.EverythingUpdate) { u.And.Clear() },
	func(u *ref.EverythingUpdate) { u.And.Clear(); u.And.And(true) },
	func(u *ref.EverythingUpdate) { u.Or.Clear() },
	func(u *ref.EverythingUpdate) { u.Or.Clear(); u.Or.Or(false) },
	func(u *ref.EverythingUpdate) { u.Tags.Replace("a") },
	func(u *ref.EverythingUpdate) { u.Tags.Replace() },
	func(u *ref.EverythingUpdate) { u.Tags.Clear() },
	func(u *ref.EverythingUpdate) { u.Facts.Clear() },
	func(u *ref.EverythingUpdate) { u.Plan.Clear() },
	func(u *ref.EverythingUpdate) { u.Plan.Clear(); u.Plan.Reduce(ref.PlanEdit{}) },
	func(u *ref.EverythingUpdate) { u.Draft.Clear() },
}

func TestUpdatesAreEqualWhenTheyDoTheSame(t *testing.T) {
	updates := func() []ref.EverythingUpdate {
		list := make([]ref.EverythingUpdate, len(each))
		for i, make := range each {
			make(&list[i])
		}
		return list
	}
	again := updates()
	for i, u := range updates() {
		for j, v := range again {
			if got := u.Equal(v); got != (i == j) {
				t.Errorf("%v and %v: Equal = %v", u, v, got)
			}
		}
		b, err := ref.EverythingSchema.AppendUpdate(nil, &u)
		if err != nil {
			t.Fatal(err)
		}
		var read ref.EverythingUpdate
		if err := ref.EverythingSchema.DecodeUpdate(b, &read); err != nil || !read.Equal(u) {
			t.Errorf("%v was read back as %v, %v", u, read, err)
		}
	}
}

func TestCallsWithoutArgumentsChangeNothing(t *testing.T) {
	var u ref.EverythingUpdate
	u.Log.Append()
	u.Log.Remove()
	u.Messages.Upsert()
	u.Messages.Remove()
	u.Tags.Add()
	u.Tags.Remove()
	u.Facts.Merge(nil)
	u.Facts.Delete()
	if !u.Equal(ref.EverythingUpdate{}) {
		t.Errorf("got %v, want the zero update", u)
	}
}

func TestConstructorsDoWhatMethodsDo(t *testing.T) {
	var want ref.EverythingUpdate
	want.Set.Set("x")
	want.Last.Set("y")
	want.Log.Append("a", "b")
	want.Sum.Add(2)
	want.Messages.Upsert(ref.Message{ID: "1"})
	want.Votes.Merge(map[bool]int{true: 3})
	want.Ranks.Put(1, "one")
	got := ref.EverythingUpdate{
		Set: state.Set("x"), Last: state.Set[ref.Status]("y"), Log: state.Append("a", "b"), Sum: state.Add[int64](2),
		Messages: state.Upsert[string](ref.Message{ID: "1"}), Votes: state.Merge(map[bool]int{true: 3}), Ranks: state.Put[int8](1, "one"),
	}
	if !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	built := state.Build(func(u *ref.EverythingUpdate) { *u = want })
	if !built.Equal(want) {
		t.Errorf("Build returned %v, want %v", built, want)
	}
}

func TestAnUpdateWithManyFieldsIsRead(t *testing.T) {
	// More than fifteen fields take a longer head, for which room must be made behind what was
	// there.
	var u ref.EverythingUpdate
	for _, make := range each {
		make(&u)
	}
	b, err := ref.EverythingSchema.AppendUpdate([]byte("before"), &u)
	if err != nil || string(b[:7]) != "before\xde" {
		t.Fatalf("got %x, %v, want a map of more than 15 after what was there", b, err)
	}
	var read ref.EverythingUpdate
	if err := ref.EverythingSchema.DecodeUpdate(b[6:], &read); err != nil || !read.Equal(u) {
		t.Errorf("read back as %v, %v, want %v", read, err, u)
	}
}

func TestUpdatesOfOtherCodeAreRefused(t *testing.T) {
	for name, b := range map[string][]byte{
		"Gone": pack(t, object{"Gone": array{1, 2}}),
		"Log":  pack(t, object{"Log": array{6, object{"a": 1}}}),  // put
		"Sum":  pack(t, object{"Sum": array{1, 2}}),               // set
		"Tags": pack(t, object{"Tags": array{2, array{"a"}}}),     // append
		"Min":  pack(t, object{"Min": array{99, 1}}),              // nothing
		"Or":   pack(t, object{"Or": array{-1, true}}),            // nothing
		"Plan": pack(t, object{"Plan": array{13}}),                // no operand
		"And":  pack(t, object{"And": object{}}),                  // no operations
		"Docs": pack(t, object{"docs": array{2, array{"a doc"}}}), // of another type
	} {
		var u ref.EverythingUpdate
		err := ref.EverythingSchema.DecodeUpdate(b, &u)
		var dec *state.DecodeError
		if !errors.As(err, &dec) || !strings.EqualFold(dec.Field, name) {
			t.Errorf("%s: got %v, want a *DecodeError of that field", name, err)
		}
	}
}
