//go:build unix

package proof_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/internal/proof"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// TestVersionsOfAThreadAreReadByTheirNumbers releases two versions and leaves a third one open. It
// reads all of them by a graph that has no head in memory.
func TestVersionsOfAThreadAreReadByTheirNumbers(t *testing.T) {
	for name, open := range map[string]func(dir string) (checkpoint.Saver, error){
		"memory": func(string) (checkpoint.Saver, error) { return memory.New(), nil },
		"file":   func(dir string) (checkpoint.Saver, error) { return file.Open(dir) },
		"sqlite": func(dir string) (checkpoint.Saver, error) { return sqlite.Open(filepath.Join(dir, "versions.db")) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			wrote := newHotThread(t, s)
			for n := 1; n <= 3; n++ {
				var in proof.StateUpdate
				in.Log.Append(fmt.Sprint("question ", n))
				if _, err := wrote.Invoke(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				if n == 3 {
					break // the newest version stays open
				}
				if v, err := wrote.Release(t.Context()); err != nil || v.Number != n {
					t.Fatalf("release: got version %d, %v; want %d", v.Number, err, n)
				}
			}
			reads := newHotThread(t, s)
			for n := 1; n <= 3; n++ {
				wantVersion(t, reads.Version(n), n)
			}
			for _, n := range []int{-1, 0, 4} {
				wantNoVersion(t, reads.Version(n), n)
			}
		})
	}
}

// wantVersion fails unless v has the question and the answer of version n.
func wantVersion(t *testing.T, v graph.ThreadVersion[proof.State, proof.StateUpdate], n int) {
	t.Helper()
	want := fmt.Sprintf("[question %d answer to question %d]", n, n)
	snap, err := v.State(t.Context())
	if err != nil || fmt.Sprint(snap.State.Log) != want || snap.Version != n || snap.Status != checkpoint.Done {
		t.Errorf("State of version %d: got %v, version %d, %s, %v; want %s", n, snap.State.Log, snap.Version, snap.Status, err, want)
	}
	var logs []string
	for snap, err := range v.History(t.Context(), checkpoint.Query{Ran: "answer"}) {
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, fmt.Sprint(snap.State.Log))
	}
	if len(logs) != 1 || logs[0] != want {
		t.Errorf("History of version %d: got %v, want [%s]", n, logs, want)
	}
}

// wantNoVersion fails unless v does not exist and its errors name the thread and n.
func wantNoVersion(t *testing.T, v graph.ThreadVersion[proof.State, proof.StateUpdate], n int) {
	t.Helper()
	want := fmt.Sprintf(`thread "t", version %d`, n)
	check := func(method string, err error) {
		t.Helper()
		if !errors.Is(err, checkpoint.ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an ErrNotFound with %q", method, err, want)
		}
	}
	_, err := v.State(t.Context())
	check("State", err)
	err = nil
	for _, err = range v.History(t.Context(), checkpoint.Query{}) {
		break
	}
	check("History", err)
}
