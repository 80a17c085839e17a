//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestKilledAtAnyMomentEveryTicketEndsOnce kills the command at random moments and restarts it in
// the same folder until it succeeds. The outbox must then be the same as after an undisturbed run.
func TestKilledAtAnyMomentEveryTicketEndsOnce(t *testing.T) {
	undisturbed := filepath.Join(t.TempDir(), "data")
	began := time.Now()
	if out, err := exec.Command("triage", "run", "-dir", undisturbed).CombinedOutput(); err != nil {
		t.Fatalf("undisturbed: %v\n%s", err, out)
	}
	whole := time.Since(began)
	want := standings(t, undisturbed)

	rounds, kills := 3, 0
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		seed := uint64(time.Now().UnixNano())
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			dir := filepath.Join(t.TempDir(), "data")
			n := 0
			for !killed(t, dir, rnd, n, whole) {
				n++
			}
			t.Logf("killed %d times", n)
			kills += n
			compare(t, standings(t, dir), want)
			decideAll(t, dir, rnd, whole)
		})
	}
	if kills < rounds {
		t.Errorf("%d kills in %d rounds: nothing was disturbed", kills, rounds)
	}
}

// killed runs the command and kills it at a random moment. The moments become later with every
// kill, so that the command succeeds in the end. It reports whether the command succeeded.
func killed(t *testing.T, dir string, rnd *rand.Rand, kills int, whole time.Duration) (through bool) {
	t.Helper()
	cmd := exec.Command("triage", "run", "-dir", dir, "-parallel", fmt.Sprint(1+rnd.IntN(8)))
	return killSoon(t, cmd, rnd.IntN(20+10*kills), time.Duration(rnd.Int64N(int64(whole)*int64(4+kills)/8)))
}

// killSoon runs cmd and kills it after some printed lines or after a time, whichever is first. It
// reports whether the command succeeded before.
func killSoon(t *testing.T, cmd *exec.Cmd, lines int, after time.Duration) (through bool) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	for in := bufio.NewScanner(out); in.Scan(); lines-- {
		if lines == 0 {
			_ = cmd.Process.Kill()
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true
	case errors.As(err, &exit) && exit.ExitCode() == -1: // our signal
		return false
	}
	t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.Bytes())
	return false
}

// standings returns the outcome of each ticket in a folder: its letter without the task's key, or
// that it waits. Each ticket has one of the two, and its log shows one send.
func standings(t *testing.T, dir string) map[string]string {
	t.Helper()
	h, err := openHouse(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	got := make(map[string]string)
	for _, l := range builtIn(t) {
		snap, err := h.flow.Thread(l.ID).State(t.Context())
		if err != nil {
			t.Errorf("%s: %v", l.ID, err)
			continue
		}
		letter, err := h.outbox.letter(l.ID)
		sent := err == nil
		if waits(snap) == sent || sent != (len(snap.Next) == 0) {
			t.Errorf("%s waits: %t, next %v, and its letter: %v; want a letter or a ticket that waits", l.ID, waits(snap), snap.Next, err)
		}
		letter.Task = ""
		got[l.ID] = fmt.Sprintf("%+v", letter)
		once := slices.DeleteFunc(slices.Clone(snap.State.Log), func(line string) bool { return line != "sent" })
		if sent && len(once) != 1 {
			t.Errorf("%s was acknowledged as sent %d times:\n%s", l.ID, len(once), strings.Join(snap.State.Log, "\n"))
		}
	}
	inOutbox(t, dir)
	return got
}

// inOutbox checks that the outbox contains only complete letters and payments.
func inOutbox(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "outbox"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		id, whole := strings.CutSuffix(e.Name(), ".json")
		if !whole || !ticketID.MatchString(strings.TrimSuffix(id, ".refund")) {
			t.Errorf("the outbox holds %s", e.Name())
		}
	}
}

func compare(t *testing.T, got, want map[string]string) {
	t.Helper()
	for id := range want {
		if got[id] != want[id] {
			t.Errorf("%s:\n got %s\nwant %s", id, got[id], want[id])
		}
	}
}

// decideAll approves all waiting refunds, with processes that are also killed, until each refund
// is paid once.
func decideAll(t *testing.T, dir string, rnd *rand.Rand, whole time.Duration) {
	t.Helper()
	waiting := waitingIn(t, dir)
	if len(waiting) == 0 {
		t.Fatal("nothing waits")
	}
	for _, id := range waiting[:4] {
		for tries := 1; !approved(t, dir, id, time.Duration(rnd.Int64N(int64(whole)*int64(tries)/20))); tries++ {
		}
	}
	if left := waitingIn(t, dir); len(left) != len(waiting)-4 {
		t.Errorf("%d wait after four decisions, want %d", len(left), len(waiting)-4)
	}
	inOutbox(t, dir)
}

func waitingIn(t *testing.T, dir string) []string {
	t.Helper()
	h, err := openHouse(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var ids []string
	for _, l := range builtIn(t) {
		if snap, err := h.flow.Thread(l.ID).State(t.Context()); err != nil {
			t.Fatal(err)
		} else if waits(snap) {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// approved runs one approval, which may be killed. It reports whether the refund is paid and the
// letter sent.
func approved(t *testing.T, dir, id string, after time.Duration) bool {
	t.Helper()
	killSoon(t, exec.Command("triage", "approve", "-dir", dir, id), -1, after)
	h, err := openHouse(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	snap, err := h.flow.Thread(id).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Next) > 0 {
		return false
	}
	l, err := h.outbox.letter(id)
	if err != nil || l.Outcome != Refunded {
		t.Fatalf("%s is finished, and its letter: %+v, %v", id, l, err)
	}
	return true
}
