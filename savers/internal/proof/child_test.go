//go:build unix

package proof_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/graphgen-go/graphgen/internal/testenv/tmpfs"
	"github.com/graphgen-go/graphgen/savers/open"
)

// childVariable makes the test binary another process: it holds a job.
const childVariable = "GRAPHGEN_PROOF_CHILD"

// job is what another process is there for.
type job struct {
	Role    string // linear, resume, hold, store, wait or work
	URL     string // of the saver
	Counter string // the shared counter's file; hold: the run continues while it exists
	Dir     string // where journals are
	Waits   string // work, wait: where those of threads that wait are; "" for none
	First   []int  // work: the first thread of each lane; store: the first batch
	Finish  bool   // work: to end when those are finished
	Limit   uint64 // work: the size of a file, in bytes; 0 for none
}

func TestMain(m *testing.M) {
	text, child := os.LookupEnv(childVariable)
	if !child {
		if _, soak := os.LookupEnv("GRAPHGEN_SOAK"); !soak { // which is for the disk, too
			tmpfs.InMemory()
		}
		m.Run()
		return
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the other process:", err)
		os.Exit(1) //nolint:forbidigo // this is the main of another process
	}
}

func (j *job) run() error {
	if j.Limit > 0 {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: j.Limit, Max: j.Limit}); err != nil {
			return err
		}
	}
	if j.Role == "store" {
		return j.writeStore()
	}
	saver, err := open.Saver(context.Background(), j.URL)
	if err != nil {
		return err
	}
	switch j.Role {
	case "linear":
		err = j.linear(saver)
	case "resume":
		err = j.resume(saver)
	case "hold":
		err = j.hold(saver)
	case "wait":
		err = j.wait(saver)
	default:
		err = j.work(saver)
	}
	return errors.Join(err, saver.Close())
}

// process is another process, which answers requests.
type process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	lines *bufio.Reader // what it says, up to its end; kill and wait leave it readable
	ended sync.Once
}

// start starts a process with a job. It ends with the test.
func start(tb testing.TB, j job) *process {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(j)
	if err != nil {
		tb.Fatal(err)
	}
	p := &process{cmd: exec.Command(exe)}
	p.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	p.input, err = p.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	// Wait would close a StdoutPipe, and what the process said before its end would be lost.
	out, into, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = out.Close() })
	p.cmd.Stdout, p.lines = into, bufio.NewReader(out)
	if err := errors.Join(p.cmd.Start(), into.Close()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.kill)
	return p
}

// kill ends a process as kill -9 does, and waits for its end.
func (p *process) kill() {
	p.ended.Do(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()         // says that it was killed
	})
}

// wait waits until a process ends by itself, and returns its exit code.
func (p *process) wait() int {
	p.ended.Do(func() { _ = p.cmd.Wait() }) // the code says how it ended
	return p.cmd.ProcessState.ExitCode()
}

// end tells a process that there is no more to do, and waits for its end.
func (p *process) end(tb testing.TB) {
	tb.Helper()
	p.ended.Do(func() {
		_ = p.input.Close() // it may have ended
		if err := p.cmd.Wait(); err != nil {
			tb.Errorf("another process: %v", err)
		}
	})
}

// ask sends a request.
func (p *process) ask(tb testing.TB, request any) {
	tb.Helper()
	text, err := json.Marshal(request)
	if err == nil {
		_, err = fmt.Fprintf(p.input, "%s\n", text)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// answer waits for what a process says.
func (p *process) answer(tb testing.TB, into any) {
	tb.Helper()
	line, err := p.lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		tb.Fatalf("another process says %q: %v", line, err)
	}
}

// serve answers requests until there are no more. A process without a parent ends immediately.
func serve[Q, A any](reply func(Q) (A, error)) error {
	var busy atomic.Bool
	requests, failed := make(chan Q), make(chan error, 1)
	go func() {
		defer close(requests)
		for in := json.NewDecoder(os.Stdin); ; {
			var q Q
			err := in.Decode(&q)
			if err != nil && busy.Load() {
				os.Exit(1) //nolint:forbidigo // the test is gone
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					failed <- err
				}
				return
			}
			requests <- q
		}
	}()
	out := json.NewEncoder(os.Stdout)
	for q := range requests {
		busy.Store(true)
		a, err := reply(q)
		if err != nil {
			return err
		}
		busy.Store(false) // who has the answer may leave
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// counters are numbers that processes share: a page of a file in memory.
type counters struct {
	clock, gate, back *int64
}

// newCounters makes the file.
func newCounters(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "counters")
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// share maps the file; it stays so while the process lives.
func share(path string) (counters, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return counters{}, err
	}
	page, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err = errors.Join(err, f.Close()); err != nil {
		return counters{}, err
	}
	number := func(at int) *int64 { return (*int64)(unsafe.Pointer(&page[at])) }
	return counters{clock: number(0), gate: number(64), back: number(128)}, nil
}

// now moves the clock on by one, and returns where it stands.
func (c counters) now() int64 { return atomic.AddInt64(c.clock, 1) }
