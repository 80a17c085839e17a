package testenv

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const temporalVariable = "GRAPHGEN_TEST_TEMPORAL_ADDR"

// temporalVersion is a version of Temporal's command line tool, which contains a server. Newer
// ones cannot be installed by the go command, because their go.mod has a replace directive.
const temporalVersion = "1.5.1"

var (
	sharedTemporal  = sync.OnceValues(startTemporal)
	temporalProgram = sync.OnceValues(buildTemporal)
)

// Temporal returns the host:port of a Temporal server with the namespace default. Tests share it,
// so each uses ids of its own. GRAPHGEN_TEST_TEMPORAL_ADDR selects a server that already runs.
// Otherwise the go command downloads and builds Temporal's development server. That takes minutes,
// once for each machine.
func Temporal(tb testing.TB) string {
	tb.Helper()
	if addr := os.Getenv(temporalVariable); addr != "" {
		skipShort(tb)
		return addr
	}
	return shared(tb, sharedTemporal).Addr
}

// StartTemporal starts a development server of Temporal for this test only. If durable is true, it
// stores workflows in a file. Otherwise a Kill loses them. A setting is a dynamic configuration
// value, such as "limit.maxIDLength=100".
func StartTemporal(tb testing.TB, durable bool, settings ...string) *Server {
	tb.Helper()
	skipShort(tb)
	program, err := temporalProgram()
	if err != nil {
		tb.Fatal(err)
	}
	return own(tb, temporal(program, durable, settings...))
}

func startTemporal() (*Server, error) {
	program, err := temporalProgram()
	if err != nil {
		return nil, err
	}
	return start(temporal(program, false), 1)
}

// temporal describes a development server. It has one shard and a limit of 20 polls a second for
// each, so that each step of a workflow takes 50 ms. The settings lift this limit.
func temporal(program string, durable bool, settings ...string) kind {
	return kind{
		name:  "Temporal",
		needs: []string{program},
		ports: 3,
		run: func(s *Server) []string {
			args := []string{
				program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--log-level", "error",
				"--port", s.port(0), "--http-port", s.port(1), "--metrics-port", s.port(2),
			}
			for _, setting := range append([]string{
				"history.transferProcessorMaxPollRPS=100000", "history.timerProcessorMaxPollRPS=100000",
				"matching.numTaskqueueReadPartitions=1", "matching.numTaskqueueWritePartitions=1",
				"frontend.enableServerVersionCheck=false",
			}, settings...) {
				args = append(args, "--dynamic-config-value", setting)
			}
			if durable {
				args = append(args, "--db-filename", s.path("temporal.db"))
			}
			return args
		},
		dsn:   func(s *Server) string { return s.Addr },
		ready: temporalReady,
		end:   syscall.SIGKILL,
	}
}

// temporalReady returns nil if the server has its namespace.
func temporalReady(s *Server) error {
	client := http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://" + net.JoinHostPort("127.0.0.1", s.port(1)) + "/api/v1/namespaces/default")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("namespace default: %s", resp.Status)
	}
	return nil
}

// buildTemporal returns the path of the program temporal, which it builds in the cache.
func buildTemporal() (string, error) {
	dir, err := cached("temporal-"+temporalVersion, installTemporal)
	if err != nil {
		return "", fmt.Errorf("testenv: Temporal: %w; set %s to use a running server", err, temporalVariable)
	}
	return filepath.Join(dir, "temporal"), nil
}

// installTemporal builds the program in a folder.
func installTemporal(dir string) error {
	build := exec.Command("go", "install", "-ldflags=-s -w", "github.com/temporalio/cli/cmd/temporal@v"+temporalVersion)
	build.Dir = dir
	build.Env = append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOOS=", "GOARCH=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return nil
}
