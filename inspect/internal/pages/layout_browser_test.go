//go:build browser

package pages_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/internal/testenv/browser"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/layout instead of comparing it")

// outline is a script with the structure of a page. It has the regions in the order of the
// document, with their edges in units of 16 pixels. It also says whether a region is below the
// one before it, or next to it. The size of a text depends on its font. So of regions that fit
// their text it has only the order. The faults are independent of the reference: regions that
// overlap, that stick out of the region around them, or out of the window.
const outline = `(() => {
	const blocks = "header.site, main, nav, .titlebar, .note, .loads, section, article, form.filters, form.card, form.row, dl.facts, .columns, " +
		".columns > div, .scroll, p.fault, pre.fault, p.empty, section > ul, section > p";
	const fitted = "h1, .actions, .picture img, .timeline .scroll svg, article form, .card button";
	const visible = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().height > 1;
	const all = [...document.querySelectorAll(blocks + "," + fitted)].filter(visible);
	const regions = new Map(all.map((e) => [e, { e, box: e.getBoundingClientRect(), block: e.matches(blocks), last: null }]));
	const around = (e) => { do e = e.parentElement; while (e && !regions.has(e)); return regions.get(e); };
	const text = (e) => e ? e.firstChild.textContent.trim() : "";
	const name = (e) => {
		let s = e.tagName.toLowerCase() + (e.className && typeof e.className === "string" ? "." + e.className.split(" ")[0] : "");
		if (e.matches("section, article")) s += " " + JSON.stringify(text(e.querySelector("h2, h3")));
		if (e.matches(".scroll")) {
			const heads = [...e.querySelectorAll("th")].filter(visible).map((h) => h.innerText.replace(/[^A-Za-z ]/g, "").trim().toLowerCase());
			if (heads.length) s += " [" + heads.join(", ") + "]";
		}
		return s;
	};
	const unit = (v) => Math.round(v / 16);
	const lines = [], faults = [], root = { last: null, depth: -1 };
	for (const r of regions.values()) {
		const parent = around(r.e) || root;
		r.depth = parent.depth + 1;
		r.name = name(r.e);
		let line = "  ".repeat(r.depth) + r.name;
		if (r.block) {
			line += " " + unit(r.box.left) + "-" + unit(r.box.right);
			const last = parent.last;
			if (last) line += r.box.top >= last.box.bottom - 2 ? " below" : r.box.left >= last.box.right - 2 ? " right" : " before";
			parent.last = r;
		}
		lines.push(line);
		const p = parent.box, scrolls = r.e.parentElement.closest(".scroll");
		if (p && !scrolls && (r.box.left < p.left - 2 || r.box.right > p.right + 2 || r.box.top < p.top - 2 || r.box.bottom > p.bottom + 2))
			faults.push(r.name + " sticks out of " + parent.name);
	}
	const list = [...regions.values()];
	list.forEach((a, i) => list.slice(i + 1).forEach((b) => {
		if (a.e.contains(b.e) || b.e.contains(a.e)) return;
		const w = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
		const h = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
		if (w > 2 && h > 2) faults.push(a.name + " overlaps " + b.name);
	}));
	for (const e of document.querySelectorAll("body *:not(.skip):not(.hide)")) {
		if (!visible(e) || e.parentElement.closest(".scroll, pre, svg, textarea, select")) continue;
		const box = e.getBoundingClientRect();
		if (box.right > innerWidth + 1 || box.left < -1) faults.push(name(e) + " is partly out of the window");
	}
	return JSON.stringify({ Lines: lines, Faults: [...new Set(faults)] });
})()`

// layout is the result of outline.
type layout struct{ Lines, Faults []string }

func layoutOf(t *testing.T, b *browser.Browser) layout {
	t.Helper()
	var text string
	var l layout
	if err := json.Unmarshal([]byte(b.Do(outline)), &text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// Structure of a page: nothing is wider than the window, every input has a name for readers, and
// no style or script was refused.
const sound = `JSON.stringify({
	wide: document.documentElement.scrollWidth > innerWidth,
	unnamed: [...document.querySelectorAll("main input:not([type=hidden]), main select, main textarea")]
		.filter((e) => !e.labels?.length && !e.ariaLabel).map((e) => e.outerHTML),
	styled: getComputedStyle(document.querySelector("header.site")).display,
	images: [...document.images].filter((i) => !i.complete || !i.naturalWidth).length,
	dark: getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0] < 128,
	headings: document.querySelectorAll("h1").length,
})`

// gallery serves threads in several states. It returns the addresses of all kinds of pages.
func gallery(t *testing.T, b *browser.Browser) (s *site, pages map[string]string) {
	t.Helper()
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada <script>alert(1)</script>")
	fail(t, app, "order-2")
	res := begin(t, app, "order-3", "Bob")
	var ids []string
	var parent checkpoint.ID
	for rec, err := range saver.History(t.Context(), checkpoint.Ref{Thread: "order-3"}, checkpoint.Query{Headers: true}) {
		if err != nil {
			t.Fatal(err)
		}
		ids, parent = append(ids, rec.ID.String()), rec.ID
	}
	if _, err := app.Thread("order-1").At(head(t, app).Parent).UpdateState(t.Context(), ShopUpdate{}); err != nil || parent.IsZero() {
		t.Fatal(err)
	}
	if _, err := app.Thread("order-3").Resume(t.Context(), offer.Answer(res.Questions[0], Verdict{OK: true})); err != nil {
		t.Fatal(err)
	}
	if err := app.Thread("order-3").Signal(t.Context(), paid.With(Payment{Card: "4000"})); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("order-3").Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin(t, app, "order-4", "Cem")
	if _, err := app.Thread("order-5").Submit(t.Context(), order("Dee"), graph.Label("tenant", "north")); err != nil {
		t.Fatal(err)
	}
	s = serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	b.Visit(s.url)
	b.Await(`document.querySelector("table.list")`)
	open(b, s.url+"bulk?action=wake&prefix=none")
	b.Click("form.card", "button", map[string]string{"confirm": "wake"})
	b.Await(`document.body.textContent.includes("Done after")`)
	var job string
	if err := json.Unmarshal([]byte(b.Do(`location.search`)), &job); err != nil {
		t.Fatal(err)
	}
	call := linkOf(t, s.page("thread?id=order-3"), `Subgraph calls</h2><ul class="plain"><li><a href="([^"]*)"`)
	return s, map[string]string{
		"list": "", "nothing": "?q=nothing", "thread": "thread?id=order-4", "failed": "thread?id=order-2", "inside": "thread?id=order-3", "call": call,
		"waiting": "thread?id=order-5", "history": "history?id=order-1", "choose": "history?a=" + ids[0] + "&id=order-3",
		"checkpoint": "checkpoint?at=" + ids[0] + "&id=order-3", "compare": "compare?a=" + ids[len(ids)-1] + "&b=" + ids[0] + "&id=order-3",
		"edit": "edit?id=order-1", "submit": "submit?from=order-1", "bulk": "bulk?action=cancel&status=failed", "job": "job" + job,
		"error": "thread?id=absent",
	}
}

// head returns the snapshot of the head of order-1.
func head(t *testing.T, app *shop) graph.Snapshot[Shop] {
	t.Helper()
	snap, err := app.Thread("order-1").State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// sizes are the windows in which pages are compared.
var sizes = []struct {
	name  string
	width int
}{{"wide", 1280}, {"narrow", 420}}

// draw writes a picture of the page to the folder that GRAPHGEN_SCREENSHOTS names.
func draw(t *testing.T, b *browser.Browser, name, size string, dark bool) {
	t.Helper()
	dir := os.Getenv("GRAPHGEN_SCREENSHOTS")
	if dir == "" {
		return
	}
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%s.png", name, size, scheme)), b.Screenshot(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// show sets the size and the scheme of the page, and waits until it is drawn so.
func show(b *browser.Browser, width int, dark bool) {
	b.Resize(width, 900, dark)
	b.Await(fmt.Sprintf(`innerWidth === %d && matchMedia("(prefers-color-scheme: dark)").matches === %t && [...document.images].every((i) => i.complete)`, width, dark))
}

// TestPagesHaveTheirLayout compares the structure of each kind of page with testdata/layout, in
// two sizes and both schemes. The flag -rewrite writes these files: look at the pages then, by
// make pictures.
func TestPagesHaveTheirLayout(t *testing.T) {
	b := browser.Open(t)
	s, pages := gallery(t, b)
	for name, page := range pages {
		pages[name] = s.url + page
	}
	saver := newSaver(t)
	apps := fleetOf(t, saver)
	pages["fleet"] = serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, apps...).url + "fleet"
	travel, travels := travelled(t)
	pages["timeline"] = serve(t, travel, inspect.Options{}, travels).url + "thread?id=t"
	pages["zoomed"] = pages["timeline"] + "&from=2026-11-23T12:30:30Z&to=2026-11-23T12:30:40Z"
	for name, page := range pages {
		open(b, page)
		var got strings.Builder
		for _, size := range sizes {
			var first string
			for _, dark := range []bool{false, true} {
				show(b, size.width, dark)
				where := fmt.Sprintf("%s, %s, dark %t", name, size.name, dark)
				for _, want := range []string{`\"wide\":false`, `\"unnamed\":[]`, `\"styled\":\"flex\"`, `\"images\":0`, `\"headings\":1`, fmt.Sprintf(`\"dark\":%t`, dark)} {
					if got := b.Do(sound); !strings.Contains(got, want) {
						t.Errorf("%s: got %s, want %s", where, got, want)
					}
				}
				l := layoutOf(t, b)
				for _, fault := range l.Faults {
					t.Errorf("%s: %s", where, fault)
				}
				text := size.name + "\n" + strings.Join(l.Lines, "\n") + "\n"
				if first == "" {
					first = text
					got.WriteString(text)
				} else if text != first {
					t.Errorf("%s: got\n%s\nwant that of the light scheme:\n%s", where, text, first)
				}
				draw(t, b, name, size.name, dark)
			}
		}
		compareFile(t, filepath.Join("testdata", "layout", name+".txt"), got.String())
	}
}

// compareFile compares a text with a file, or writes the file if the flag says so.
func compareFile(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s\nIf the page is as you want it, run the test with -rewrite", file, got, want)
	}
}

// The structure of a page notices what breaks the page, and no change of fonts.
func TestLayoutsNoticeBrokenPages(t *testing.T) {
	b := browser.Open(t)
	s, pages := gallery(t, b)
	for _, size := range sizes {
		for name, c := range map[string]struct {
			script string
			equal  bool
		}{
			"another font":     {`document.body.style.font = "14px/1.45 serif"`, true},
			"a wide font":      {`document.body.style.letterSpacing = "0.4px"`, true},
			"a lost region":    {`document.querySelector("section.picture").remove()`, false},
			"a hidden region":  {`document.querySelector("article.question").style.display = "none"`, false},
			"another order":    {`document.querySelector("main").append(document.querySelector("dl.facts"))`, false},
			"an overlap":       {`document.querySelector(".columns").style.marginTop = "-90px"`, false},
			"a wide region":    {`document.querySelector("dl.facts").style.width = "1500px"`, false},
			"a shifted region": {`document.querySelector("section.timeline").style.marginLeft = "-50px"`, false},
			"a narrow region":  {`document.querySelector("section.timeline").style.width = "50%"`, false},
		} {
			open(b, "about:blank")
			open(b, s.url+pages["thread"])
			show(b, size.width, false)
			before := layoutOf(t, b)
			b.Do(c.script + "; 0")
			after := layoutOf(t, b)
			if same := strings.Join(before.Lines, "\n") == strings.Join(after.Lines, "\n") && len(after.Faults) == 0; same != c.equal {
				t.Errorf("%s, %s: got equal %t, want %t; faults %q\n%s\nwas\n%s", name, size.name, same, c.equal, after.Faults,
					strings.Join(after.Lines, "\n"), strings.Join(before.Lines, "\n"))
			}
		}
	}
}

// TestNoColumnIsCutOnAPhone looks for tables of rows that are wider than their place.
func TestNoColumnIsCutOnAPhone(t *testing.T) {
	b := browser.Open(t)
	s, pages := gallery(t, b)
	for _, name := range []string{"list", "thread", "failed", "inside", "history", "choose"} {
		open(b, s.url+pages[name])
		show(b, 420, false)
		got := b.Do(`[...document.querySelectorAll(".scroll:has(table)")].map((e) => e.scrollWidth > e.clientWidth).join()`)
		if !strings.Contains(got, "false") || strings.Contains(got, "true") {
			t.Errorf("%s: wider than its place: got %s, want false", name, got)
		}
	}
	open(b, s.url+pages["failed"]) // its timeline begins at the newest time
	show(b, 420, false)
	if got := b.Do(`document.querySelector(".timeline .bar.failed").getBoundingClientRect().right <= innerWidth`); got != "true" {
		t.Errorf("the failed task is in view: got %s", got)
	}
}

// A click on the axis of a timeline shows that part, and a link leads back.
func TestATimelineIsZoomedInABrowser(t *testing.T) {
	saver, app := travelled(t)
	s := serve(t, saver, inspect.Options{}, app)
	b := browser.Open(t)
	b.Visit(s.url + "thread?id=t")
	b.Await(`document.querySelector(".timeline rect.zoom")`)
	b.Do(`[...document.querySelectorAll(".timeline rect.zoom")].find((e) => e.textContent.startsWith("Zoom to 12:30:30")).dispatchEvent(new MouseEvent("click", { bubbles: true })); 0`)
	b.Await(`location.search.includes("from=") && document.querySelectorAll(".timeline .bar").length === 2`)
	b.Do(`[...document.querySelectorAll(".timeline a.button")].find((e) => e.textContent === "Show all").click(); 0`)
	b.Await(`!location.search.includes("from=") && document.querySelectorAll(".timeline .bar").length === 4`)
}

// A person answers the question, and the page of another reader follows. Keys move in the list.
func TestPagesInABrowser(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	fail(t, app, "order-2")
	begin(t, app, "order-3", "Bob")
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	b := browser.Open(t)
	b.Visit(s.url)
	b.Await(`document.querySelector("table.list")`)
	open(b, s.url+"thread?id=order-3")
	b.Do(`document.querySelector("[name='v.OK'][value=true]").click(); document.querySelector("[name='v.Note']").value = "fine";
		document.querySelector("article.question form button").click(); 0`)
	b.Await(`document.querySelector(".note")?.textContent.includes("The answer is stored")`)
	if _, err := app.Thread("order-3").Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Await(`!document.querySelector("article.question") && document.body.textContent.includes("approved true: fine")`)

	open(b, s.url)
	b.Press("j")
	b.Press("j")
	b.Await(`document.querySelectorAll("tbody tr")[1].classList.contains("current")`)
	b.Press("Enter")
	b.Await(`location.search === "?id=order-2"`)
}
