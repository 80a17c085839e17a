package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// steps returns a function that appends one step of 200 bytes to a thread.
func steps(tb testing.TB, s *memory.Saver) func() {
	tb.Helper()
	return stepsOf(tb, s, checkpoint.Record{Payload: []byte(strings.Repeat("m", 200))})
}

// stepsOf returns a function that appends one step with the payload of like to a thread.
func stepsOf(tb testing.TB, s *memory.Saver, like checkpoint.Record) func() {
	tb.Helper()
	first := opening(tb, "t", "bench", checkpoint.ID{})
	if _, err := s.Append(tb.Context(), first); err != nil {
		tb.Fatal(err)
	}
	fence := first.Records[0].ID
	a := checkpoint.Append{Thread: "t", Fence: fence, After: fence, Records: first.Records}
	due := []checkpoint.Task{{Node: "node"}}
	return func() {
		id, err := checkpoint.NewID()
		if err != nil {
			tb.Fatal(err)
		}
		before := a.Records[0]
		a.After = before.ID
		a.Records[0] = checkpoint.Record{
			ID: id, Parent: before.ID, Base: id, Line: fence, Commits: before.ID, Step: before.Step + 1, Source: checkpoint.Loop,
			Due: due, Payload: like.Payload, Snapshot: like.Snapshot,
		}
		if _, err := s.Append(tb.Context(), a); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestStepAllocatesTheSameWhateverCameBefore(t *testing.T) {
	step := steps(t, memory.New())
	early := testing.AllocsPerRun(100, step)
	for range 10_000 {
		step()
	}
	if late := testing.AllocsPerRun(100, step); late > early+1 {
		t.Errorf("allocations of a step: %.0f at first, %.0f after 10,000 steps; want the same", early, late)
	}
}

func TestStepsShareAllocations(t *testing.T) {
	step := steps(t, memory.New())
	for range 1000 {
		step()
	}
	if got := testing.AllocsPerRun(1, func() {
		for range 100 {
			step()
		}
	}); got > 100 {
		t.Errorf("100 steps take %v allocations, want at most 100", got)
	}
}

// An append costs the same at every place in a thread.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("step=", n), func(b *testing.B) {
			step := steps(b, memory.New())
			for range n {
				step()
			}
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}
