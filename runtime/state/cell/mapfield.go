package cell

import (
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// MapField describes a field whose update is a [Map].
type MapField[K comparable, V any] struct {
	shape.Field
	Keys    Codec[K]
	Values  Codec[V]
	Compare func(a, b K) int // the order in which entries are written; nil for that of the encoded keys
}

// SortedKeys returns the keys of m in the order in which delta.CompareKeys orders them encoded.
func SortedKeys[M ~map[K]V, K comparable, V any](m M, encode func(b []byte, key *K) ([]byte, error)) []K {
	keys := slices.Collect(maps.Keys(m))
	sortEncoded(keys, encode)
	return keys
}

// sortEncoded sorts vals by the encodings of their keys, and keeps the order of equal ones. The
// error of a key that cannot be encoded is left to its next encoding.
func sortEncoded[T any](vals []T, encode func(b []byte, v *T) ([]byte, error)) {
	type encoded struct {
		val T
		key string
	}
	all := make([]encoded, len(vals))
	var b []byte
	for i := range vals {
		b, _ = encode(b[:0], &vals[i])
		all[i] = encoded{vals[i], string(b)}
	}
	slices.SortStableFunc(all, func(a, b encoded) int { return delta.CompareKeys(a.key, b.key) })
	for i := range all {
		vals[i] = all[i].val
	}
}

// AppendUpdate writes u, if it changes anything.
func (f *MapField[K, V]) AppendUpdate(w *UpdateWriter, u *state.Map[K, V]) {
	writeRuns(w, &f.Field, (*rep.Runs[rep.Entries[K, V]])(u), func(run *rep.Run[rep.Entries[K, V]]) { f.writeRun(w, run) })
}

func (f *MapField[K, V]) writeRun(w *UpdateWriter, run *rep.Run[rep.Entries[K, V]]) {
	if run.Op == rep.Delete {
		writeArray(w, &f.Field, run.Op, f.Keys, run.Arg.Keys)
		return
	}
	pairs := f.sortPairs(slices.Clone(run.Arg.Pairs))
	w.b = wire.AppendMapLen(wire.AppendInt(w.b, int64(run.Op)), len(pairs))
	for i := range pairs {
		b, err := f.Keys.Append(w.b, settledOperand(w, &f.Field, f.Keys, &pairs[i].Key))
		if err == nil {
			b, err = f.Values.Append(b, settledOperand(w, &f.Field, f.Values, &pairs[i].Value))
		}
		w.b = b
		w.fail(&f.Field, err)
	}
}

// ReadUpdate reads what AppendUpdate wrote after the field's name.
func (f *MapField[K, V]) ReadUpdate(r *wire.Reader, u *state.Map[K, V]) {
	readOps(r, func(o rep.Op) bool {
		switch o {
		case rep.Put:
			rep.Putting((*rep.Runs[rep.Entries[K, V]])(u))
			f.readPairs(r, u)
		case rep.Replace:
			u.Replace(nil)
			f.readPairs(r, u)
		case rep.Delete:
			u.Delete(readVals(r, f.Keys)...)
		case rep.Clear:
			r.Skip()
			u.Clear()
		default:
			return false
		}
		return true
	})
}

func (f *MapField[K, V]) readPairs(r *wire.Reader, u *state.Map[K, V]) {
	for range wire.Reserve[rep.Pair[K, V]](r, r.MapLen()) {
		p := new(rep.Pair[K, V])
		f.Keys.Read(r, &p.Key)
		f.Values.Read(r, &p.Value)
		if !r.OK() {
			return
		}
		u.Put(p.Key, p.Value)
	}
}
