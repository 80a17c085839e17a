package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary act as the service, so that tests can kill it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"approval": main})
}

// process starts the service in a separate process.
func process(t *testing.T, args ...string) (*service, *exec.Cmd) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "approval", args...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the service did not say where it listens: %v", err)
	}
	return &service{t: t, url: strings.TrimSpace(strings.TrimPrefix(first, "approval: "))}, cmd
}

func TestAServiceThatWasKilledContinues(t *testing.T) {
	dir := t.TempDir()
	s, cmd := process(t, "-addr", "127.0.0.1:0", "-dir", dir, "-latency", "1h")
	waits := s.ask("A chair", "300", "Ada")
	question := field(t, questionField, s.settled(waits))
	path := s.ask("Tea", "3", "Ada")
	w := s.events(path, "")
	for e := w.next(); !strings.Contains(e, "nobody has to approve"); e = w.next() {
		if e == "" {
			t.Fatal("the stream ended before the order began")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the killed process ended well")
	}
	w.rest()

	s, cmd = process(t, "-addr", "127.0.0.1:0", "-dir", dir, "-latency", "1ms")
	got := s.events(path, w.last).rest()
	if len(got) == 0 || got[len(got)-1] != `end "done"` {
		t.Errorf("the stream after the restart: got %q, want it to finish", got)
	}
	same(t, "log", lines(s.get(path)), []string{"Tea costs 3.00: nobody has to approve it", "Tea is ordered"})
	same(t, "the question that waits", field(t, questionField, s.get(waits)), question)

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("an interrupted service: %v", err)
	}
}

// A shutdown during a run stops the run between two steps, and the next start continues it.
func TestAShutdownLosesNothing(t *testing.T) {
	dir := t.TempDir()
	o, pass := stepwise()
	s := start(t, dir, "", o)
	path := s.ask("Tea", "3", "Ada")
	w := s.events(path, "") // receives all events from here
	pass()
	w.until(`progress "comparing offers"`)
	done := make(chan struct{})
	go func() { defer close(done); s.stop() }()
	pass() // the shutdown waits for a running node
	pass()
	<-done
	s = start(t, dir, "", office{})
	same(t, "log", lines(s.settled(path)), []string{"Tea costs 3.00: nobody has to approve it", "Tea is ordered"})
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{"-nope"}, {"here"}} {
		var stderr strings.Builder
		if code := command(t.Context(), args, t.Output(), &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%q: got code %d and %q, want 2 and why", args, code, stderr.String())
		}
	}
	var stderr strings.Builder
	if code := command(t.Context(), []string{"-addr", "nowhere:x"}, t.Output(), &stderr); code != 1 || !strings.HasPrefix(stderr.String(), "approval: ") {
		t.Errorf("an address that is none: got code %d and %q, want 1 and why", code, stderr.String())
	}
}
