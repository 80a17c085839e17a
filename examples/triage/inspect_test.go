package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/examples/internal/pages/pagestest"
)

// TestThePagesDecideARefund lets a person decide by the pages instead of triage approve.
func TestThePagesDecideARefund(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if out, err := exec.Command("triage", "run", "-dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := pagestest.Start(t, "triage", "inspect", "-dir", dir)
	s.Get("", "<title>Threads", `href="thread?id=T-1001"`)
	s.Get("thread?id=T-1001", `src="picture.svg?`, `class="status paused"`)
	s.Post("edit", "id", "T-1001", "from", s.Field("edit?id=T-1001", "from"), "json", `{"Decision": "approved"}`)
	s.Post("act", "action", "resume", "id", "T-1001")
	s.Until("thread?id=T-1001", `class="status done"`)
}
