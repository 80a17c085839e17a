package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/examples/internal/pages/pagestest"
)

// TestThePagesApproveAPlan answers the question by its form instead of research answer.
func TestThePagesApproveAPlan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	research(t, "run", "-dir", dir, "Why do bridges fall in wind?")
	s := pagestest.Start(t, "research", "inspect", "-dir", dir)
	s.Get("", "<title>Threads", `href="thread?id=paper"`)
	s.Get("thread?id=paper", `class="status waiting"`)
	s.Post("act", "action", "answer", "id", "paper", "question", s.Field("thread?id=paper", "question"), "v.OK", "true", "v.Add", "")
	s.Post("act", "action", "resume", "id", "paper")
	s.Until("thread?id=paper", `class="status done"`)
	if shown := research(t, "show", "-dir", dir); !strings.Contains(shown, "# Why") {
		t.Errorf("no report was written:\n%s", shown)
	}
}
