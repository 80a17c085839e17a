package gen_test

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/gen"
)

// want is an expectation in a bad package: a pattern for a diagnostic on a line.
type want struct {
	file    string
	line    int
	pattern *regexp.Regexp
	met     bool
}

// TestBadPackages generates every package below testdata/bad and compares the diagnostics with the
// comments in it. The comment // want `pattern` applies to its line, and // want:-1 `pattern` to
// the line before.
func TestBadPackages(t *testing.T) {
	root := filepath.Join("..", "testdata", "bad")
	wants := readWants(t, root)
	result, err := gen.Generate(t.Context(), gen.Config{Dir: root, Patterns: []string{"./..."}})
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	if len(result.Files) > 0 {
		t.Errorf("Generate returned %d files together with diagnostics, want none", len(result.Files))
	}
	for _, d := range result.Diagnostics {
		if !meet(wants, d) {
			t.Errorf("unexpected diagnostic: %s", d)
		}
	}
	for _, w := range wants {
		if !w.met {
			t.Errorf("%s:%d: no diagnostic matches %s", w.file, w.line, w.pattern)
		}
	}
	if len(wants) < 100 {
		t.Errorf("found %d expectations, want at least 100: are they still read?", len(wants))
	}
}

// meet marks an expectation that matches d, and reports whether there is one.
func meet(wants []*want, d gen.Diagnostic) bool {
	text := d.Subject + ": " + d.Message
	for _, w := range wants {
		if !w.met && w.file == filepath.ToSlash(d.Pos.Filename) && w.line == d.Pos.Line && w.pattern.MatchString(text) {
			w.met = true
			return true
		}
	}
	return false
}

var wantComment = regexp.MustCompile("// want(:-[0-9]+)?((?: `[^`]+`)+)$")

// readWants reads the expectations of all packages below root.
func readWants(t *testing.T, root string) []*want {
	t.Helper()
	var wants []*want
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(file)
		for n := 1; lines.Scan(); n++ {
			m := wantComment.FindStringSubmatch(lines.Text())
			if m == nil {
				continue
			}
			offset, _ := strconv.Atoi(strings.TrimPrefix(m[1], ":"))
			for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(m[2], -1) {
				wants = append(wants, &want{
					file:    filepath.ToSlash(rel),
					line:    n + offset,
					pattern: regexp.MustCompile(strings.Trim(quoted, "`")),
				})
			}
		}
		return lines.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return wants
}
