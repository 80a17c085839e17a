package pages_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A run that a page started fails after the page was sent. The log and the page of the thread have
// the error, until the next run begins.
func TestErrorsOfBackgroundRunsAreShown(t *testing.T) {
	saver := newSaver(t)
	proceed := make(chan error)
	app := newShop(t, saver, graph.Intercept(graph.Interceptor{
		Run: func(ctx context.Context, r graph.RunInfo, next func(context.Context) (graph.Status, error)) error {
			_, err := next(ctx)
			if r.Resume {
				err = errors.Join(err, <-proceed)
			}
			return err
		},
	}))
	res := begin(t, app, "order-1", "Ada")
	begin(t, app, "order-2", "Bob")
	var log lockedBuffer
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions(), Log: slog.New(slog.NewTextHandler(&log, nil))}, app)
	if err := app.Thread("order-1").Answer(t.Context(), offer.Answer(res.Questions[0], Verdict{OK: true})); err != nil {
		t.Fatal(err)
	}
	if status, body := s.act(inspect.Resume, "order-1"); status != http.StatusOK || strings.Contains(body, "The audit") {
		t.Fatalf("resume: got %d: %s", status, body)
	}
	proceed <- errors.New("The audit of <order-1> failed")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.page("thread?id=order-1"), "The audit of &lt;order-1&gt; failed"); {
		if time.Now().After(deadline) {
			t.Fatal("the page does not show the error")
		}
	}
	if got := log.String(); !strings.Contains(got, "thread=order-1") || !strings.Contains(got, "The audit of") {
		t.Errorf("the log lacks the error: %q", got)
	}
	s.lacks("thread?id=order-2", "The audit")

	go func() { proceed <- nil }()
	if status, body := s.act(inspect.Resume, "order-1"); status != http.StatusOK || strings.Contains(body, "The audit") {
		t.Errorf("a further run: got %d: %s", status, body)
	}
}
