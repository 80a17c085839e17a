// Package payloads has mistakes in types that get a codec.
package payloads

//graphgen:payload
type Doc struct{ C chan int } // want `Doc.C: type chan int is a channel, which cannot be stored; tag the field graph:"-"`

//graphgen:payload
type Face interface{ M() } // want `Face: is an interface, which cannot have methods; name a struct that holds it`

//graphgen:payload
type Own struct{ A int }

func (*Own) AppendWire(b []byte) ([]byte, error) { return b, nil } // want `Own.AppendWire: graphgen declares a method of this name for Own \(.*\); rename it, or take Own out of -type`

//graphgen:payload
type Field struct {
	DecodeWire int // want `Field.DecodeWire: graphgen declares a method of this name`
}
