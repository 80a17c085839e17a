package ledger

import (
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Turns counts the threads of each graph that calls of Ready have returned. It decides whose turn
// is next: one thread of AgedShare has it by age alone. The zero Turns is ready to use, and safe
// for concurrent use.
type Turns struct {
	mu    sync.Mutex
	given map[string]int // by graph, modulo AgedShare
}

// Next returns the number of the next turn of a graph.
func (t *Turns) Next(graph string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.given[graph]
}

// Given notes that n more threads of a graph have been returned.
func (t *Turns) Given(graph string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.given == nil {
		t.given = make(map[string]int)
	}
	t.given[graph] = (t.given[graph] + n) % checkpoint.AgedShare
}

// ByPriority has due threads of one graph, those of each priority in the order of their wakes.
type ByPriority[T any] [checkpoint.Priorities][]T

// Add adds a thread with a priority. Its wake is not before those of that priority.
func (b *ByPriority[T]) Add(p checkpoint.Priority, t T) {
	at := &b[min(int(p.Or(checkpoint.Normal)), checkpoint.Priorities)-1]
	*at = append(*at, t)
}

// Take removes up to n threads and returns them in the order in which Ready returns them, from a
// turn on. before reports whether a thread has been due for longer than another.
func (b *ByPriority[T]) Take(turn, n int, before func(a, b *T) bool) []T {
	var taken []T
	for ; len(taken) < n; turn++ {
		class := -1
		for i := range b {
			switch {
			case len(b[i]) == 0:
			case class < 0, turn%checkpoint.AgedShare == checkpoint.AgedShare-1 && before(&b[i][0], &b[class][0]):
				class = i
			}
		}
		if class < 0 {
			break
		}
		taken, b[class] = append(taken, b[class][0]), b[class][1:]
	}
	return taken
}
