package diagram

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

type described graph.Description

func (d *described) Describe() *graph.Description { return (*graph.Description)(d) }

// TestMainWritesFiles runs the program of Main with several command lines.
func TestMainWritesFiles(t *testing.T) {
	app := &described{Graph: "one", Nodes: []graph.NodeDescription{
		{ID: "a", Subgraph: &graph.Description{Nodes: []graph.NodeDescription{{ID: "inside"}}}}, {ID: "log", Detail: true},
	}}
	d := app.Describe()
	page := "# One\n\n```mermaid\nother\n```\n\n<!-- picture -->\n```mermaid\nold\n```\n\nText.\n\n```mermaid\nother\n```\n"
	for _, c := range []struct {
		name, args string
		err        error
		status     int
		want       map[string]string // of files
		log        string            // is part of the errors
	}{
		{"all formats", "x.svg x.mmd x.dot x.puml", nil, 0, map[string]string{
			"x.svg": string(SVG(d)), "x.mmd": Mermaid(d), "x.dot": DOT(d), "x.puml": PlantUML(d),
		}, ""},
		{"options", "-expand -details -across x.mmd", nil, 0, map[string]string{"x.mmd": Mermaid(d, Expand(), Details(), LeftToRight())}, ""},
		{"a page", "page.md", nil, 0, map[string]string{"page.md": strings.Replace(page, "old\n", Mermaid(d), 1)}, ""},
		{"a page without a picture", "none.md", nil, 1, map[string]string{"none.md": "# None\n"}, `put "<!-- picture -->"`},
		{"no page", "absent.md", nil, 1, nil, "absent.md"},
		{"a graph that does not compile", "x.svg", errors.New("no graph"), 1, nil, "no graph"},
		{"an unknown format", "x.png", nil, 1, nil, "want .svg, .mmd, .dot, .puml or .md"},
		{"no file", "", nil, 2, nil, "name the files"},
		{"an unknown flag", "-x x.svg", nil, 2, nil, "-expand"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for file, text := range map[string]string{"page.md": page, "none.md": "# None\n"} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var log strings.Builder
			if got := run(app, c.err, strings.Fields(c.args), &log); got != c.status || !strings.Contains(log.String(), c.log) || c.log == "" && log.Len() > 0 {
				t.Errorf("got the status %d and %q, want %d and %q", got, log.String(), c.status, c.log)
			}
			for file, want := range c.want {
				if got, err := os.ReadFile(file); err != nil || string(got) != want {
					t.Errorf("%s: got %s, %v\nwant %s", file, got, err, want)
				}
			}
			if written, _ := filepath.Glob("x.*"); c.status != 0 && len(written) > 0 {
				t.Errorf("got the files %q, want none", written)
			}
		})
	}
}
