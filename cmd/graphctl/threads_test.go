package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// loading counts the threads that are loaded.
type loading struct {
	checkpoint.Saver

	loads int
}

func (s *loading) Load(ctx context.Context, ref checkpoint.Ref) (checkpoint.Chain, error) {
	s.loads++
	return s.Saver.Load(ctx, ref)
}

// TestAFilterLoadsEachThreadOnce lists the threads at a node with what they wait for.
func TestAFilterLoadsEachThreadOnce(t *testing.T) {
	s := &loading{Saver: memory.New()}
	g, err := desk.New(s.Saver)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"order-1", "order-2"} {
		if err := deskStep(t.Context(), g, []string{"start", id, "500"}); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	a := &app{out: &out, err: &out, now: time.Now, since: time.Since, format: "jsonl"}
	sel := selection{}
	sel.Node = "review"
	if err := a.threads(t.Context(), s, &sel, false); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "answer of approve at review"); got != 2 || s.loads != 2 {
		t.Errorf("got %d threads and %d loads, want 2 and 2:\n%s", got, s.loads, out.String())
	}
}
