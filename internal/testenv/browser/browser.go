// Package browser drives a real browser without a window in tests. It uses two pipes and the
// DevTools protocol: JSON messages that each end with a zero byte. make test builds the tests of
// pages, which have the build tag browser, if a browser is installed.
package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// Browser is a browser of one test. Its methods fail the test on errors. It must not be used
// concurrently.
type Browser struct {
	t    *testing.T
	in   *os.File
	out  *bufio.Reader
	last int
	tab  string // the session that receives commands
}

// find returns the path of the browser.
func find(t *testing.T) string {
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

// Open starts a browser, and ends it with the test. It skips the test if the test is short, unless
// GRAPHGEN_TEST_BROWSER names a browser. It fails the test if there is no browser.
func Open(t *testing.T) *Browser {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute) // the browser is closed after the test
	t.Cleanup(cancel)
	args := []string{"--headless", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--no-first-run", "--disable-gpu",
		"--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-crash-reporter", "--log-level=3",
		"--hide-scrollbars"} // a picture would lack the right edge of a page with a bar
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // required to run as root; it opens only pages of this test
	}
	cmd := exec.CommandContext(ctx, find(t), append(args, "about:blank")...)
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
	b := &Browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		_ = b.write(map[string]any{"id": 0, "method": "Browser.close"}) // fails if the browser has crashed
		err := cmd.Wait()
		if err := errors.Join(in.Close(), out.Close()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the browser ended with %v and said:\n%s", err, said.String())
		}
	})
	return b
}

func (b *Browser) write(command map[string]any) error {
	data, err := json.Marshal(command)
	if err != nil {
		return err
	}
	_, err = b.in.Write(append(data, 0))
	return err
}

// call sends a command and decodes its result into result, unless result is nil. It ignores events
// of the browser.
func (b *Browser) call(method string, params map[string]any, result any) error {
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

// Visit opens url in a new tab, which then receives all commands. back returns to the previous
// tab.
func (b *Browser) Visit(url string) (back func()) {
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
func (b *Browser) eval(script string) (string, error) {
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

// Do runs a script and fails the test if the script fails.
func (b *Browser) Do(script string) string {
	b.t.Helper()
	got, err := b.eval(script)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// Await waits until condition is true in the page, across page loads. It polls, because a promise
// of a page is lost when the page is replaced.
func (b *Browser) Await(condition string) {
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
			b.t.Fatalf("timed out waiting for %s; the page is %s", condition, b.Do(`location.href + "\n" + document.body.innerText`))
		}
	}
}

// Click fills in the fields of a form and presses its button, as a person does.
func (b *Browser) Click(form, button string, fields map[string]string) {
	b.t.Helper()
	for name, value := range fields {
		b.Do(fmt.Sprintf(`document.querySelector(%s).value = %s`, strconv.Quote(form+" [name="+name+"]"), strconv.Quote(value)))
	}
	b.Do(fmt.Sprintf(`document.querySelector(%s).querySelector(%s).click()`, strconv.Quote(form), strconv.Quote(button)))
}

// Resize sets the size of the page in CSS pixels, and whether the reader prefers dark colours.
func (b *Browser) Resize(width, height int, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	size := map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}
	if err := b.call("Emulation.setDeviceMetricsOverride", size, nil); err != nil {
		b.t.Fatal(err)
	}
	media := map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}
	if err := b.call("Emulation.setEmulatedMedia", media, nil); err != nil {
		b.t.Fatal(err)
	}
}

// Scripts sets whether pages run their scripts. Those of Do and Await always run.
func (b *Browser) Scripts(on bool) {
	b.t.Helper()
	if err := b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !on}, nil); err != nil {
		b.t.Fatal(err)
	}
}

// AllowClipboard lets pages read and write the clipboard.
func (b *Browser) AllowClipboard() {
	b.t.Helper()
	tab := b.tab
	defer b.Use(tab)
	b.tab = "" // a command of the browser
	if err := b.call("Browser.grantPermissions", map[string]any{"permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}}, nil); err != nil {
		b.t.Fatal(err)
	}
}

// Screenshot returns the whole page as PNG.
func (b *Browser) Screenshot() []byte {
	b.t.Helper()
	var shot struct{ Data []byte }
	if err := b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true, "format": "png"}, &shot); err != nil {
		b.t.Fatal(err)
	}
	return shot.Data
}

// Tab returns the tab that receives the commands, for Use.
func (b *Browser) Tab() string { return b.tab }

// Use makes a tab receive the commands.
func (b *Browser) Use(tab string) { b.tab = tab }

// Press presses and releases a key, such as "Tab", "Enter" or "j".
func (b *Browser) Press(key string) {
	b.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27}
	event := map[string]any{"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
	switch {
	case key == "Enter":
		event["text"] = "\r"
	case len(key) == 1:
		event["text"] = key
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		event["type"] = kind
		if err := b.call("Input.dispatchKeyEvent", event, nil); err != nil {
			b.t.Fatal(err)
		}
	}
}
