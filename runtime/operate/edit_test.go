package operate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/internal/fixtures"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestEditReplayAndResumeNeedTheGraph changes a thread that has failed, with and without its
// graph.
func TestEditReplayAndResumeNeedTheGraph(t *testing.T) {
	s := memory.New()
	broken := true
	app := newApp(t, s, func(context.Context) error {
		if broken {
			return errors.New("broken")
		}
		return nil
	})
	if _, err := app.Thread("t").Invoke(t.Context(), fixtures.ParcelUpdate{}); err == nil {
		t.Fatal("the node did not fail")
	}
	o := &operate.Operator{Saver: s, Graphs: map[string]graph.Untyped{"parcels": app.Untyped()}}
	th, err := o.Find(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	at, err := o.Read(t.Context(), checkpoint.Ref{Thread: "t"}, true)
	if err != nil {
		t.Fatal(err)
	}
	before, err := at.State()
	if err != nil {
		t.Fatal(err)
	}
	text, err := before.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var wrong *operate.RequestError
	for name, err := range map[string]error{
		"an edit that changes nothing": o.Edit(t.Context(), &th, &operate.Edit{At: at.Snap.Checkpoint, Before: before, JSON: text}),
		"an edit that is no object":    o.Edit(t.Context(), &th, &operate.Edit{At: at.Snap.Checkpoint, Before: before, JSON: []byte("[]")}),
		"a replay of no checkpoint":    o.Replay(t.Context(), &th, checkpoint.ID{}),
		"a replay without the graph":   (&operate.Operator{Saver: s}).Replay(t.Context(), &th, at.Snap.Checkpoint),
	} {
		if !errors.As(err, &wrong) {
			t.Errorf("%s: got %v, want a RequestError", name, err)
		}
	}
	broken = false
	if status, err := o.Resume(t.Context(), &th, "work"); err != nil || status != checkpoint.Done {
		t.Errorf("the resume: got %v, %v; want Done", status, err)
	}
	if err := o.Replay(t.Context(), &th, at.Snap.Checkpoint); err != nil {
		t.Fatal(err)
	}
	again, err := o.Read(t.Context(), checkpoint.Ref{Thread: "t"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if tasks := again.Tasks(); len(tasks) != 1 || tasks[0].State != "due" || tasks[0].Name() != "work" {
		t.Errorf("after the replay: got the tasks %+v, want work, due", tasks)
	}
}
