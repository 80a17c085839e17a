// Package payloads has mistakes in types that get a codec.
package payloads

//graphgen:payload
type Doc struct{ C chan int } // want `Doc.C: type chan int is a channel, which cannot be stored; tag the field graph:"-"`

//graphgen:payload
type Face interface{ M() } // want `Face: is an interface, and nothing says what it holds; list that with //graphgen:union Face = \*A \| \*B, or name a struct`

//graphgen:payload
type hidden interface{ M() } // want `hidden: is an interface that is not exported, so no other package can use a codec of it; name a struct that holds it, or export it`

//graphgen:state
type Role interface{ M() } // want `Role: is an interface, not a struct; a state is a struct whose fields have reducers`

//graphgen:payload
type Shape interface{ M() }

//graphgen:union Shape = Round

// Round is a member of Shape.
type Round struct{}

// M implements Shape.
func (Round) M() {}

// ShapeCodec has the name of the codec of Shape.
type ShapeCodec struct{} // want `ShapeCodec: graphgen declares this name for Shape \(.*\); rename it`

//graphgen:payload
type Pointer *int // want `Pointer: is a pointer, which cannot have methods; name a struct that holds it`

//graphgen:payload
type Own struct{ A int }

func (*Own) AppendWire(b []byte) ([]byte, error) { return b, nil } // want `Own.AppendWire: graphgen declares a method of this name for Own \(.*\); rename it, or take Own out of -type`

//graphgen:payload
type Field struct {
	DecodeWire int // want `Field.DecodeWire: graphgen declares a method of this name`
}
