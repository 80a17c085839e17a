package howto_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestApprovalsByHTTP(t *testing.T) {
	saver := memory.New()
	app, err := howto.NewRefunds(saver)
	if err != nil {
		t.Fatal(err)
	}
	in := howto.StateUpdate{Order: state.Set("A-1"), Cents: state.Set[int64](4000)}
	if _, err := app.Thread("t-1").Invoke(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(howto.NewApprovals(app, saver))
	defer server.Close()
	call := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	_, listed := call("GET", "/questions", "")
	var open []struct {
		Thread, ID string
		Asked      howto.Refund
	}
	if err := json.Unmarshal([]byte(listed), &open); err != nil || len(open) != 1 || open[0].Asked.Cents != 4000 {
		t.Fatalf("listed %s, %v; want one question about 4000 cents", listed, err)
	}
	path := fmt.Sprintf("/threads/%s/answers/%s", open[0].Thread, open[0].ID)
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{path, `{"OK":`, http.StatusBadRequest},
		{"/threads/t-9/answers/" + open[0].ID, `{"OK":true}`, http.StatusNotFound},
		{path, `{"OK":true}`, http.StatusUnprocessableEntity},
		{path, `{"OK":true,"By":"Ada"}`, http.StatusOK},
		{path, `{"OK":false,"By":"Bob"}`, http.StatusConflict},
	} {
		if got, body := call("POST", c.path, c.body); got != c.want {
			t.Errorf("POST %s %s: got %d %s; want %d", c.path, c.body, got, body, c.want)
		}
	}
	snap, err := app.Thread("t-1").State(t.Context())
	if err != nil || !snap.State.Paid || snap.State.Log[0] != "decided by Ada" {
		t.Errorf("got %+v, %v; want the decision of Ada", snap.State, err)
	}
}
