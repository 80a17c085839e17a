package graph_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// textLog returns a logger whose lines have neither times nor ids of checkpoints.
func textLog(level slog.Level) (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "checkpoint" {
			return slog.Attr{}
		}
		return a
	}})), &b
}

func TestLogWritesTheEventsOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger, b := textLog(slog.LevelDebug)
		failing := 1
		inner := newWork()
		inner.Node("x", func(ctx context.Context, _ work) (update, error) {
			graph.Summary(ctx, "order 7")
			if failing--; failing >= 0 {
				return update{}, errBroken
			}
			return update{}, nil
		}, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 2, Jitter: func() float64 { return 1 }}))
		outer := newWork()
		outer.Subgraph("sub", compile(t, line(inner, "x"), graph.SubgraphOnly()))
		th, _ := newThread(t, line(outer, "sub"), graph.Log(logger))
		done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "lines", strings.Split(strings.TrimSpace(b.String()), "\n"), []string{
			`level=INFO msg="run started" graph=g thread=t step=1`,
			`level=DEBUG msg=checkpoint graph=g thread=t step=1 next=[sub]`,
			`level=DEBUG msg="task started" graph=g thread=t step=2 node=sub attempt=1`,
			`level=DEBUG msg="task started" graph=g thread=t step=2 path=sub node=x attempt=1`,
			`level=WARN msg="task ended" graph=g thread=t step=2 path=sub node=x attempt=1 summary="order 7" outcome=failed error="it broke"`,
			`level=INFO msg="task retry" graph=g thread=t step=2 path=sub node=x attempt=1 summary="order 7" delay=2ns error="it broke"`,
			`level=DEBUG msg="task started" graph=g thread=t step=2 path=sub node=x attempt=2 summary="order 7"`,
			`level=DEBUG msg="task ended" graph=g thread=t step=2 path=sub node=x attempt=2 summary="order 7" outcome=done`,
			`level=DEBUG msg=checkpoint graph=g thread=t step=2 path=sub`,
			`level=DEBUG msg="task ended" graph=g thread=t step=2 node=sub attempt=1 outcome=done took=2ns`,
			`level=DEBUG msg=checkpoint graph=g thread=t step=2`,
			`level=INFO msg="run ended" graph=g thread=t step=2 status=done took=2ns`,
		})
	})
}

func TestLogLeavesOutWhatItsLevelDoes(t *testing.T) {
	logger, b := textLog(slog.LevelError)
	g := newWork()
	g.Node("n", func(context.Context, work) (update, error) { return update{}, errBroken })
	th, _ := newThread(t, line(g, "n"), graph.Log(logger))
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if got := b.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, `level=ERROR msg="run ended"`) {
		t.Errorf("got %q, want only the end of the run", got)
	}
	_, err := chain("a").Compile(graph.Log(nil))
	if err == nil || !strings.Contains(err.Error(), "Log is given nil; pass a logger, or leave the option out") {
		t.Errorf("got %v, want the fault", err)
	}
}
