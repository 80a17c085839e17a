// Package vet (experimental) contains analyzers that find faults in the nodes and routes of
// graphs. They are analyzers of go/analysis: graphgen vet runs them, and so do go vet -vettool and
// golangci-lint.
//
// The package belongs to the generator: it knows the names of the runtime as strings, and does
// not import the runtime. The analyzers examine one package at a time, and of other packages they
// know only the ids of nodes. Most of them follow calls of functions in the same package. They
// assume that a function of another package does nothing wrong, except some of the standard
// library that change, fill or store their argument. If they are not sure, they report nothing.
//
// A comment //graphvet:ignore names reason in the line of a report, or in the line above, silences
// the named analyzers. Several names have commas between them. In the doc comment of a function it
// silences them for the function.
package vet

import "golang.org/x/tools/go/analysis"

// url is the documentation of the analyzers.
const url = "https://github.com/graphgen-go/graphgen/blob/main/docs/vet.md"

// Analyzers returns the analyzers, in alphabetical order. Each call returns new ones. They share
// one pass over the code, so a driver must get all of them from one call.
func Analyzers() []*analysis.Analyzer {
	index := newIndex()
	return []*analysis.Analyzer{
		newCopy(index),
		newErr(index),
		newIDs(index),
		newKeep(index),
		newNext(index),
		newPure(index),
		newUpdate(index),
		newWrite(index),
	}
}
