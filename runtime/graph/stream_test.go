package graph_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// events writes a stream down, one word an event.
func events(t *testing.T, seq func(func(graph.Event[work, update], error) bool)) (string, error) {
	t.Helper()
	var words []string
	var last error
	for e, err := range seq {
		switch e.Kind {
		case graph.EventUpdate:
			words = append(words, "update:"+string(e.Node))
		case graph.EventValue:
			words = append(words, "value:"+strings.Join(e.State.Log, "+"))
		case graph.EventEnd:
			words = append(words, "end:"+e.Result.Status.String())
		default:
			t.Errorf("got an event of kind %d", e.Kind)
		}
		last = err
	}
	return strings.Join(words, " "), last
}

func TestStreamYieldsUpdatesInTaskOrder(t *testing.T) {
	th, _ := newThread(t, forkJoin())
	got, err := events(t, th.Stream(t.Context(), input))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "events", got, "update:short update:long1 update:long2 update:joined end:finished")
}

func TestStreamYieldsValues(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
	got, err := events(t, th.Stream(t.Context(), logged("in"), graph.Events(graph.EventValue|graph.EventUpdate)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "events", got, "value:in update:a value:in+a end:paused")
	got, err = events(t, th.ResumeStream(t.Context(), graph.Events(graph.EventValue)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "events of the resume", got, "value:in+a+b end:finished")
}

func TestValuesOfAStreamStayAsTheyWere(t *testing.T) {
	th, _ := newThread(t, chain("a", "b", "c"))
	var kept []work
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventValue)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == graph.EventValue {
			kept = append(kept, e.State)
		}
	}
	var got []string
	for _, s := range kept {
		got = append(got, strings.Join(s.Log, ""))
	}
	same(t, "values", got, []string{"", "a", "ab", "abc"})
}

func TestLeavingAStreamStopsTheRunAtACheckpoint(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.OnExit} {
		th, s := newThread(t, chain("a", "b", "c"), d)
		for e, err := range th.Stream(t.Context(), input) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Node == "b" {
				break
			}
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "thread", snap.Status, checkpoint.Paused)
		same(t, "log", snap.State.Log, []string{"a", "b"})
		chain, err := s.Load(t.Context(), checkpoint.Place{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "holder", chain.Thread.Holder, "")
		res := done(t, graph.Finished)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "b", "c"})
	}
}

func TestAPanicOfTheConsumerLeavesTheThreadResumable(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		for range th.Stream(t.Context(), input) {
			panic("the consumer broke")
		}
	}()
	res := done(t, graph.Finished)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "b"})
}

func TestAStreamEndsWithTheRunsError(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	th, _ := newThread(t, flaky(&broken, new(counter)), graph.Concurrency(1))
	got, err := events(t, th.Stream(t.Context(), input))
	if !errors.Is(err, errBroken) {
		t.Errorf("got %v, want errBroken", err)
	}
	same(t, "events", got, "end:paused")
}

func TestEachRangeIsARunOfItsOwn(t *testing.T) {
	th, _ := newThread(t, chain("a"))
	seq := th.Stream(t.Context(), input)
	for range 2 {
		if _, err := events(t, seq); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "log", snap.State.Log, []string{"a", "a"})
}
