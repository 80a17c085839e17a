// Package unions has mistakes in lists of what interfaces hold.
package unions

import (
	"io"

	"github.com/graphgen-go/graphgen/testdata/bad/unions/others"
	"github.com/graphgen-go/graphgen/testdata/golden/borrowed/kit"
)

//graphgen:state
type State struct {
	Shape  Shape
	Block  kit.Block
	Listed others.Listed // want `State.Listed: type others.Listed is an open interface, and nothing says what to decode into; list what it holds with //graphgen:union in package others, name Listed there with -type so that the package exports a codec of it, or list what it holds with //graphgen:union others.Listed = \*A \| \*B`
}

//graphgen:union kit.Block = kit.Text
// want:-1 `union kit.Block: package kit knows the types that kit.Block holds, and exports a codec of them; remove this list`

// Shape is what can be drawn.
type Shape interface{ draw() }

//graphgen:union Shape = *Circle | Circle2 | Missing | Open | []int | Stranger | *Chan
// want:-1 `union Shape: Circle2 does not implement Shape, but a pointer to it does; write \*Circle2`
// want:-2 `Missing is not a type of this package`
// want:-3 `Open is an interface; list the types that it can hold`
// want:-4 `\[\]int has no name, and a union stores the name of the type that it holds; declare a type with a name`
// want:-5 `Stranger does not implement Shape \(missing method draw\)`

//graphgen:union Shape = *Circle
// want:-1 `Shape is listed twice`

//graphgen:union Circle = *Circle
// want:-1 `Circle is not an interface type`

//graphgen:union Nowhere = *Circle
// want:-1 `Nowhere is not an interface type`

//graphgen:union Both = *Circle | Circle
// want:-1 `Circle is stored under the name Circle, and so is \*Circle`

//graphgen:union Shape
// want:-1 `graphgen:union: want Name = \*A \| \*B, got "Shape"`

// Both is implemented by a value.
type Both interface{ both() }

// Circle is a Shape by pointer.
type Circle struct{}

func (*Circle) draw() {}
func (Circle) both()  {}

// Circle2 too.
type Circle2 struct{}

func (*Circle2) draw() {}

// Open is an interface.
type Open interface {
	Shape
	io.Reader
}

// Stranger is no Shape.
type Stranger struct{}

// Chan cannot be stored.
type Chan struct {
	C chan int // want `Chan.C: type chan int is a channel`
}

func (*Chan) draw() {}
