//go:build browser

package main

import (
	"bytes"
	"context"
	"flag"
	"image"
	"image/draw"
	"image/png"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/internal/testenv/browser"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var picture = flag.Bool("picture", false, "write the picture of README, docs/inspect.png")

// TestInspectorShowsTheCallThatWaits opens the page of a conversation in which a refund waits for
// approval. README has a picture of it.
func TestInspectorShowsTheCallThatWaits(t *testing.T) {
	saver := memory.New()
	app, err := agent.New(agent.Config{
		Name: "support", Model: rules{pause: func(context.Context) {}},
		Tools: []agent.Tool{
			agent.NewTool("find_order", "finds an order", find), agent.NewTool("refund", "pays money back", desk{}.refund, agent.NeedsApproval()),
		},
	}, graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	thread := app.Thread("chat-7")
	if _, err := thread.Invoke(t.Context(), agent.Say("m1", "order 7"), graph.Label("customer", "Ada"), graph.Title("A lamp is broken")); err != nil {
		t.Fatal(err)
	}
	res, err := thread.Invoke(t.Context(), agent.Say("m2", "refund 7"))
	if err != nil || len(res.Questions) != 1 {
		t.Fatalf("got %d questions, %v; want one", len(res.Questions), err)
	}
	pages, err := inspect.New(saver, inspect.Options{Allow: []inspect.Action{inspect.Wake, inspect.Cancel, inspect.Resume}}, app)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(pages)
	t.Cleanup(func() {
		server.Close()
		pages.Close()
	})
	b := browser.Open(t)
	b.Visit(inspect.ThreadURL(server.URL, "chat-7"))
	b.Resize(1000, 700, false)
	b.Await(`document.readyState === "complete" && innerWidth === 1000 && document.querySelector("article.question") && document.querySelector(".picture img")?.naturalWidth > 0`)
	if *picture {
		writeTop(t, "../../docs/inspect.png", b.Screenshot(), 700)
	}
}

// writeTop writes the top of a picture.
func writeTop(t *testing.T, name string, shot []byte, height int) {
	t.Helper()
	whole, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	top := image.NewNRGBA(image.Rect(0, 0, whole.Bounds().Dx(), height))
	draw.Draw(top, top.Bounds(), whole, image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, top); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
