package gen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/gen"
	"github.com/graphgen-go/graphgen/gen/internal/lock"
)

// largePackage writes a package with 60 states, each with 20 fields and a struct of 10 fields.
func largePackage(b *testing.B) string {
	b.Helper()
	var text strings.Builder
	text.WriteString("package m\n\n")
	for s := range 60 {
		fmt.Fprintf(&text, "//graphgen:state\ntype State%d struct {\n\tItems []Item%d `graph:\"append\"`\n", s, s)
		for f := range 19 {
			fmt.Fprintf(&text, "\tField%d map[string]string `graph:\"merge\"`\n", f)
		}
		fmt.Fprintf(&text, "}\n\ntype Item%d struct {\n", s)
		for f := range 10 {
			fmt.Fprintf(&text, "\tField%d string\n", f)
		}
		text.WriteString("}\n\n")
	}
	dir := b.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "state.go": text.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkLocked generates a large package in turn with and without its lock file. It reports the
// ratio of the least times.
func BenchmarkLocked(b *testing.B) {
	dir := largePackage(b)
	result, err := gen.Lock(b.Context(), gen.Config{Dir: dir})
	if err != nil || len(result.Files) != 1 {
		b.Fatalf("Lock: %v, %v", err, result)
	}
	path, content := result.Files[0].Path, result.Files[0].Content
	least := [2]time.Duration{1 << 62, 1 << 62}
	for b.Loop() {
		for i := range least {
			if err := os.RemoveAll(path); err != nil {
				b.Fatal(err)
			}
			if i == 1 {
				if err := os.WriteFile(path, content, 0o644); err != nil {
					b.Fatal(err)
				}
			}
			start := time.Now()
			generate(b, gen.Config{Dir: dir})
			least[i] = min(least[i], time.Since(start))
		}
	}
	b.ReportMetric(float64(least[1])/float64(least[0]), "locked/unlocked")
	b.ReportMetric(float64(least[0].Milliseconds()), "unlocked-ms")
	b.ReportMetric(float64(least[1].Milliseconds()), "locked-ms")
}

// BenchmarkCompareLocks parses a large lock file, and compares it with itself.
func BenchmarkCompareLocks(b *testing.B) {
	result, err := gen.Lock(b.Context(), gen.Config{Dir: largePackage(b)})
	if err != nil || len(result.Files) != 1 {
		b.Fatalf("Lock: %v, %v", err, result)
	}
	content := result.Files[0].Content
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		old, err := lock.Parse(content)
		if err != nil {
			b.Fatal(err)
		}
		if _, changes := lock.Compare(old, old, func(string, string) bool { return false }); len(changes) > 0 {
			b.Fatalf("a file differs from itself: %v", changes)
		}
	}
}
