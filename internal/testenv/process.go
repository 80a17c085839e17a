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

// child is a child process, which may have children.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// starter runs functions on one OS thread that lives as long as the process. A child that must die
// with its parent dies with the OS thread that created it.
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

// spawn starts cmd. If the system supports it, sig ends cmd when this process dies.
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
		_ = cmd.Wait() // its log contains the reason
	}()
	return c, nil
}

// alive reports whether the process runs. It returns false for a nil child.
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

// end sends a signal and waits until the process and its children have ended. It kills a process
// that ignores the signal, and returns an error.
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
			_ = kill(pid, sig) // the process may have ended already
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

// guard ends a server and removes its folder when this process ends, even after a panic or a
// timeout without cleanup. It is a shell that waits for the end of its input.
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
	cmd.SysProcAttr = attributes(nil) // a separate group, so that an interrupt from the terminal does not reach it
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &guard{cmd, input}, nil
}

// watch sets the process that the guard must end; 0 for none.
func (g *guard) watch(pid int) {
	// If the guard has ended, the server still ends with its test.
	_, _ = fmt.Fprintln(g.input, pid)
}

// close ends the guard and its server.
func (g *guard) close() {
	_ = g.input.Close()
	_ = g.cmd.Wait()
}

// pause waits for another process that cannot be observed.
func pause(d time.Duration) { <-time.After(d) }

// tail returns the end of a log.
func tail(path string) string {
	log, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(log[max(len(log)-4<<10, 0):])
}
