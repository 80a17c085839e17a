//go:build browser

// This test drives a real browser. make test builds it if a browser is installed.

package main

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv/browser"
)

// start serves the chats of dir on addr until the test ends or stop is called. Before each word of
// an answer the model receives from words.
func start(t *testing.T, dir, addr string, words chan struct{}) (at string, stop func()) {
	t.Helper()
	app, saver, end, err := open(dir, rules{pause: func(ctx context.Context) {
		select {
		case <-words:
		case <-ctx.Done():
		}
	}}, desk{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, l, app, saver, slog.New(slog.DiscardHandler)) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// shown returns the condition that the messages of the page contain text.
func shown(text string) string {
	return `document.getElementById("messages").textContent.includes(` + strconv.Quote(text) + `)`
}

// status returns the condition that the page shows a status.
func status(text string) string {
	return `document.getElementById("status").textContent === ` + strconv.Quote(text)
}

func TestInABrowser(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir() + "/chats"
	words := make(chan struct{})
	addr, stop := start(t, dir, "127.0.0.1:0", words)
	say := func(text string) {
		t.Helper()
		b.Await(`typeof id === "string"`) // the page has run its script
		b.Click("#say", "[name=send]", map[string]string{"text": text})
	}
	await := func(condition string) { // while the model says all it has to say
		t.Helper()
		done := make(chan struct{})
		go func() {
			for {
				select {
				case words <- struct{}{}:
				case <-done:
					return
				}
			}
		}()
		b.Await(condition)
		close(done)
	}
	b.Visit("http://" + addr + "/")
	b.Await(`document.getElementById("new")`)
	b.Do(`document.getElementById("new").click()`)
	b.Await(`location.pathname.startsWith("/chats/")`)

	// A call waits for approval, also after the server has restarted under the page. A person
	// edits it. The first edit is wrong.
	say("refund 7 <b>now</b>")
	b.Await(`document.querySelector("form.question textarea").value.includes("4000")`)
	stop()
	addr, _ = start(t, dir, addr, words)
	b.Await(status("waiting"))
	b.Click("form.question", "[value=allow]", map[string]string{"args": `{"order":"7"}`})
	b.Await(`document.querySelector("form.question p").textContent.includes("cents")`)
	b.Click("form.question", "[value=allow]", map[string]string{"args": `{"order":"7","cents":500}`})

	// The page is loaded again in the middle of the answer, and shows the whole answer so far.
	for range 4 {
		words <- struct{}{}
	}
	b.Await(`document.querySelector(".piece").textContent === "I have this: order "`)
	b.Do(`window.old = true; location.reload()`)
	b.Await(`!window.old && document.querySelector(".piece").textContent === "I have this: order "`)
	await(shown("paid 500 cents for order 7") + ` && ` + status("done"))
	b.Await(`/^[1-9]\d* tokens$/.test(document.getElementById("tokens").textContent)`)
	if b.Do(`document.querySelectorAll(".piece").length`) != "0" {
		t.Error("the pieces of the answer are still shown")
	}

	// A message is refused while a call waits. After a stop it is taken, and in the middle of an
	// answer too.
	say("refund 8")
	b.Await(`document.querySelector("form.question")`)
	say("order 5")
	b.Await(`document.getElementById("notice").textContent.includes("stop it first")`)
	b.Do(`say.elements.stop.click()`)
	b.Await(status("cancelled") + ` && !document.querySelector("form.question")`)
	say("order 5")
	words <- struct{}{}
	b.Await(`document.querySelector(".piece")`)
	b.Do(`say.elements.stop.click()`)
	b.Await(status("cancelled") + ` && !document.querySelector(".piece")`)

	// Another chat knows what this one has remembered.
	say("remember that lamps break")
	await(shown("Remembered.") + ` && ` + status("done"))
	b.Visit("http://" + addr + "/")
	b.Await(`document.querySelectorAll("#chats li").length === 1`)
	b.Do(`document.getElementById("new").click()`)
	b.Await(`location.pathname.startsWith("/chats/")`)
	say("what do you know")
	await(shown("that lamps break") + ` && ` + status("done"))
}
