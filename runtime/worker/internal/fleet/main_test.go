//go:build unix

package fleet_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv/tmpfs"
)

// childVariable makes the test binary another process, which is a worker on the saver of that URL.
const childVariable = "GRAPHGEN_WORKER_CHILD"

func TestMain(m *testing.M) {
	url, child := os.LookupEnv(childVariable)
	if !child {
		if _, soak := os.LookupEnv("GRAPHGEN_SOAK"); !soak { // which is for the disk, too
			tmpfs.InMemory()
		}
		m.Run()
		return
	}
	run := work
	if _, pool := os.LookupEnv(poolVariable); pool {
		run = workPool
	}
	if _, shares := os.LookupEnv(limitedVariable); shares {
		run = callLimited
	}
	if err := run(url); err != nil {
		fmt.Fprintln(os.Stderr, "the worker:", err)
		os.Exit(1) //nolint:forbidigo // this is the main of another process
	}
}
