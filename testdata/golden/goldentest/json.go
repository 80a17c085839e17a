package goldentest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
)

// checkPayloadJSON turns stored data into JSON and back.
func checkPayloadJSON(t *testing.T, d *shape.Payload, b []byte) {
	t.Helper()
	v, err := value.Payload(d, b)
	if err != nil {
		t.Fatalf("value.Payload: %v", err)
	}
	text, back := throughJSON(t, v, func(text []byte) ([]byte, error) { return value.Encode(d, text) })
	if again, err := value.Payload(d, back); err != nil || !value.Equal(&v, &again) {
		t.Errorf("%s\nis %q, and read again %q, %v", text, b, back, err)
	}
}

// checkStateJSON does the same with the snapshot of a state.
func checkStateJSON(t *testing.T, d *shape.State, b []byte, decode func(b []byte) error) {
	t.Helper()
	v, err := value.State(d, b)
	if err != nil {
		t.Fatalf("value.State: %v", err)
	}
	text, back := throughJSON(t, v, func(text []byte) ([]byte, error) { return value.EncodeState(d, text) })
	if slices.ContainsFunc(d.Types, func(t shape.Type) bool { return t.Kind == shape.Wire }) {
		return // it may hold bytes, which are strings in JSON
	}
	if again, err := value.State(d, back); err != nil || !value.Equal(&v, &again) {
		t.Errorf("%s\nis %q, and read again %q, %v", text, b, back, err)
	}
	if err := decode(back); err != nil {
		t.Errorf("the state of %s does not read %q: %v", text, back, err)
	}
}

func throughJSON(t *testing.T, v value.Value, encode func(text []byte) ([]byte, error)) (text, b []byte) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	b, err = encode(text)
	if err != nil {
		t.Fatalf("encode %s: %v", text, err)
	}
	r := wire.NewReader("", b)
	if r.Skip(); r.End() != nil {
		t.Fatalf("%s is no MessagePack: %v", text, r.End())
	}
	return text, b
}
