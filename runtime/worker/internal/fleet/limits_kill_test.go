//go:build unix

package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/open"
)

// limitedVariable makes the other process one of those that share limits. It holds a limited.
const limitedVariable = "GRAPHGEN_WORKER_LIMITED"

// The limits of the processes.
const (
	mostHeld  = 3
	perSecond = 100
	apart     = 10500 * time.Microsecond // of two starts: a second and its twentieth, divided by perSecond
	heldFor   = 15 * time.Second         // a process can lose a permit that it could not renew for so long
)

// limited is a process that shares limits.
type limited struct {
	Log     string // where all processes note what they do, a line each
	Process int
	Runs    int // of each of its four callers; 0: it holds a permit and takes starts until it is killed
}

// takenKey is the key of an *atomic.Int64 in a context: when the newest write of a permit began.
type takenKey struct{}

// noted is a saver that notes the writes of limits.
type noted struct {
	checkpoint.Saver
	say func(format string, args ...any)
}

func (n *noted) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if taken, ok := ctx.Value(takenKey{}).(*atomic.Int64); ok && strings.HasPrefix(a.Thread, "__limit/") {
		taken.Store(time.Now().UnixNano())
	}
	r, err := n.Saver.Append(ctx, a)
	if err == nil && strings.HasPrefix(a.Thread, "__rate/") {
		meta := a.Records[0].Meta
		n.say("reserved %s %s", meta["next"], meta["starts"])
	}
	return r, err
}

// callLimited is the main of a process that shares limits.
func callLimited(url string) error {
	var l limited
	if err := json.Unmarshal([]byte(os.Getenv(limitedVariable)), &l); err != nil {
		return err
	}
	file, err := os.OpenFile(l.Log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	opened, err := open.Saver(context.Background(), url)
	if err != nil {
		return err
	}
	s := &noted{Saver: opened, say: func(format string, args ...any) {
		_, _ = fmt.Fprintf(file, "%d %s\n", l.Process, fmt.Sprintf(format, args...)) // the test misses a lost line
	}}
	if l.Runs == 0 {
		return l.hold(s)
	}
	g, err := l.graph(s)
	if err != nil {
		return err
	}
	failed := make([]error, 4)
	var callers sync.WaitGroup
	for i := range failed {
		callers.Go(func() {
			for range l.Runs {
				ctx := context.WithValue(context.Background(), takenKey{}, new(atomic.Int64))
				_, err := g.Run(ctx, JobUpdate{})
				failed[i] = errors.Join(failed[i], err)
			}
		})
	}
	callers.Wait()
	return errors.Join(errors.Join(failed...), s.Close(), file.Close())
}

// limits returns the two limits of a process.
func limits(s checkpoint.Saver) (held, paced graph.Limiter) {
	return graph.MaxConcurrentGlobal(s, "calls", mostHeld), graph.RateGlobal(s, "calls", perSecond, time.Second)
}

// graph returns a graph of two nodes, each with a limit. They note when they run.
func (l *limited) graph(s *noted) (*app, error) {
	held, paced := limits(s)
	var attempts atomic.Int64
	b := graph.New("limited", JobSchema)
	b.Node("held", func(ctx context.Context, _ Job) (JobUpdate, error) {
		i := attempts.Add(1)
		s.say("begin %d", i)
		time.Sleep(5 * time.Millisecond)
		taken, _ := ctx.Value(takenKey{}).(*atomic.Int64)
		s.say("end %d %d", i, time.Now().UnixNano()-taken.Load())
		return JobUpdate{}, nil
	}, graph.Limit(held))
	b.Node("paced", func(context.Context, Job) (JobUpdate, error) {
		s.say("start %d", time.Now().UnixNano())
		return JobUpdate{}, nil
	}, graph.Limit(paced))
	b.Chain(graph.Start, "held", graph.End)
	b.Chain(graph.Start, "paced", graph.End)
	return b.Compile()
}

// hold holds a permit, and takes starts, until the process is killed.
func (l *limited) hold(s *noted) error {
	held, paced := limits(s)
	if _, err := held.Acquire(context.Background()); err != nil {
		return err
	}
	s.say("begin 0")
	for range 8 {
		go func() {
			for {
				if _, err := paced.Acquire(context.Background()); err == nil {
					s.say("start %d", time.Now().UnixNano())
				}
			}
		}()
	}
	select {}
}

// startLimited starts a process that shares limits.
func startLimited(t *testing.T, url string, l limited) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	p := exec.Command(exe)
	p.Env, p.Stderr = append(os.Environ(), childVariable+"="+url, limitedVariable+"="+string(text)), os.Stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

// TestLimitsOfTenProcesses has ten processes that share a number of permits and a rate. One of
// them is killed while it holds a permit and reserved starts. The others do all of their work.
func TestLimitsOfTenProcesses(t *testing.T) {
	runs := 20
	if testing.Short() {
		runs = 3
	}
	for _, kind := range kinds("sqlite", "file", "postgres") {
		t.Run(kind, func(t *testing.T) {
			url := "sqlite://" + t.TempDir() + "/a.db"
			switch kind {
			case "file":
				url = "file://" + t.TempDir() + "/a"
			case "postgres":
				url = testenv.Postgres(t)
			}
			s, err := open.Saver(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			name := filepath.Join(t.TempDir(), "log")
			log, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = log.Close() }()
			began := time.Now()
			victim := startLimited(t, url, limited{Log: name})
			said := func(prefix string) int { return len(lines(t, name, prefix)) }
			wait(t, "it holds a permit and reserves starts", func() bool { return said("0 begin") > 0 && said("0 reserved") > 2 })
			var others []*exec.Cmd
			for i := range 9 {
				others = append(others, startLimited(t, url, limited{Log: name, Process: i + 1, Runs: runs}))
			}
			wait(t, "the others work", func() bool { return len(lines(t, name, ""))-said("0 ") > 9*runs })
			_ = victim.Process.Kill() // SIGKILL
			_ = victim.Wait()         // says that it was killed
			if _, err := fmt.Fprintln(log, "0 end 0", int64(time.Since(began))); err != nil {
				t.Fatal(err)
			}
			for _, p := range others {
				if err := p.Wait(); err != nil {
					t.Errorf("another process: %v", err)
				}
			}
			checkHeld(t, lines(t, name, ""), 9*4*runs+1)
			checkPaced(t, lines(t, name, ""), 9*4*runs)
			if testing.Short() {
				return // a permit of a dead process returns after 20 s
			}
			held, _ := limits(s)
			for range mostHeld {
				if _, err := held.Acquire(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// lines returns the lines of a log with a prefix.
func lines(t *testing.T, name, prefix string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, prefix) && strings.HasSuffix(line, "\n") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// wait waits for a condition.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not within 5 minutes: %s", what)
		}
	}
}

// checkHeld counts the attempts between their lines of begin and end, whose order in the log is
// that in which they were written. Attempts that held a permit for so long that they can have lost
// it do not count.
func checkHeld(t *testing.T, log []string, attempts int) {
	t.Helper()
	slow := make(map[string]bool) // by process and attempt
	for _, line := range log {
		if f := strings.Fields(line); f[1] == "end" {
			took, err := strconv.ParseInt(f[3], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			slow[f[0]+" "+f[2]] = time.Duration(took) >= heldFor
		}
	}
	now, most, counted := 0, 0, 0
	for _, line := range log {
		f := strings.Fields(line)
		switch {
		case f[1] != "begin" && f[1] != "end" || slow[f[0]+" "+f[2]]:
		case f[1] == "begin":
			now++
			counted++
			most = max(most, now)
		default:
			now--
		}
	}
	if most > mostHeld || now != 0 || len(slow) != attempts {
		t.Errorf("%d attempts ended, %d ran at the end, and %d at the same time; want %d, 0 and at most %d", len(slow), now, most, attempts, mostHeld)
	}
	t.Logf("%d attempts, %d of them shorter than %s, at most %d at the same time", len(slow), counted, heldFor, most)
}

// checkPaced compares the starts that processes reserved with each other, and with their attempts.
// Each attempt has a start of its process, and began no earlier. attempts is the number of
// attempts of the processes that were not killed.
func checkPaced(t *testing.T, log []string, attempts int) {
	t.Helper()
	reserved, began := make(map[string][]int64), make(map[string][]int64)
	for _, line := range log {
		switch f := strings.Fields(line); f[1] {
		case "start":
			at, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			began[f[0]] = append(began[f[0]], at)
		case "reserved":
			next, err := time.Parse(time.RFC3339Nano, f[2])
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.Atoi(f[3])
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				reserved[f[0]] = append(reserved[f[0]], next.Add(-time.Duration(n-i)*apart).UnixNano())
			}
		}
	}
	var all []int64
	made := 0
	for process, times := range began {
		slices.Sort(times)
		starts := reserved[process]
		slices.Sort(starts)
		all = append(all, starts...)
		for i, at := range times {
			if i >= len(starts) || at < starts[i] {
				t.Errorf("process %s: attempt %d of %d began at %d, and has no start of the %d that it reserved", process, i, len(times), at, len(starts))
				break
			}
		}
		if process != "0" {
			made += len(times)
		}
	}
	slices.Sort(all)
	for i := range all[1:] {
		if d := time.Duration(all[i+1] - all[i]); d < apart {
			t.Errorf("two starts are %s apart, want at least %s", d, apart)
		}
	}
	if made != attempts {
		t.Errorf("%d attempts began, want %d", made, attempts)
	}
	t.Logf("%d starts reserved, %d attempts of processes that were not killed", len(all), made)
}
