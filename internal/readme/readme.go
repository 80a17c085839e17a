// Package readme keeps pictures in Markdown files up to date.
package readme

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// picture is the Mermaid diagram after a mark.
var picture = regexp.MustCompile("(?s)(<!-- picture -->\n```mermaid\n)(.*?)(```\n)")

// Picture compares a Mermaid diagram with the first one of a file that follows the line
// "<!-- picture -->". With the environment variable GRAPHGEN_REWRITE=1 it writes the diagram.
func Picture(tb testing.TB, path, want string) {
	tb.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	found := picture.FindSubmatchIndex(page)
	if found == nil {
		tb.Fatalf("%s has no picture: put \"<!-- picture -->\" in a line before a Mermaid diagram", path)
	}
	if string(page[found[4]:found[5]]) == want {
		return
	}
	if os.Getenv("GRAPHGEN_REWRITE") == "" {
		tb.Fatalf("the picture in %s is not that of the graph; run the test again with GRAPHGEN_REWRITE=1. Want\n%s", path, want)
	}
	changed := fmt.Appendf(nil, "%s%s%s", page[:found[4]], want, page[found[5]:])
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		tb.Fatal(err)
	}
}
