//go:build browser

// These tests drive a real browser. make test builds them if a browser is installed.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv/browser"
)

// logged returns the condition that the page's log contains the line what.
func logged(what string) string {
	return fmt.Sprintf(`document.getElementById("log").textContent.includes(%s)`, strconv.Quote(what))
}

func TestInABrowser(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	s := start(t, dir, "", office{})
	b.Visit(s.url)

	// Submit a request and check that it is pending.
	b.Await(`document.getElementById("ask")`)
	b.Click("#ask", "button", map[string]string{"item": "A <b>big</b> desk", "price": "1500", "by": "Ada"})
	b.Await(`document.querySelector("form.question") && document.getElementById("status").textContent === "waiting"`)
	b.Await(logged("2 people have to approve it"))
	var path string
	if err := json.Unmarshal([]byte(b.Do(`location.pathname`)), &path); err != nil {
		t.Fatal(err)
	}
	if got := b.Do(`document.querySelector("h1").textContent`); got != `"A <b>big</b> desk, 1500.00"` {
		t.Errorf("the title: got %s", got)
	}

	// The server restarts under the open page, as soon as the page has loaded its script. The list
	// still has the request, and the first person approves.
	b.Await(`events`)
	s.stop()
	s = start(t, dir, s.addr, office{})
	back := b.Visit(s.url)
	b.Await(`document.querySelector("#waiting a").textContent.includes("desk")`)
	b.Do(`document.querySelector("#waiting a").click()`)
	b.Await(`document.querySelector("form.question")`)
	b.Click("form.question", "[value=approve]", map[string]string{"by": "Grace", "note": "we need it"})
	b.Await(logged("Grace approved it: we need it"))
	b.Await(`document.querySelector("form.question").textContent.includes("Grace says yes")`)

	// The open page has reconnected to the new server by itself and shows the next question.
	stale := b.Tab()
	back()
	b.Await(logged("Grace approved it: we need it"))
	b.Await(`document.querySelector("form.question").textContent.includes("Grace says yes")`)

	// Two people answer the same question. The person with the outdated page gets an error.
	b.Await(`events`) // it may have reloaded
	b.Do(`events.close()`)
	question := field(t, questionField, s.get(path))
	if status, body := s.vote(path, question, "approve", "Edsger"); status != http.StatusOK {
		t.Fatalf("the second answer: got status %d: %s", status, body)
	}
	s.settled(path)
	b.Click("form.question", "[value=deny]", map[string]string{"by": "Barbara"})
	b.Await(`document.getElementById("notice").textContent.includes("already decided")`)
	b.Await(logged("is ordered"))
	if got := b.Do(logged("Barbara")); got != "false" {
		t.Error("the late answer was counted")
	}

	// The other page received the event.
	b.Use(stale)
	b.Await(`document.getElementById("status").textContent === "ordered" && !document.querySelector("form.question")`)
	b.Await(`events.readyState === EventSource.CLOSED`)
}

// away replaces the server until a page requests events, and answers like a proxy whose server is
// down.
func away(t *testing.T, addr string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	var once sync.Once
	proxy := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "the server is away", http.StatusBadGateway)
		if strings.HasSuffix(r.URL.Path, "/events") {
			once.Do(func() { close(asked) })
		}
	})}
	served := make(chan error, 1)
	go func() { served <- proxy.Serve(l) }()
	select {
	case <-asked:
	case <-time.After(2 * time.Minute):
		t.Error("the page did not ask for events")
	}
	if err := proxy.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

func TestABadGatewayIsNotTheEndOfAPage(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	s := start(t, dir, "", office{})
	path := s.ask("A chair", "300", "Ada")
	question := field(t, questionField, s.settled(path))
	b.Visit(s.url + path)
	b.Await(`events`)
	s.stop()
	away(t, s.addr)
	s = start(t, dir, s.addr, office{})
	if status, body := s.vote(path, question, "approve", "Grace"); status != http.StatusOK {
		t.Fatalf("the answer: got status %d: %s", status, body)
	}
	b.Await(logged("A chair is ordered"))
}

func TestProgressInABrowser(t *testing.T) {
	b := browser.Open(t)
	o, pass := stepwise()
	s := start(t, t.TempDir(), "", o)
	path := s.ask("A chair", "300", "Ada")
	question := field(t, questionField, s.settled(path))
	b.Visit(s.url + path)
	b.Await(`document.querySelector("form.question")`)
	b.Do(`window.seen = []; new MutationObserver(() => seen.push(document.getElementById("progress").textContent))
		.observe(document.getElementById("progress"), {childList: true, characterData: true, subtree: true}); 0`)
	// Another person answers. The page reloads and follows the run.
	if status, body := s.vote(path, question, "approve", "Grace"); status != http.StatusOK {
		t.Fatalf("the answer: got status %d: %s", status, body)
	}
	b.Await(logged("Grace approved it")) // it follows the run
	for _, step := range []string{"comparing offers", "writing the order"} {
		pass()
		b.Await(`seen.includes(` + strconv.Quote(step) + `)`)
	}
	pass()
	b.Await(`document.getElementById("status").textContent === "ordered"`)
	b.Await(logged("A chair is ordered"))
}

func TestABrowserThatDoesNotWorkFailsTheTest(t *testing.T) {
	if os.Getenv("GRAPHGEN_TEST_BROWSER") == "/does/not/exist" {
		browser.Open(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.short")
	cmd.Env = append(os.Environ(), "GRAPHGEN_TEST_BROWSER=/does/not/exist")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the browser does not start") {
		t.Errorf("got %v, want a failure that says why:\n%s", err, out)
	}
}
