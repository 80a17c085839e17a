//go:build unix

package file_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// shortLease is a lease that a test waits for.
const shortLease = 50 * time.Millisecond

// stopRoles returns the roles of a process that stops itself.
func stopRoles() map[string]func(dir string) error {
	return map[string]func(dir string) error{
		"stop-write": stopIn("write"), "stop-sync": stopIn("sync"),
		"stop-open-write": stopIn("open write"), "stop-open-sync": stopIn("open sync"),
	}
}

// stopIn opens thread t, and stops its process at the first step of the given kind in a later
// write. It prints the result of that write.
func stopIn(step string) func(dir string) error {
	return func(dir string) error {
		s, err := file.Open(dir)
		if err != nil {
			return err
		}
		opening, err := startOf(s, "t", "the other process")
		if err != nil {
			return err
		}
		opening.Lease = shortLease
		write := func() error {
			_, err := s.Append(context.Background(), opening)
			return err
		}
		if !strings.HasPrefix(step, "open ") {
			if err := write(); err != nil {
				return err
			}
			w := checkpoint.Write{Base: opening.Records[0].ID, Task: "last", Kind: checkpoint.Result}
			write = func() error {
				_, err := s.PutWrites(context.Background(), checkpoint.PutWrites{
					Thread: "t", Fence: opening.Records[0].ID, Writes: []checkpoint.Write{w}, Lease: shortLease,
				})
				return err
			}
		}
		var once sync.Once
		file.Faults(s, func(at string) error {
			if strings.HasSuffix(step, at) {
				once.Do(func() { err = syscall.Kill(os.Getpid(), syscall.SIGSTOP) })
			}
			return err
		})
		fmt.Fprintln(os.Stdout, opening.Records[0].ID)
		err = write()
		fmt.Fprintln(os.Stdout, errors.Is(err, checkpoint.ErrConflict), err)
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	}
}

// stopped starts a process that stops itself, and waits until it has. It returns the process and
// the id of its opening.
func stopped(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Scanner, string) {
	t.Helper()
	cmd, lines := child(t, role, dir)
	if !lines.Scan() {
		t.Fatal("the other process said nothing")
	}
	id := lines.Text()
	for {
		stat, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(cmd.Process.Pid), "stat"))
		if err != nil {
			t.Fatal(err)
		}
		switch _, state, _ := strings.Cut(string(stat), ") "); state[:min(len(state), 1)] {
		case "T":
			return cmd, lines, id
		case "Z", "X":
			t.Fatal("the other process has ended, want it stopped")
		}
		<-time.After(time.Millisecond)
	}
}

// A process is stopped during a write, with all its locks. It blocks others only until its lease
// ends. When it continues, its write is refused.
func TestStoppedWriterIsTakenOver(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until leases of other processes end")
	}
	for _, role := range []string{"stop-write", "stop-sync", "stop-open-write", "stop-open-sync"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first := open(t, dir)
			before := opening(t, "t", checkpoint.ID{})
			before.End = true
			mustAppend(t, first, before)
			cmd, lines, id := stopped(t, role, dir)
			s := open(t, dir)
			a := takeOver(t, s)
			commit := step(t, a, a.Records[0].ID)
			mustAppend(t, s, commit)

			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() {
				t.Fatal("the other process said nothing when it was continued")
			}
			chain, err := first.Load(t.Context(), checkpoint.Ref{Thread: "t"})
			if err != nil || chain.Head != commit.Records[0].ID {
				t.Errorf("the head: got %v, %v; want %v", chain.Head, err, commit.Records[0].ID)
			}
			// A whole write from before the stop may be in the history, before the take-over.
			stored := a.After.String() == id
			if got := lines.Text(); !strings.HasPrefix(got, "true ") && (!stored || !strings.HasPrefix(got, "false <nil>")) {
				t.Errorf("the write of the stopped process: got %q, want a conflict, or success when it is stored", got)
			}
			end := step(t, commit, a.Records[0].ID)
			end.End = true
			mustAppend(t, s, end)
		})
	}
}

// takeOver opens thread t as soon as nobody holds it.
func takeOver(t *testing.T, s checkpoint.Saver) checkpoint.Append {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		a, err := startOf(s, "t", "the next")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Append(ctx, a)
		if err == nil {
			return a
		}
		if !errors.Is(err, checkpoint.ErrConflict) {
			t.Fatalf("take over: %v", err)
		}
	}
}

// A process that dies while it replaces a file leaves it sealed: the next one unseals it.
func TestSealedFileIsUsedAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, s, a)
	path := filepath.Join(dir, "thread-t.saver")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, step(t, a, a.Records[0].ID))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: got mode %v, %v; want 0600", info.Mode(), err)
	}
}

// A process that died between its lease and its opening leaves a lease that nobody needs.
func TestLeasesThatNobodyHoldsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, s, a)
	left := filepath.Join(dir, "leases", "thread-t-"+strings.Repeat("0", 32))
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	got, err := filepath.Glob(filepath.Join(dir, "leases", "*"))
	if want := filepath.Join(dir, "leases", "thread-t-"+a.Records[0].ID.String()); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("leases: got %q, %v; want %q", got, err, want)
	}
}
