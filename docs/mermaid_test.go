package docs

import (
	"regexp"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv/diagrams"
)

var diagram = regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```$")

func TestDiagramsAreMermaid(t *testing.T) {
	var places, sources []string
	for _, name := range pages(t) {
		for _, m := range diagram.FindAllSubmatch(read(t, name), -1) {
			places, sources = append(places, name), append(sources, string(m[1]))
		}
	}
	if len(sources) == 0 {
		t.Fatal("no diagrams found")
	}
	sources = append(sources, "flowchart LR\n  a -- b c\n", "stateDiagram-v2\n  [*] --> --> a\n", "no diagram\n")
	errs := diagrams.Mermaid(t, sources)
	for i, err := range errs {
		switch {
		case i < len(places) && err != "":
			t.Errorf("%s: %s\nin\n%s", places[i], err, sources[i])
		case i >= len(places) && err == "":
			t.Errorf("Mermaid parses %q, which is no diagram: the test proves nothing", sources[i])
		}
	}
}
