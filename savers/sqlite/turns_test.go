package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// TestTurnsArePacked has a conversation of 1,000 turns. It must be stored in, and loaded from, far
// fewer than 3,000 rows.
func TestTurnsArePacked(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the bytes of a long thread; the tests of packing have shorter ones")
	}
	const turns = 1000
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlite.Open(path, sqlite.Synchronous(sqlite.Normal))
	if err != nil {
		t.Fatal(err)
	}
	emptyBytes, emptyPages := content(t, path)
	want, head := memory.New(), checkpoint.ID{}
	for n := range turns {
		if head, err = packtest.Turn(t.Context(), n, head, s, want); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	size, pages := content(t, path)
	messages := float64(turns * packtest.MessageSize)
	held, taken := float64(size-emptyBytes)/messages, float64(pages-emptyPages)*4096/messages
	rows, packs := records(t, path)
	t.Logf("%.2f times the messages, in pages of %.2f times the messages; %d rows and %d packs", held, taken, rows, packs)
	if held > 1.8 || taken > 2 {
		t.Errorf("%.2f times the messages in pages of %.2f, want at most 1.8 in 2", held, taken)
	}
	if rows >= 200 || packs == 0 || packs > 40 {
		t.Errorf("got %d rows and %d packs; want fewer than 200 rows, and a pack for each hundred", rows, packs)
	}

	s = open(t, path)
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil || chain.Last.ID != head || chain.Chained != 3*turns-1 || len(chain.Deltas) > rows+packs {
		t.Fatalf("got %s after %d records in %d deltas, %v; want %s after %d in at most %d",
			chain.Last.ID, chain.Chained, len(chain.Deltas), err, head, 3*turns-1, rows+packs)
	}
	packtest.Same(t, s, want)
}
