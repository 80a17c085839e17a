package open_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/open"
	"github.com/graphgen-go/graphgen/savers/shards"
)

// listFile writes a list of shards, and returns its URL.
func listFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shards")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return "shards://" + path
}

func TestShards(t *testing.T) {
	dir := t.TempDir()
	lines := []string{"# the shards of a test", "one file://" + dir + "/one", "", "two 2 sqlite://" + dir + "/two.db"}
	remembers(t, listFile(t, lines...), true)
	_, err := open.Saver(t.Context(), listFile(t, lines[1]))
	if !errors.As(err, new(*shards.LayoutError)) {
		t.Errorf("another list: got %v, want a *LayoutError", err)
	}
}

func TestShardsThatCannotBeOpened(t *testing.T) {
	const secret = "hunter2"
	for line, want := range map[string]string{
		"one":                                   "line 1 has 1 words",
		"one 2 file:x y":                        "line 1 has 4 words",
		"one two file:x":                        "the weight is not a number",
		"one mongo://u:" + secret + "@h/db":     "no saver has the scheme",
		"one redis://h/0?password=" + secret:    "must not be a password",
		"one shards:x":                          "list them in one file",
		"one 0x file://u:" + secret + "@h/x.db": "the weight is not a number",
	} {
		_, err := open.Saver(t.Context(), listFile(t, line))
		var bad *open.URLError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: got %v, want a *URLError that says %q, without a password", line, err, want)
		}
	}
	if _, err := open.Saver(t.Context(), listFile(t)); !errors.As(err, new(*checkpoint.InvalidError)) {
		t.Errorf("an empty list: got %v, want an *InvalidError", err)
	}
	if _, err := open.Saver(t.Context(), "shards:missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the file is missing", err)
	}
}
