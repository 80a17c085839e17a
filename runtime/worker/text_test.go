package worker_test

import (
	"encoding/json"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

func TestEventsHaveTextsInJSON(t *testing.T) {
	e := worker.Event{Kind: worker.EventMessageRefused, Status: graph.Failed, Graph: "orders"}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil || fields["Kind"] != "message refused" || fields["Status"] != "failed" {
		t.Errorf("got %s, %v; want the kind and the status as texts", b, err)
	}
	var back worker.Event
	if err := json.Unmarshal(b, &back); err != nil || back != e {
		t.Errorf("got %+v from %s, %v; want %+v", back, b, err, e)
	}
	var wrong worker.EventKind
	if err := wrong.UnmarshalText([]byte("Claimed")); err == nil {
		t.Error("a text in upper case was read, want an error")
	}
}
