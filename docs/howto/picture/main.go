// Picture writes the picture of the graph in package howto.
package main

import (
	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func main() {
	diagram.Main(howto.NewReader(nil, memory.New()))
}
