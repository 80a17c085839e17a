package howto_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestPictures(t *testing.T) {
	app, err := howto.NewReader(func(context.Context, string) (string, error) { return "text", nil }, memory.New())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "graph.svg")
	if err := howto.WritePicture(app, path); err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(picture), "<svg") {
		t.Errorf("got %s, %v; want a picture", picture, err)
	}
	if _, err := app.Thread("t").Invoke(t.Context(), howto.StateUpdate{}); err != nil {
		t.Fatal(err)
	}
	placed, err := howto.Whereabouts(t.Context(), app, "t")
	if err != nil || !strings.Contains(string(placed), `class="node done"`) {
		t.Errorf("got %s, %v; want a picture with a node that is done", placed, err)
	}
}
