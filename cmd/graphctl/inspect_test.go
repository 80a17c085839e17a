package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// pages are those that the command serves.
type pages struct {
	*testing.T
	url string
}

// inspected starts the command on a saver, and ends it with the test.
func inspected(t *testing.T, saver string, args ...string) *pages {
	t.Helper()
	out, in := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		a := &app{in: strings.NewReader(""), out: in, err: os.Stderr, env: func(string) string { return "" }, now: time.Now, since: time.Since}
		code <- run(ctx, a, append([]string{"inspect", "-s", saver}, args...))
		_ = in.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if got := <-code; got != exitOK {
			t.Errorf("the command exits with %d", got)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &pages{t, strings.TrimSpace(line)}
}

// page returns the status and the body of a page. With a form it posts the form.
func (p *pages) page(page string, form url.Values) (int, string) {
	p.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(p.Context(), method, p.url+page, strings.NewReader(form.Encode()))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// newDesk returns the URL of a saver with order-1, which waits for an approval, and its graph.
func newDesk(t *testing.T) (saver string, app *desk.Graph) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlite.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if app, err = desk.New(s); err != nil {
		t.Fatal(err)
	}
	if err := deskStep(t.Context(), app, []string{"start", "order-1", "500"}); err != nil {
		t.Fatal(err)
	}
	return "sqlite://" + filepath.ToSlash(file), app
}

func TestInspectShowsAndOnlyShows(t *testing.T) {
	saver, _ := newDesk(t)
	p := inspected(t, saver)
	for page, want := range map[string][]string{
		"":                        {"order-1", "waiting"},
		"thread?id=order-1":       {"Cents", "500", "approve"},
		"history?id=order-1":      {"<circle", "check"},
		"state.json?id=order-1":   {`"Cents": 500`},
		"thread?id=absent":        {"404"},
		"edit?id=order-1":         {"403"},
		"submit?from=order-1":     {"403"},
		"bulk?action=delete":      {"403"},
		"thread?id=order-1&ns=no": {"subgraph call"},
	} {
		_, body := p.page(page, nil)
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("GET %s lacks %q:\n%s", page, text, body)
			}
		}
	}
	for _, action := range []string{"answer", "signal", "wake", "cancel", "delete", "edit", "replay", "resume", "release"} {
		if status, _ := p.page("act", url.Values{"id": {"order-1"}, "action": {action}}); status != http.StatusForbidden {
			t.Errorf("%s: got status %d", action, status)
		}
	}
}

func TestInspectManagesThreads(t *testing.T) {
	saver, app := newDesk(t)
	p := inspected(t, saver, "--write")
	_, body := p.page("thread?id=order-1", nil)
	_, rest, _ := strings.Cut(body, `name="question" value="`)
	question, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("the page has no question:\n%s", body)
	}
	do := func(page string, pairs ...string) {
		t.Helper()
		form := make(url.Values)
		for i := 0; i+1 < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		if status, body := p.page(page, form); status != http.StatusOK {
			t.Fatalf("%v: got %d: %s", pairs, status, body)
		}
	}
	do("act", "id", "order-1", "action", "answer", "question", question, "as", "json", "json", `{"OK": true, "By": "ann"}`)
	do("act", "id", "order-1", "action", "signal", "signal", "paid", "as", "json", "json", `{"Number": "r-1"}`)
	if res, err := app.Thread("order-1").Resume(t.Context()); err != nil || res.Status.String() != "done" {
		t.Fatalf("got %v, %v", res.Status, err)
	}
	do("submit", "graph", "desk", "id", "order-2", "new", "1", "request", "r", "json", `{"Order": "order-2", "Cents": 1}`)
	do("act", "id", "order-2", "action", "wake")
	do("act", "id", "order-2", "action", "cancel", "reason", "a test")
	do("act", "id", "order-1", "action", "delete")
	if status, _ := p.page("thread?id=order-1", nil); status != http.StatusNotFound {
		t.Errorf("the deleted thread: got status %d", status)
	}
	for _, action := range []string{"edit", "replay", "resume", "release"} {
		if status, _ := p.page("act", url.Values{"id": {"order-2"}, "action": {action}}); status != http.StatusForbidden {
			t.Errorf("%s: got status %d", action, status)
		}
	}
}

// newSecret returns the URL of an encrypted saver with order-1, and a file with its key.
func newSecret(t *testing.T) (saver, keys string) {
	t.Helper()
	dir := t.TempDir()
	inner, err := sqlite.Open(filepath.Join(dir, "secret.db"))
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte("01234567890123456789012345678901")
	s, err := wrap(inner, []encrypt.Key{{ID: "k1", Secret: secret}}, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	app, err := desk.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := deskStep(t.Context(), app, []string{"start", "order-1", "500"}); err != nil {
		t.Fatal(err)
	}
	keys = filepath.Join(dir, "keys")
	if err := os.WriteFile(keys, []byte("k1:"+base64.StdEncoding.EncodeToString(secret)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite://" + filepath.ToSlash(filepath.Join(dir, "secret.db")), keys
}

func TestInspectReadsEncryptedThreadsWithKeys(t *testing.T) {
	saver, keys := newSecret(t)
	p := inspected(t, saver, "--write", "--key-file", keys)
	for page, want := range map[string]string{"thread?id=order-1": "500", "state.json?id=order-1": `"Cents": 500`, "submit?from=order-1": "500"} {
		if status, body := p.page(page, nil); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("GET %s: got %d, without %q:\n%s", page, status, want, body)
		}
	}
	signal := url.Values{"id": {"order-1"}, "action": {"signal"}, "signal": {"paid"}, "as": {"json"}, "json": {`{"Number": "r-1"}`}}
	if status, body := p.page("act", signal); status != http.StatusOK || !strings.Contains(body, "r-1") {
		t.Errorf("signal: got %d: %s", status, body)
	}
}

func TestInspectWithoutKeysSaysHowToPassThem(t *testing.T) {
	saver, keys := newSecret(t)
	const remedy = "encrypted with key k1; give the key by --key-file FILE or $GRAPHCTL_KEYS"
	p := inspected(t, saver, "--write")
	if status, body := p.page("thread?id=order-1", nil); status != http.StatusOK || !strings.Contains(body, remedy) || !strings.Contains(body, "review") {
		t.Errorf("the page of the thread: got %d: %s", status, body)
	}
	for name, post := range map[string]url.Values{
		"act":    {"id": {"order-1"}, "action": {"signal"}, "signal": {"paid"}, "as": {"json"}, "json": {`{"Number": "r-1"}`}},
		"submit": {"graph": {"desk"}, "id": {"order-2"}, "new": {"1"}, "request": {"r"}, "json": {`{"Cents": 1}`}},
		"act?":   {"id": {"order-1"}, "action": {"cancel"}, "reason": {"too late"}},
	} {
		if status, body := p.page(name, post); status < 400 || !strings.Contains(body, remedy) {
			t.Errorf("%s: got %d: %s", name, status, body)
		}
	}
	p = inspected(t, saver, "--key-file", keys)
	if _, body := p.page("thread?id=order-1", nil); strings.Contains(body, "Messages that wait") || strings.Contains(body, "too late") {
		t.Errorf("a refused message is stored: %s", body)
	}
	if status, _ := p.page("thread?id=order-2", nil); status != http.StatusNotFound {
		t.Errorf("the refused thread: got status %d", status)
	}
}

// TestInspectEndsByTheTimeout repeats the command with longer timeouts until the saver is open
// before the timeout passes.
func TestInspectEndsByTheTimeout(t *testing.T) {
	saver, _ := newDesk(t)
	for timeout := 200 * time.Millisecond; timeout < 5*time.Minute; timeout *= 4 {
		var out, failed strings.Builder
		a := &app{in: strings.NewReader(""), out: &out, err: &failed, env: func(string) string { return "" }, now: time.Now, since: time.Since}
		code := run(t.Context(), a, []string{"inspect", "-s", saver, "--timeout", timeout.String()})
		if strings.HasPrefix(out.String(), "http://") {
			if code != exitOK {
				t.Errorf("the command exits with %d after it has served pages: %s", code, failed.String())
			}
			return
		}
		if code != exitUnavailable {
			t.Fatalf("the command exits with %d before it has served pages: %s", code, failed.String())
		}
	}
	t.Error("the command has not served pages in a minute")
}
