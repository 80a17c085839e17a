//go:build browser

// These tests drive a real browser. make test builds them where there is one.

package main

import (
	"bufio"
	"bytes"
	"context"
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
)

// browser is a real browser without a window. It is spoken to over two pipes, in the DevTools protocol: one JSON message
// after the other, each ended by a zero byte.
type browser struct {
	t    *testing.T
	in   *os.File
	out  *bufio.Reader
	last int
	tab  string // the session that commands go to
}

// findBrowser returns the program to drive.
func findBrowser(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("GRAPHGEN_TEST_BROWSER"); name != "" {
		return name
	}
	if testing.Short() {
		t.Skip("-short: no browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("this test drives a browser, and there is none: install Chromium or Chrome (Debian, Ubuntu: apt-get install chromium; " +
		"macOS: brew install --cask google-chrome), name one by GRAPHGEN_TEST_BROWSER, or leave the test out by -short")
	return ""
}

// openBrowser starts a browser, which ends with the test.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute) // it is told to end, after the test
	t.Cleanup(cancel)
	args := []string{"--headless", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--no-first-run", "--disable-gpu",
		"--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-crash-reporter", "--log-level=3"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // it refuses to run as root otherwise; it opens pages of this test only
	}
	cmd := exec.CommandContext(ctx, findBrowser(t), append(args, "about:blank")...)
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.ExtraFiles, cmd.Stderr = []*os.File{theirIn, theirOut}, &said
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	if err := errors.Join(theirIn.Close(), theirOut.Close()); err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		_ = b.write(map[string]any{"id": 0, "method": "Browser.close"}) // one that has crashed is not there to be told
		err := cmd.Wait()
		in.Close()
		out.Close()
		if t.Failed() {
			t.Logf("the browser ended with %v and said:\n%s", err, said.String())
		}
	})
	return b
}

func (b *browser) write(command map[string]any) error {
	data, err := json.Marshal(command)
	if err != nil {
		return err
	}
	_, err = b.in.Write(append(data, 0))
	return err
}

// call sends a command and decodes its result into result, unless that is nil. What the browser tells unasked is left out.
func (b *browser) call(method string, params map[string]any, result any) error {
	b.last++
	command := map[string]any{"id": b.last, "method": method, "params": params}
	if b.tab != "" {
		command["sessionId"] = b.tab
	}
	if err := b.write(command); err != nil {
		return fmt.Errorf("%s: the browser does not listen: %w", method, err)
	}
	for {
		data, err := b.out.ReadBytes(0)
		if err != nil {
			return fmt.Errorf("%s: the browser is gone: %w", method, err)
		}
		var reply struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(data[:len(data)-1], &reply); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		switch {
		case reply.ID != b.last:
		case reply.Error != nil:
			return fmt.Errorf("%s: %w", method, &navigated{reply.Error.Message})
		case result == nil:
			return nil
		default:
			return json.Unmarshal(reply.Result, result)
		}
	}
}

// navigated is an error that the browser answers with: for a script, that its page has gone.
type navigated struct{ text string }

func (e *navigated) Error() string { return e.text }

// open opens url in a tab of its own, to which commands go from here on, and returns what brings back the tab before.
func (b *browser) open(url string) (back func()) {
	b.t.Helper()
	before := b.tab
	b.tab = ""
	var target struct{ TargetID string }
	var session struct{ SessionID string }
	if err := b.call("Target.createTarget", map[string]any{"url": url}, &target); err != nil {
		b.t.Fatal(err)
	}
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session); err != nil {
		b.t.Fatal(err)
	}
	b.tab = session.SessionID
	return func() { b.tab = before }
}

// eval runs a script in the page, and returns what it came to, as JSON.
func (b *browser) eval(script string) (string, error) {
	var reply struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	err := b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true}, &reply)
	if err == nil && reply.ExceptionDetails != nil {
		err = fmt.Errorf("script %s: %s", script, reply.ExceptionDetails.Exception.Description)
	}
	return string(reply.Result.Value), err
}

// do runs a script that must go well.
func (b *browser) do(script string) string {
	b.t.Helper()
	got, err := b.eval(script)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// await waits until condition holds in the page, through as many pages as it takes. It looks again and again: what a
// page promised is not told when it goes.
func (b *browser) await(condition string) {
	b.t.Helper()
	patience := time.NewTimer(2 * time.Minute)
	defer patience.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	script := `(() => { try { return Boolean(` + condition + `); } catch { return false; } })()`
	for {
		got, err := b.eval(script)
		if gone := (*navigated)(nil); err != nil && !errors.As(err, &gone) {
			b.t.Fatalf("waiting for %s: %v", condition, err)
		}
		if err == nil && got == "true" {
			return
		}
		select {
		case <-again.C:
		case <-patience.C:
			b.t.Fatalf("waited in vain for %s; the page is %s", condition, b.do(`location.href + "\n" + document.body.innerText`))
		}
	}
}

// click fills in fields of the form and presses its button, as a person does.
func (b *browser) click(form, button string, fields map[string]string) {
	b.t.Helper()
	for name, value := range fields {
		b.do(fmt.Sprintf(`document.querySelector(%s).value = %s`, strconv.Quote(form+" [name="+name+"]"), strconv.Quote(value)))
	}
	b.do(fmt.Sprintf(`document.querySelector(%s).querySelector(%s).click()`, strconv.Quote(form), strconv.Quote(button)))
}

// logged is a condition: the page's log has a line that says what.
func logged(what string) string {
	return fmt.Sprintf(`document.getElementById("log").textContent.includes(%s)`, strconv.Quote(what))
}

func TestInABrowser(t *testing.T) {
	b := openBrowser(t)
	dir := t.TempDir()
	s := start(t, dir, "", office{})
	b.open(s.url)

	// Ask for something, and see that it waits.
	b.await(`document.getElementById("ask")`)
	b.click("#ask", "button", map[string]string{"item": "A <b>big</b> desk", "price": "1500", "by": "Ada"})
	b.await(`document.querySelector("form.question") && document.getElementById("status").textContent === "waiting"`)
	b.await(logged("2 people have to approve it"))
	var path string
	if err := json.Unmarshal([]byte(b.do(`location.pathname`)), &path); err != nil {
		t.Fatal(err)
	}
	if got := b.do(`document.querySelector("h1").textContent`); got != `"A <b>big</b> desk, 1500.00"` {
		t.Errorf("the title: got %s", got)
	}

	// The server restarts under the open page, as soon as that has its script; the list still has the request; the first person approves.
	b.await(`events`)
	s.stop()
	s = start(t, dir, s.addr, office{})
	back := b.open(s.url)
	b.await(`document.querySelector("#waiting a").textContent.includes("desk")`)
	b.do(`document.querySelector("#waiting a").click()`)
	b.await(`document.querySelector("form.question")`)
	b.click("form.question", "[value=approve]", map[string]string{"by": "Grace", "note": "we need it"})
	b.await(logged("Grace approved it: we need it"))
	b.await(`document.querySelector("form.question").textContent.includes("Grace says yes")`)

	// The page that was open all the time has found its way to the new server, by itself, and asks anew.
	stale := b.tab
	back()
	b.await(logged("Grace approved it: we need it"))
	b.await(`document.querySelector("form.question").textContent.includes("Grace says yes")`)

	// Two people answer the same question: the one whose page is not up to date is told.
	b.await(`events`) // it may have loaded itself again
	b.do(`events.close()`)
	question := field(t, questionField, s.get(path))
	if status, body := s.vote(path, question, "approve", "Edsger"); status != http.StatusOK {
		t.Fatalf("the second answer: got status %d: %s", status, body)
	}
	s.settled(path)
	b.click("form.question", "[value=deny]", map[string]string{"by": "Barbara"})
	b.await(`document.getElementById("notice").textContent.includes("already decided")`)
	b.await(logged("is ordered"))
	if got := b.do(logged("Barbara")); got != "false" {
		t.Error("the late answer was counted")
	}

	// The other page saw it happen.
	b.tab = stale
	b.await(`document.getElementById("status").textContent === "ordered" && !document.querySelector("form.question")`)
	b.await(`events.readyState === EventSource.CLOSED`)
}

// away waits, in a server's place, until a page asks for events, and answers as a proxy does whose server is away.
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
	b := openBrowser(t)
	dir := t.TempDir()
	s := start(t, dir, "", office{})
	path := s.ask("A chair", "300", "Ada")
	question := field(t, questionField, s.settled(path))
	b.open(s.url + path)
	b.await(`events`)
	s.stop()
	away(t, s.addr)
	s = start(t, dir, s.addr, office{})
	if status, body := s.vote(path, question, "approve", "Grace"); status != http.StatusOK {
		t.Fatalf("the answer: got status %d: %s", status, body)
	}
	b.await(logged("A chair is ordered"))
}

func TestProgressInABrowser(t *testing.T) {
	b := openBrowser(t)
	o, pass := stepwise()
	s := start(t, t.TempDir(), "", o)
	path := s.ask("A chair", "300", "Ada")
	question := field(t, questionField, s.settled(path))
	b.open(s.url + path)
	b.await(`document.querySelector("form.question")`)
	b.do(`window.seen = []; new MutationObserver(() => seen.push(document.getElementById("progress").textContent))
		.observe(document.getElementById("progress"), {childList: true, characterData: true, subtree: true}); 0`)
	// Somebody else answers: the page looks again, and joins the run.
	if status, body := s.vote(path, question, "approve", "Grace"); status != http.StatusOK {
		t.Fatalf("the answer: got status %d: %s", status, body)
	}
	b.await(logged("Grace approved it")) // it has joined
	for _, step := range []string{"comparing offers", "writing the order"} {
		pass()
		b.await(`seen.includes(` + strconv.Quote(step) + `)`)
	}
	pass()
	b.await(`document.getElementById("status").textContent === "ordered"`)
	b.await(logged("A chair is ordered"))
}

func TestABrowserThatDoesNotWorkFailsTheTest(t *testing.T) {
	if os.Getenv("GRAPHGEN_TEST_BROWSER") == "/does/not/exist" {
		openBrowser(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.short")
	cmd.Env = append(os.Environ(), "GRAPHGEN_TEST_BROWSER=/does/not/exist")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the browser does not start") {
		t.Errorf("got %v, want a failure that says why:\n%s", err, out)
	}
}
