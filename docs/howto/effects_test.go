package howto

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
	_ "modernc.org/sqlite"
)

// TestALostReplyDoesNotChargeTwice: the bank executes the first request, and its reply is lost.
func TestALostReplyDoesNotChargeTwice(t *testing.T) {
	var mu sync.Mutex               // guards what follows
	charges := make(map[string]int) // by idempotency key
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests++
		charges[r.Header.Get("Idempotency-Key")]++
		if requests == 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	g := graph.New("charge", StateSchema)
	g.Node("charge", bank(server.URL).charge)
	g.Edge(graph.Start, "charge")
	g.Edge("charge", graph.End)
	app, err := g.Compile(graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	thread := app.Thread("t-1")
	if _, err := thread.Invoke(t.Context(), StateUpdate{Order: state.Set("A-1")}); err == nil {
		t.Fatal("the run succeeded without a reply")
	}
	res, err := thread.Resume(t.Context())
	if err != nil || !res.State.Paid {
		t.Errorf("paid: %v, %v; want true", res.State.Paid, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(charges) != 1 || requests != 2 {
		t.Errorf("%d requests had %d keys, want 2 with one key", requests, len(charges))
	}
}

// TestANodeThatRunsAgainPaysOnce: the second call of the node fails once.
func TestANodeThatRunsAgainPaysOnce(t *testing.T) {
	var mu sync.Mutex                // guards requests
	requests := make(map[string]int) // by path
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if requests[r.URL.Path]++; r.URL.Path == "/notes/17" && requests[r.URL.Path] == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte("17"))
	}))
	defer server.Close()
	g := graph.New("refund", StateSchema)
	g.Node("refund", bank(server.URL).refund)
	g.Edge(graph.Start, "refund")
	g.Edge("refund", graph.End)
	app, err := g.Compile(graph.Saver(memory.New()), graph.Strict())
	if err != nil {
		t.Fatal(err)
	}
	thread := app.Thread("t-1")
	if _, err := thread.Invoke(t.Context(), StateUpdate{Order: state.Set("A-1")}); err == nil {
		t.Fatal("the run succeeded although a call failed")
	}
	res, err := thread.Resume(t.Context())
	if err != nil || len(res.State.Log) != 1 || res.State.Log[0] != "refunded, receipt 17" {
		t.Errorf("got the log %q, %v; want one refund", res.State.Log, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := requests["/refunds/A-1"]; got != 1 {
		t.Errorf("the bank got %d requests to pay, want 1", got)
	}
}

func TestAnAttemptThatRunsAgainWritesOneMail(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "mail.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE mail (id TEXT PRIMARY KEY, body TEXT)`); err != nil {
		t.Fatal(err)
	}
	for attempt := range 2 {
		ctx := graphtest.Context(t.Context(), graph.Task{Node: "write", Attempt: attempt + 1, Key: "k-1"})
		if _, err := (outbox{db}).write(ctx, State{Order: "A-1"}); err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM mail`).Scan(&n); err != nil || n != 1 {
		t.Errorf("the outbox has %d mails, %v; want 1", n, err)
	}
}

func TestPay(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer Approval
		paid   bool
		log    string
	}{
		{"approved", Approval{OK: true, By: "Ada"}, true, "decided by Ada"},
		{"denied", Approval{OK: false, By: "Bob"}, false, "decided by Bob"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := approve.Answer(graph.OpenQuestion{}, c.answer)
			_, after, err := graphtest.Run(t, StateSchema, pay, State{Order: "A-1", Cents: 4000}, answer)
			if err != nil {
				t.Fatal(err)
			}
			if after.Paid != c.paid || after.Log[0] != c.log {
				t.Errorf("got paid %v, log %q; want %v, %q", after.Paid, after.Log, c.paid, c.log)
			}
		})
	}
}

func TestRefundsEndToEnd(t *testing.T) {
	app, err := NewRefunds(memory.New(), graph.Strict())
	if err != nil {
		t.Fatal(err)
	}
	thread := app.Thread("t-1")
	res, err := thread.Invoke(t.Context(), StateUpdate{Order: state.Set("A-1")})
	if err != nil || res.Status != graph.Waiting || len(res.Questions) != 1 {
		t.Fatalf("got %v with %d questions, %v; want Waiting with one", res.Status, len(res.Questions), err)
	}
	res, err = thread.Resume(t.Context(), approve.Answer(res.Questions[0], Approval{OK: true, By: "Ada"}))
	if err != nil || res.Status != graph.Done || !res.State.Paid {
		t.Errorf("got %v, paid %v, %v; want Done, paid", res.Status, res.State.Paid, err)
	}
}
