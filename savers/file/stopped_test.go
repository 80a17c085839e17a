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
				once.Do(func() {
					err = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
					<-time.After(shortLease) // the signal stops this thread a moment later
				})
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

// A process is stopped during a write, with the folder's lock. Readers do not wait for it. Writers
// of other processes wait, as long as their contexts let them. When the process continues, its
// write is stored; when it dies, its lock ends with it.
func TestStoppedWriterBlocksOnlyWriters(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until leases of other processes end")
	}
	for _, role := range []string{"stop-write", "stop-sync", "stop-open-write", "stop-open-sync"} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, dies %t", role, dies), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s := open(t, dir)
				before := opening(t, "t", checkpoint.ID{})
				before.End = true
				mustAppend(t, s, before)
				cmd, lines, id := stopped(t, role, dir)
				if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil {
					t.Errorf("load: %v", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*shortLease)
				defer cancel()
				other := opening(t, "other", checkpoint.ID{})
				if _, err := s.Append(ctx, other); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("append: got %v, want the context's error", err)
				}
				if dies {
					kill(t, cmd)
				} else if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				mustAppend(t, s, other)
				a := takeOver(t, s)
				mustAppend(t, s, step(t, a, a.Records[0].ID))
				if dies {
					return
				}
				if !lines.Scan() {
					t.Fatal("the other process said nothing when it was continued")
				}
				if got := lines.Text(); !strings.HasPrefix(got, "false <nil>") {
					t.Errorf("the write of the stopped process: got %q, want success", got)
				}
				if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t", At: must(checkpoint.ParseID(id))(t)}); err != nil {
					t.Errorf("what the stopped process has stored: %v", err)
				}
			})
		}
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
