package wire_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// reads lists every way to read a value.
var reads = []func(r *wire.Reader){
	func(r *wire.Reader) { r.Nil() },
	func(r *wire.Reader) { r.Bool() },
	func(r *wire.Reader) { r.Int64() },
	func(r *wire.Reader) { r.Int8() },
	func(r *wire.Reader) { r.Uint64() },
	func(r *wire.Reader) { r.Uint16() },
	func(r *wire.Reader) { r.Float64() },
	func(r *wire.Reader) { r.Float32() },
	func(r *wire.Reader) { r.Complex64() },
	func(r *wire.Reader) { r.Str() },
	func(r *wire.Reader) { r.Bytes() },
	func(r *wire.Reader) { r.FixedBytes(make([]byte, 4)) },
	func(r *wire.Reader) { r.FixedArray(2) },
	func(r *wire.Reader) { r.Time() },
	func(r *wire.Reader) { r.Skip() },
	func(r *wire.Reader) { _ = strings.Clone(r.Raw()) },
	func(r *wire.Reader) { r.Unknown(r.Key()) },
	func(r *wire.Reader) { at := r.Offset(); r.UnknownTag(at, "U", r.Tag("U")) },
	func(r *wire.Reader) { r.Wire(func(b []byte) error { return nil }) },
	func(r *wire.Reader) { r.Binary(func(b []byte) error { return errors.New("refused") }) },
	func(r *wire.Reader) { r.Text(func(b []byte) error { return nil }) },
	func(r *wire.Reader) {
		n := r.ArrayLen()
		list := wire.MakeSlice[[4]string](r, n)
		for i := 0; i < n && r.OK(); i++ {
			list = append(list, [4]string{r.Str()})
		}
	},
	func(r *wire.Reader) {
		n := r.MapLen()
		m := wire.MakeMap[string, int](r, n)
		for i := 0; i < n && r.OK(); i++ {
			m[r.Key()] = r.Int()
		}
	},
	func(r *wire.Reader) {
		for r.Enter() {
			if r.ArrayLen() == 0 {
				return
			}
		}
	},
}

// FuzzReader reads arbitrary bytes in an arbitrary way. Nothing may panic, memory must stay in
// proportion to the input, and an error must have an offset in it.
func FuzzReader(f *testing.F) {
	for i, form := range forms() {
		if len(form.bytes) < 64 {
			f.Add([]byte{byte(i), byte(i + 7), byte(i + 13)}, form.bytes)
		}
	}
	f.Add([]byte{21}, []byte("\xdd\xff\xff\xff\xff\xa1a"))
	f.Add([]byte{22}, []byte("\xdf\x00\x00\x00\x02\xa1a\x01\xa1b\x02"))
	f.Add([]byte{14}, []byte("\xc9\xff\xff\xff\xff\x05"))
	f.Fuzz(func(t *testing.T, how, b []byte) {
		if len(how) > 32 {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := wire.NewReader("T", b)
		for _, h := range how {
			reads[int(h)%len(reads)](&r)
		}
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<17+600*len(b)); got > most {
			t.Errorf("%d bytes caused an allocation of %d bytes, want at most %d", len(b), got, most)
		}
		var at *wire.Error
		if err := r.Err(); err != nil && !errors.As(err, &at) {
			t.Fatalf("got error %v, want a *wire.Error", err)
		}
		if at != nil && (at.Offset < 0 || at.Offset > len(b) || !strings.HasPrefix(at.Path, "T") || at.Error() == "") {
			t.Errorf("the error is at byte %d of %d, path %q", at.Offset, len(b), at.Path)
		}
		if r.Left() < 0 || r.OK() && r.Offset() > len(b) {
			t.Errorf("%d bytes left, at byte %d of %d", r.Left(), r.Offset(), len(b))
		}
	})
}
