//go:build unix

package fleet_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/open"
)

// These variables make the program a worker: the URL of its saver, and its role.
const (
	urlVariable  = "GRAPHGEN_FLEET_URL"
	roleVariable = "GRAPHGEN_FLEET_ROLE"
)

// The roles of a worker.
const (
	serves = "serves" // runs threads
	holds  = "holds"  // runs threads, whose nodes never return
	pools  = "pools"  // runs tasks of the queue
)

func TestMain(m *testing.M) {
	if url := os.Getenv(urlVariable); url != "" {
		if err := work(url, os.Getenv(roleVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// work is a worker in another process. It opens the saver, writes a line, and waits for one. Then
// it works until its standard input ends, and writes a line for each execution of a node and for
// each thread that ended.
func work(url, role string) error {
	s, err := open.Saver(context.Background(), url)
	if err != nil {
		return err
	}
	node := func(ctx context.Context) error {
		if id := graph.CurrentTask(ctx).Thread; strings.HasPrefix(id, "held") {
			fmt.Fprintln(os.Stdout, "ran", id)
		}
		if role == holds {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	app, err := compile(s, node)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	opt := worker.Options{Slots: slots, OnEvent: func(e worker.Event) {
		if e.Kind == worker.EventEnded && e.Status == graph.Done {
			fmt.Fprintln(os.Stdout, "done", e.Thread)
		}
	}}
	if role == pools {
		opt.QueuesOnly, opt.Queues = true, map[string]int{queue: slots}
	}
	return errors.Join(worker.New(s, opt, app).Run(ctx), s.Close())
}

// process is a worker in another process.
type process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	lines chan string // closed when the process has ended
}

// begin starts a process, and returns when it has opened its saver.
func begin(b *testing.B, url, role string) *process {
	b.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), lines: make(chan string, 4096)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), urlVariable+"="+url, roleVariable+"="+role), os.Stderr
	input, err := p.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	p.input = input
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	b.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
	})
	p.expect(b, "ready")
	return p
}

// run makes the process work.
func (p *process) run(b *testing.B) {
	b.Helper()
	if _, err := fmt.Fprintln(p.input, "go"); err != nil {
		b.Fatal(err)
	}
}

// expect waits for a line.
func (p *process) expect(b *testing.B, want string) {
	b.Helper()
	for limit := time.After(time.Minute); ; {
		select {
		case line, ok := <-p.lines:
			if !ok {
				b.Fatalf("a worker ended before it wrote %q", want)
			}
			if line == want {
				return
			}
		case <-limit:
			b.Fatalf("a worker did not write %q within a minute", want)
		}
	}
}

// end stops the process, and returns when it has drained.
func (p *process) end(b *testing.B) {
	b.Helper()
	if err := p.input.Close(); err != nil {
		b.Fatal(err)
	}
	for range p.lines { // until it has ended
	}
}

// kill ends the process by SIGKILL.
func (p *process) kill(b *testing.B) {
	b.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		b.Fatal(err)
	}
}
