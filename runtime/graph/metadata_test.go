package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// by is the metadata of a call by a user.
func by(user string) interface {
	graph.InvokeOption
	graph.ResumeOption
	graph.UpdateOption
} {
	return graph.Metadata(map[string]string{"user": user})
}

// users returns the checkpoints of a thread with the users of their metadata, oldest first. Both
// ways to list them must agree.
func users(t *testing.T, th thread) []string {
	t.Helper()
	name := func(snaps []graph.Snapshot[work]) (all []string) {
		for _, snap := range slices.Backward(snaps) {
			if len(snap.Metadata) > 1 {
				t.Errorf("checkpoint %d has more metadata than was given: %q", snap.Step, snap.Metadata)
			}
			all = append(all, strings.TrimSpace(fmt.Sprint(snap.Step, " ", snap.Source, " ", snap.Metadata["user"])))
		}
		return all
	}
	all := name(collect(t, th.History(t.Context(), checkpoint.Query{})))
	same(t, "users by headers", name(collect(t, th.History(t.Context(), checkpoint.Query{Headers: true}))), all)
	return all
}

// userAtHead fails unless State shows the metadata of a user.
func userAtHead(t *testing.T, th thread, want string) graph.Snapshot[work] {
	t.Helper()
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "user at the head", snap.Metadata["user"], want)
	return snap
}

// TestHistoryShowsTheMetadataOfTheCallThatStoredACheckpoint: rule 10.6.
func TestHistoryShowsTheMetadataOfTheCallThatStoredACheckpoint(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, chain("a", "b"), d, graph.InterruptBefore("b"))
		done(t, graph.Paused)(th.Invoke(t.Context(), input, by("ada"), graph.RequestID("r")))
		userAtHead(t, th, "ada")
		if _, err := th.UpdateState(t.Context(), logged("edit"), by("bob")); err != nil {
			t.Fatal(err)
		}
		userAtHead(t, th, "bob")
		done(t, graph.Done)(th.Resume(t.Context(), by("eve")))
		userAtHead(t, th, "eve")
		done(t, graph.Paused)(th.Invoke(t.Context(), input)) // from memory
		done(t, graph.Done)(th.Edit(logged("edit")).Resume(t.Context(), by("zoe")))
		same(t, "users", strings.Join(users(t, th), ", "), "0 input ada, 1 input ada, 2 loop ada, 2 update bob, 3 loop eve, "+
			"4 input, 5 input, 6 loop, 6 update zoe, 7 loop zoe")
	})
}

func TestAForkAndAReplayHaveTheMetadataOfTheirCalls(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"))
	done(t, graph.Done)(th.Invoke(t.Context(), input, by("ada")))
	at := collect(t, th.History(t.Context(), checkpoint.Query{Next: "b", Headers: true}))[0].Checkpoint
	done(t, graph.Done)(th.At(at).Resume(t.Context(), by("bob")))
	if _, err := th.At(at).UpdateState(t.Context(), logged("fork"), graph.AsNode("a"), by("eve")); err != nil {
		t.Fatal(err)
	}
	done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "users", strings.Join(users(t, th), ", "),
		"0 input ada, 1 input ada, 2 loop ada, 3 loop ada, 2 fork bob, 3 loop bob, 3 fork eve, 4 loop")
}

func TestMetadataReachesTheCheckpointsOfSubgraphs(t *testing.T) {
	child := compilePair(t, asking(nil))
	th, _ := newThread(t, around(t, nil, child))
	done(t, graph.Waiting)(th.Invoke(t.Context(), input, by("ada")))
	snap := userAtHead(t, th, "ada")
	for _, inner := range collect(t, graph.Inside(th, snap.Calls[0], child).History(t.Context(), checkpoint.Query{})) {
		same(t, fmt.Sprint("user at step ", inner.Step, " of the call"), inner.Metadata, map[string]string{"user": "ada"})
	}
}

func TestARunWithoutMetadataStoresNothingOfIt(t *testing.T) {
	th, s := newThread(t, chain("a", "b"))
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	done(t, graph.Done)(th.Invoke(t.Context(), input, graph.Metadata(nil)))
	for rec, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		if err != nil || rec.Meta != nil {
			t.Errorf("a record has Meta %q, %v; want none", rec.Meta, err)
		}
	}
	for _, snap := range collect(t, th.History(t.Context(), checkpoint.Query{})) {
		if snap.Metadata != nil {
			t.Errorf("step %d has metadata %v, want nil", snap.Step, snap.Metadata)
		}
	}
}

// TestMetadataIsCopied: a caller may change its map after the option was made.
func TestMetadataIsCopied(t *testing.T) {
	b := newWork()
	kv := map[string]string{"user": "ada"}
	b.Node("a", func(context.Context, work) (update, error) {
		kv["user"], kv["more"] = "changed", "added"
		return logged("a"), nil
	})
	b.Chain(graph.Start, "a", graph.End)
	th, _ := newThread(t, b)
	done(t, graph.Done)(th.Invoke(t.Context(), input, graph.Metadata(kv)))
	userAtHead(t, th, "ada")
	same(t, "users", strings.Join(users(t, th), ", "), "0 input ada, 1 input ada, 2 loop ada")
}

func TestMetadataThatIsTooLargeIsRefusedBeforeAnythingIsStored(t *testing.T) {
	th := compile(t, chain("a"), graph.Saver(memory.New())).Thread("t")
	for want, kv := range map[string]map[string]string{
		"Metadata has 2049 bytes, more than the 2048 that a checkpoint can have": {"k": strings.Repeat("v", 2048)},
		"Metadata has an empty key": {"": "v"},
		"are reserved":              {"__caller": "v"},
	} {
		_, invoked := th.Invoke(t.Context(), input, graph.Metadata(kv))
		_, edited := th.UpdateState(t.Context(), input, graph.Metadata(kv))
		for _, err := range []error{invoked, edited} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
	if _, err := th.State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a refused call left a thread: %v", err)
	}
	fits := graph.Metadata(map[string]string{"k": strings.Repeat("v", 2047)})
	done(t, graph.Done)(th.Invoke(t.Context(), input, fits))
}

// One Query serves both ways to list, and can be used again.
func TestHistorySelectsByMetadata(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, s := newThread(t, chain("a", "b"), d)
		for i := range 30 {
			kv := map[string]string{"user": fmt.Sprint("u", i%3), "round": fmt.Sprint(i)}
			done(t, graph.Done)(th.Invoke(t.Context(), input, graph.Metadata(kv)))
		}
		done(t, graph.Done)(th.Invoke(t.Context(), input))
		for _, c := range []struct {
			meta  map[string]string
			limit int
			want  []string // the rounds, newest first
		}{
			{map[string]string{"user": "u1"}, 0, []string{"28", "25", "22", "19", "16", "13", "10", "7", "4", "1"}},
			{map[string]string{"user": "u1"}, 1, []string{"28"}},
			{map[string]string{"user": "u1", "round": "7"}, 0, []string{"7"}},
			{map[string]string{"user": "u1", "round": "8"}, 0, nil},
			{map[string]string{"user": "nobody"}, 0, nil},
			{map[string]string{"format": "3"}, 0, nil}, // an entry of the runtime
		} {
			for _, headers := range []bool{false, true} {
				q := checkpoint.Query{Meta: c.meta, Limit: c.limit, Headers: headers}
				sequence := th.History(t.Context(), q)
				for range 2 {
					var rounds []string
					for _, snap := range collect(t, sequence) {
						rounds = append(rounds, snap.Metadata["round"])
						if got := len(snap.State.Log) == 0 && snap.Step > 0; got != headers && snap.Source == checkpoint.Loop {
							t.Errorf("%v: headers %t, and the state has %d lines", c.meta, headers, len(snap.State.Log))
						}
					}
					same(t, fmt.Sprintf("rounds of %v, at most %d, headers %t", c.meta, c.limit, headers), slices.Compact(rounds), c.want)
				}
				same(t, "the query", len(q.Meta), len(c.meta))
			}
		}
		for r, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{Meta: map[string]string{"user:round": "3"}}) {
			if err != nil || r.Meta["user:user"] != "u0" {
				t.Errorf("got the entries %q, %v", r.Meta, err)
			}
		}
	})
}
