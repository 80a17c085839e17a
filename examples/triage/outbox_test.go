package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestATaskThatRunsAgainLeavesOneLetter(t *testing.T) {
	o := outbox{filepath.Join(t.TempDir(), "outbox")}
	if _, err := o.letter("T-1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before anything was sent: %v, want fs.ErrNotExist", err)
	}
	for range 3 {
		if err := o.send(Letter{Ticket: "T-1", Outcome: Replied, Text: "Hello", Task: "k1"}); err != nil {
			t.Fatal(err)
		}
		if err := o.pay("T-1", Money{"EUR", 5}, "k0"); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"T-1.json", "T-1.refund.json"}; !slices.Equal(names, want) {
		t.Errorf("the outbox holds %q, want %q", names, want)
	}
	if got, err := o.tickets(); err != nil || !slices.Equal(got, []string{"T-1"}) {
		t.Errorf("tickets: %q, %v; want T-1 alone", got, err)
	}
	if l, err := o.letter("T-1"); err != nil || l.Text != "Hello" {
		t.Errorf("the letter reads %+v, %v", l, err)
	}
}

func TestWhatADeadTaskLeftIsWrittenOver(t *testing.T) {
	o := outbox{t.TempDir()}
	part := filepath.Join(o.dir, ".T-1.json.k1")
	if err := os.WriteFile(part, []byte(`{"ticket":"T-1","text":"a torn and much longer beginning of a let`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := o.tickets(); err != nil || len(got) != 0 {
		t.Errorf("a torn letter counts as sent: %q, %v", got, err)
	}
	if err := o.send(Letter{Ticket: "T-1", Text: "x", Task: "k1"}); err != nil {
		t.Fatal(err)
	}
	if l, err := o.letter("T-1"); err != nil || l.Text != "x" {
		t.Errorf("the letter reads %+v, %v; want the new text", l, err)
	}
	if _, err := os.Stat(part); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the torn part is still there: %v", err)
	}
}
