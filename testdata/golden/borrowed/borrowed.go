// Package borrowed has a state with values of a union of another package, which exports the codec.
package borrowed

import "github.com/graphgen-go/graphgen/testdata/golden/borrowed/kit"

//go:generate go tool graphgen -type=State,Letter

// State embeds parts that hold values of the union, and has such values in fields of its own.
type State struct {
	kit.Doc
	kit.Log[kit.Block]
	Last  kit.Block
	Grid  [2][]kit.Block
	Cover *kit.Page
	Mixed []Item `graph:"append"`
}

// Item is a union of this package, with a member that holds values of the other union.
type Item interface{ item() }

//graphgen:union Item = *Letter | Count

// Letter is a payload with a value of the union.
type Letter struct{ Body kit.Block }

// Count is a member without such values.
type Count int

func (*Letter) item() {}
func (Count) item()   {}
