// Package tutorial tests the programs of the tutorial, as a reader runs them.
package tutorial

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs is the folder of the built steps.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "tutorial-"); err != nil {
		log.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", programs+string(filepath.Separator), "./...").CombinedOutput(); err != nil {
		log.Fatalf("go build: %v\n%s", err, out)
	}
	code := m.Run()
	if err := os.RemoveAll(programs); err != nil {
		log.Print(err)
	}
	os.Exit(code)
}

func TestStepsPrintWhatThePageShows(t *testing.T) {
	page, err := os.ReadFile("../tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", programs+string(os.PathListSeparator)+e.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// page FILE: each line of the file, such as stdout, is in the tutorial.
			"page": func(ts *testscript.TestScript, _ bool, args []string) {
				for line := range strings.Lines(ts.ReadFile(args[0])) {
					if !strings.Contains(string(page), "    "+line) {
						ts.Fatalf("docs/tutorial.md does not show %q", line)
					}
				}
			},
		},
	})
}

// service is a running step 5.
type service struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
	log *bufio.Scanner
}

func start(t *testing.T, program, dir string, args ...string) *service {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"-addr", "127.0.0.1:0", "-dir", dir, "-lease", "1s"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t, cmd, strings.TrimSpace(url), bufio.NewScanner(stderr)}
	t.Cleanup(s.kill)
	return s
}

// kill kills the process as kill -9 does.
func (s *service) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// waitFor reads the log of the service up to a line that contains text.
func (s *service) waitFor(text string) {
	s.t.Helper()
	for s.log.Scan() {
		if strings.Contains(s.log.Text(), text) {
			return
		}
	}
	s.t.Fatalf("the service has ended without the line %q", text)
}

func (s *service) call(method, path string) (status string, log []string, err error) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, nil)
	if err != nil {
		return "", nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", nil, err
	}
	var reply struct {
		Status string
		Log    []string
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return "", nil, fmt.Errorf("%s: %s", res.Status, body)
	}
	return reply.Status, reply.Log, nil
}

func (s *service) want(method, path, want string) {
	s.t.Helper()
	status, log, err := s.call(method, path)
	if got := fmt.Sprint(status, " ", log); err != nil || got != want {
		s.t.Fatalf("%s %s: got %s, %v; want %s", method, path, got, err, want)
	}
}

// TestServiceSurvivesKill kills the service while a refund waits for a person, and again while it
// is paid.
func TestServiceSurvivesKill(t *testing.T) {
	program, dir := filepath.Join(programs, "step5"), t.TempDir()
	const waiting = "waiting [looked up A-2 checked the customer]"

	first := start(t, program, dir, "-delay", "1h")
	first.want("POST", "/refunds/A-2", waiting)
	first.kill()

	second := start(t, program, dir, "-delay", "1h")
	second.want("GET", "/refunds/A-2", waiting)
	answered := make(chan error)
	go func() {
		_, _, err := second.call("POST", "/refunds/A-2/answer?ok=true&by=Ada")
		answered <- err
	}()
	second.waitFor("paying A-2")
	second.kill()
	if err := <-answered; err == nil {
		t.Error("the answer was acknowledged, although the process was killed before the run ended")
	}

	third := start(t, program, dir)
	third.waitFor("paying A-2") // the sweep resumes the refund after the lease of the second process
	third.waitFor("resumed A-2")
	third.want("GET", "/refunds/A-2", "done [looked up A-2 checked the customer decided by Ada paid 12900 cents]")
	third.want("POST", "/refunds/A-2", "done [looked up A-2 checked the customer decided by Ada paid 12900 cents]")
	paid, err := os.ReadDir(filepath.Join(dir, "bank"))
	if err != nil || len(paid) != 1 {
		t.Errorf("the bank has %d payments, %v; want 1", len(paid), err)
	}
}
