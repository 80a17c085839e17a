package howto_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestPictures(t *testing.T) {
	saver := memory.New()
	app, err := howto.NewReader(func(context.Context, string) (string, error) { return "text", nil }, saver)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("t").Invoke(t.Context(), howto.StateUpdate{}); err != nil {
		t.Fatal(err)
	}
	placed, err := howto.Whereabouts(t.Context(), saver, app, "t")
	if err != nil || !strings.Contains(string(placed), `class="node done"`) {
		t.Errorf("got %s, %v; want a picture with a node that is done", placed, err)
	}
}
