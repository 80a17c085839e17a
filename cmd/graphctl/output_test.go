package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// fullOutput accepts a number of bytes.
type fullOutput struct{ room, written int }

var errFull = errors.New("no space left on device")

func (d *fullOutput) Write(b []byte) (int, error) {
	n := min(len(b), d.room-d.written)
	d.written += n
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

// TestLostOutputIsAnError fills the disk during the output of each command, in each format.
func TestLostOutputIsAnError(t *testing.T) {
	commands := map[string]string{
		"threads": "threads", "show": "show order-1", "history": "history order-1", "diff": "diff order-1 1 head", "waiting": "waiting",
		"tail": "tail order-1 --end", "stats": "stats", "inspect": "inspect --timeout 1ms", "submit": "submit order-3 {} --graph desk",
		"answer": `answer order-1 approve {"OK":true}`, "signal": `signal order-1 paid {"Number":"r-1"}`, "cancel": "cancel order-1",
		"wake": "wake order-1", "release": "release order-1", "copy": "copy --all --to file:to", "export": "export - --all",
		"import": "import archive", "verify": "verify order-1 -s file:damaged", "prune": "prune order-1 --keep-last 1", "delete": "delete order-1",
		"man": "man", "completion": "completion bash", "help": "help", "exit-codes": "help exit-codes",
		"workers": "workers", "queues": "queues --graph desk", "schedules": "schedules", "pause": "pause --graph desk",
		"unpause": "unpause --graph desk", "trigger": "trigger nightly",
		"shards": "shards -s shards:list",
	}
	source := t.TempDir()
	t.Chdir(source)
	for _, folder := range []string{"threads", "damaged"} {
		err := onDesk("file:"+folder, source, func(s checkpoint.Saver) error {
			app, err := desk.New(s)
			if err != nil {
				return err
			}
			err = deskStep(t.Context(), app, []string{"start", "order-1", "500"})
			if folder == "threads" {
				err = errors.Join(err, died(undying{s}), daily(s, app, "nightly", "0"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("list", []byte("one file:one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := flip("damaged/*.saver", 400); err != nil {
		t.Fatal(err)
	}
	execute := func(t *testing.T, args []string, room int) (*fullOutput, int, string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		var log strings.Builder
		out := &fullOutput{room: room}
		a := &app{in: strings.NewReader(""), out: out, err: &log, env: func(string) string { return "" }, now: time.Now, since: time.Since}
		return out, run(t.Context(), a, args), log.String()
	}
	if _, code, log := execute(t, strings.Fields("export "+filepath.Join(source, "archive")+" --all -s file:threads"), 1<<20); code != exitOK {
		t.Fatal(log)
	}
	for _, cmd := range newRoot(&app{out: io.Discard}).Commands() {
		if commands[cmd.Name()] == "" {
			t.Errorf("the test has no line for %s", cmd.Name())
		}
	}
	for name, line := range commands {
		for _, format := range []string{"table", "json", "jsonl"} {
			t.Run(name+" "+format, func(t *testing.T) {
				args := append(strings.Fields(line), "-o", format)
				if !slices.Contains(args, "-s") {
					args = append(args, "-s", "file:threads")
				}
				whole, want, log := execute(t, args, 1<<20)
				if whole.written == 0 {
					t.Fatalf("no output; exit code %d, %s", want, log)
				}
				if _, code, log := execute(t, args, whole.written/2); code == exitOK || !strings.Contains(log, errFull.Error()) {
					t.Errorf("got the exit code %d and %q, want an error", code, log)
				}
			})
		}
	}
}
