package pages_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
)

// A download has all versions of a thread, also with pages that only show. Another saver imports
// it.
func TestAThreadIsDownloaded(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		app := newShop(t, saver)
		begin(t, app, "order-1", "Ada")
		if _, err := app.Thread("order-1").Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin(t, app, "order-1", "Bob")
		s := serve(t, saver, inspect.Options{}, app)
		s.has("thread?id=order-1", `href="download?id=order-1"`)
		r, err := archive.NewReader(strings.NewReader(s.page("download?id=order-1")))
		if err != nil {
			t.Fatal(err)
		}
		to := newSaver(t)
		for {
			v, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := to.Import(t.Context(), "order-1", r.Items()); err != nil {
				t.Fatal(err)
			}
			if v.Released.IsZero() {
				continue
			}
			if _, err := to.Release(t.Context(), "order-1", v.Head); err != nil {
				t.Fatal(err)
			}
		}
		copied := newShop(t, to)
		snap, err := copied.Thread("order-1").State(t.Context())
		if err != nil || snap.State.Customer.Name != "Bob" || len(snap.Questions) != 1 {
			t.Errorf("the open version: got %+v, %v", snap.State, err)
		}
		if snap, err = copied.Thread("order-1").Version(1).State(t.Context()); err != nil || snap.State.Customer.Name != "Ada" {
			t.Errorf("the released version: got %+v, %v", snap.State, err)
		}
		if status, _ := s.get("download?id=absent"); status != http.StatusNotFound {
			t.Errorf("a thread that does not exist: got status %d", status)
		}
	})
}

// Authorize can refuse a download to a reader who may see the thread.
func TestADownloadIsAuthorized(t *testing.T) {
	saver := newSaver(t)
	begin(t, newShop(t, saver), "order-1", "Ada")
	s := serve(t, saver, inspect.Options{Authorize: func(_ *http.Request, a inspect.Access) error {
		if a.Action == inspect.Download {
			return errors.New("only for auditors")
		}
		return nil
	}})
	s.lacks("thread?id=order-1", "download?id")
	if status, body := s.get("download?id=order-1"); status != http.StatusForbidden || strings.Contains(body, "Ada") {
		t.Errorf("got %d: %s", status, body)
	}
}

// A download over MaxDownload ends, and its archive says so.
func TestALargeDownloadIsIncomplete(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", strings.Repeat("long ", 100_000))
	begin(t, app, "order-1/2", "Bob")
	var log lockedBuffer
	s := serve(t, saver, inspect.Options{MaxDownload: 1000, Log: slog.New(slog.NewTextHandler(&log, nil))}, app)
	body := s.page("download?id=order-1")
	if len(body) > 1_000_000 {
		t.Errorf("the download has %d bytes", len(body))
	}
	r, err := archive.NewReader(bytes.NewReader([]byte(body)))
	if err == nil {
		if _, err = r.Next(); err == nil {
			for _, err = range r.Items() {
				if err != nil {
					break
				}
			}
		}
	}
	if !errors.Is(err, archive.ErrIncomplete) || !strings.Contains(err.Error(), "MaxDownload") {
		t.Errorf("got %v, want ErrIncomplete", err)
	}
	if got := log.String(); !strings.Contains(got, "incomplete") {
		t.Errorf("the log lacks the error: %q", got)
	}
}

// TestADownloadIsReplayed rehearses a downloaded thread with the code of the program.
func TestADownloadIsReplayed(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	body := serve(t, saver, inspect.Options{}, app).page("download?id=order-1")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "order-1.graphgen"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	scratch := newSaver(t)
	graphtest.Replay(t, newShop(t, scratch), scratch, dir)
}
