//go:build unix

package proof_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/internal/graphmodel"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// proveMoves moves the threads of random graphs to SQLite and back. All that can be exported of
// them stays the same.
func proveMoves(t *testing.T, b *bench, _ *count) {
	t.Helper()
	s := b.open(t)
	r, ok := s.(interface{ Rows() *rows.Saver })
	if !ok {
		t.Fatalf("%T is not a saver of package rows", s)
	}
	other, err := sqlite.Open(filepath.Join(t.TempDir(), "other.db"), sqlite.Synchronous(sqlite.Normal))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	here, there := rows.Place{Name: b.name, Saver: r.Rows()}, rows.Place{Name: "other", Saver: other.Saver.Saver}
	for n := range uint64(3) {
		spec := graphmodel.Draw(b.seed + n)
		p, err := graphmodel.NewPair(spec, s, fmt.Sprint("moves ", n))
		if err == nil {
			err = p.Travel(t.Context(), 1)
		}
		if err != nil {
			t.Fatalf("graph %d: %v\n%v", b.seed+n, err, spec)
		}
	}
	moved := 0
	for thread, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: "moves "}) {
		if err != nil {
			t.Fatal(err)
		}
		want := exported(t, s, thread.ID)
		for _, way := range [][2]rows.Place{{here, there}, {there, here}} {
			if err := rows.Move(t.Context(), way[0], way[1], thread.ID); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, exported(t, way[1].Saver, thread.ID)); diff != "" {
				t.Errorf("%s at %s differs (-want +got):\n%s", thread.ID, way[1].Name, diff)
			}
			var left *rows.MovedError
			if _, err := way[0].Saver.Load(t.Context(), checkpoint.Ref{Thread: thread.ID}); !errors.As(err, &left) || left.Stage != rows.Left {
				t.Errorf("%s at %s: got %v, want that it has left", thread.ID, way[0].Name, err)
			}
		}
		if err := rows.Sweep(t.Context(), there, here, thread.ID); err != nil {
			t.Error(err)
		}
		moved++
	}
	if left, err := rows.Walk(t.Context(), there.Saver, "", 1); moved == 0 || err != nil || len(left) > 0 {
		t.Errorf("%d threads have moved; %d are left, %v", moved, len(left), err)
	}
}

// exported returns all versions of a thread, without the time of the call.
func exported(t *testing.T, s checkpoint.Saver, thread string) (all []checkpoint.ExportItem) {
	t.Helper()
	versions, err := s.Versions(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		for item, err := range s.Export(t.Context(), thread, v.Number) {
			if err != nil {
				t.Fatal(err)
			}
			if item.Thread != nil {
				at := *item.Thread
				at.Now = checkpoint.Thread{}.Now
				item.Thread = &at
			}
			all = append(all, item)
		}
	}
	return all
}
