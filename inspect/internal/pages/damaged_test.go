package pages_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
)

// ofOne are the pages of a thread.
func ofOne(id string) []string {
	return []string{"thread?id=" + id, "history?id=" + id, "state.json?id=" + id, "picture.svg?id=" + id, "pulse?id=" + id, "download?id=" + id,
		"submit?from=" + id}
}

// A list has all damaged threads, whatever its query selects. They are no error of the page of
// another thread, and nobody sees them there.
func TestDamagedThreadsLeaveOthersAlone(t *testing.T) {
	for _, nameless := range []bool{false, true} {
		saver := newSaver(t)
		app := newShop(t, saver)
		begin(t, app, "order-1", "Ada")
		begin(t, app, "order-2", "Bob")
		if _, err := app.Thread("order-2").Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		only := func(_ *http.Request, a inspect.Access) error {
			if strings.HasPrefix(a.Thread, "order-") || a.Thread == "" {
				return nil
			}
			return errors.New("foreign")
		}
		bad := &damagedSaver{Saver: saver, n: 3, nameless: nameless}
		for _, s := range []*site{
			serve(t, bad, inspect.Options{Allow: inspect.AllActions(), Authorize: only}, newShop(t, bad)),
			serve(t, bad, inspect.Options{Allow: inspect.AllActions(), Authorize: only}), // submits by stored descriptions
		} {
			for _, page := range append(ofOne("order-1"), append(ofOne("order-2"), "submit?graph=shop")...) {
				status, body := s.get(page)
				graphless := strings.HasPrefix(page, "picture.svg") && status == http.StatusBadRequest
				if status != http.StatusOK && !graphless || strings.Contains(body, "damaged") || strings.Contains(body, "bad0") {
					t.Errorf("GET %s: got %d: %s", page, status, body)
				}
			}
			if status, body := s.act(inspect.Wake, "order-1"); status != http.StatusOK {
				t.Errorf("wake: got %d: %s", status, body)
			}
			if status, body := s.get("thread?id=order-3"); status != http.StatusNotFound {
				t.Errorf("a thread that does not exist: got %d: %s", status, body)
			}
		}
	}
}

// A byte in the row of a thread is damaged, whose id begins with the id of another thread.
func TestADamagedRowLeavesOthersAlone(t *testing.T) {
	dir := t.TempDir()
	saver, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	app := newShop(t, saver)
	for _, id := range []string{"order-1", "order-2"} {
		begin(t, app, id, "Ada")
	}
	const title = "a title of its own"
	if _, err := app.Thread("order-10").Invoke(t.Context(), order("Ada"), graph.Title(title)); err != nil {
		t.Fatal(err)
	}
	if err := saver.Close(); err != nil {
		t.Fatal(err)
	}
	broken, err := filepath.Glob(filepath.Join(dir, "*.saver"))
	if err != nil || len(broken) != 1 {
		t.Fatalf("got the files %q, %v", broken, err)
	}
	b, err := os.ReadFile(broken[0])
	if err != nil || !bytes.Contains(b, []byte(title)) {
		t.Fatalf("the file has no title, %v", err)
	}
	if err := os.WriteFile(broken[0], bytes.ReplaceAll(b, []byte(title), []byte("A"+title[1:])), 0o600); err != nil {
		t.Fatal(err)
	}
	if saver, err = file.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := saver.Close(); err != nil {
			t.Error(err)
		}
	}()
	var faults int
	for _, err := range saver.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: "order-1"}) {
		if errors.Is(err, checkpoint.ErrDamaged) {
			faults++
		}
	}
	if faults != 1 {
		t.Fatalf("the list has %d damaged threads, want 1", faults)
	}
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()})
	s.has("", "damaged", "order-2")
	for _, page := range append(ofOne("order-1"), ofOne("order-2")...) {
		status, body := s.get(page)
		if status != http.StatusOK && !strings.HasPrefix(page, "picture.svg") || strings.Contains(body, "order-10") {
			t.Errorf("GET %s: got %d: %s", page, status, body)
		}
	}
	if status, body := s.act(inspect.Wake, "order-2"); status != http.StatusOK {
		t.Errorf("wake: got %d: %s", status, body)
	}
	if status, body := s.get("thread?id=order-10"); status != http.StatusInternalServerError || !strings.Contains(body, "damaged") {
		t.Errorf("the damaged thread: got %d: %s", status, body)
	}
}
