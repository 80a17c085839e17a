package testenv

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// child is a process of ours that may have children of its own.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and was waited for
}

// starter runs functions on one thread that lives as long as the process: a child that is to die with its parent
// dies with the thread that made it.
var starter = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for call := range calls {
			call()
		}
	}()
	return calls
})

// spawn starts cmd; sig ends it when this process dies, where the system can do that.
func spawn(cmd *exec.Cmd, sig syscall.Signal) (*child, error) {
	dieWithParent(cmd.SysProcAttr, sig)
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return c, nil
}

// alive reports whether the process runs; a nil child does not.
func (c *child) alive() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// end sends a signal and returns when the process and its children are gone. One that does not heed the signal is
// killed, and reported.
func (c *child) end(sig syscall.Signal) error {
	if !c.alive() {
		return nil
	}
	children := childrenOf(c.cmd.Process.Pid)
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if sig == syscall.SIGKILL {
		for _, pid := range children {
			_ = syscall.Kill(pid, sig) // it may be gone already, which is what is wanted
		}
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-c.done:
		return nil
	case <-timeout.C:
		err := c.cmd.Process.Kill()
		<-c.done
		return errors.Join(fmt.Errorf("it did not end by %s and was killed", sig), err)
	}
}

// guard ends a server and removes its folder when this process is gone, however it went: also when a test panics or
// runs into its time limit, and nobody cleans up. It is a shell that waits for the end of its input.
type guard struct {
	cmd   *exec.Cmd
	input io.WriteCloser
}

const guardScript = `
pid=0
while read -r next; do pid=$next; done
if [ "$pid" -gt 0 ]; then
	kill -"$1" "$pid" 2>/dev/null
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.2
	done
	kill -9 "$pid" 2>/dev/null
fi
rm -rf -- "$2"
`

func newGuard(dir string, sig syscall.Signal) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "sh", strconv.Itoa(int(sig)), dir)
	cmd.SysProcAttr = attributes(nil) // a group of its own: an interrupt from the terminal is not for it
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &guard{cmd, input}, nil
}

// watch tells the guard which process is to end; 0 for none.
func (g *guard) watch(pid int) {
	// A guard that is gone cannot be told; the server still ends with its test.
	_, _ = fmt.Fprintln(g.input, pid)
}

// close ends the guard, and what it guards.
func (g *guard) close() {
	_ = g.input.Close()
	_ = g.cmd.Wait()
}

// pause waits for something outside of this process that gives no sign.
func pause(d time.Duration) { <-time.After(d) }

// tail returns the end of a log.
func tail(path string) string {
	log, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(log[max(len(log)-4<<10, 0):])
}
