package patterns_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	"github.com/graphgen-go/graphgen/agent/internal/patterns"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// member returns an agent that replies steps.
func member(t *testing.T, name string, steps ...agenttest.Step) (agent.Config, *agenttest.Script) {
	t.Helper()
	s := agenttest.NewScript(t, steps...)
	return agent.Config{Name: name, Model: s}, s
}

// say gives a thread of app the message text, and returns the answer.
func say(t *testing.T, app *patterns.App, err error, text string) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	res, err := app.Thread("t").Invoke(t.Context(), agent.Say(text, text))
	if err != nil {
		t.Fatal(err)
	}
	return res.State.Output
}

func saver() []graph.Option { return []graph.Option{graph.Saver(memory.New()), graph.Strict()} }

func TestHandoffs(t *testing.T) {
	desk, _ := member(t, "desk", agenttest.Call("transfer_to_bank", "{}"))
	bank, _ := member(t, "bank", agenttest.Text("How much?"), agenttest.Text("Paid."))
	app, err := patterns.Handoffs(desk, bank, saver()...)
	if got := say(t, app, err, "refund"); got != "How much?" {
		t.Errorf("got %q", got)
	}
	if got := say(t, app, err, "500"); got != "Paid." {
		t.Errorf("got %q", got)
	}
}

func TestSupervisor(t *testing.T) {
	lead, seen := member(t, "lead", agenttest.Parts(
		&agent.Call{Tool: "weather", Args: `{"task":"Rome"}`}, &agent.Call{Tool: "trains", Args: `{"task":"to Rome"}`}), agenttest.Text("Go by train."))
	weather, _ := member(t, "weather", agenttest.Text("sunny"))
	trains, _ := member(t, "trains", agenttest.Text("at nine"))
	app, err := patterns.Supervisor(lead, weather, trains, saver()...)
	if got := say(t, app, err, "Rome?"); got != "Go by train." {
		t.Errorf("got %q", got)
	}
	if n := len(seen.Requests()[1].Messages); n != 4 {
		t.Errorf("the second request has %d messages; want 4, with two results", n)
	}
}

func TestSequence(t *testing.T) {
	writer, _ := member(t, "writer", agenttest.Text("A drafft."))
	editor, seen := member(t, "editor", agenttest.Text("A draft."))
	app, err := patterns.Sequence(writer, editor, saver()...)
	if got := say(t, app, err, "write"); got != "A draft." {
		t.Errorf("got %q", got)
	}
	if m := seen.Requests()[0].Messages; len(m) != 2 || m[1].Role != agent.RoleUser || m[1].Text() != "[writer] A drafft.\n" {
		t.Errorf("the editor sees %+v", m)
	}
}

func TestParallel(t *testing.T) {
	editor, seen := member(t, "editor", agenttest.Text("Go by train."))
	weather, _ := member(t, "weather", agenttest.Text("sunny"))
	trains, _ := member(t, "trains", agenttest.Text("at nine"))
	app, err := patterns.Parallel(editor, []agent.Config{weather, trains}, saver()...)
	if got := say(t, app, err, "Rome?"); got != "Go by train." {
		t.Errorf("got %q", got)
	}
	if m := seen.Requests()[0].Messages; len(m) != 3 || m[1].Text() != "[weather] sunny\n" || m[2].Text() != "[trains] at nine\n" {
		t.Errorf("the editor sees %+v", m)
	}
}

func TestRouter(t *testing.T) {
	classifier, _ := member(t, "classifier", agenttest.Text(`{"kind":"repair"}`), agenttest.Text(`{"kind":"invoice"}`))
	invoices, _ := member(t, "invoices", agenttest.Text("An invoice."))
	repairs, _ := member(t, "repairs", agenttest.Text("A repair."))
	app, err := patterns.Router(classifier, invoices, repairs, saver()...)
	for _, want := range []string{"A repair.", "An invoice."} {
		if got := say(t, app, err, want); got != want {
			t.Errorf("got %q", got)
		}
	}
}

func TestPlanAndExecute(t *testing.T) {
	planner, _ := member(t, "planner",
		agenttest.Text(`{"steps":["find the order","pay"],"answer":""}`),
		agenttest.Text(`{"steps":["pay"],"answer":""}`),
		agenttest.Text(`{"steps":[],"answer":"Paid order 7."}`))
	worker, seen := member(t, "worker", agenttest.Call("find", "{}"), agenttest.Text("It is 7."), agenttest.Text("Paid."))
	worker.Tools = []agent.Tool{agent.NewTool("find", "finds", func(context.Context, struct{}) (string, error) { return "7", nil })}
	app, err := patterns.PlanAndExecute(planner, worker, saver()...)
	if got := say(t, app, err, "refund"); !strings.Contains(got, "Paid order 7.") {
		t.Errorf("got %q", got)
	}
	var steps []string
	for _, r := range seen.Requests() {
		steps = append(steps, strings.TrimPrefix(r.System, "Do this, and nothing else: "))
	}
	if got := strings.Join(steps, ", "); got != "find the order, find the order, pay" {
		t.Errorf("the worker did: %s", got)
	}
}
