//go:build unix

package proof_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/internal/proof"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// hotThread is the thread as one process has it, which keeps its head in memory.
type hotThread struct {
	graph.Thread[proof.State, proof.StateUpdate]
	saver checkpoint.Saver
}

// newHotThread opens the thread for one process.
func newHotThread(t *testing.T, s checkpoint.Saver, opts ...graph.Option) hotThread {
	t.Helper()
	b := graph.New("turns", proof.StateSchema)
	b.Node("answer", func(_ context.Context, s proof.State) (u proof.StateUpdate, err error) {
		u.Log.Append(fmt.Sprint("answer to ", s.Log[len(s.Log)-1]))
		u.Count.Add(1)
		u.Facts.Put(fmt.Sprint(s.Count%7), s.Log[len(s.Log)-1])
		return u, nil
	})
	b.Edge(graph.Start, "answer")
	b.Edge("answer", graph.End)
	g, err := b.Compile(append(opts, graph.Saver(s))...)
	if err != nil {
		t.Fatal(err)
	}
	return hotThread{g.Thread("t"), s}
}

// TestProcessesTakeTurnsOnAThread has three processes, each with a saver of its own on one
// storage, do random things to a thread, one after the other. A cold process sees what a plain
// list of lines says, after each.
func TestProcessesTakeTurnsOnAThread(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) func() (checkpoint.Saver, error){
		"memory": func(*testing.T) func() (checkpoint.Saver, error) {
			s := memory.New()
			return func() (checkpoint.Saver, error) { return s, nil }
		},
		"file": func(t *testing.T) func() (checkpoint.Saver, error) {
			t.Helper()
			dir := t.TempDir()
			return func() (checkpoint.Saver, error) { return file.Open(dir) }
		},
		"sqlite": func(t *testing.T) func() (checkpoint.Saver, error) {
			t.Helper()
			path := filepath.Join(t.TempDir(), "turns.db")
			return func() (checkpoint.Saver, error) { return sqlite.Open(path) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opened := open(t)
			var processes []hotThread
			for i := range 4 {
				s, err := opened()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
				var opts []graph.Option
				if i == 3 {
					opts = append(opts, graph.HotThreads(0))
				}
				processes = append(processes, newHotThread(t, s, opts...))
			}
			takeTurns(t, processes[:3], processes[3])
		})
	}
}

func takeTurns(t *testing.T, hot []hotThread, cold hotThread) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 1))
	var log, said []string
	for turn := range 60 {
		i := r.IntN(len(hot))
		line := fmt.Sprint("line ", turn)
		var u proof.StateUpdate
		u.Log.Append(line)
		what := "input"
		var err error
		switch r.IntN(12) {
		case 0:
			what = "release"
			if _, err = hot[i].Release(t.Context()); errors.Is(err, checkpoint.ErrNotFound) {
				err = nil
			}
			log = nil
		case 1:
			what = "delete"
			err = hot[i].saver.Delete(t.Context(), "t")
			log = nil
		case 2:
			what = "prune"
			if _, err = hot[i].saver.Prune(t.Context(), "t", checkpoint.Retention{Last: 2}); errors.Is(err, checkpoint.ErrNotFound) {
				err = nil
			}
		case 3:
			if len(log) > 0 {
				what = "edit"
				_, err = hot[i].UpdateState(t.Context(), u)
				log = append(log, line)
				break
			}
			fallthrough
		default:
			_, err = hot[i].Invoke(t.Context(), u)
			log = append(log, line, "answer to "+line)
		}
		said = append(said, fmt.Sprintf("%d: %s", i, what))
		if err != nil {
			t.Fatalf("%q: %v", said, err)
		}
		snap, err := cold.State(t.Context())
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			t.Fatalf("%q: %v", said, err)
		}
		if !slices.Equal(snap.State.Log, log) {
			t.Fatalf("%q: got %q, want %q", said, snap.State.Log, log)
		}
	}
}
