package nats_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	graphgennats "github.com/graphgen-go/graphgen/engines/nats"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// childVariable makes the test binary another process, which is a NATS server on that port. Its
// files are in the folder of folderVariable.
const (
	childVariable  = "GRAPHGEN_NATS_CHILD"
	folderVariable = "GRAPHGEN_NATS_FOLDER"
)

func TestMain(m *testing.M) {
	port, isServer := os.LookupEnv(childVariable)
	if !isServer {
		m.Run()
		return
	}
	if err := serve(port, os.Getenv(folderVariable)); err != nil {
		fmt.Fprintln(os.Stderr, "the other process:", err)
		os.Exit(1) //nolint:forbidigo // this is the main of another process
	}
}

// serve runs a server until the standard input ends.
func serve(port, folder string) error {
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: n, NoSigs: true, NoLog: true, JetStream: true, StoreDir: folder,
	})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return errors.New("it is not ready after a minute")
	}
	_, port, err = net.SplitHostPort(s.Addr().String())
	if err != nil {
		return err
	}
	if _, err := fmt.Println(port); err != nil { //nolint:forbidigo // the parent reads it
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	return err
}

// process is a NATS server in another process.
type process struct {
	folder string // has a folder for each start
	starts int
	port   string
	cmd    *exec.Cmd
	input  io.Closer
}

// start starts the server, on the port that it had before, with nothing stored. It ends with the
// test.
func (p *process) start(tb testing.TB) {
	tb.Helper()
	p.starts++
	if p.port == "" {
		p.port = "-1"
	}
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	p.cmd = exec.Command(exe)
	folder := filepath.Join(p.folder, strconv.Itoa(p.starts))
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), childVariable+"="+p.port, folderVariable+"="+folder), os.Stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatalf("the NATS server has not started: %v", err)
	}
	p.port = strings.TrimSpace(line)
}

// kill ends the server by kill -9.
func (p *process) kill(testing.TB) {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
	_ = p.input.Close()
}

// connect connects to the server until the test ends.
func (p *process) connect(tb testing.TB, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	opts = append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0)}, opts...)
	conn, err := nats.Connect("nats://127.0.0.1:"+p.port, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

func startServer(tb testing.TB) *process {
	tb.Helper()
	p := &process{folder: tb.TempDir()}
	p.start(tb)
	tb.Cleanup(func() { p.kill(tb) })
	return p
}

func TestEngine(t *testing.T) {
	p := startServer(t)
	n := 0
	enginetest.Run(t, func(testing.TB) enginetest.Place {
		n++
		prefix := fmt.Sprint("place", n)
		return enginetest.Place{
			Open: func(tb testing.TB) worker.Engine {
				tb.Helper()
				return graphgennats.NewEngine(p.connect(tb), prefix)
			},
			Interrupt: func(tb testing.TB) {
				tb.Helper()
				p.kill(tb)
				p.start(tb)
			},
		}
	})
}

func TestAWakeWithoutAServerIsAnError(t *testing.T) {
	p := startServer(t)
	conn := p.connect(t)
	e := graphgennats.NewEngine(conn, "g")
	if err := e.Wake(t.Context(), "orders", "t"); err != nil {
		t.Fatal(err)
	}
	lost := conn.StatusChanged(nats.RECONNECTING)
	p.kill(t)
	<-lost
	if err := e.Wake(t.Context(), "orders", "t"); !errors.Is(err, nats.ErrDisconnected) {
		t.Errorf("got %v, want ErrDisconnected", err)
	}
	p.start(t)
}

func TestListenReturnsAnErrorWhenTheClientGivesUp(t *testing.T) {
	p := startServer(t)
	conn := p.connect(t, nats.MaxReconnects(0))
	e := graphgennats.NewEngine(conn, "g")
	began := make(chan struct{}, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- e.Listen(t.Context(), []string{"orders"}, func(string, string) { began <- struct{}{} })
	}()
	<-began
	p.kill(t)
	if err := <-ended; !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("got %v, want ErrConnectionClosed", err)
	}
	if err := e.Listen(t.Context(), []string{"orders"}, func(string, string) {}); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("again: got %v, want ErrConnectionClosed", err)
	}
	p.start(t)
}

func TestAClientWithoutThePermissionIsTold(t *testing.T) {
	opts := &server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, Users: []*server.User{{
		Username: "u", Password: "p",
		Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"g.hints.*"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"g.hints.*"}},
		},
	}}}
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready after a minute")
	}
	refused := make(chan error, 10)
	conn, err := nats.Connect(s.ClientURL(), nats.UserInfo("u", "p"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := make(chan string, 10)
	listen := func(e *graphgennats.Engine) {
		go func() {
			_ = e.Listen(ctx, []string{"orders"}, func(graph, thread string) { heard <- graph + "/" + thread })
		}()
	}
	good, bad := graphgennats.NewEngine(conn, "g"), graphgennats.NewEngine(conn, "h")
	listen(good)
	if got := <-heard; got != "/" {
		t.Errorf("got %q first, want the empty hint", got)
	}
	if err := good.Wake(ctx, "orders", "t"); err != nil {
		t.Error(err)
	}
	if got := <-heard; got != "orders/t" {
		t.Errorf("got %q, want the hint", got)
	}
	listen(bad)
	if err := <-refused; !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("got %v, want ErrPermissionViolation", err)
	}
}
