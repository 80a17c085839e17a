package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/examples/internal/pages/pagestest"
)

func TestThePagesShowBothGraphs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	for _, args := range [][]string{{"run", "-dir", dir, "rome", "city=Rome", "days=4", "budget=500"}, {"two", "-dir", dir}} {
		if out, err := exec.Command("timetravel", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	s := pagestest.Start(t, "timetravel", "inspect", "-dir", dir)
	s.Get("", `href="thread?id=rome"`, `href="thread?id=two"`)
	s.Get("thread?id=rome", `src="picture.svg?`, `class="status done"`, "Rome")
	s.Get("history?id=rome", "<circle", "cheaper")
}

func TestThePagesAreForThisMachine(t *testing.T) {
	out, err := exec.Command("timetravel", "inspect", "-dir", t.TempDir(), "-addr", "0.0.0.0:0").CombinedOutput()
	if err == nil {
		t.Errorf("pages without a login for other machines: got no error\n%s", out)
	}
}
