package state

import (
	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// OldFields is the argument of a state's Migrate method: the stored fields whose type is not the
// type in the code. Migrate reads them and sets the fields of the state. The other fields of the
// state are already decoded. If Migrate returns an error, the run fails with it. If Migrate
// returns nil, every one of these fields counts as written.
//
// Migrate must read every field, so that no data is lost by mistake. It is an error if a field was
// not read, or was read only by methods of another type than the stored one. To drop a field, call
// Raw.
//
// The methods take the name that a field is stored under: its wire name, or one of its former
// names. An OldFields is valid only until Migrate returns.
type OldFields rep.Old

func (o *OldFields) rep() *rep.Old { return (*rep.Old)(o) }

// Names returns the stored names of the fields, in the order in which they were found.
func (o *OldFields) Names() []string {
	fields := o.rep().Fields()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// Raw returns the MessagePack that is stored under name. It returns false if there is none. The
// caller owns the bytes.
func (o *OldFields) Raw(name string) ([]byte, bool) {
	if f := o.rep().Find(name); f != nil {
		f.Read = true
		return f.Value.AppendTo(nil), true
	}
	return nil, false
}

// Reader returns a Reader of the value that is stored under name. It returns false if there is
// none.
func (o *OldFields) Reader(name string) (wire.Reader, bool) {
	raw, ok := o.Raw(name)
	return wire.NewReader(name, raw), ok
}

// basic reads a basic value. The field counts as read if it holds such a value.
func basic[T any](o *OldFields, name string, read func(r *wire.Reader) T) (v T, ok bool) {
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

// String returns the string that is stored under name. It returns false if there is none.
func (o *OldFields) String(name string) (string, bool) {
	return basic(o, name, (*wire.Reader).Str)
}

// Int returns the integer that is stored under name. It returns false if there is none, or if it
// does not fit.
func (o *OldFields) Int(name string) (int64, bool) {
	return basic(o, name, (*wire.Reader).Int64)
}

// Float returns the number that is stored under name. It returns false if there is none, or if it
// does not fit.
func (o *OldFields) Float(name string) (float64, bool) {
	return basic(o, name, (*wire.Reader).Float64)
}

// Bool returns the bool that is stored under name. ok is false if there is none.
func (o *OldFields) Bool(name string) (value, ok bool) {
	return basic(o, name, (*wire.Reader).Bool)
}
