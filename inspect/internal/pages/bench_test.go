package pages_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// counting counts the rows that a saver yields.
type counting struct {
	checkpoint.Saver
	rows atomic.Int64
}

func (c *counting) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return counted(c, c.Saver.Threads(ctx, q))
}

func (c *counting) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return counted(c, c.Saver.History(ctx, p, q))
}

func counted[T any](c *counting, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			c.rows.Add(1)
			if !yield(v, err) {
				return
			}
		}
	}
}

// firstByte notes when the first byte of an answer is written.
type firstByte struct {
	*httptest.ResponseRecorder
	at time.Time
}

func (w *firstByte) Write(b []byte) (int, error) {
	if w.at.IsZero() {
		w.at = time.Now()
	}
	return w.ResponseRecorder.Write(b)
}

// size returns the number in an environment variable, or small.
func size(tb testing.TB, name string, small int) int {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return small
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("%s is %q, want a number from 1", name, text)
	}
	return n
}

func benchPages(b *testing.B, saver checkpoint.Saver, pages map[string]string) {
	b.Helper()
	c := &counting{Saver: saver}
	in, err := inspect.New(c, inspect.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	for name, page := range pages {
		b.Run(name, func(b *testing.B) {
			c.rows.Store(0)
			var wait time.Duration
			for b.Loop() {
				w := &firstByte{ResponseRecorder: httptest.NewRecorder()}
				began := time.Now()
				in.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, page, nil))
				wait += w.at.Sub(began)
				if w.Code != http.StatusOK {
					b.Fatalf("GET %s: got status %d: %s", page, w.Code, w.Body)
				}
			}
			b.ReportMetric(float64(wait.Microseconds())/float64(b.N), "µs-first-byte/op")
			b.ReportMetric(float64(c.rows.Load())/float64(b.N), "rows/op")
		})
	}
}

// GRAPHGEN_THREADS is the number of threads.
func BenchmarkList(b *testing.B) {
	n := size(b, "GRAPHGEN_THREADS", 2000)
	saver := newSQLite(b)
	const batch = 500
	for i := 0; i < n; i += batch {
		posts := make([]checkpoint.Post, 0, batch)
		for j := i; j < min(i+batch, n); j++ {
			id := "thread-" + strconv.Itoa(1_000_000_000+j)
			posts = append(posts, checkpoint.Post{Thread: id, Graph: "shop",
				Messages: []checkpoint.Message{{ID: id, Kind: checkpoint.InputMessage}}})
		}
		if _, err := saver.Post(b.Context(), posts...); err != nil {
			b.Fatal(err)
		}
	}
	middle := "thread-" + strconv.Itoa(1_000_000_000+n/2)
	place := url.Values{"after": {middle}, "made": {createdAt(b, saver, middle).Format(time.RFC3339Nano)}}.Encode()
	for _, order := range []checkpoint.ThreadOrder{checkpoint.ByID, checkpoint.NewestFirst} {
		b.Run("bare query "+order.String(), func(b *testing.B) { // that of the first page
			for b.Loop() {
				for _, err := range saver.Threads(b.Context(), checkpoint.ThreadQuery{Order: order, Limit: 101}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	search := "/?q=" + middle + "&prefix=" + middle[:len(middle)-2]
	benchPages(b, saver, map[string]string{
		"first": "/", "status": "/?status=ready&graph=shop", "middle": "/?" + place, "search": search, "searchNothing": "/?q=nothing",
		"created": "/?created=1h&status=ready", "thread": "/thread?id=" + middle,
		"firstByID": "/?sort=id", "statusByID": "/?status=ready&graph=shop&sort=id", "middleByID": "/?sort=id&after=" + middle,
		"searchByID": search + "&sort=id", "searchNothingByID": "/?q=nothing&sort=id",
	})
}

// createdAt returns when a thread was created.
func createdAt(b *testing.B, saver checkpoint.Saver, id string) time.Time {
	b.Helper()
	for t, err := range saver.Threads(b.Context(), checkpoint.ThreadQuery{Prefix: id, Limit: 1}) {
		if err != nil {
			b.Fatal(err)
		}
		return t.Created
	}
	b.Fatalf("there is no thread %q", id)
	return time.Time{}
}

// GRAPHGEN_CHECKPOINTS is the number of checkpoints.
func BenchmarkHistory(b *testing.B) {
	n := size(b, "GRAPHGEN_CHECKPOINTS", 2000)
	saver := newSQLite(b)
	g := graph.New("loop", ShopSchema)
	g.Node("turn", func(_ context.Context, s Shop) (ShopUpdate, error) {
		var u ShopUpdate
		u.Cents.Add(1)
		return u, nil
	})
	g.Edge(graph.Start, "turn")
	g.Route("turn", func(_ context.Context, s Shop) (graph.Next, error) {
		if s.Cents < n {
			return graph.To("turn"), nil
		}
		return graph.To(graph.End), nil
	}, "turn", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := app.Thread("long").Invoke(b.Context(), order("Ada"), graph.MaxSteps(n+10), graph.Async); err != nil {
		b.Fatal(err)
	}
	var middle checkpoint.ID
	q := checkpoint.Query{Headers: true, HasStep: true, Step: n / 2}
	for rec, err := range saver.History(b.Context(), checkpoint.Ref{Thread: "long"}, q) {
		if err != nil {
			b.Fatal(err)
		}
		middle = rec.ID
	}
	b.Run("bare query", func(b *testing.B) { // that of the newest page
		for b.Loop() {
			for _, err := range saver.History(b.Context(), checkpoint.Ref{Thread: "long"}, checkpoint.Query{Limit: 101, Headers: true, Sources: tree.Sources()}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	benchPages(b, saver, map[string]string{
		"newest": "/history?id=long", "middle": "/history?id=long&before=" + middle.String(), "thread": "/thread?id=long",
		"checkpoint": "/checkpoint?id=long&at=" + middle.String(), "step": "/history?id=long&step=" + strconv.Itoa(n/2),
	})
}
