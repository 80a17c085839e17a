//go:build browser

package pages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/internal/testenv/browser"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Keys search, move in the table, open a row and turn pages. Tab begins at the link to the
// content.
func TestKeysWorkInTheList(t *testing.T) {
	saver := newSaver(t)
	for i := range 150 {
		p := checkpoint.Post{Thread: fmt.Sprintf("t-%03d", i), Graph: "shop", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}}
		if _, err := saver.Post(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, saver, inspect.Options{})
	b := browser.Open(t)
	b.Visit(s.url)
	b.Await(`document.querySelector("table.list")`)
	open(b, s.url+"?sort=id")
	const current = `document.querySelector("tr.current a").textContent === `
	b.Press("Tab")
	b.Await(`document.activeElement.matches("a.skip") && getComputedStyle(document.activeElement).left !== "-999px"`)
	b.Press("Enter")
	b.Await(`location.hash === "#main"`)
	b.Press("Tab") // into the content
	b.Await(`document.activeElement.closest("main")`)

	open(b, s.url+"?sort=id&x=1")
	for range 3 {
		b.Press("j")
	}
	b.Await(current + `"t-002" && document.activeElement.textContent === "t-002"`)
	b.Press("k")
	b.Await(current + `"t-001"`)
	for range 3 {
		b.Press("k") // not above the first row
	}
	b.Await(current + `"t-000"`)
	b.Press("n")
	b.Await(`document.querySelector("tbody a")?.textContent === "t-100" && document.readyState === "complete"`)
	b.Press("p")
	b.Await(`document.querySelector("tbody a")?.textContent === "t-000" && document.readyState === "complete"`)

	b.Press("/")
	b.Await(`document.activeElement.matches("input[type=search]")`)
	for _, key := range []string{"0", "4", "j", "/"} { // in a field, keys are text
		b.Press(key)
	}
	b.Await(`document.querySelector("input[type=search]").value === "04j/" && !document.querySelector("tr.current")`)
}

// The buttons copy an id, and the state as JSON.
func TestButtonsCopy(t *testing.T) {
	saver := newSaver(t)
	begin(t, newShop(t, saver), "order-1", "Ada")
	s := serve(t, saver, inspect.Options{})
	b := browser.Open(t)
	b.Visit(s.url)
	b.Await(`document.querySelector("table.list")`)
	b.AllowClipboard()
	open(b, s.url+"thread?id=order-1")
	for button, want := range map[string]string{"button[data-copy]": "order-1", "button.json": `"Name": "Ada"`} {
		b.Await(`document.querySelector("` + button + `").checkVisibility()`)
		b.Do(`document.querySelector("` + button + `").click(); 0`)
		b.Await(`document.querySelector("` + button + `").textContent === "Copied"`)
		b.Do(`window.read = ""; navigator.clipboard.readText().then((text) => { window.read = text; }); 0`)
		b.Await(fmt.Sprintf(`window.read.includes(%q)`, want))
	}
}

// Without scripts, pages show everything, folds open, and forms work. Nothing offers a button
// that needs a script.
func TestPagesAreReadWithoutScripts(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	b := browser.Open(t)
	b.Visit(s.url)
	b.Await(`document.querySelector("table.list")`)
	b.Scripts(false)
	at := linkOf(t, s.page("history?id=order-1"), `<a href="(checkpoint[^"]*)"`)
	for page, want := range map[string]string{
		"": "order-1", "thread?id=order-1": "Due tasks", "history?id=order-1": "approve", at: "Changed since its parent", "submit?from=order-1": "Submit an input",
		"edit?id=order-1": "State, as JSON", "bulk?action=cancel": "to confirm",
	} {
		open(b, s.url+page)
		b.Await(fmt.Sprintf(`document.getElementById("main").innerText.toLowerCase().includes(%q)`, strings.ToLower(want)))
		if got := b.Do(`typeof addCopies + [...document.querySelectorAll("button.copy")].some((e) => e.checkVisibility())`); got != `"undefinedfalse"` {
			t.Errorf("%s: got %s, want no script and no button for one", page, got)
		}
	}
	open(b, s.url+"thread?id=order-1")
	b.Do(`document.querySelector("ul.tree details:not([open]) summary").click(); 0`)
	b.Await(`[...document.querySelectorAll("ul.tree details[open] .v")].some((e) => e.textContent === "new" && e.checkVisibility())`)
	b.Do(`document.querySelector("[name='v.OK'][value=true]").click(); document.querySelector("[name='v.Note']").value = "fine"; 0`)
	b.Do(`document.querySelector("article.question form button").click(); 0`)
	b.Await(`document.querySelector(".note")?.textContent.includes("The answer is stored")`)
	if res, err := app.Thread("order-1").Resume(t.Context()); err != nil || res.State.Log[len(res.State.Log)-1] != "approved true: fine" {
		t.Errorf("the answer was lost: got %q, %v", res.State.Log, err)
	}
}
