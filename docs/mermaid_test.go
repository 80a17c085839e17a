package docs

import (
	"regexp"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
)

var diagram = regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```$")

func TestDiagramsAreMermaid(t *testing.T) {
	var places, diagrams []string
	for _, name := range pages(t) {
		for _, m := range diagram.FindAllSubmatch(read(t, name), -1) {
			places, diagrams = append(places, name), append(diagrams, string(m[1]))
		}
	}
	if len(diagrams) == 0 {
		t.Fatal("no diagrams found")
	}
	diagrams = append(diagrams, "flowchart LR\n  a -- b c\n", "stateDiagram-v2\n  [*] --> --> a\n", "no diagram\n")
	errs := testenv.Mermaid(t, diagrams)
	for i, err := range errs {
		switch {
		case i < len(places) && err != "":
			t.Errorf("%s: %s\nin\n%s", places[i], err, diagrams[i])
		case i >= len(places) && err == "":
			t.Errorf("Mermaid parses %q, which is no diagram: the test proves nothing", diagrams[i])
		}
	}
}
