//go:build browser

// These tests drive a real browser. make test builds them if a browser is installed.

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

// browser is a real browser without a window. The test uses two pipes and the DevTools protocol:
// JSON messages that each end with a zero byte.
type browser struct {
	t    *testing.T
	in   *os.File
	out  *bufio.Reader
	last int
	tab  string // the session that receives commands
}

// findBrowser returns the path of the browser.
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

// openBrowser starts a browser and ends it with the test.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute) // the browser is closed after the test
	t.Cleanup(cancel)
	args := []string{"--headless", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--no-first-run", "--disable-gpu",
		"--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-crash-reporter", "--log-level=3"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // required to run as root; it opens only pages of this test
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
		_ = b.write(map[string]any{"id": 0, "method": "Browser.close"}) // fails if the browser has crashed
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

// call sends a command and decodes its result into result, unless result is nil. It ignores events
// of the browser.
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

// navigated is an error of the browser: for example, the page of a script was replaced.
type navigated struct{ text string }

func (e *navigated) Error() string { return e.text }

// open opens url in a new tab, which then receives all commands. back returns to the previous tab.
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

// eval runs a script in the page and returns its result as JSON.
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

// do runs a script and fails the test if the script fails.
func (b *browser) do(script string) string {
	b.t.Helper()
	got, err := b.eval(script)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// await waits until condition is true in the page, across page loads. It polls, because a promise
// of a page is lost when the page is replaced.
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
			b.t.Fatalf("timed out waiting for %s; the page is %s", condition, b.do(`location.href + "\n" + document.body.innerText`))
		}
	}
}

// click fills in the fields of a form and presses its button, as a person does.
func (b *browser) click(form, button string, fields map[string]string) {
	b.t.Helper()
	for name, value := range fields {
		b.do(fmt.Sprintf(`document.querySelector(%s).value = %s`, strconv.Quote(form+" [name="+name+"]"), strconv.Quote(value)))
	}
	b.do(fmt.Sprintf(`document.querySelector(%s).querySelector(%s).click()`, strconv.Quote(form), strconv.Quote(button)))
}

// logged returns the condition that the page's log contains the line what.
func logged(what string) string {
	return fmt.Sprintf(`document.getElementById("log").textContent.includes(%s)`, strconv.Quote(what))
}

func TestInABrowser(t *testing.T) {
	b := openBrowser(t)
	dir := t.TempDir()
	s := start(t, dir, "", office{})
	b.open(s.url)

	// Submit a request and check that it is pending.
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

	// The server restarts under the open page, as soon as the page has loaded its script. The list
	// still has the request, and the first person approves.
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

	// The open page has reconnected to the new server by itself and shows the next question.
	stale := b.tab
	back()
	b.await(logged("Grace approved it: we need it"))
	b.await(`document.querySelector("form.question").textContent.includes("Grace says yes")`)

	// Two people answer the same question. The person with the outdated page gets an error.
	b.await(`events`) // it may have reloaded
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

	// The other page received the event.
	b.tab = stale
	b.await(`document.getElementById("status").textContent === "ordered" && !document.querySelector("form.question")`)
	b.await(`events.readyState === EventSource.CLOSED`)
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
	// Another person answers. The page reloads and follows the run.
	if status, body := s.vote(path, question, "approve", "Grace"); status != http.StatusOK {
		t.Fatalf("the answer: got status %d: %s", status, body)
	}
	b.await(logged("Grace approved it")) // it follows the run
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
