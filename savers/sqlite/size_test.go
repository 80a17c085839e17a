package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// TestSmallMessagesTakeLittleRoom counts the pages that a loop takes which appends a message of 200 bytes a step: what
// they hold, and all of them, without those of a file that holds nothing.
func TestSmallMessagesTakeLittleRoom(t *testing.T) {
	const steps, size = 1000, 200
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlite.Open(path, sqlite.Durability(sqlite.Normal))
	if err != nil {
		t.Fatal(err)
	}
	emptyBytes, emptyPages := content(t, path)
	r, err := begin(t.Context(), s, "thread")
	if err != nil {
		t.Fatal(err)
	}
	for range steps {
		if _, err := r.commit(t.Context(), make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	bytes, pages := content(t, path)
	held, taken := float64(bytes-emptyBytes)/(steps*size), float64(pages-emptyPages)*4096/(steps*size)
	t.Logf("%.2f times the messages, in pages of %.2f times the messages; %d pages of a file that holds nothing", held, taken, emptyPages)
	if held > 1.45 || taken > 1.75 {
		t.Errorf("%.2f times the messages in pages of %.2f, want at most 1.45 in 1.75", held, taken)
	}
}

// content returns how many bytes a file's rows and keys take, and its pages.
func content(t *testing.T, path string) (bytes, pages int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT sum(payload), count(*) FROM dbstat").Scan(&bytes, &pages); err != nil {
		t.Fatal(err)
	}
	return bytes, pages
}
