package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// openAt opens a saver that ends with the test.
func openAt(tb testing.TB, dsn string) *postgres.Saver {
	tb.Helper()
	s, err := postgres.Open(context.Background(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// through returns a URL with another host and port.
func through(tb testing.TB, dsn, addr string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	u.Host = addr
	return u.String()
}

// TestEngine cuts the connections of the engines with a proxy.
func TestEngine(t *testing.T) {
	enginetest.Run(t, func(tb testing.TB) enginetest.Place {
		tb.Helper()
		dsn := testenv.Postgres(tb)
		u, err := url.Parse(dsn)
		if err != nil {
			tb.Fatal(err)
		}
		proxy := testenv.NewProxy(tb, u.Host)
		return enginetest.Place{
			Open: func(tb testing.TB) worker.Engine {
				tb.Helper()
				return postgres.NewEngine(openAt(tb, through(tb, dsn, proxy.Addr)))
			},
			Interrupt: func(testing.TB) { proxy.Cut() },
		}
	})
}

// TestEngineOverRestarts kills the server.
func TestEngineOverRestarts(t *testing.T) {
	for _, c := range enginetest.Cases() {
		if !strings.Contains(c.Name, "interrupt") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			server := testenv.StartPostgres(t, false)
			c.Test(t, enginetest.Place{
				Open: func(tb testing.TB) worker.Engine {
					tb.Helper()
					return postgres.NewEngine(openAt(tb, server.DSN))
				},
				Interrupt: func(tb testing.TB) {
					tb.Helper()
					if err := errors.Join(server.Kill(), server.Restart()); err != nil {
						tb.Error(err)
					}
				},
			})
		})
	}
}

// TestEngineBehindAPooler sends through a pooler, and listens directly.
func TestEngineBehindAPooler(t *testing.T) {
	for _, c := range enginetest.Cases() {
		if c.Name != "a hint reaches each listener of its graph" && c.Name != "a worker runs what is announced" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			server := testenv.StartPostgres(t, false)
			pooler := testenv.StartPooler(t, server)
			c.Test(t, enginetest.Place{Open: func(tb testing.TB) worker.Engine {
				tb.Helper()
				return postgres.NewEngine(openAt(tb, pooler.DSN), postgres.ListenURL(server.DSN))
			}})
		})
	}
}

func TestAnEngineDetectsAPooler(t *testing.T) {
	e := postgres.NewEngine(openAt(t, testenv.PostgresPooler(t)), postgres.CheckTimes(time.Hour, time.Second))
	err := e.Listen(t.Context(), []string{"orders"}, func(string, string) { t.Error("got a hint behind a pooler") })
	if !errors.Is(err, postgres.ErrNoNotification) || !strings.Contains(err.Error(), "ListenURL") {
		t.Errorf("got %v, want ErrNoNotification and what to do", err)
	}
}

// TestAnEngineDetectsADeadConnection has a connection that is open, but over which nothing comes.
func TestAnEngineDetectsADeadConnection(t *testing.T) {
	dsn := testenv.Postgres(t)
	s := openAt(t, dsn)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	proxy := testenv.NewProxy(t, u.Host)
	e := postgres.NewEngine(s, postgres.ListenURL(through(t, dsn, proxy.Addr)), postgres.CheckTimes(time.Millisecond, 2*time.Second))
	began := make(chan struct{}, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- e.Listen(t.Context(), []string{"orders"}, func(string, string) { began <- struct{}{} })
	}()
	<-began
	proxy.Delay(time.Hour)
	if err := <-ended; !errors.Is(err, postgres.ErrNoNotification) {
		t.Errorf("got %v, want ErrNoNotification", err)
	}
}

// TestHintsStayInTheirSchema has two savers in one database.
func TestHintsStayInTheirSchema(t *testing.T) {
	heard := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var engines []*postgres.Engine
	for range 2 {
		e := postgres.NewEngine(openAt(t, testenv.Postgres(t)))
		engines = append(engines, e)
	}
	go func() { _ = engines[0].Listen(ctx, []string{"orders"}, func(_, thread string) { heard <- thread }) }()
	<-heard
	for i, thread := range []string{"first", "second"} {
		if err := engines[1-i].Wake(ctx, "orders", thread); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-heard; got != "second" {
		t.Errorf("got the hint of thread %q, want that of the own schema alone", got)
	}
}

func TestAWakeOnAClosedSaverIsAnError(t *testing.T) {
	s := openAt(t, testenv.Postgres(t))
	e := postgres.NewEngine(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Wake(t.Context(), "orders", "t"); err == nil {
		t.Error("got nil, want an error")
	}
	if err := e.Listen(t.Context(), []string{"orders"}, func(string, string) {}); err == nil {
		t.Error("got nil, want an error")
	}
}
