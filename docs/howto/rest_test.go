package howto_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestOrdersAreServedAsJSON(t *testing.T) {
	saver := memory.New()
	app, err := howto.NewRefunds(saver)
	if err != nil {
		t.Fatal(err)
	}
	orders := howto.NewOrders(app, saver)
	call := func(method, path string, want int, into any) string {
		t.Helper()
		w := httptest.NewRecorder()
		orders.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		body := w.Body.String()
		if w.Code != want {
			t.Fatalf("%s %s: got status %d: %s", method, path, w.Code, body)
		}
		if into != nil {
			if err := json.Unmarshal([]byte(body), into); err != nil {
				t.Fatalf("%s %s: %s: %v", method, path, body, err)
			}
		}
		return body
	}
	work := func() {
		t.Helper()
		due, err := saver.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"refunds"}, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range due.Threads {
			if _, err := app.ResumeDue(context.WithoutCancel(t.Context()), found, graph.DueOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var submitted graph.Submitted
	call(http.MethodPut, "/orders/7?cents=500", http.StatusAccepted, &submitted)
	call(http.MethodPut, "/orders/7?cents=500", http.StatusAccepted, &submitted)
	if !submitted.Known || submitted.Thread != "order-7" {
		t.Errorf("the repeated request: got %+v, want it known", submitted)
	}
	call(http.MethodPut, "/orders/8?cents=many", http.StatusBadRequest, nil)
	call(http.MethodGet, "/orders/9", http.StatusNotFound, nil)
	work()
	var one struct {
		Status    graph.Status
		Head      checkpoint.ID
		Paid      bool
		Questions []graph.OpenQuestion
	}
	body := call(http.MethodGet, "/orders/7", http.StatusOK, &one)
	if one.Status != graph.Waiting || one.Head.IsZero() || len(one.Questions) != 1 || !strings.Contains(body, `"status":"waiting","head":"`+one.Head.String()+`"`) {
		t.Fatalf("got %s, want it waiting for an answer, with texts", body)
	}
	var all []checkpoint.Thread
	call(http.MethodGet, "/orders?status=waiting", http.StatusOK, &all)
	if len(all) != 1 || all[0].Head != one.Head || all[0].Status != graph.Waiting {
		t.Errorf("got the threads %+v, want the one", all)
	}
	if call(http.MethodGet, "/orders?status=done", http.StatusOK, &all); len(all) != 0 {
		t.Errorf("got the done threads %+v, want none", all)
	}
	call(http.MethodGet, "/orders?status=Waiting", http.StatusBadRequest, nil)
	call(http.MethodPost, "/orders/7/answers/"+one.Questions[0].ID+"?ok=true&by=ada", http.StatusAccepted, nil)
	call(http.MethodPost, "/orders/7/answers/"+one.Questions[0].ID+"?ok=false&by=bob", http.StatusConflict, nil)
	work()
	if call(http.MethodGet, "/orders/7", http.StatusOK, &one); one.Status != graph.Done || !one.Paid {
		t.Errorf("got %+v, want it done and paid", one)
	}
	call(http.MethodDelete, "/orders/7?reason=too+late", http.StatusAccepted, nil)
}
