//go:build ignore

package main

import (
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// main writes the picture in README.md. state.go has the line for go generate.
func main() {
	diagram.Main(newFlow(office{}, memory.New()))
}
