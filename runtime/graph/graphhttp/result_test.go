package graphhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// encodeResult encodes the end of a run as "done [a b]", with its error.
func encodeResult(e graph.Event[work, update], err error) (graphhttp.Message, error) {
	b, lost := json.Marshal(fmt.Sprint(e.Result.Status, e.Result.State.Log, err))
	return graphhttp.Message{Name: "end", Data: b}, lost
}

// TestAReplyIsWaitedForOverHTTP asks a thread that replies later, and one that ends without a
// reply.
func TestAReplyIsWaitedForOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		greet := graph.NewReplySignal[wire.String, wire.String]("greet")
		b := graph.New("work", teststate.WorkSchema)
		b.Node("greet", func(ctx context.Context, _ work) (update, error) {
			m, err := greet.Receive(ctx)
			if err == nil {
				err = m.Reply(ctx, "hello "+m.Value)
			}
			return update{}, err
		}, greet)
		b.Chain(graph.Start, "greet", graph.End)
		app, err := b.Compile(graph.Saver(memory.New()))
		if err != nil {
			t.Fatal(err)
		}
		handler := graphhttp.New(app, encodeResult).AskHandler(func(r *http.Request) (graphhttp.AskRequest, error) {
			return graphhttp.AskRequest{Thread: r.FormValue("thread"), Ask: func(ctx context.Context) ([]byte, error) {
				reply, err := greet.Ask(ctx, app.Thread(r.FormValue("thread")), "ada", graph.RequestID(r.FormValue("request")))
				return []byte(reply), err
			}}, nil
		})
		ask := func(method, query, want string) {
			t.Helper()
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(method, "/?"+query, nil).WithContext(t.Context()))
			if got := fmt.Sprint(w.Code, " ", w.Body); got != want {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
		ask(http.MethodGet, "thread=t&request=1", "405 Method Not Allowed\n")
		ask(http.MethodPost, "thread=t&request=1", "409 Conflict\n") // the thread has no input
		if _, err := app.Thread("t").Submit(t.Context(), update{}); err != nil {
			t.Fatal(err)
		}
		ask(http.MethodPost, "thread=t&request=1", "202 ")
		if res, err := app.Thread("t").Invoke(t.Context(), update{}); err != nil || res.Status != graph.Done {
			t.Fatal(res.Status, err)
		}
		ask(http.MethodPost, "thread=t&request=1", "200 hello ada")
	})
}

// TestAResultIsWaitedForOverHTTP asks for results that are there, that come later, and that are
// missing.
func TestAResultIsWaitedForOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		b := graph.New("work", teststate.WorkSchema)
		n := say("a")
		b.Node(n.id, n.f)
		b.Chain(graph.Start, n.id, graph.End)
		app, err := b.Compile(graph.Saver(s))
		if err != nil {
			t.Fatal(err)
		}
		h := graphhttp.New(app, encodeResult)
		handler := h.ResultHandler(func(r *http.Request) (c graphhttp.ResultRequest, err error) {
			c.Thread = r.FormValue("thread")
			c.Options = append(c.Options, graph.RequestID(r.FormValue("request")))
			if wait := r.FormValue("wait"); wait != "" {
				c.Wait, err = time.ParseDuration(wait)
			}
			return c, err
		})
		get := func(query, want string) {
			t.Helper()
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?"+query, nil).WithContext(t.Context()))
			if got := fmt.Sprint(w.Code, " ", w.Body); got != want {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
		submit := func(thread, request string, in update) {
			t.Helper()
			if _, err := app.Thread(thread).Submit(t.Context(), in, graph.RequestID(request)); err != nil {
				t.Fatal(err)
			}
		}
		get("thread=t&request=1", "404 not found\n")
		get("thread=t&request=1&wait=soon", "400 time: invalid duration \"soon\"\n")
		submit("t", "1", logged("one"))
		began := time.Now()
		get("thread=t&request=1&wait=5s", "202 ")
		same(t, "time", time.Since(began), 5*time.Second)
		get("thread=t&request=1", "202 ")
		same(t, "time", time.Since(began), 35*time.Second)
		get("thread=t&request=1&wait=9h", "202 ")
		same(t, "time", time.Since(began), 95*time.Second)
		time.AfterFunc(time.Second, func() {
			due, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"work"}, Limit: 1})
			if err != nil || len(due.Threads) != 1 {
				t.Errorf("got %d due threads, %v; want one", len(due.Threads), err)
				return
			}
			if _, err := app.ResumeDue(t.Context(), due.Threads[0], graph.DueOptions{}); err != nil {
				t.Error(err)
			}
		})
		get("thread=t&request=1", `200 "done [one a] \u003cnil\u003e"`)
		same(t, "time", time.Since(began), 96*time.Second)
		h.Close()
		submit("t", "2", logged("two"))
		get("thread=t&request=2", "202 ")
		same(t, "time after Close", time.Since(began), 96*time.Second)
	})
}
