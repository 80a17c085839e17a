//go:build browser

package pages_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/internal/testenv/browser"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// charging returns a graph whose task fails. Each run has attempts attempts, and a pause before
// each.
func charging(t *testing.T, saver checkpoint.Saver, name string, attempts int, pause time.Duration) *shop {
	t.Helper()
	b := graph.New(name, ShopSchema)
	b.Node("check", note("check"))
	b.Node("charge", func(context.Context, Shop) (u ShopUpdate, _ error) {
		return u, errors.New("the card is expired")
	}, graph.Retry(graph.RetryPolicy{Attempts: attempts, Base: pause, Max: 9 * time.Hour}))
	b.Chain(graph.Start, "check", "charge", graph.End)
	app, err := b.Compile(graph.Saver(saver), graph.Holder("host-7"))
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// TestStuckOrdersAreFoundAmongMany finds an order whose queue has no worker, and one that gave up,
// among newer threads that are done. GRAPHGEN_THREADS is their number, and make pictures draws the
// pages.
func TestStuckOrdersAreFoundAmongMany(t *testing.T) {
	saver := &ahead{newSaver(t), 10 * time.Minute}
	shop, videos := newShop(t, saver), rendering(t, saver)
	if _, err := videos.Thread("order-render").Invoke(t.Context(), order("Ada"), graph.Title("A film of the order")); err != nil {
		t.Fatal(err)
	}
	failing := charging(t, saver, "charges", 3, time.Microsecond)
	if _, err := failing.Thread("order-expired").Invoke(t.Context(), order("Bob")); err == nil {
		t.Fatal("the node did not fail")
	}
	later := charging(t, saver, "later", 9, 3*time.Hour)
	if _, err := later.Thread("order-retried").Invoke(t.Context(), order("Cem")); err != nil {
		t.Fatal(err)
	}
	begin(t, shop, "order-approval", "Dee")
	quick := graph.New("notes", ShopSchema)
	quick.Node("write", note("written"))
	quick.Chain(graph.Start, "write", graph.End)
	notes, err := quick.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := notes.Thread("note-000000").Invoke(t.Context(), order("Eve")); err != nil {
		t.Fatal(err)
	}
	for i := range size(t, "GRAPHGEN_THREADS", 6000) {
		if err := checkpoint.Copy(t.Context(), saver, "note-000000", 1, saver, fmt.Sprintf("note-%06d", i+1)); err != nil {
			t.Fatal(err)
		}
	}

	b := browser.Open(t)
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, shop, videos, failing, later, notes)
	picture := func(name string) {
		t.Helper()
		for _, size := range sizes {
			show(b, size.width, false)
			draw(t, b, "many-"+name, size.name, false)
		}
		show(b, 1280, false)
	}
	b.Visit(s.url)
	b.Await(`document.querySelectorAll("table.list tbody tr").length === 100`)
	picture("list")
	b.Do(`document.querySelector("[name=stuck]").click(); document.querySelector("form.filters button").click(); 0`)
	b.Await(`location.search.includes("stuck=1") && document.querySelector("table.list")`)
	rows := b.Do(`[...document.querySelectorAll("table.list tbody tr")].map((r) => r.innerText.replace(/\\s+/g, " ")).join("|")`)
	if strings.Count(rows, "|") != 1 || !strings.Contains(rows, "queue gpu at render, but no worker takes it") || !strings.Contains(rows, "gave up at charge") {
		t.Errorf("got the stuck orders %s; want the one in a queue, and the one that gave up", rows)
	}
	picture("stuck")
	open(b, s.url+"thread?id=order-render")
	b.Await(`document.querySelector("main").innerText.includes("queue gpu at render, but no worker takes it")`)
	picture("queue")
	open(b, s.url+"thread?id=order-expired")
	b.Await(`document.querySelector("main").innerText.includes("3 failed attempts")`)
	picture("failed")
	open(b, s.url+"thread?id=order-retried")
	b.Await(`document.querySelector("main").innerText.includes("attempt 2")`)
	picture("retried")
}
