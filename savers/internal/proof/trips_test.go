//go:build unix

package proof_test

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/internal/proof"
	"github.com/graphgen-go/graphgen/savers/mysql"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// trips is how many round trips the parts of a thread's life take: the first input, and another
// one after it. many is the Submit of a thousand.
type trips struct{ submit, ready, run, another, many int }

// TestRoundTripsOfAThread counts the round trips of a thread with one node, from Submit to Done,
// as a worker runs it.
func TestRoundTripsOfAThread(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		proxied := func(t *testing.T) (string, *testenv.Proxy) {
			t.Helper()
			dsn := testenv.Postgres(t)
			u, err := url.Parse(dsn)
			if err != nil {
				t.Fatal(err)
			}
			proxy := testenv.NewProxy(t, u.Host)
			return strings.Replace(dsn, u.Host, proxy.Addr, 1), proxy
		}
		// Ready looks, locks, and reserves with a read of the messages. The run opens and ends.
		// Another one also loads the thread, and looks whether the input is the one before.
		want := trips{submit: 2, ready: 3, run: 2, another: 4, many: 2}
		for name, opts := range map[string][]postgres.Option{"plain": nil, "prepared": {postgres.PrepareStatements()}} {
			t.Run(name, func(t *testing.T) {
				dsn, proxy := proxied(t)
				saver, err := postgres.Open(t.Context(), dsn, append(opts, postgres.MaxConns(1))...)
				if err != nil {
					t.Fatal(err)
				}
				defer saver.Close()
				countTrips(t, saver, proxy, want)
			})
		}
	})
	t.Run("mysql", func(t *testing.T) {
		config, err := driver.ParseDSN(testenv.MySQL(t))
		if err != nil {
			t.Fatal(err)
		}
		proxy := testenv.NewProxy(t, config.Addr)
		config.Addr = proxy.Addr
		saver, err := mysql.Open(t.Context(), config.FormatDSN(), mysql.MaxConns(1))
		if err != nil {
			t.Fatal(err)
		}
		defer saver.Close()
		countTrips(t, saver, proxy, trips{submit: 2, ready: 5, run: 2, another: 4, many: 2})
	})
}

// countTrips counts the round trips of several threads. The least of them must be those wanted.
// For the first few, a connection reads descriptions of statements. On a busy machine, a run also
// renews its lease or asks for news.
func countTrips(t *testing.T, saver checkpoint.Saver, proxy *testenv.Proxy, want trips) {
	t.Helper()
	g := graph.New("g", proof.StateSchema)
	g.Node("a", func(context.Context, proof.State) (proof.StateUpdate, error) { return proof.StateUpdate{}, nil })
	g.Chain(graph.Start, "a", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	count := func(f func()) int {
		before := proxy.RoundTrips()
		f()
		return proxy.RoundTrips() - before
	}
	least := trips{math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt, 0}
	for n := range 8 {
		id := fmt.Sprint(n)
		submit := func() {
			if _, err := app.Thread(id).Submit(t.Context(), proof.StateUpdate{}); err != nil {
				t.Fatal(err)
			}
		}
		find := func() checkpoint.ReadyThread {
			due, err := saver.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 16, Reserve: time.Minute, Mail: 16})
			if err != nil || len(due.Threads) != 1 {
				t.Fatalf("got %v, %v; want one thread that is due", due.Threads, err)
			}
			return due.Threads[0]
		}
		run := func(found checkpoint.ReadyThread) {
			run, err := app.ResumeDue(t.Context(), found, graph.DueOptions{})
			if err != nil || run.Status != graph.Done {
				t.Fatalf("got status %v, %v; want %v", run.Status, err, graph.Done)
			}
		}
		var found checkpoint.ReadyThread
		var got trips
		got.submit = count(submit)
		got.ready = count(func() { found = find() })
		got.run = count(func() { run(found) })
		submit()
		found = find()
		got.another = count(func() { run(found) })
		if n == 0 { // no reply follows the statements that Open has closed, so the next request does not count
			continue
		}
		least = trips{min(least.submit, got.submit), min(least.ready, got.ready), min(least.run, got.run), min(least.another, got.another), 0}
	}
	// 32 runs at the same time wait for each other, and take less than a round trip each. Alone,
	// each takes want.run. A machine that stops for long lets them wait less.
	const together = 32
	joined := math.MaxInt
	proxy.Delay(time.Millisecond)
	for n := 0; n < 8 && joined > together; n++ {
		posts := make([]graph.Submission[proof.StateUpdate], together)
		for i := range posts {
			posts[i].Thread = fmt.Sprint("together ", n, i)
		}
		if _, err := app.SubmitMany(t.Context(), posts...); err != nil {
			t.Fatal(err)
		}
		due, err := saver.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: together, Reserve: time.Minute, Mail: 16})
		if err != nil || len(due.Threads) != together {
			t.Fatalf("got %d threads, %v; want %d that are due", len(due.Threads), err, together)
		}
		joined = min(joined, count(func() {
			var runs sync.WaitGroup
			for _, found := range due.Threads {
				runs.Go(func() {
					if _, err := app.ResumeDue(t.Context(), found, graph.DueOptions{}); err != nil {
						t.Error(err)
					}
				})
			}
			runs.Wait()
		}))
	}
	proxy.Delay(0)
	t.Logf("%d runs at the same time took %d round trips", together, joined)
	if joined > together {
		t.Errorf("%d runs at the same time took %d round trips, want at most %d", together, joined, together)
	}
	all := make([]graph.Submission[proof.StateUpdate], 1000)
	for i := range all {
		all[i].Thread = fmt.Sprint("many ", i)
	}
	least.many = count(func() {
		if _, err := app.SubmitMany(t.Context(), all...); err != nil {
			t.Fatal(err)
		}
	})
	if least != want {
		t.Errorf("got the least round trips %+v of 8 threads, want %+v", least, want)
	}
}
