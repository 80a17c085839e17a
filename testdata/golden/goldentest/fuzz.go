package goldentest

import (
	"bytes"
	"math"
	"runtime/metrics"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// FuzzPayload decodes arbitrary bytes as a payload. The codec must not panic and must allocate in
// proportion to the input. A decoded value must be equal after encoding and decoding.
func FuzzPayload[T any, P wire.Generated[T]](f *testing.F, prepare func(f *Filler)) {
	for _, b := range seeds[T](f, prepare, func(v T) ([]byte, error) { return P(&v).AppendWire(nil) }) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var v, again T
		if bounded(t, len(b), func() error { v = *new(T); return P(&v).DecodeWire(b) }) != nil {
			return
		}
		once, err := P(&v).AppendWire(nil)
		if err != nil {
			return // a union's typed nil, or a time that its type cannot write
		}
		if err := P(&again).DecodeWire(once); err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
		if twice, err := P(&again).AppendWire(nil); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("encoding is not stable (%v)\n%x\n%x", err, once, twice)
		}
	})
}

// FuzzState decodes arbitrary bytes as a snapshot, as a delta and as an update.
func FuzzState[S, U any](f *testing.F, schema *state.Schema[S, U], prepare func(f *Filler)) {
	for _, b := range seeds(f, prepare, func(s S) ([]byte, error) {
		live := schema.New(cell.Options{})
		live.Load(s)
		return live.AppendSnapshot(nil)
	}) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		live := schema.New(cell.Options{Record: true})
		reset := func() { live = schema.New(cell.Options{Record: true}) }
		if bounded(t, len(b), func() error { reset(); return live.Decode(b) }) == nil {
			checkStable(t, schema, live)
		}
		_ = bounded(t, len(b), func() error { reset(); return live.Apply(b) }) // any error will do; it must not panic
		var u, again U
		if bounded(t, len(b), func() error { u = *new(U); return schema.DecodeUpdate(b, &u) }) != nil {
			return
		}
		if once, err := schema.AppendUpdate(nil, &u); err == nil {
			if err := schema.DecodeUpdate(once, &again); err != nil {
				t.Errorf("decode an update that was encoded: %v", err)
			}
		}
	})
}

// checkStable checks that a state which was read is written as bytes that read as the same state.
func checkStable[S, U any](t *testing.T, schema *state.Schema[S, U], live cell.Live[S, U]) {
	t.Helper()
	once, err := live.AppendSnapshot(nil)
	if err != nil {
		return
	}
	again := schema.New(cell.Options{})
	if err := again.Decode(once); err != nil {
		t.Fatalf("decode what was encoded: %v", err)
	}
	if len(schema.Diff(live.View(), again.View())) != 0 {
		t.Errorf("the state differs after a round trip: %q", state.FieldNames(schema.Diff(live.View(), again.View())))
	}
	if twice, err := again.AppendSnapshot(nil); err != nil || !bytes.Equal(once, twice) {
		t.Errorf("encoding is not stable (%v)\n%x\n%x", err, once, twice)
	}
}

// seeds returns small random values, encoded.
func seeds[T any](tb testing.TB, prepare func(f *Filler), encode func(v T) ([]byte, error)) [][]byte {
	tb.Helper()
	var list [][]byte
	for seed := range uint64(40) {
		f := New(tb, seed)
		if prepare != nil {
			prepare(f)
		}
		var v T
		Fill(f, &v)
		if b, err := encode(v); err == nil && len(b) < 4096 {
			list = append(list, b)
		}
	}
	return list
}

// bounded runs decode on n bytes, into a new value each time. It fails if decode allocates out of
// proportion to n. Other goroutines of the fuzzer allocate too, so a single measurement may be too
// large. At least one must be within the limit.
func bounded(t *testing.T, n int, decode func() error) (err error) {
	t.Helper()
	used, most := uint64(math.MaxUint64), uint64(1<<17+2048*n)
	for tries := 0; tries < 5 && used > most; tries++ {
		before := allocated()
		err = decode()
		used = allocated() - before
	}
	if used > most {
		t.Errorf("decoding %d bytes allocates %d, want at most %d", n, used, most)
	}
	return err
}

// allocated returns how many bytes were ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
