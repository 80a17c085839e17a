package file_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv/tmpfs"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// childEnv makes a copy of the test binary another process on a folder. Its value is the role and
// the folder. The roles are "hold", "write" and those of stopRoles.
const childEnv = "GRAPHGEN_FILE_CHILD"

func TestMain(m *testing.M) {
	role, dir, child := strings.Cut(os.Getenv(childEnv), " ")
	if !child {
		tmpfs.InMemory()
		m.Run()
		return
	}
	run := stopRoles()[role]
	switch role {
	case "hold":
		run = hold
	case "write":
		run = write
	}
	if err := run(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is the main of another process
	}
}

// startOf returns the opening of a run after the head of a thread. It needs no test.
func startOf(s checkpoint.Saver, thread, holder string) (checkpoint.Append, error) {
	chain, err := s.Load(context.Background(), checkpoint.Ref{Thread: thread})
	if err != nil {
		return checkpoint.Append{}, err
	}
	id, err := checkpoint.NewID()
	return checkpoint.Append{
		Thread: thread, After: chain.Head, Open: &checkpoint.Opening{Holder: holder},
		Records: []checkpoint.Record{{
			ID: id, Parent: chain.Head, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: []byte(id.String()),
		}},
	}, err
}

// hold holds the lease of thread t until its input ends.
func hold(dir string) error {
	s, err := file.Open(dir)
	if err != nil {
		return err
	}
	a, err := startOf(s, "t", "the other process")
	if err != nil {
		return err
	}
	if _, err := s.Append(context.Background(), a); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, a.Records[0].ID)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// write writes to three threads until its process dies. It prints each acknowledged write as one
// line.
func write(dir string) error {
	s, err := file.Open(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for n := 0; ; n++ {
		thread := fmt.Sprint("thread ", n%3)
		a, err := startOf(s, thread, "the writer")
		if err != nil {
			return err
		}
		a.Open.TakeOver = true // the process before was killed, and its lease has not ended
		done, err := s.Append(ctx, a)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "record", done.Version, a.Records[0].ID, thread)
		fence := a.Records[0].ID
		for i := range 4 {
			w := checkpoint.Write{Base: a.Records[0].ID, Task: fmt.Sprint(i), Kind: checkpoint.Result, Payload: []byte(thread)}
			if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: thread, Fence: fence, Writes: []checkpoint.Write{w}}); err != nil {
				return err
			}
			fmt.Fprintln(os.Stdout, "write", done.Version, w.Base, w.Task, thread)
			id, err := checkpoint.NewID()
			if err != nil {
				return err
			}
			last := a.Records[0].ID
			a = checkpoint.Append{Thread: thread, After: last, Fence: fence, End: i == 3, Release: i == 3 && n%5 == 4}
			a.Records = []checkpoint.Record{{
				ID: id, Parent: last, Base: id, Line: fence, Source: checkpoint.Loop, Step: i + 1, Payload: []byte(id.String()),
			}}
			if _, err := s.Append(ctx, a); err != nil {
				return err
			}
			fmt.Fprintln(os.Stdout, "record", done.Version, id, thread)
		}
	}
}

// child starts a copy of the test binary in a role and returns it with its output.
func child(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+role+" "+dir)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

// kill kills a child and waits for its end.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // reports that the process was killed
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	cmd, lines := child(t, "hold", dir)
	if !lines.Scan() {
		t.Fatal("the other process said nothing")
	}
	s := open(t, dir)
	a, err := startOf(s, "t", "this process")
	if err != nil {
		t.Fatal(err)
	}
	if a.After.String() != lines.Text() {
		t.Fatalf("head: got %s, want %s", a.After, lines.Text())
	}
	_, err = s.Append(t.Context(), a)
	var busy *checkpoint.BusyError
	if !errors.As(err, &busy) || busy.Holder != "the other process" || busy.Thread != "t" {
		t.Fatalf("append: got %v, want a *BusyError that names the other process", err)
	}
	t.Log(err)
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil || chain.Thread.Holder != "the other process" {
		t.Errorf("load: got holder %q, %v; want the other process", chain.Thread.Holder, err)
	}
	if err := s.Delete(t.Context(), "t"); !errors.As(err, &busy) {
		t.Errorf("delete: got %v, want a *BusyError", err)
	}
	kill(t, cmd)
	if _, err = s.Append(t.Context(), a); !errors.As(err, &busy) {
		t.Errorf("append after the process died: got %v, want a *BusyError until its lease ends", err)
	}
	a.Open.TakeOver = true
	mustAppend(t, s, a)
}

func TestTakeOverFromALivingProcess(t *testing.T) {
	dir := t.TempDir()
	_, lines := child(t, "hold", dir)
	if !lines.Scan() {
		t.Fatal("the other process said nothing")
	}
	s, third := open(t, dir), open(t, dir)
	a, err := startOf(s, "t", "this process")
	if err != nil {
		t.Fatal(err)
	}
	a.Open.TakeOver = true
	mustAppend(t, s, a)
	b, err := startOf(third, "t", "a third")
	if err != nil {
		t.Fatal(err)
	}
	var busy *checkpoint.BusyError
	if _, err := third.Append(t.Context(), b); !errors.As(err, &busy) || busy.Holder != "this process" {
		t.Errorf("append by a third: got %v, want a *BusyError that names this process", err)
	}
}

// A writing process is killed at a random moment, round after round on the same folder. All
// acknowledged writes are found, and the folder stays writable.
func TestKilledWriterLosesNothing(t *testing.T) {
	const rounds = 8 // savers/internal/proof kills workers, too
	dir := t.TempDir()
	var acked []string
	for round := range rounds {
		cmd, lines := child(t, "write", dir)
		for range 1 + rand.IntN(60) {
			if !lines.Scan() {
				t.Fatalf("round %d: the writer ended by itself", round)
			}
			acked = append(acked, lines.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // lines printed before the kill count too; the last may be incomplete
			if line := lines.Text(); len(strings.Fields(line)) >= 5 && line[len(line)-2] == ' ' {
				acked = append(acked, line)
			}
		}
		_ = cmd.Wait()
		s, err := file.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range acked {
			checkAcked(t, s, line)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rounds, %d acknowledged writes, none lost", rounds, len(acked))
}

// checkAcked fails unless s has the write that a line reports as stored.
func checkAcked(t *testing.T, s checkpoint.Saver, line string) {
	t.Helper()
	var kind, id, task string
	var version int
	if _, err := fmt.Sscan(line, &kind, &version, &id, &task); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	at, err := checkpoint.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	thread := line[strings.Index(line, "thread"):]
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread, Version: version, At: at})
	if err != nil {
		t.Fatalf("lost: %q: %v", line, err)
	}
	switch last := chain.Last; {
	case kind == "record" && string(last.Payload) != id:
		t.Fatalf("%q: got payload %q", line, last.Payload)
	case kind == "write" && !slices.ContainsFunc(chain.Writes, func(w checkpoint.Write) bool { return w.Task == task }):
		t.Fatalf("lost: %q: its base has no such write", line)
	}
}
