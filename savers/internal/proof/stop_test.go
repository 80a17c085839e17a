//go:build unix

package proof_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// A process that is stopped at any moment keeps its thread until its lease ends, and no longer.
// When it continues, nothing that it stores follows the take-over.

// stopLease is the lease of those that are stopped.
const stopLease = 300 * time.Millisecond

// stopThread is the thread that a process writes to which is stopped.
const stopThread = "stopped"

// hold opens runs on a thread, writes and ends them. It prints "try" and an id before each write,
// and "did" and the id after its acknowledgement. After a conflict it begins again, while a file
// exists.
func (j *job) hold(s checkpoint.Saver) error {
	ctx := context.Background()
	for {
		chain, err := s.Load(ctx, checkpoint.Ref{Thread: stopThread})
		if err != nil {
			return err
		}
		// After the load: who was stopped before it would read the thread as the take-over left
		// it, and open the next run.
		switch _, err := os.Stat(j.Counter); {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintln(os.Stdout, "end")
			return nil
		case err != nil:
			return err
		}
		err = j.holdRun(ctx, s, chain.Head)
		if err != nil && !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrUnavailable) {
			return err
		}
	}
}

// holdRun makes one run, of an opening and a few commits.
func (j *job) holdRun(ctx context.Context, s checkpoint.Saver, head checkpoint.ID) error {
	var fence checkpoint.ID
	for n := range 4 {
		a := holdAppend(head, n == 3)
		if n == 0 {
			fence = a.Records[0].ID
			a.Open = &checkpoint.Opening{Holder: "the stopped one"}
		} else {
			a.Fence = fence
		}
		head = a.Records[0].ID
		fmt.Fprintln(os.Stdout, "try", head)
		if _, err := s.Append(ctx, a); err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "did", head)
		if n == 0 || n == 3 {
			continue
		}
		w := checkpoint.Write{Base: head, Task: "t", Kind: checkpoint.Result, Payload: []byte("done")}
		p := checkpoint.PutWrites{Thread: stopThread, Fence: fence, Lease: stopLease, Writes: []checkpoint.Write{w}}
		if _, err := s.PutWrites(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func holdAppend(after checkpoint.ID, end bool) checkpoint.Append {
	r := record(after, parse(newID()))
	if r.Snapshot {
		r.Payload = payload(&r)
	}
	return checkpoint.Append{Thread: stopThread, After: after, Records: []checkpoint.Record{r}, Lease: stopLease, End: end}
}

// proveStops stops a process at random moments, takes its thread over, and lets it continue.
func proveStops(t *testing.T, b *bench, c *count) {
	t.Helper()
	least := 12
	switch {
	case b.soak > 0:
		least = 500
	case testing.Short():
		least = 1
	}
	s := b.open(t)
	for b.more(&c.stops, least) {
		if b.stopOnce(t, s, c); t.Failed() {
			return
		}
		if err := s.Delete(t.Context(), stopThread); err != nil {
			t.Fatal(err)
		}
	}
}

// stopOnce stops a process once.
func (b *bench) stopOnce(t *testing.T, s checkpoint.Saver, c *count) {
	t.Helper()
	goOn := t.TempDir() + "/go-on"
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, job{Role: "hold", URL: b.url, Counter: goOn})
	said := make(chan []string, 1)
	first := make(chan struct{})
	go func() {
		var lines []string
		for {
			line, err := p.lines.ReadString('\n')
			if err != nil {
				said <- lines
				return
			}
			if lines = append(lines, strings.TrimSpace(line)); len(lines) == 2 {
				close(first)
			}
		}
	}()
	<-first
	rest(randomly(20 * time.Millisecond))
	signal(t, p, syscall.SIGSTOP)
	if err := os.Remove(goOn); err != nil {
		t.Fatal(err)
	}
	last, waited := b.takeOver(t, s, p)
	if waited {
		c.kept++
	}
	signal(t, p, syscall.SIGCONT)
	checkStopped(t, s, <-said, last)
	p.end(t)
}

func signal(tb testing.TB, p *process, sig syscall.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		tb.Fatal(err)
	}
	for sig == syscall.SIGSTOP {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
		if err != nil {
			tb.Fatal(err)
		}
		switch _, state, _ := strings.Cut(string(stat), ") "); state[:min(len(state), 1)] {
		case "T":
			return
		case "Z", "X":
			tb.Fatal("the process has ended, want it stopped")
		}
		rest(time.Millisecond)
	}
}

// takeOver opens the thread once the lease of the stopped process has ended, and commits. A
// process that is stopped inside a write of SQLite or of a folder keeps its lock. It continues
// first, which takeOver reports.
func (b *bench) takeOver(t *testing.T, s checkpoint.Saver, p *process) (last []checkpoint.ID, kept bool) {
	t.Helper()
	locks := b.name == "sqlite" || b.name == "file"
	for begun := time.Now(); ; rest(time.Millisecond + randomly(10*time.Millisecond)) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if locks && !kept {
			ctx, cancel = context.WithTimeout(t.Context(), 4*stopLease)
		}
		last, err := open3(ctx, s)
		cancel()
		switch {
		case err == nil:
			return last, kept
		case locks && time.Since(begun) > 4*stopLease && !kept:
			kept = true
			signal(t, p, syscall.SIGCONT)
		case time.Since(begun) > patience:
			t.Fatalf("after %v: take over: %v", time.Since(begun), err)
		case !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrUnavailable) && !locks:
			t.Fatalf("take over: %v", err)
		}
	}
}

// open3 opens a run, commits once and ends it.
func open3(ctx context.Context, s checkpoint.Saver) (ids []checkpoint.ID, err error) {
	chain, err := s.Load(ctx, checkpoint.Ref{Thread: stopThread})
	if err != nil {
		return nil, err
	}
	head := chain.Head
	for n := range 3 {
		a := holdAppend(head, n == 2)
		if a.Lease = time.Minute; n == 0 {
			a.Open = &checkpoint.Opening{Holder: "the next"}
		} else {
			a.Fence = ids[0]
		}
		if _, err := s.Append(ctx, a); err != nil {
			return nil, err
		}
		head = a.Records[0].ID
		ids = append(ids, head)
	}
	return ids, nil
}

// checkStopped fails unless all that was acknowledged to either is stored, in order, and nothing
// of the stopped process after the take-over.
func checkStopped(t *testing.T, s checkpoint.Saver, said []string, last []checkpoint.ID) {
	t.Helper()
	stands := make(map[string]int)
	var seqs []string
	for r, err := range s.History(t.Context(), checkpoint.Ref{Thread: stopThread}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		stands[r.ID.String()] = int(r.Seq)
		seqs = append(seqs, r.ID.String())
	}
	from, to := stands[last[0].String()], stands[last[len(last)-1].String()]
	if from == 0 || to != from+len(last)-1 || to != len(seqs) {
		t.Errorf("the run that took over stands from %d to %d of %d records; want its %d records last", from, to, len(seqs), len(last))
	}
	for _, line := range said {
		kind, id, _ := strings.Cut(line, " ")
		if at := stands[id]; kind == "did" && (at == 0 || at >= from) || kind == "try" && at >= from {
			t.Errorf("of the stopped process: %q is record %d; the take-over is record %d\n%s", line, at, from, strings.Join(said, "\n"))
		}
	}
}
