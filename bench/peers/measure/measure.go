// Package measure times the same graphs in different frameworks. A program prints a line for each
// of its rows: the name, and nanoseconds.
package measure

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// The sizes of the graphs, which are the same in every program.
const (
	Loop  = 1000 // steps of a loop through a conditional edge; each appends a message
	Chain = 100  // nodes in a row; each adds 1
	Fan   = 100  // nodes side by side; each adds 1
)

// Text is the text of a message, 200 bytes.
var Text = strings.Repeat("x", 200)

// A row runs for at least this long and this often, but for no longer than most. The least time
// counts.
const (
	least = 500 * time.Millisecond
	often = 3
	most  = 5 * time.Second
)

// Row runs f repeatedly, and prints the least time for each of units.
func Row(name string, units int, f func() error) {
	best := time.Duration(1<<63 - 1)
	begin := time.Now()
	for i := 0; i == 0 || (i < often || time.Since(begin) < least) && time.Since(begin) < most; i++ {
		start := time.Now()
		if err := f(); err != nil {
			Fail(name, err)
			return
		}
		best = min(best, time.Since(start))
	}
	fmt.Printf("%s\t%d\n", name, best.Nanoseconds()/int64(units))
}

// Turns calls f for 1,004 turns of one conversation. It prints the least time of turns near the
// 10th and near the 1,000th.
func Turns(name string, f func() error) {
	first, last := time.Duration(1<<63-1), time.Duration(1<<63-1)
	for turn := 1; turn <= 1004; turn++ {
		start := time.Now()
		if err := f(); err != nil {
			Fail(name, err)
			return
		}
		took := time.Since(start)
		switch {
		case turn >= 7 && turn <= 13:
			first = min(first, took)
		case turn >= 997:
			last = min(last, took)
		}
	}
	fmt.Printf("%s, turn 10\t%d\n%s, turn 1,000\t%d\n", name, first.Nanoseconds(), name, last.Nanoseconds())
}

// Want returns an error unless a graph returned the wanted result.
func Want(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("%s: got %d, want %d", what, got, want)
	}
	return nil
}

// Fail reports a row that cannot be measured.
func Fail(name string, err error) { fmt.Fprintf(os.Stderr, "%s: %v\n", name, err) }

// Temp returns a new folder and a function that removes it.
func Temp() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		Fail("temporary folder", err)
		os.Exit(1)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}
