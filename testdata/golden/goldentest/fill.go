// Package goldentest checks what graphgen generated against what reflection and an independent
// MessagePack library say about the same values.
package goldentest

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// Filler makes random values.
type Filler struct {
	TB   testing.TB
	Rand *rand.Rand
	// Custom makes values of types that cannot be filled field by field, and of interfaces.
	Custom map[reflect.Type]func(f *Filler, depth int) any
}

// New returns a Filler. Equal seeds make equal values. It fails tb for a type that it cannot fill.
func New(tb testing.TB, seed uint64) *Filler {
	tb.Helper()
	f := &Filler{TB: tb, Rand: rand.New(rand.NewPCG(seed, seed)), Custom: make(map[reflect.Type]func(*Filler, int) any)}
	Register(f, func(f *Filler, _ int) time.Time {
		return time.Unix(f.Rand.Int64N(1<<33), f.Rand.Int64N(1e9)).UTC()
	})
	Register(f, func(f *Filler, _ int) big.Int { return *big.NewInt(f.Rand.Int64()) })
	Register(f, func(f *Filler, _ int) netip.Addr {
		return netip.AddrFrom4([4]byte{byte(f.Rand.Uint32()), 2, 3, 4})
	})
	Register(f, func(f *Filler, _ int) url.URL {
		return url.URL{Scheme: "https", Host: fmt.Sprintf("h%d.example", f.Rand.IntN(9)), Path: fmt.Sprintf("/%d", f.Rand.IntN(9))}
	})
	return f
}

// Register sets how values of T are made.
func Register[T any](f *Filler, create func(f *Filler, depth int) T) {
	f.Custom[reflect.TypeFor[T]()] = func(f *Filler, depth int) any { return create(f, depth) }
}

// Fill gives what p points to a random value, except fields with the tag graph:"-" or untracked.
func Fill[T any](f *Filler, p *T) { f.fill(reflect.ValueOf(p).Elem(), 0) }

// Of returns a random T, for use in custom functions.
func Of[T any](f *Filler, depth int) T {
	var v T
	f.fill(reflect.ValueOf(&v).Elem(), depth+1)
	return v
}

const maxDepth = 5

func (f *Filler) text() string {
	const letters = "abcdefghijklmnopqrstuvwxyz äöü\n\x00"
	var b strings.Builder
	for range f.Rand.IntN(40) {
		b.WriteByte(letters[f.Rand.IntN(len(letters))])
	}
	return b.String()
}

func (f *Filler) fill(v reflect.Value, depth int) {
	if create, ok := f.Custom[v.Type()]; ok {
		if made := create(f, depth); made != nil {
			v.Set(reflect.ValueOf(made))
		}
		return
	}
	// A third of what can be nil is, and a few of what can be empty are.
	nilable := f.Rand.IntN(3) == 0 || depth > maxDepth
	n := f.Rand.IntN(4)
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.Rand.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.Rand.Uint64()>>f.Rand.IntN(64)) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.Rand.Uint64() >> f.Rand.IntN(64) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(f.Rand.NormFloat64() * 1e6)))
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(float64(float32(f.Rand.NormFloat64())), float64(float32(f.Rand.NormFloat64()))))
	case reflect.String:
		v.SetString(f.text())
	case reflect.Pointer:
		if !nilable {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if nilable {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n+f.Rand.IntN(3)))
		for i := range n {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		if nilable {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range n {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		f.fillStruct(v, depth)
	default:
		f.TB.Fatalf("goldentest: register how to fill %s", v.Type())
	}
}

func (f *Filler) fillStruct(v reflect.Value, depth int) {
	for i := range v.NumField() {
		if Stored(v.Type().Field(i)) {
			f.fill(open(v.Field(i)), depth+1)
		}
	}
}

// Stored reports whether a field is part of what is stored.
func Stored(f reflect.StructField) bool {
	tag := f.Tag.Get("graph")
	return tag != "-" && tag != "untracked" && f.Name != "_"
}

// isPart reports whether the fields of an embedded struct are fields of the state.
func isPart(f reflect.StructField) bool {
	return f.Anonymous && f.Type.Kind() == reflect.Struct && !hasReducer(f) && slices.ContainsFunc(reflect.VisibleFields(f.Type), hasReducer)
}

// hasReducer reports whether the tag of a field names a reducer.
func hasReducer(f reflect.StructField) bool {
	reducer, _, _ := strings.Cut(f.Tag.Get("graph"), ",")
	return reducer != "" && reducer != "-" && !strings.Contains(strings.TrimPrefix(reducer, "reduce="), "=")
}

// fieldOf returns the field of a state that is called name; it may belong to a part.
func fieldOf(s reflect.Value, name string) reflect.Value {
	for i := range s.NumField() {
		f := s.Type().Field(i)
		if isPart(f) {
			if v := fieldOf(s.Field(i), name); v.IsValid() {
				return v
			}
		} else if f.Name == name {
			return open(s.Field(i))
		}
	}
	return reflect.Value{}
}

// open returns v so that it can be set even when it is an unexported field.
func open(v reflect.Value) reflect.Value {
	if v.CanSet() || !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// DeepCopy returns a copy of v that shares nothing with it, made by reflection.
func DeepCopy[T any](v T) T {
	var out T
	deepCopy(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&v).Elem())
	return out
}

func deepCopy(out, in reflect.Value) {
	out, in = open(out), open(in)
	out.Set(in)
	switch in.Kind() {
	case reflect.Pointer:
		if !in.IsNil() {
			out.Set(reflect.New(in.Type().Elem()))
			deepCopy(out.Elem(), in.Elem())
		}
	case reflect.Interface:
		if !in.IsNil() {
			c := reflect.New(in.Elem().Type()).Elem()
			from := reflect.New(in.Elem().Type()).Elem()
			from.Set(in.Elem())
			deepCopy(c, from)
			out.Set(c)
		}
	case reflect.Slice:
		if !in.IsNil() {
			out.Set(reflect.MakeSlice(in.Type(), in.Len(), in.Len()))
			for i := range in.Len() {
				deepCopy(out.Index(i), in.Index(i))
			}
		}
	case reflect.Array:
		for i := range in.Len() {
			deepCopy(out.Index(i), in.Index(i))
		}
	case reflect.Map:
		if !in.IsNil() {
			out.Set(reflect.MakeMap(in.Type()))
			for it := in.MapRange(); it.Next(); {
				value, from := reflect.New(in.Type().Elem()).Elem(), reflect.New(in.Type().Elem()).Elem()
				from.Set(it.Value())
				deepCopy(value, from)
				out.SetMapIndex(it.Key(), value)
			}
		}
	case reflect.Struct:
		if immutable(in.Type()) {
			return
		}
		for i := range in.NumField() {
			deepCopy(out.Field(i), in.Field(i))
		}
	}
}

// immutable reports whether values of t may be shared although they hold pointers.
func immutable(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[netip.Addr]()
}

// Scramble changes everything that can be reached from p through pointers, slices and maps, in
// place.
func Scramble[T any](p *T) { scramble(reflect.ValueOf(p).Elem()) }

func scramble(v reflect.Value) {
	v = open(v)
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() ^ 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() ^ 1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(v.Float() + 1e9)
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(v.Complex() + 1e9)
	case reflect.String:
		v.SetString(v.String() + "!")
	case reflect.Pointer:
		if !v.IsNil() {
			scramble(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.Elem().Kind() == reflect.Pointer {
			scramble(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			scramble(v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(it.Value())
			scramble(value)
			v.SetMapIndex(it.Key(), value)
		}
	case reflect.Struct:
		if immutable(v.Type()) {
			return
		}
		for i := range v.NumField() {
			if Stored(v.Type().Field(i)) {
				scramble(v.Field(i))
			}
		}
	}
}
