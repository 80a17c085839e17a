package gen_test

import (
	"bytes"
	"testing"

	"github.com/graphgen-go/graphgen/gen"
	"github.com/graphgen-go/graphgen/gen/internal/lock"
)

// TestGoldenPackagesCanBeLocked locks packages with types of all kinds. A file must be readable,
// and must not differ from its own sources.
func TestGoldenPackagesCanBeLocked(t *testing.T) {
	result, err := gen.Lock(t.Context(), gen.Config{Dir: goldenDir, Patterns: []string{"./..."}})
	if err != nil || len(result.Diagnostics) > 0 {
		t.Fatalf("Lock: %v, %v", err, result.Diagnostics)
	}
	if len(result.Files) < 12 {
		t.Errorf("locked %d packages, want at least 12: are all packages found?", len(result.Files))
	}
	for _, file := range result.Files {
		l, err := lock.Parse(file.Content)
		if err != nil {
			t.Errorf("%s: %v\n%s", file.Path, err, file.Content)
			continue
		}
		if text := l.Text(); !bytes.Equal(text, file.Content) {
			t.Errorf("%s is read as\n%s\nwant\n%s", file.Path, text, file.Content)
		}
		next, changes := lock.Compare(l, l, func(string, string) bool { return false })
		if len(changes) > 0 || !bytes.Equal(next.Text(), file.Content) {
			t.Errorf("%s differs from itself: %v\n%s", file.Path, changes, next.Text())
		}
	}
}
