// Package savers measures the cost of each saver and compares it with the bare driver in the same
// run, on servers that sync every commit:
//
//	go -C bench test ./savers -run '^$' -bench . -benchtime 20x
//
// prints the table of docs/savers.md; 20x are twenty rounds. Its tests check figures that do not
// depend on the machine: stored bytes, and round trips counted on the wire.
package savers

//go:generate go tool graphgen -type=Talk,Page

// Talk is a state that grows by a message a step.
type Talk struct {
	Step     int
	Messages []string `graph:"append"`
}

// Page is a state with one large field that each step rewrites.
type Page struct {
	Step int
	Text string `graph:"last"`
}
