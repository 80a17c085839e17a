package state

import (
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Old is what a state's Migrate method gets: the stored fields that are not of the type that the code wants. Migrate
// reads them and sets the state's fields from them; an error it returns is what the run fails with. The other
// fields of the state are read already. When Migrate returns nil, every field it was offered counts as written. One that it
// did not read, or only tried to as something else than it is, is an error, so that nothing is lost that nobody thought of: who
// means to lose a field reads it by Raw.
//
// The methods take the name that a field is stored under: its wire name, or one of those that it had before. An Old is for
// Migrate to read; it must not be kept.
type Old rep.Old

func (o *Old) rep() *rep.Old { return (*rep.Old)(o) }

// Names returns the names that the fields are stored under, in the order in which they were found.
func (o *Old) Names() []string {
	fields := o.rep().Fields()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// Raw returns what is stored under a name, as MessagePack, and whether there is anything. The bytes are the
// caller's.
func (o *Old) Raw(name string) ([]byte, bool) {
	if f := o.rep().Find(name); f != nil {
		f.Read = true
		return f.Value.AppendTo(nil), true
	}
	return nil, false
}

// Reader returns a Reader of what is stored under a name, and whether there is anything.
func (o *Old) Reader(name string) (wire.Reader, bool) {
	raw, ok := o.Raw(name)
	return wire.NewReader(name, raw), ok
}

// basic reads a basic value, which counts as read when it is one.
func basic[T any](o *Old, name string, read func(r *wire.Reader) T) (v T, ok bool) {
	f := o.rep().Find(name)
	if f == nil {
		return v, false
	}
	r := wire.NewReader(name, f.Value.AppendTo(nil))
	v = read(&r)
	ok = r.End() == nil
	f.Read = f.Read || ok
	return v, ok
}

// String returns the string that is stored under a name; false when there is none, or it is no string.
func (o *Old) String(name string) (string, bool) {
	return basic(o, name, (*wire.Reader).Str)
}

// Int returns the integer that is stored under a name; false when there is none, or it is no integer that fits.
func (o *Old) Int(name string) (int64, bool) {
	return basic(o, name, (*wire.Reader).Int64)
}

// Float returns the number that is stored under a name; false when there is none, or it is no number that fits.
func (o *Old) Float(name string) (float64, bool) {
	return basic(o, name, (*wire.Reader).Float64)
}

// Bool returns the bool that is stored under a name; false when there is none, or it is no bool.
func (o *Old) Bool(name string) (value, ok bool) {
	return basic(o, name, (*wire.Reader).Bool)
}
