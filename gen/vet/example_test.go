package vet_test

import (
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/gen/vet"
)

func ExampleAnalyzers() {
	for _, a := range vet.Analyzers() {
		line, _, _ := strings.Cut(a.Doc, "\n")
		fmt.Printf("%s: %s\n", a.Name, line)
	}

	// Output:
	// graphcopy: report changes of copies of the state that nobody reads
	// grapherr: report errors of Ask, Receive and Sleep that are not returned
	// graphids: report ids of nodes that no node has
	// graphkeep: report nodes that keep their context or their state
	// graphnext: report routes that can return the zero Next
	// graphpure: report questions whose payload has the time or randomness
	// graphupdate: report updates that are built and not returned
	// graphwrite: report nodes that write through what they were given
}
