//go:build browser

package pages_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/internal/testenv/browser"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// drawn is a script with the pixels of the picture of a page.
const drawn = `(() => {
	const image = document.querySelector(".picture img"), canvas = document.createElement("canvas");
	if (!image.complete || !image.naturalWidth) throw "not loaded";
	[canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
	canvas.getContext("2d").drawImage(image, 0, 0);
	return canvas.toDataURL();
})()`

// open loads a page into the current tab.
func open(b *browser.Browser, page string) {
	b.Do(`location.href = ` + strconv.Quote(page) + `; 0`)
	b.Await(`document.readyState === "complete" && location.href === ` + strconv.Quote(page))
}

// Open pages follow a run: the list, the picture of a thread, its history and the page of a
// subgraph call. A mark on the window shows that the browser does not load the page again.
func TestOpenPagesFollowARun(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	res := begin(t, app, "order-1", "Ada")
	begin(t, app, "order-2", "Bob")
	s := serve(t, saver, inspect.Options{}, app)
	thread := app.Thread("order-1")
	resume := func(opts ...graph.ResumeOption) {
		t.Helper()
		var err error
		if res, err = thread.Resume(t.Context(), opts...); err != nil {
			t.Fatal(err)
		}
	}
	b := browser.Open(t)
	b.Visit(s.url)
	b.Await(`document.querySelector("table.list")`)

	open(b, s.url+"thread?id=order-1")
	b.Await(drawn + ` !== ""`)
	b.Do(`window.kept = ` + drawn + `; 0`)
	resume(offer.Answer(res.Questions[0], Verdict{OK: true, Note: "fine"}))
	b.Await(`document.body.textContent.includes("approved true: fine")`)
	b.Await(`window.kept && ` + drawn + ` !== window.kept`)

	open(b, s.url) // and the second row is the current one
	b.Await(`document.querySelectorAll("tbody tr").length === 2`)
	for range 2 {
		b.Press("j")
	}
	b.Do(`window.kept = document.querySelector("tbody").textContent; 0`)
	begin(t, app, "order-3", "Cem")
	b.Await(`window.kept && document.querySelectorAll("tbody tr").length === 3`)
	b.Await(`document.querySelectorAll("tbody tr")[2].classList.contains("current") && document.activeElement.textContent === "order-1"`)

	open(b, s.url+"history?id=order-1")
	b.Do(`window.kept = document.querySelectorAll("tbody tr").length; 0`)
	if err := thread.Signal(t.Context(), paid.With(Payment{Card: "4000"})); err != nil {
		t.Fatal(err)
	}
	resume()
	b.Await(`window.kept && document.querySelectorAll("tbody tr").length > window.kept`)

	calls, err := thread.State(t.Context())
	if err != nil || len(calls.Calls) != 1 || len(res.Questions) != 1 {
		t.Fatalf("got %d calls, %d questions, %v", len(calls.Calls), len(res.Questions), err)
	}
	_, rest, _ := strings.Cut(s.page("thread?id=order-1"), `Subgraph calls</h2><ul class="plain"><li><a href="`)
	link, _, _ := strings.Cut(rest, `"`)
	open(b, s.url+strings.ReplaceAll(link, "&amp;", "&"))
	b.Await(drawn + ` !== ""`)
	b.Do(`window.kept = ` + drawn + `; 0`)
	resume(gift.Answer(res.Questions[0], Verdict{OK: true, Note: "red"}))
	b.Await(`window.kept && document.body.textContent.includes("ribbon: red") && ` + drawn + ` !== window.kept`)
}
