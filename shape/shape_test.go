package shape_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// small is a description with one element of each kind.
func small() shape.State {
	return shape.State{
		Name: "S",
		Fields: []shape.Field{
			{Name: "A", Wire: "a", Was: []string{"z"}, Reducer: "upsert", Type: "[]T", Key: "ID"},
			{Name: "B", Wire: "b", Reducer: "reduce=f", Type: "int", Input: "U", Run: true},
		},
		Types: shape.Types{
			{Name: "T", Kind: shape.Struct, Fields: []shape.Field{{Name: "ID", Wire: "id", Type: "string"}}},
			{Name: "U", Kind: shape.Union, Members: []shape.Member{{Tag: "t", Type: "*T"}}},
			{Name: "V", Kind: shape.Defined, Of: "string"},
		},
	}
}

const smallBytes = "\x94\x03\xa1S" +
	"\x92" +
	"\x98\xa1A\xa1a\x91\xa1z\xa6upsert\xa3[]T\xa2ID\xa0\xc2" +
	"\x98\xa1B\xa1b\x90\xa8reduce=f\xa3int\xa0\xa1U\xc3" +
	"\x93" +
	"\x95\xa1T\xa6struct\xa0\x91\x98\xa2ID\xa2id\x90\xa0\xa6string\xa0\xa0\xc2\x90" +
	"\x95\xa1U\xa5union\xa0\x90\x91\x92\xa1t\xa2*T" +
	"\x95\xa1V\xa7defined\xa6string\x90\x90"

func TestEncodingIsAsDocumented(t *testing.T) {
	want := small()
	b, err := want.AppendWire([]byte("x"))
	if err != nil || string(b) != "x"+smallBytes {
		t.Errorf("encoded as %q, %v\nwant %q", b, err, "x"+smallBytes)
	}
	var got shape.State
	if err := got.DecodeWire([]byte(smallBytes)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	p := shape.Payload{Type: "T", Types: want.Types[:1]}
	b, err = p.AppendWire(nil)
	if want := "\x93\x03\xa1T\x91\x95\xa1T\xa6struct\xa0\x91\x98\xa2ID\xa2id\x90\xa0\xa6string\xa0\xa0\xc2\x90"; err != nil || string(b) != want {
		t.Errorf("encoded as %q, %v\nwant %q", b, err, want)
	}
}

func TestAGraphIsEncodedAsDocumented(t *testing.T) {
	want := shape.Graph{State: small(), Questions: []shape.Question{
		{Name: "ok", Question: shape.Payload{Type: "string"}, Answer: shape.Payload{Type: "bool"}},
	}, Signals: []shape.Signal{
		{Name: "paid", Payload: shape.Payload{Type: "int64"}}, {Name: "ask", Payload: shape.Payload{Type: "int64"}, Reply: shape.Payload{Type: "string"}},
	}}
	b, err := want.AppendWire(nil)
	if want := "\x94\x03" + smallBytes + "\x91\x93\xa2ok\x93\x03\xa6string\x90\x93\x03\xa4bool\x90" + "\x92\x92\xa4paid\x93\x03\xa5int64\x90" +
		"\x93\xa3ask\x93\x03\xa5int64\x90\x93\x03\xa6string\x90"; err != nil || string(b) != want {
		t.Errorf("encoded as %q, %v\nwant %q", b, err, want)
	}
	var got shape.Graph
	if err := got.DecodeWire(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	var format *shape.FormatError
	b[1] = 9
	if err := got.DecodeWire(b); !errors.As(err, &format) || format.Found != 9 {
		t.Errorf("another format: got %v, want a FormatError that names it", err)
	}
}

func FuzzGraph(f *testing.F) {
	g := shape.Graph{State: small(), Questions: []shape.Question{{Name: "q"}}, Signals: []shape.Signal{{Name: "s"}}}
	b, _ := g.AppendWire(nil)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var g shape.Graph
		if g.DecodeWire(b) != nil {
			return
		}
		again, err := g.AppendWire(nil)
		if err != nil {
			t.Fatal(err)
		}
		var same shape.Graph
		if err := same.DecodeWire(again); err != nil || !reflect.DeepEqual(g, same) {
			t.Errorf("read back as %+v, %v; want %+v", same, err, g)
		}
	})
}

func TestAPartOfOtherDataIsReadInPlace(t *testing.T) {
	s, p := small(), shape.Payload{Type: "string"}
	b, _ := s.AppendWire([]byte{0x93})
	b, _ = p.AppendWire(b)
	b = wire.AppendInt(b, 7)
	r := wire.NewReader("Both", b)
	var readState shape.State
	var readPayload shape.Payload
	r.FixedArray(3)
	err := errors.Join(readState.ReadWire(&r), readPayload.ReadWire(&r))
	if n := r.Int(); err != nil || r.End() != nil || n != 7 || !reflect.DeepEqual(readState, s) || !reflect.DeepEqual(readPayload, p) {
		t.Errorf("read %+v, %+v and %d, %v, %v", readState, readPayload, n, err, r.Err())
	}
}

func TestAnotherFormatIsRefusedNamingBothNumbers(t *testing.T) {
	s := small()
	err := s.DecodeWire([]byte("\x95\x09\xa1S\x90\x90\x90"))
	var format *shape.FormatError
	if !errors.As(err, &format) || *format != (shape.FormatError{Found: 9, Want: shape.Format}) {
		t.Errorf("another format: got %v, want a FormatError with both numbers", err)
	}
	if !reflect.DeepEqual(s, small()) {
		t.Errorf("after the error the description is %+v", s)
	}
}

func TestDamagedDescriptionsAreErrors(t *testing.T) {
	for i := range len(smallBytes) {
		var s shape.State
		if err := s.DecodeWire([]byte(smallBytes[:i])); err == nil {
			t.Errorf("the first %d bytes are read as %+v", i, s)
		}
	}
	for name, b := range map[string][]byte{
		"a byte more":         []byte(smallBytes + "\xc0"),
		"a wrong length":      []byte("\x93\x03\xa1S\x90"),
		"types out of order":  []byte("\x94\x03\xa1S\x90\x92\x95\xa1B\xa4text\xa0\x90\x90\x95\xa1A\xa4text\xa0\x90\x90"),
		"a type twice":        []byte("\x94\x03\xa1S\x90\x92\x95\xa1A\xa4text\xa0\x90\x90\x95\xa1A\xa4text\xa0\x90\x90"),
		"an unknown kind":     []byte("\x94\x03\xa1S\x90\x91\x95\xa1A\xa4what\xa0\x90\x90"),
		"more than MaxDecode": bytes.Repeat([]byte{0xc0}, shape.MaxDecode+1),
	} {
		var s shape.State
		if err := s.DecodeWire(b); err == nil {
			t.Errorf("%s: read as %+v, want an error", name, s)
		}
	}
}

func TestOuterTakesOffOneLayer(t *testing.T) {
	types := shape.Types{
		{Name: "A", Kind: shape.Defined, Of: "B"},
		{Name: "B", Kind: shape.Defined, Of: "[]byte"},
		{Name: "Loop", Kind: shape.Defined, Of: "Loop"},
		{Name: "opt.Opt[T]", Kind: shape.Text},
	}
	for text, want := range map[string]shape.Layer{
		"int":                        {Kind: "int"},
		"byte":                       {Kind: "uint8"},
		"rune":                       {Kind: "int32"},
		"time.Time":                  {Kind: "time.Time"},
		"*[]T":                       {Kind: "pointer", Elem: "[]T"},
		"[]*T":                       {Kind: "list", Elem: "*T"},
		"[4]T":                       {Kind: "list", Len: "4", Elem: "T"},
		"[]byte":                     {Kind: "bytes"},
		"[16]byte":                   {Kind: "bytes", Len: "16"},
		"map[opt.Opt[[]T]]map[T][]T": {Kind: "map", Key: "opt.Opt[[]T]", Elem: "map[T][]T"},
		"A":                          {Kind: "bytes"},
		"opt.Opt[T]":                 {Kind: "text", Type: &types[3]},
		"Loop":                       {},
		"nothing":                    {},
		"":                           {},
		"map[int":                    {},
		"[":                          {},
		"[x]T":                       {},
	} {
		if got := types.Outer(text); got != want {
			t.Errorf("Outer(%q) = %+v, want %+v", text, got, want)
		}
	}
}

func TestOfDescribesPayloads(t *testing.T) {
	if got := shape.Of[wire.String](); got.Type != "string" {
		t.Errorf("wire.String is described as %+v", got)
	}
	if got := shape.Of[byHand](); got.Type != "" {
		t.Errorf("a payload with methods of its own is described as %+v", got)
	}
	got := shape.Of[reference.Doc]()
	if doc := got.Types.Find(got.Type); got.Type != "Doc" || doc == nil || doc.Kind != shape.Struct {
		t.Errorf("Doc is described as %+v", got)
	}
}

// byHand is a payload with methods written by hand.
type byHand struct{}

func (*byHand) AppendWire(b []byte) ([]byte, error) { return wire.AppendNil(b), nil }

func (*byHand) DecodeWire([]byte) error { return nil }

func TestDescribingAStateAllocatesNothing(t *testing.T) {
	var d shape.State
	if got := testing.AllocsPerRun(10, func() { d = reference.StateSchema.Describe() }); got != 0 {
		t.Errorf("Describe: %v allocations, want 0", got)
	}
	if d.Name != "State" {
		t.Errorf("described is %q", d.Name)
	}
}

// FuzzDecode decodes any bytes as a description. A decoded description survives a round trip, and
// its types can be walked.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(smallBytes))
	d := reference.StateSchema.Describe()
	b, err := d.AppendWire(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again shape.State
		if s.DecodeWire(b) != nil {
			return
		}
		b, err := s.AppendWire(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.DecodeWire(b); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("read %+v, %v; want %+v", again, err, s)
		}
		if again.Fingerprint() != s.Fingerprint() {
			t.Error("equal descriptions have two fingerprints")
		}
	})
}
