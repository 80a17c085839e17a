package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv/tmpfs"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// The variables make the test binary a process that writes to a file: see TestMain.
const (
	fileVariable   = "GRAPHGEN_SQLITE_FILE"
	threadVariable = "GRAPHGEN_SQLITE_THREAD"
	countVariable  = "GRAPHGEN_SQLITE_COUNT"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(fileVariable); path != "" {
		if err := child(path, os.Getenv(threadVariable), os.Getenv(countVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // the child's main
		}
		return
	}
	tmpfs.InMemory()
	m.Run()
}

// child commits supersteps to a thread, and prints the id of each when it was acknowledged. A
// thread that another process took over is taken back.
func child(path, thread, count string) error {
	n := 0
	if _, err := fmt.Sscan(count, &n); err != nil {
		return err
	}
	s, err := sqlite.Open(path, sqlite.BusyTimeout(5*time.Minute)) // other processes take turns with this one, on a busy machine too
	if err != nil {
		return err
	}
	ctx := context.Background()
	var r *run
	for n > 0 {
		var id checkpoint.ID
		var err error
		if r == nil {
			if r, err = begin(ctx, s, thread); err == nil {
				id = r.head
			}
		} else {
			id, err = r.commit(ctx, []byte("payload"))
		}
		switch {
		case errors.Is(err, checkpoint.ErrConflict):
			r = nil
		case err != nil:
			return err
		default:
			n--
			if _, err := fmt.Fprintln(os.Stdout, id); err != nil {
				return err
			}
		}
	}
	return s.Close()
}

// start starts a process that commits to a thread, and returns what it acknowledges.
func start(t *testing.T, path, thread string, count int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:gosec // the test itself
	cmd.Env = append(os.Environ(), fileVariable+"="+path, threadVariable+"="+thread, fmt.Sprintf("%s=%d", countVariable, count))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// acknowledged adds the ids that a process prints, until at most so many have come; 0 is all.
func acknowledged(t *testing.T, out *bufio.Scanner, most int) (ids []checkpoint.ID) {
	t.Helper()
	for (most == 0 || len(ids) < most) && out.Scan() {
		id, err := checkpoint.ParseID(out.Text())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// wantAll fails unless the ids stand in a thread in their order.
func wantAll(t *testing.T, s checkpoint.Saver, thread string, ids []checkpoint.ID) {
	t.Helper()
	all := stored(t, s, thread)
	slices.Reverse(all)
	at := 0
	for _, id := range ids {
		i := slices.Index(all[at:], id)
		if i < 0 {
			t.Fatalf("thread %q: record %s was acknowledged and is not there, or not in its place", thread, id)
		}
		at += i + 1
	}
}

func TestProcessesShareOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	const each = 50
	type process struct {
		cmd *exec.Cmd
		out *bufio.Scanner
		ids []checkpoint.ID
	}
	threads := []string{"shared", "shared", "a", "b"} // two fight for one thread, two have their own
	var all []*process
	for _, thread := range threads {
		cmd, out := start(t, path, thread, each)
		all = append(all, &process{cmd: cmd, out: out})
	}
	for _, p := range all {
		p.ids = acknowledged(t, p.out, 0)
		if err := p.cmd.Wait(); err != nil {
			t.Fatalf("a process: %v", err)
		}
	}
	s := open(t, path)
	for i, p := range all {
		if len(p.ids) != each {
			t.Errorf("process %d: %d acknowledged, want %d", i, len(p.ids), each)
		}
		wantAll(t, s, threads[i], p.ids)
	}
	for thread, want := range map[string]int{"shared": 2 * each, "a": each, "b": each} {
		if got := len(stored(t, s, thread)); got != want {
			t.Errorf("thread %q: %d records, want %d", thread, got, want)
		}
	}
}

func TestNothingAcknowledgedIsLostWhenTheProcessIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	const rounds = 6 // savers/internal/proof kills workers, too
	var ids []checkpoint.ID
	for range rounds {
		cmd, out := start(t, path, "t", 1<<30)
		ids = append(ids, acknowledged(t, out, 1+rand.N(60))...)
		if err := cmd.Process.Kill(); err != nil { // at some point of some later call
			t.Fatal(err)
		}
		ids = append(ids, acknowledged(t, out, 0)...)
		if err := cmd.Wait(); err == nil {
			t.Fatal("the process ended by itself, want it killed")
		}
	}
	s := open(t, path)
	wantAll(t, s, "t", ids)
	if _, err := begin(t.Context(), s, "t"); err != nil {
		t.Errorf("a run after the last kill: %v", err)
	}
	t.Logf("%d kills, %d acknowledged records, all there", rounds, len(ids))
}
