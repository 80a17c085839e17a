package wire_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// wide is a struct that takes one byte of MessagePack if none of its fields is stored.
type wide struct{ _ [40]int64 }

// TestSmallDataTakesLittleMemory reads 1 MiB of empty structs in each form that allocates, as
// generated code does.
func TestSmallDataTakesLittleMemory(t *testing.T) {
	const n = 1 << 20
	hostile := wire.AppendArrayLen(nil, n)
	for range n {
		hostile = wire.AppendMapLen(hostile, 0)
	}
	entries := wire.AppendMapLen(nil, n/4)
	for i := range n / 4 {
		entries = wire.AppendMapLen(wire.AppendUint(entries, uint64(i)), 0)
	}
	each := func(r *wire.Reader, read func()) {
		for range r.ArrayLen() {
			if read(); !r.OK() {
				return
			}
		}
	}
	var pointers []*wide
	var boxed []any
	for name, form := range map[string]struct {
		data []byte
		read func(r *wire.Reader)
	}{
		"a list": {hostile, func(r *wire.Reader) {
			list := wire.MakeSlice[wide](r, r.ArrayLen())
			for range cap(list) {
				r.Skip()
				list = append(list, wide{})
			}
		}},
		"a map": {entries, func(r *wire.Reader) {
			n := r.MapLen()
			m := wire.MakeMap[uint64, [4]wide](r, n)
			for i := 0; i < n && r.OK(); i++ {
				m[r.Uint64()] = [4]wide{}
				r.Skip()
			}
		}},
		"pointers": {hostile, func(r *wire.Reader) {
			each(r, func() { pointers = append(pointers, wire.New[wide](r)); r.Skip() })
		}},
		"members of a union by value": {hostile, func(r *wire.Reader) {
			each(r, func() { wire.Reserve[wide](r, 1); boxed = append(boxed, wide{}); r.Skip() })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := wire.NewReader("T", form.data)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			form.read(&r)
			runtime.ReadMemStats(&after)
			var e *wire.Error
			if err := r.Err(); !errors.As(err, &e) || e.Kind != wire.Memory || !e.Malformed() {
				t.Errorf("got error %v, want one of kind Memory that is Malformed", err)
			}
			// Lists and maps that grow are copied while they grow.
			if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(2*(64*len(form.data)+64<<20)); got > limit {
				t.Errorf("%d bytes of data took %d bytes of memory, want at most %d", len(form.data), got, limit)
			}
		})
		pointers, boxed = nil, nil
	}
}

func TestALegitimateListIsReadWhole(t *testing.T) {
	const n = 100_000
	data := wire.AppendArrayLen(nil, n)
	for range n {
		data = wire.AppendMapLen(data, 0)
	}
	r := wire.NewReader("T", data)
	list := wire.MakeSlice[wide](&r, r.ArrayLen())
	for range n {
		r.Skip()
		list = append(list, wide{})
	}
	if err := r.End(); err != nil || len(list) != n {
		t.Errorf("got %d elements, error %v; want %d of them", len(list), err, n)
	}
}
