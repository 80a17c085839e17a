package graphhttp_test

import (
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
	"github.com/graphgen-go/graphgen/savers/memory"
)

// encodeResult encodes the end of a run as "done [a b]", with its error.
func encodeResult(e graph.Event[work, update], err error) (graphhttp.Message, error) {
	b, lost := json.Marshal(fmt.Sprint(e.Result.Status, e.Result.State.Log, err))
	return graphhttp.Message{Name: "end", Data: b}, lost
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
