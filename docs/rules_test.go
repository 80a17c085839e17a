package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	rule     = regexp.MustCompile(`(?m)^- \*\*(\d+)\.(\d+)\*\* \S`)
	section  = regexp.MustCompile(`(?m)^## (\d+)\. \S`)
	citation = regexp.MustCompile(`\b[Rr]ules?(?:\s+//)?\s+(\d+\.\d+(?:(?:,|,? and| or| to)(?:\s+//)?\s+\d+\.\d+)*)`)
	row      = regexp.MustCompile(`\{(?:rule: )?"(\d+\.\d+)", `) // of a table of decisions
	number   = regexp.MustCompile(`\d+\.\d+`)
)

// rules are the numbers of the rules of a run.
func rules(t *testing.T) map[string]bool {
	t.Helper()
	known := make(map[string]bool)
	for _, m := range rule.FindAllSubmatch(read(t, "rules.md"), -1) {
		known[string(m[1])+"."+string(m[2])] = true
	}
	if len(known) == 0 {
		t.Fatal("rules.md has no rules")
	}
	return known
}

func TestRulesAreNumberedInOrder(t *testing.T) {
	page := string(read(t, "rules.md"))
	sections := 0
	parts := section.FindAllStringSubmatchIndex(page, -1)
	for i, m := range parts {
		sections++
		until := len(page)
		if i+1 < len(parts) {
			until = parts[i+1][0]
		}
		if got, want := page[m[2]:m[3]], strconv.Itoa(sections); got != want {
			t.Errorf("section %s follows section %d, want section %s", got, sections-1, want)
		}
		last := 0
		for _, r := range rule.FindAllStringSubmatch(page[m[0]:until], -1) {
			if r[1] != strconv.Itoa(sections) {
				t.Errorf("rule %s.%s is in section %d", r[1], r[2], sections)
			}
			n, err := strconv.Atoi(r[2])
			if err != nil || n <= last {
				t.Errorf("rule %s.%s follows rule %s.%d, want a greater number", r[1], r[2], r[1], last)
			}
			last = n
		}
		if last == 0 {
			t.Errorf("section %d has no rules", sections)
		}
	}
}

// TestCitedRulesExist: a comment or page that cites a rule cites one of rules.md.
func TestCitedRulesExist(t *testing.T) {
	known := rules(t)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".md":
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		cites := citation.FindAllSubmatch(b, -1)
		if strings.HasPrefix(filepath.ToSlash(path), "../runtime/graph/internal/") {
			cites = append(cites, row.FindAllSubmatch(b, -1)...)
		}
		for _, cited := range cites {
			for _, n := range number.FindAllString(string(cited[1]), -1) {
				if !known[n] {
					t.Errorf("%s cites rule %s, which docs/rules.md does not have", path, n)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
