package testenv

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Server is a server that runs as a child process. Its methods must not be called concurrently.
type Server struct {
	Addr string // host:port
	DSN  string // for the server's Go driver

	kind  kind
	dir   string // contains all files of the server
	ports []int
	user  *account // the user of the process; nil for the current user
	guard *guard
	child *child
}

// kind describes one kind of server.
type kind struct {
	name    string                 // the package to install, for messages
	needs   []string               // programs
	folders []string               // patterns of folders outside PATH that may contain the programs
	users   []string               // the user if this process is root: the first that exists; empty for root
	ports   int                    // the number of ports
	setup   func(*Server) []string // the command that creates the data folder; nil for none
	run     func(*Server) []string // the command that runs the server
	dsn     func(*Server) string
	ready   func(*Server) error // returns nil if the server answers
	end     syscall.Signal      // ends the server and its children immediately
}

// The time limit for a server to answer or to end.
const patience = 2 * time.Minute

// start creates and starts a server. If another process takes a free port first, start tries a few
// other ports.
func start(k kind, attempt int) (*Server, error) {
	s, err := prepare(k)
	if err != nil {
		return nil, err
	}
	if err = s.launch(); err == nil {
		return s, nil
	}
	err = errors.Join(err, s.remove())
	if attempt == 3 {
		return nil, err
	}
	return start(k, attempt+1)
}

// prepare creates the folder of a server.
func prepare(k kind) (*Server, error) {
	for _, program := range k.needs {
		if find(program, k.folders) == "" {
			return nil, fmt.Errorf("testenv: %s is not installed (no %s): run internal/testenv/install.sh, which installs it or says how; or leave out tests that need servers: go test -short", k.name, program)
		}
	}
	dir, err := os.MkdirTemp("", "graphgen-test-")
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	s := &Server{kind: k, dir: dir}
	if s.user = credential(k.users); s.user != nil {
		err = os.Chown(dir, int(s.user.Uid), int(s.user.Gid))
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		s.guard, err = newGuard(dir, k.end)
	}
	if err == nil {
		s.ports, err = freePorts(k.ports)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("testenv: %s: %w", k.name, err), s.remove())
	}
	s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.ports[0]))
	s.DSN = k.dsn(s)
	return s, nil
}

// launch creates the data folder and starts the server.
func (s *Server) launch() error {
	if s.kind.setup != nil {
		setup := s.command(s.kind.setup(s))
		if out, err := setup.CombinedOutput(); err != nil {
			return fmt.Errorf("testenv: %s: %s: %w\n%s", s.kind.name, setup, err, out)
		}
	}
	return s.serve()
}

// Restart starts the server again after a Kill, with its data and address. It returns when the
// server answers.
func (s *Server) Restart() error {
	if s.child.alive() {
		return fmt.Errorf("testenv: %s runs already: Kill it first", s.kind.name)
	}
	// The kernel may still hold a port or shared memory of the killed server for a moment.
	for deadline := time.Now().Add(patience / 2); ; pause(50 * time.Millisecond) {
		if err := s.serve(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// serve starts the process and waits until it answers, ends or exceeds the time limit.
func (s *Server) serve() error {
	deadline := time.Now().Add(patience)
	log, err := os.Create(s.log())
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	cmd := s.command(s.kind.run(s))
	cmd.Stdout, cmd.Stderr = log, log
	s.child, err = spawn(cmd, s.kind.end)
	if err = errors.Join(err, log.Close()); err != nil {
		return fmt.Errorf("testenv: %s: %w", s.kind.name, err)
	}
	s.guard.watch(cmd.Process.Pid)
	for {
		answer := s.kind.ready(s)
		alive := s.child.alive()
		if answer == nil && alive {
			return nil
		}
		if answer == nil {
			answer = errors.New("it has ended, and somebody else answers at its address")
		}
		if !alive || time.Now().After(deadline) {
			return fmt.Errorf("testenv: %s does not answer: %w\n%s", cmd, answer, tail(s.log()))
		}
		pause(3 * time.Millisecond)
	}
}

// Kill ends the server and its children by kill -9, and returns when they have ended.
func (s *Server) Kill() error { return s.stop(syscall.SIGKILL) }

// stop sends a signal and waits for the end.
func (s *Server) stop(sig syscall.Signal) error {
	if s.child == nil {
		return nil
	}
	err := s.child.end(sig)
	s.guard.watch(0)
	if err != nil {
		return fmt.Errorf("testenv: %s: %w", s.kind.name, err)
	}
	return nil
}

// remove ends the server and removes its files.
func (s *Server) remove() error {
	err := s.stop(s.kind.end)
	if s.guard != nil {
		s.guard.close()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// command returns a command that runs as the server's user, in its folder.
func (s *Server) command(args []string) *exec.Cmd {
	cmd := exec.Command(find(args[0], s.kind.folders), args[1:]...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = attributes(s.user)
	return cmd
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) log() string { return s.path("server.log") }

// port returns a port as an argument.
func (s *Server) port(i int) string { return strconv.Itoa(s.ports[i]) }

// find returns the path of a program, or "".
func find(program string, folders []string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, pattern := range append(folders, "/usr/local/sbin", "/usr/sbin", "/sbin") {
		found, err := filepath.Glob(filepath.Join(pattern, program))
		if err == nil && len(found) > 0 {
			return found[len(found)-1] // the newest version, if the folder contains the version
		}
	}
	return ""
}

// freePorts returns ports that are currently free.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // closed after all ports are known, so that they differ
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
