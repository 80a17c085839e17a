package unions

import (
	"errors"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	"github.com/graphgen-go/graphgen/testdata/golden/unions/parts"
)

func prepare(f *goldentest.Filler) {
	goldentest.Register(f, func(f *goldentest.Filler, depth int) Message {
		switch n := f.Rand.IntN(6); {
		case depth > 8 || n == 0:
			return nil
		case n == 1:
			return &User{Key: goldentest.Of[string](f, depth)}
		case n == 2:
			v := goldentest.Of[Assistant](f, depth)
			return &v
		case n == 3:
			return Group{}
		case n == 4:
			return goldentest.Of[Group](f, depth)
		}
		return goldentest.Of[Tool](f, depth)
	})
	goldentest.Register(f, func(f *goldentest.Filler, depth int) Part {
		if f.Rand.IntN(2) == 0 {
			return parts.Text{Text: "text"}
		}
		v := goldentest.Of[parts.Image](f, depth)
		return &v
	})
	goldentest.Register(f, func(f *goldentest.Filler, depth int) Value {
		return []Value{nil, Number(f.Rand.NormFloat64()), Word("w"), Flag(true)}[f.Rand.IntN(4)]
	})
}

func TestStateTravels(t *testing.T)    { goldentest.State(t, StateSchema, StateDiffOf, prepare) }
func TestEnvelopeTravels(t *testing.T) { goldentest.Payload[Envelope](t, prepare) }

func TestMemberIsWrittenUnderItsName(t *testing.T) {
	b, err := (&Envelope{Content: &User{Key: "k", Text: "t"}}).AppendWire(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]map[string]string
	if err := msgpack.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got["Content"]["User"]["Key"] != "k" || got["Content"]["User"]["Text"] != "t" {
		t.Errorf("got %v, want Content.User with Key k and Text t", got)
	}
}

func TestTypedNilIsRefused(t *testing.T) {
	if _, err := (&Envelope{Content: (*User)(nil)}).AppendWire(nil); !errors.Is(err, wire.ErrNilMember) {
		t.Errorf("AppendWire = %v, want ErrNilMember", err)
	}
}

type stranger struct{ *User }

func TestStrangerCannotBeStored(t *testing.T) {
	_, err := (&Envelope{Content: stranger{}}).AppendWire(nil)
	if !errors.Is(err, wire.ErrNotMember) || !strings.Contains(err.Error(), "of type unions.stranger") {
		t.Errorf("AppendWire of a type that is not listed: %v, want ErrNotMember with the type", err)
	}
	var u StateUpdate
	u.Messages.Append(stranger{})
	err = StateSchema.New(cell.Options{Record: true}).Merge(0, &u)
	var merge *state.MergeError
	if !errors.As(err, &merge) || merge.Field != "Messages" || !errors.Is(err, wire.ErrNotMember) {
		t.Errorf("Merge of a type that is not listed: %v, want a *MergeError of Messages with ErrNotMember", err)
	}
}

func TestUnknownMemberIsRefused(t *testing.T) {
	b, err := msgpack.Marshal(map[string]any{"Content": map[string]any{"Robot": 1}})
	if err != nil {
		t.Fatal(err)
	}
	err = new(Envelope).DecodeWire(b)
	var at *wire.Error
	if !errors.Is(err, wire.ErrUnknownField) || !errors.As(err, &at) || at.Path != "Envelope.Content" {
		t.Errorf("DecodeWire of an unknown member: %v, want ErrUnknownField at Envelope.Content", err)
	}
}

func TestUpsertByMethodOfInterface(t *testing.T) {
	live := StateSchema.New(cell.Options{Record: true})
	var u StateUpdate
	u.ByID.Upsert(&User{Key: "a"}, Tool{Key: "b"}, &User{Key: "a", Text: "new"}, nil)
	u.ByID.Remove("b")
	if err := live.Merge(0, &u); err != nil {
		t.Fatal(err)
	}
	got := live.View().ByID
	if len(got) != 2 || got[0].(*User).Text != "new" || got[1] != nil {
		t.Errorf("got %v, want the new a, and nil", got)
	}
}

func FuzzEnvelope(f *testing.F) { goldentest.FuzzPayload[Envelope](f, prepare) }
func FuzzState(f *testing.F)    { goldentest.FuzzState(f, StateSchema, prepare) }
