// Package types has every type that cannot be stored.
package types

import (
	"context"
	"encoding/json"
	"io"
	"reflect"
	"unsafe"
)

//graphgen:state
type State struct {
	Chan      chan int           // want `State.Chan: type chan int is a channel, which cannot be stored; tag the field untracked`
	Func      func()             // want `type func\(\) is a func`
	Any       any                // want `type any is an open interface, and nothing says what to decode into; declare an interface type .* or store any in an asjson.Value of runtime/state/asjson`
	Empty     interface{}        // want `open interface`
	Reader    io.Reader          // want `type io.Reader is an open interface.*//graphgen:union io.Reader = `
	Shape     Shape              // want `type Shape is an open interface.*//graphgen:union Shape = `
	Err       error              // want `an error has no codec; store its text in a string`
	Context   context.Context    // want `open interface`
	Address   uintptr            // want `is an address`
	Unsafe    unsafe.Pointer     // want `is an address`
	Value     reflect.Value      // want `type reflect.Value cannot be stored`
	PP        **int              // want `pointer to a pointer.*use \*int`
	PSlice    *[]int             // want `is a pointer to a type that has nil.*use \[\]int`
	PMap      *map[string]int    // want `is a pointer to a type that has nil`
	FloatKey  map[float64]int    // want `map key float64 of map\[float64\]int is a float, and NaN`
	StructKey map[Point]int      // want `map key Point of map\[Point\]int is not a string, an integer, a bool, or a type with MarshalText`
	ArrayKey  map[[2]byte]int    // want `map key \[2\]byte of map\[\[2\]byte\]int is an array, and MessagePack decoders .*declare an array type with MarshalText and UnmarshalText, or use a text`
	PtrKey    map[*int]int       // want `map key \*int`
	List      []chan int         // want `in \[\]: type chan int is a channel`
	Map       map[string]func()  // want `in \[\]: type func\(\) is a func`
	Array     [3]any             // want `in \[\]: type any is an open interface`
	Anonymous struct{ F func() } // want `in F: type func\(\) is a func`
	Nested    Nested             // the fault is at its field
	Again     []Nested
	Reply     Reply
}

// Reply can be stored as JSON, but nothing asks for that.
type Reply struct {
	Meta any // want `Reply.Meta: type any is an open interface, .*tag the fields of type Reply graph:"json" to store Reply by its methods MarshalJSON and UnmarshalJSON, .*store Reply in an asjson.Value`
}

// MarshalJSON implements json.Marshaler.
func (r Reply) MarshalJSON() ([]byte, error) { return json.Marshal(r.Meta) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Reply) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &r.Meta) }

// Shape is open: nothing lists what it holds.
type Shape interface{ Area() float64 }

// Point cannot be a key.
type Point struct{ X, Y int }

// Nested has a field that cannot be stored.
type Nested struct {
	OK   int
	Done chan struct{} // want `Nested.Done: type chan struct{} is a channel, which cannot be stored; tag the field graph:"-", or keep`
}
