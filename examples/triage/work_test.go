package main

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStoppedRunContinuesWhereItStopped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	lines := builtIn(t)[:8]
	synctest.Test(t, func(t *testing.T) {
		h, err := openHouse(dir, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(time.Minute, cancel) // while the first four wait for a source
		told := 0
		h.work(ctx, lines, 4, func(r Report) {
			told++
			if r.Standing != Stopped {
				t.Errorf("%s: %s, want stopped", r.Ticket, r.line())
			}
		})
		if told != len(lines) {
			t.Errorf("%d tickets were reported, want %d", told, len(lines))
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	h, err := openHouse(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	begun := 0
	for _, l := range lines {
		if snap, err := h.flow.Thread(l.ID).State(t.Context()); err == nil {
			begun++
			if got := join(snap.Next); got != "policy, customer" {
				t.Errorf("%s stopped before %q, want the two sources", l.ID, got)
			}
		}
	}
	if begun != 4 {
		t.Errorf("%d tickets were begun, want the 4 that may run at once", begun)
	}
	h.work(t.Context(), lines, 4, func(r Report) {
		if r.Standing != Finished && r.Standing != Waiting {
			t.Errorf("%s: %s after going on", r.Ticket, r.line())
		}
	})
}

func TestOneProcessWorksInAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	h, err := openHouse(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	unlock, err := h.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.lock(); err == nil {
		t.Error("the folder was locked twice")
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := h.lock()
	if err != nil {
		t.Fatalf("after it was unlocked: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}
