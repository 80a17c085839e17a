//go:build browser

// This test drives a real browser. make test builds it if a browser is installed.

package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv/browser"
)

// served starts the command that go build makes, and returns the address that it prints.
func served(t *testing.T, binary string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"inspect"}, args...)...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("graphctl inspect %v printed no address: %v", args, err)
	}
	return strings.TrimSpace(line)
}

// TestInspectInABrowser opens the pages of the built command as a person does.
func TestInspectInABrowser(t *testing.T) {
	b := browser.Open(t)
	binary := filepath.Join(t.TempDir(), "graphctl")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	saver, app := newDesk(t)
	secret, keys := newSecret(t)
	open := func(url, until string) {
		t.Helper()
		b.Visit(url)
		b.Await(`document.readyState === "complete" && location.href === "` + url + `" && ` + until)
	}
	const answerable = `!!document.querySelector("article.question form")`

	// By default the pages only show.
	url := served(t, binary, "-s", saver)
	open(url, `document.querySelector("table.list").textContent.includes("order-1")`)
	b.Do(`document.querySelector("td.main a").click(); 0`)
	b.Await(`location.search === "?id=order-1" && document.querySelector(".tree")?.textContent.includes("500")`)
	if got := b.Do(`document.querySelectorAll("form[method=post], .actions button").length + " " + ` + answerable); !strings.Contains(got, "0 false") {
		t.Errorf("without --write the page has forms: %s", got)
	}
	b.Do(`fetch("act", {method: "POST", body: new URLSearchParams({id: "order-1", action: "delete"})}).then((r) => document.title = "status " + r.status); 0`)
	b.Await(`document.title === "status 403"`)
	open(url+"thread?id=order-1", `document.querySelector(".tree").textContent.includes("500")`)

	// With --write a person answers, signals and submits.
	url = served(t, binary, "-s", saver, "--write", "--listen", "localhost:0")
	open(url+"thread?id=order-1", answerable)
	b.Do(`document.querySelector("[name='v.OK'][value=true]").click(); document.querySelector("[name='v.By']").value = "ann";
		document.querySelector("article.question form button").click(); 0`)
	b.Await(`document.querySelector(".note")?.textContent.includes("The answer is stored")`)
	if _, err := app.Thread("order-1").Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Await(`document.querySelector(".tree")?.textContent.includes("reviewed by ann")`) // the page follows the run
	open(url+"submit?from=order-1", `document.querySelector("[name=json]").value.includes("500")`)
	b.Do(`document.querySelector("main form [name=id]").value = "order-2"; document.querySelector("main form[method=post] button").click(); 0`)
	b.Await(`location.search.includes("id=order-2") && document.querySelector(".note")?.textContent.includes("The input is stored")`)

	// Encrypted threads are shown with the key, and explained without it.
	open(served(t, binary, "-s", secret)+"thread?id=order-1", `document.querySelector("[role=alert]").textContent.includes("give the key by --key-file FILE")`)
	open(served(t, binary, "-s", secret, "--key-file", keys)+"thread?id=order-1", `document.querySelector(".tree").textContent.includes("500")`)
}
