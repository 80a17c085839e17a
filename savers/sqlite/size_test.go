package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// TestSmallMessagesTakeLittleRoom runs loops that append a message of 200 bytes a step. It counts
// their pages and the bytes in these pages, without the pages of an empty file.
func TestSmallMessagesTakeLittleRoom(t *testing.T) {
	for name, c := range map[string]struct {
		threads     int
		held, taken float64
	}{
		"one thread":           {1, 1.5, 1.75},
		"five threads in turn": {5, 1.5, 1.75},
	} {
		t.Run(name, func(t *testing.T) {
			const steps, size = 1000, 200
			path := filepath.Join(t.TempDir(), "threads.db")
			s, err := sqlite.Open(path, sqlite.Synchronous(sqlite.Normal))
			if err != nil {
				t.Fatal(err)
			}
			emptyBytes, emptyPages := content(t, path)
			runs := make([]*run, c.threads)
			for i := range runs {
				if runs[i], err = begin(t.Context(), s, fmt.Sprint("thread ", i)); err != nil {
					t.Fatal(err)
				}
			}
			for range steps {
				for _, r := range runs {
					if _, err := r.commit(t.Context(), make([]byte, size)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			bytes, pages := content(t, path)
			messages := float64(c.threads * steps * size)
			held, taken := float64(bytes-emptyBytes)/messages, float64(pages-emptyPages)*4096/messages
			t.Logf("%.2f times the messages, in pages of %.2f times the messages; %d pages of a file that holds nothing", held, taken, emptyPages)
			if held > c.held || taken > c.taken {
				t.Errorf("%.2f times the messages in pages of %.2f, want at most %.2f in %.2f", held, taken, c.held, c.taken)
			}
		})
	}
}

// TestAFileThatHoldsNothingIsSmall counts the pages of a file. Every table and index takes a page.
func TestAFileThatHoldsNothingIsSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	open(t, path)
	const most = 32 // a page for each table and index
	if _, pages := content(t, path); pages > most {
		t.Errorf("a file that holds nothing has %d pages, want at most %d", pages, most)
	}
}

// content returns how many bytes a file's rows and keys take, and its pages.
func content(t *testing.T, path string) (bytes, pages int) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT sum(payload), count(*) FROM dbstat").Scan(&bytes, &pages); err != nil {
		t.Fatal(err)
	}
	return bytes, pages
}
