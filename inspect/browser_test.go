//go:build browser

// This test drives a real browser. make test builds it if a browser is installed.

package inspect_test

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/internal/testenv/browser"
)

// Structure of a page: nothing is wider than the window, every input has a name for readers, and
// no style or script was refused.
const sound = `JSON.stringify({
	wide: document.documentElement.scrollWidth > innerWidth,
	unnamed: [...document.querySelectorAll("main input:not([type=hidden]), main select, main textarea")]
		.filter((e) => !e.labels?.length && !e.ariaLabel).map((e) => e.outerHTML),
	styled: getComputedStyle(document.querySelector("header.site")).display,
	images: [...document.images].filter((i) => !i.complete || !i.naturalWidth).length,
	headings: document.querySelectorAll("h1").length,
})`

// GRAPHGEN_SCREENSHOTS names a folder for the pictures, to look at them.
func TestPagesInABrowser(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada <script>alert(1)</script>")
	fail(t, app, "order-2")
	begin(t, app, "order-3", "Bob")
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	b := browser.Open(t)
	b.Visit(s.url)
	b.Await(`document.querySelector("table.list")`)
	pages := map[string]string{"list": "", "thread": "thread?id=order-1", "failed": "thread?id=order-2", "history": "history?id=order-1",
		"edit": "edit?id=order-1", "submit": "submit?from=order-1", "bulk": "bulk?action=cancel&status=failed"}
	for name, page := range pages {
		for _, dark := range []bool{false, true} {
			width := 1280
			if dark {
				width = 420
			}
			b.Visit(s.url + page)
			b.Resize(width, 900, dark)
			b.Await(`document.readyState === "complete" && location.href === "` + s.url + page + `" && [...document.images].every((i) => i.complete)`)
			got := b.Do(sound)
			for _, want := range []string{`\"wide\":false`, `\"unnamed\":[]`, `\"styled\":\"flex\"`, `\"images\":0`, `\"headings\":1`} {
				if !strings.Contains(got, want) {
					t.Errorf("%s, %d wide: got %s, want %s", page, width, got, want)
				}
			}
			shot := b.Screenshot()
			if pic, err := png.DecodeConfig(bytes.NewReader(shot)); err != nil || pic.Width > width || pic.Width < width-20 { // without a scroll bar
				t.Errorf("%s: the picture is %d wide, %v", page, pic.Width, err)
			}
			if dir := os.Getenv("GRAPHGEN_SCREENSHOTS"); dir != "" {
				file := filepath.Join(dir, name+map[bool]string{false: "-wide", true: "-narrow"}[dark]+".png")
				if err := os.WriteFile(file, shot, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}

	// A person answers the question, and the page of another reader follows.
	b.Resize(1280, 900, false)
	b.Do(`location.href = "` + s.url + `thread?id=order-3"; 0`)
	b.Await(`document.querySelector("article.question form") && location.search === "?id=order-3"`)
	b.Do(`document.querySelector("[name='v.OK'][value=true]").click(); document.querySelector("[name='v.Note']").value = "fine";
		document.querySelector("article.question form button").click(); 0`)
	b.Await(`document.querySelector(".note")?.textContent.includes("The answer is stored")`)
	if _, err := app.Thread("order-3").Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Await(`!document.querySelector("article.question") && document.body.textContent.includes("approved true: fine")`)

	// Keys move in the list.
	b.Do(`location.href = "` + s.url + `"; 0`)
	b.Await(`document.querySelector("table.list") && document.readyState === "complete"`)
	b.Press("j")
	b.Press("j")
	b.Await(`document.querySelectorAll("tbody tr")[1].classList.contains("current")`)
	b.Press("Enter")
	b.Await(`location.search === "?id=order-2"`)
}
