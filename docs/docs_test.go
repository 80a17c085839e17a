// Package docs tests that the manual agrees with the code.
package docs

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are the Markdown files of the repository, from its root.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../*.md", "*.md", "howto/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
	}
	if len(all) < 7 {
		t.Fatalf("only %q found", all)
	}
	return all
}

// block is a ```go block of a page.
type block struct {
	line   int
	source string // the file that contains the excerpt; empty without a "from" comment
	code   string
}

var (
	fence = regexp.MustCompile("(?ms)^(<!-- from (\\S+) -->\n)?```go\n(.*?)^```$")
	link  = regexp.MustCompile(`\]\(([^)\x22]+)\)`)
	code  = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]+`")
)

func blocks(page []byte) []block {
	var all []block
	for _, m := range fence.FindAllSubmatchIndex(page, -1) {
		b := block{line: 1 + bytes.Count(page[:m[6]], []byte("\n")), code: string(page[m[6]:m[7]])}
		if m[4] >= 0 {
			b.source = string(page[m[4]:m[5]])
		}
		all = append(all, b)
	}
	return all
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGoBlocksAreGoAndFormatted(t *testing.T) {
	n := 0
	for _, name := range pages(t) {
		for _, b := range blocks(read(t, name)) {
			n++
			if got, err := format.Source([]byte(b.code)); err != nil {
				t.Errorf("%s:%d: %v", name, b.line, err)
			} else if string(got) != b.code {
				t.Errorf("%s:%d: gofmt would write\n%s", name, b.line, got)
			}
		}
	}
	if n == 0 {
		t.Error("no blocks found")
	}
}

func TestWholeFilesAreOnesThatAreCompiledAndTested(t *testing.T) {
	n := 0
	for _, name := range pages(t) {
		for _, b := range blocks(read(t, name)) {
			switch {
			case b.source != "":
				n++
				if file := read(t, filepath.Join("..", b.source)); !bytes.Contains(file, []byte(b.code)) {
					t.Errorf("%s:%d: the block is not in %s as it stands", name, b.line, b.source)
				}
			case strings.HasPrefix(b.code, "package ") || strings.Contains(b.code, "\npackage "):
				t.Errorf("%s:%d: a whole file that is pasted must be one of the repository; say which: <!-- from FILE -->", name, b.line)
			}
		}
	}
	if n == 0 {
		t.Error("no block is said to be from a file")
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, name := range pages(t) {
		for _, m := range link.FindAllSubmatch(code.ReplaceAll(read(t, name), nil), -1) {
			to, heading, _ := strings.Cut(string(m[1]), "#")
			if strings.Contains(to, "://") {
				continue
			}
			page := name
			if to != "" {
				page = filepath.Join(filepath.Dir(name), to)
			}
			if _, err := os.Stat(page); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if heading != "" && !headings(read(t, page))[heading] {
				t.Errorf("%s links to %s, which has no heading #%s", name, page, heading)
			}
		}
	}
}

// headings are the fragments by which GitHub links to the headings of a page.
func headings(page []byte) map[string]bool {
	all := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllSubmatch(page, -1) {
		text := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(string(m[1])), "")
		all[strings.ReplaceAll(text, " ", "-")] = true
	}
	return all
}

func TestMakeTargetsThatAreNamedExist(t *testing.T) {
	makefile := read(t, "../Makefile")
	for _, name := range pages(t) {
		for _, m := range regexp.MustCompile("(?m)(?:^    |`)make ([a-z-]+)").FindAllSubmatch(read(t, name), -1) {
			if !bytes.Contains(makefile, fmt.Appendf(nil, "\n%s:", m[1])) {
				t.Errorf("%s names make %s, which the Makefile does not have", name, m[1])
			}
		}
	}
}

// TestMapListsEveryPage: the site makes its list of pages from the map.
func TestMapListsEveryPage(t *testing.T) {
	listed := make(map[string]bool)
	for _, m := range link.FindAllSubmatch(read(t, "README.md"), -1) {
		listed[string(m[1])] = true
	}
	for _, name := range pages(t) {
		if name != "README.md" && !strings.HasPrefix(name, "..") && !listed[filepath.ToSlash(name)] {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}
