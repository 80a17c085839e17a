package rows

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

func TestStatesAreReadableAsJSON(t *testing.T) {
	deep := any("bottom")
	for range 40 {
		deep = []any{deep}
	}
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"a struct": {map[string]any{"Status": "open", "N": -3, "Big": uint64(1) << 63, "On": true, "None": nil}, `{"Big":9223372036854775808,"N":-3,"None":null,"On":true,"Status":"open"}`},
		"text":     {"\"\\\n\t\x01\x00\x7fé\xff", `"\"\\\n\t\u0001` + "\ufffd" + `\u007fé` + "\ufffd" + `"`},
		"floats":   {[]any{1.5, float32(0.1), 1e300}, `[1.5,0.1,1e+300]`},
		"bytes":    {[]byte{1, 2, 255}, `"AQL/"`},
		"keys":     {map[int]string{7: "a"}, `{"7":"a"}`},
		"a time":   {time.Date(2026, 11, 21, 10, 0, 0, 5, time.UTC), `"2026-11-21T10:00:00.000000005Z"`},
		"depth":    {deep, strings.Repeat("[", 28) + `"..."` + strings.Repeat("]", 28)},
	} {
		b, err := msgpack.Marshal(c.value)
		if m, ok := c.value.(map[string]any); ok {
			b, err = marshalSorted(m)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendJSON(nil, b)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", name, got, err, c.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s: %s is no JSON", name, got)
		}
	}
	if got, err := appendJSON(nil, nil); err != nil || string(got) != "{}" {
		t.Errorf("nothing: got %s, %v; want {}", got, err)
	}
	if _, err := appendJSON(nil, []byte("state of x")); err == nil {
		t.Error("bytes that are no MessagePack: no error")
	}
}

func marshalSorted(m map[string]any) ([]byte, error) {
	var b strings.Builder
	e := msgpack.NewEncoder(&b)
	e.SetSortMapKeys(true)
	err := e.Encode(m)
	return []byte(b.String()), err
}

func FuzzJSON(f *testing.F) {
	for _, v := range []any{map[string]any{"a": []any{1, "x", nil}}, []byte("x"), time.Unix(1, 1), 1.5} {
		b, err := msgpack.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xca, 0x7f, 0xc0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := appendJSON(nil, b)
		if err == nil && !json.Valid(got) {
			t.Errorf("%x: %s is no JSON", b, got)
		}
	})
}
