package compose

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/testdata/golden/compose/chat"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
)

func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, nil) }
func TestHalfTravels(t *testing.T)  { goldentest.State(t, HalfSchema, HalfDiffOf, nil) }
func TestPartTravelsAsStateOfItsOwn(t *testing.T) {
	goldentest.State(t, chat.MessagesSchema, chat.MessagesDiffOf, nil)
}
func FuzzState(f *testing.F) { goldentest.FuzzState(f, StateSchema, nil) }

// update returns an update that writes a field of every part.
func update() StateUpdate {
	return state.Build(func(u *StateUpdate) {
		u.Done.Set(true)
		u.Messages.Upsert(chat.NewMessage("a", "one"), chat.NewMessage("b", "two", true), chat.NewMessage("a", "three"))
		u.Cursor.Offer(2)
		u.Topics.Reduce("maps")
		u.Unread.Set(&chat.Window{To: 2})
		u.Title.Set("Trip")
		u.Props.Put("city", "Lisbon")
		u.Tokens.Add(42)
		u.Calls.Append(Call{Tool: "search"})
		u.Scores.Set([2]Bool{true})
		u.Items.Add("x", "y", "x")
		u.note.Set("first")
		u.count.Offer(3)
		u.Plain.Set(Plain{Lines: []string{"p"}})
		u.Draft.Set(chat.Draft{Texts: []string{"d"}})
	})
}

// written returns the state that update leads to.
func written() State {
	return State{
		Done: true,
		Messages: chat.Messages{
			Messages: []chat.Message{chat.NewMessage("a", "three"), chat.NewMessage("b", "two", true)},
			Cursor:   2,
			Topics:   []string{"maps"},
			Unread:   &chat.Window{To: 2},
			Header:   chat.Header{Title: "Trip", Props: map[string]string{"city": "Lisbon"}},
		},
		Usage: Usage{Tokens: 42, Calls: []Call{{"search"}}, Scores: [2]Bool{true}},
		Bag:   Bag[string]{Items: []string{"x", "y"}},
		notes: notes{note: "first", count: 3},
		Plain: Plain{Lines: []string{"p"}},
		Draft: chat.Draft{Texts: []string{"d"}},
	}
}

func TestFieldsOfPartsAreFieldsOfTheState(t *testing.T) {
	got, err := state.Apply(StateSchema, State{}, update())
	if err != nil || !reflect.DeepEqual(got, written()) {
		t.Errorf("Apply returned\n%+v, %v\nwant\n%+v", got, err, written())
	}
	d := StateDiffOf(State{}, got)
	if !d.Tokens.Differs || len(d.Messages.Added) != 2 || d.Last.Differs {
		t.Errorf("the difference to the zero state is\n%s", d)
	}
}

// flat returns s with all fields declared one by one.
func flat(s State) Flat {
	m := s.Messages
	return Flat{
		s.Done, m.Messages, m.Cursor, m.Topics, m.Unread, m.Title, m.Props, s.Tokens, s.Calls, s.Scores, s.Items, s.note, s.count, s.Plain,
		s.Draft, s.Of, s.Last,
	}
}

// TestComposingDoesNotChangeStoredData compares a composed state with one that declares the same
// fields itself: the same fingerprint, snapshots and updates.
func TestComposingDoesNotChangeStoredData(t *testing.T) {
	if got, want := StateSchema.Fingerprint, FlatSchema.Fingerprint; got != want {
		t.Errorf("the fingerprint is %#x, want %#x", got, want)
	}
	for seed := range uint64(50) {
		var s State
		goldentest.Fill(goldentest.New(t, seed), &s)
		got, want := snapshot(t, StateSchema, s), snapshot(t, FlatSchema, flat(s))
		if !bytes.Equal(got, want) {
			t.Fatalf("the snapshot of %+v is\n%x, want\n%x", s, got, want)
		}
	}
	u := update()
	u.Unread.Clear() // untracked
	b, err := StateSchema.AppendUpdate(nil, &u)
	if err != nil {
		t.Fatal(err)
	}
	var read FlatUpdate
	if err := FlatSchema.DecodeUpdate(b, &read); err != nil {
		t.Fatal(err)
	}
	read.Unread.Clear()
	if got, want := strings.TrimPrefix(read.String(), "Flat"), strings.TrimPrefix(u.String(), "State"); got != want {
		t.Errorf("the update is read as\n%s, want\n%s", got, want)
	}
}

func snapshot[S, U any](t *testing.T, schema *state.Schema[S, U], s S) []byte {
	t.Helper()
	live := schema.New(cell.Options{})
	live.Load(s)
	b, err := live.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestStoredChangesOfPartsAreReplayed merges updates while recording, and applies the deltas to a
// second state.
func TestStoredChangesOfPartsAreReplayed(t *testing.T) {
	live, replica := StateSchema.New(cell.Options{Record: true}), StateSchema.New(cell.Options{Record: true})
	for range 3 {
		u := update()
		if err := live.Merge(0, &u); err != nil {
			t.Fatal(err)
		}
		live.EndStep()
		d, err := live.AppendDelta(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := replica.Apply(d); err != nil {
			t.Fatal(err)
		}
	}
	want := live.View()
	want.Unread = nil // untracked
	if got := replica.View(); !reflect.DeepEqual(got, want) || got.Tokens != 3*42 {
		t.Errorf("the replica has\n%+v, want\n%+v", got, want)
	}
}

// TestFieldsOfUnknownPartsAreKept has a program with fewer parts read and write a state.
func TestFieldsOfUnknownPartsAreKept(t *testing.T) {
	want := written()
	want.Unread = nil
	half := HalfSchema.New(cell.Options{Record: true})
	if err := half.Decode(snapshot(t, StateSchema, want)); err != nil {
		t.Fatal(err)
	}
	var u HalfUpdate
	u.Tokens.Add(8)
	if err := half.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	b, err := half.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	live := StateSchema.New(cell.Options{})
	if err := live.Decode(b); err != nil {
		t.Fatal(err)
	}
	want.Tokens = 50
	if got := live.View(); !reflect.DeepEqual(got, want) {
		t.Errorf("decoded\n%+v, want\n%+v", got, want)
	}
}

// old returns the named fields of what version 1 stored.
func old(names ...string) []byte {
	b := wire.AppendMapLen(nil, len(names))
	for _, name := range names {
		b = wire.AppendString(b, name)
		switch name {
		case "Topics", "Gone":
			b = wire.AppendString(b, "maps trains")
		default:
			b = wire.AppendInt(b, 2)
		}
	}
	return b
}

func TestEachPartMigratesItsOwnFields(t *testing.T) {
	calls := []Call{{"0"}, {"1"}}
	for _, c := range []struct {
		stored []string
		want   State
	}{
		{[]string{"Topics", "Calls", "pos", "Gone"}, State{
			Messages: chat.Messages{Topics: []string{"maps", "trains"}, Cursor: 2}, Usage: Usage{Calls: calls},
		}},
		{[]string{"Topics"}, State{Messages: chat.Messages{Topics: []string{"maps", "trains"}}}},
		{[]string{"Calls"}, State{Usage: Usage{Calls: calls}}},
		{[]string{"pos"}, State{Messages: chat.Messages{Cursor: 2}}},
	} {
		live := StateSchema.New(cell.Options{})
		if err := live.Decode(old(c.stored...)); err != nil {
			t.Errorf("%q: %v", c.stored, err)
		} else if got := live.View(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q is read as\n%+v, want\n%+v", c.stored, got, c.want)
		}
	}
}

// TestFaultsInPartsHaveTheirPlace decodes states in which a field of a part has another type.
func TestFaultsInPartsHaveTheirPlace(t *testing.T) {
	for _, c := range []struct {
		decode       func(b []byte) error
		stored, want string
	}{
		{HalfSchema.New(cell.Options{}).Decode, "\x81\xa5Calls\x91\x81\xa4Tool\x05", "Half.Calls[0].Tool: want string, got int"},
		{StateSchema.New(cell.Options{}).Decode, "\x81\xa8Messages\x05", `chat: cannot migrate ["Messages"]`},
		{StateSchema.New(cell.Options{}).Decode, "\x81\xa6Tokens\xa1x", `compose: cannot migrate ["Tokens"]`},
	} {
		err := c.decode([]byte(c.stored))
		var decode *state.DecodeError
		if !errors.As(err, &decode) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("decoding %q returned %v, want a DecodeError with %q", c.stored, err, c.want)
		}
	}
}
