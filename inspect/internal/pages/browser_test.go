//go:build browser

// This test drives a real browser. make test builds it if a browser is installed.

package pages_test

import (
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/internal/testenv/browser"
)

// faint returns the texts, borders of controls and marks of a page with less contrast than WCAG AA
// demands. Text needs 4.5. Large text, borders of controls and parts of drawings need 3. The
// script uses computed styles, and mixes transparent backgrounds.
const faint = `(() => {
	const rgb = (text) => {
		const n = (text.match(/[\d.]+/g) || []).map(Number);
		return n.length < 3 ? null : [n[0], n[1], n[2], n.length > 3 ? n[3] : 1];
	};
	const light = (c) => {
		const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
	const behind = (e) => {
		const layers = [];
		for (; e; e = e.parentElement) layers.push(rgb(getComputedStyle(e).backgroundColor));
		return layers.reverse().filter((c) => c).reduce((below, c) => over(c, below), [255, 255, 255, 1]);
	};
	const bad = new Set();
	const check = (e, color, ground, least, kind) => {
		if (!color || !color[3]) return;
		const got = ratio(over(color, ground), ground);
		if (got < least) bad.add(kind + " " + e.tagName + "." + (e.getAttribute("class") || "") + " " + got.toFixed(2));
	};
	let seen = 0;
	for (const e of document.querySelectorAll("body, body *")) {
		const style = getComputedStyle(e);
		if (!e.getClientRects().length || style.visibility === "hidden") continue;
		const ground = behind(e);
		const size = parseFloat(style.fontSize);
		const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		if ([...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.matches("input, textarea, select")) {
			seen++;
			check(e, rgb(e instanceof SVGElement ? style.fill : style.color), ground, large ? 3 : 4.5, "text");
		}
		if (e.matches("input:not([type=checkbox]):not([type=radio]), textarea, select"))
			check(e, rgb(style.borderTopColor), behind(e.parentElement), 3, "border");
		if (e.matches("input[placeholder]")) check(e, rgb(getComputedStyle(e, "::placeholder").color), ground, 4.5, "placeholder");
		if (e.matches("svg circle, svg .bar")) check(e, rgb(style.fill), ground, 3, "mark");
		if (e.matches("svg path")) check(e, rgb(style.stroke), ground, 3, "line");
	}
	const accent = document.createElement("span");
	accent.style.color = "var(--accent)";
	document.body.append(accent);
	check(accent, rgb(getComputedStyle(accent).color), behind(document.body), 3, "focus ring");
	accent.remove();
	return JSON.stringify({ seen, bad: [...bad] });
})()`

// TestColoursHaveContrast measures all pages in both schemes, with every fold open.
func TestColoursHaveContrast(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	fail(t, app, "order-2")
	if _, err := app.Thread("order-3").Submit(t.Context(), order("Bob")); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, newSQLite(t), inspect.Options{Allow: inspect.AllActions()})
	if _, err := f.app.Thread("order-1").At(f.ids[2]).UpdateState(t.Context(), ShopUpdate{}); err != nil {
		t.Fatal(err)
	}
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	b := browser.Open(t)
	b.Visit(s.url)
	b.Await(`document.querySelector("table.list")`)
	pages := []string{
		s.url, s.url + "?q=nothing", s.url + "thread?id=order-1", s.url + "thread?id=order-2", s.url + "thread?id=order-3",
		f.url + "history?id=order-1", f.url + "thread?id=order-1&note=answered", f.url + "checkpoint?id=order-1&at=" + f.ids[0].String(),
		f.url + "compare?id=order-1&a=" + f.ids[2].String() + "&b=" + f.ids[0].String(), s.url + "edit?id=order-1",
		s.url + "submit?from=order-1", s.url + "bulk?action=delete", s.url + "thread?id=absent",
	}
	for _, page := range pages {
		for _, dark := range []bool{false, true} {
			b.Visit(page)
			b.Resize(1280, 900, dark)
			b.Await(`document.readyState === "complete" && location.href === "` + page + `"`)
			b.Do(`document.querySelectorAll("details").forEach((e) => e.open = true); 0`)
			got := b.Do(faint)
			if !strings.Contains(got, `\"bad\":[]`) || strings.Contains(got, `\"seen\":0`) {
				t.Errorf("%s, dark %t: too little contrast: %s", page, dark, got)
			}
		}
	}
}
