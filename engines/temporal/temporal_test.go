package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	graphgentemporal "github.com/graphgen-go/graphgen/engines/temporal"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

var silent = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)) //nolint:forbidigo // it logs nothing

// connect returns a client with a connection of its own, until the test ends.
func connect(tb testing.TB, addr string, o ...grpc.DialOption) client.Client {
	tb.Helper()
	c, err := client.Dial(client.Options{
		HostPort: addr, Logger: silent,
		ConnectionOptions: client.ConnectionOptions{DialOptions: o},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// open returns an engine of a prefix, with a client of its own.
func open(tb testing.TB, addr, prefix string) *graphgentemporal.Engine {
	tb.Helper()
	return graphgentemporal.NewEngine(connect(tb, addr), prefix, graphgentemporal.EngineOptions{})
}

func restart(tb testing.TB, s *testenv.Server) {
	tb.Helper()
	if err := errors.Join(s.Kill(), s.Restart()); err != nil {
		tb.Fatal(err)
	}
}

// TestEngine runs the suite on a server that loses all workflows when it is interrupted.
func TestEngine(t *testing.T) {
	s := testenv.StartTemporal(t, false)
	n := 0
	enginetest.Run(t, func(testing.TB) enginetest.Place {
		n++
		prefix := fmt.Sprint("place", n)
		return enginetest.Place{
			Open: func(tb testing.TB) worker.Engine {
				tb.Helper()
				return open(tb, s.Addr, prefix)
			},
			Interrupt: func(tb testing.TB) {
				tb.Helper()
				restart(tb, s)
			},
		}
	})
}

// TestAServerThatKeepsItsWorkflowsInterruptsToo runs the cases of an interruption on a server that
// has its workflows in a file.
func TestAServerThatKeepsItsWorkflowsInterruptsToo(t *testing.T) {
	s := testenv.StartTemporal(t, true)
	for i, c := range enginetest.Cases() {
		if !strings.Contains(c.Name, "interrupt") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			c.Test(t, enginetest.Place{
				Open: func(tb testing.TB) worker.Engine {
					tb.Helper()
					return open(tb, s.Addr, fmt.Sprint("place", i))
				},
				Interrupt: func(tb testing.TB) {
					tb.Helper()
					restart(tb, s)
				},
			})
		})
	}
}

// listening is a call of Listen.
type listening struct {
	heard chan string // threads; "" begins
	ended chan error
}

// listen calls Listen, and waits until hints can arrive.
func listen(t *testing.T, e *graphgentemporal.Engine, graph string) *listening {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &listening{heard: make(chan string, 10_000), ended: make(chan error, 1)}
	over := make(chan struct{})
	go func() {
		defer close(over)
		l.ended <- e.Listen(ctx, []string{graph}, func(_, thread string) { l.heard <- thread })
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	select {
	case <-l.heard:
	case err := <-l.ended:
		t.Fatal(err)
	}
	return l
}

// runs returns the numbers of events of all runs of the workflow of the graph orders.
func runs(t *testing.T, c client.Client, prefix string) (events []int) {
	t.Helper()
	id, run := workflowID(t, c, prefix), ""
	for {
		it := c.GetWorkflowHistory(t.Context(), id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		n, before := 0, ""
		for it.HasNext() {
			event, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			n++
			if s := event.GetWorkflowExecutionStartedEventAttributes(); s != nil {
				before = s.GetContinuedExecutionRunId()
			}
		}
		events = append(events, n)
		if run = before; run == "" {
			return events
		}
	}
}

// workflowID returns the id of the workflow of the graph orders.
func workflowID(t *testing.T, c client.Client, prefix string) string {
	t.Helper()
	return graphgentemporal.Workflow(graphgentemporal.NewEngine(c, prefix, graphgentemporal.EngineOptions{}), "orders")
}

// TestAStormOfHintsKeepsHistoriesShort sends hints from several processes at the same time.
func TestAStormOfHintsKeepsHistoriesShort(t *testing.T) {
	const senders, each = 8, 250
	addr := testenv.Temporal(t)
	listeners := []*listening{listen(t, open(t, addr, "storm"), "orders"), listen(t, open(t, addr, "storm"), "orders")}
	var all sync.WaitGroup
	for n := range senders {
		e := open(t, addr, "storm")
		all.Go(func() {
			for i := range each {
				if err := e.Wake(t.Context(), "orders", fmt.Sprint(n, "-", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, l := range listeners {
		threads := make(map[string]bool)
		for len(threads) < senders*each {
			select {
			case thread := <-l.heard:
				threads[thread] = true
			case err := <-l.ended:
				t.Fatalf("the listener has ended after %d hints: %v", len(threads), err)
			}
		}
	}
	events := runs(t, connect(t, addr), "storm")
	t.Log("events of the runs, the newest first:", events)
	if len(events) < 3 {
		t.Errorf("got %d runs of the workflow, want several: the history has to begin again", len(events))
	}
	for _, n := range events {
		if n > 2000 {
			t.Errorf("got a run of %d events, want at most some more than 500", n)
		}
	}
}

// TestHintsThatNobodyHearsAreRefusedAtALimit has a server with a low limit of signals.
func TestHintsThatNobodyHearsAreRefusedAtALimit(t *testing.T) {
	s := testenv.StartTemporal(t, false, "history.maximumSignalsPerExecution=20")
	sender := open(t, s.Addr, "g")
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = sender.Wake(t.Context(), "orders", "t")
	}
	if err == nil {
		t.Fatal("got no error of 100 hints that nobody hears, want one")
	}
	// The workflow does not continue as new before 500 events, so this server needs a new one.
	c := connect(t, s.Addr)
	if err := c.TerminateWorkflow(t.Context(), workflowID(t, c, "g"), "", "full"); err != nil {
		t.Fatal(err)
	}
	l := listen(t, open(t, s.Addr, "g"), "orders")
	if err := sender.Wake(t.Context(), "orders", "t"); err != nil {
		t.Error(err)
	}
	if got := <-l.heard; got != "t" {
		t.Errorf("got %q, want the hint", got)
	}
}

func TestAListenerIsToldThatItsWorkflowHasEnded(t *testing.T) {
	addr := testenv.Temporal(t)
	e, c := open(t, addr, "ended"), connect(t, addr)
	l := listen(t, e, "orders")
	if err := c.TerminateWorkflow(t.Context(), workflowID(t, c, "ended"), "", "by an administrator"); err != nil {
		t.Fatal(err)
	}
	if err := <-l.ended; err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("got %v, want an error that says that the workflow has ended", err)
	}
	l = listen(t, e, "orders")
	if err := e.Wake(t.Context(), "orders", "t"); err != nil {
		t.Error(err)
	}
	if got := <-l.heard; got != "t" {
		t.Errorf("got %q, want the hint", got)
	}
}

func TestAnEngineWithoutAServerReturnsErrors(t *testing.T) {
	s := testenv.StartTemporal(t, false)
	e := open(t, s.Addr, "g")
	l := listen(t, e, "orders")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	var down *serviceerror.Unavailable
	if err := <-l.ended; !errors.As(err, &down) {
		t.Errorf("Listen: got %v, want Unavailable", err)
	}
	began := time.Now()
	if err := e.Wake(t.Context(), "orders", "t"); !errors.As(err, &down) {
		t.Errorf("Wake: got %v after %s, want Unavailable", err, time.Since(began))
	}
}

func TestANamespaceThatDoesNotExistIsAnError(t *testing.T) {
	e := graphgentemporal.NewEngine(connect(t, testenv.Temporal(t)), "g", graphgentemporal.EngineOptions{Namespace: "other"})
	var missing *serviceerror.NamespaceNotFound
	if err := e.Wake(t.Context(), "orders", "t"); !errors.As(err, &missing) {
		t.Errorf("Wake: got %v, want NamespaceNotFound", err)
	}
	if err := e.Listen(t.Context(), []string{"orders"}, func(string, string) {}); !errors.As(err, &missing) {
		t.Errorf("Listen: got %v, want NamespaceNotFound", err)
	}
}
