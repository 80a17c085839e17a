package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

type orderArgs struct {
	Order string `json:"order" jsonschema:"the number of the order"`
}

type refundArgs struct {
	Order string `json:"order"`
	Cents int64  `json:"cents"`
}

// desk has the tools of the tests, and counts what they do.
type desk struct{ looked, paid atomic.Int64 }

func (d *desk) tools() []agent.Tool {
	return []agent.Tool{
		agent.NewTool("get_order", "looks up an order", func(_ context.Context, in orderArgs) (string, error) {
			switch d.looked.Add(1); in.Order {
			case "404":
				return "", errors.New("no such order")
			case "500":
				panic("out of order")
			}
			return "order " + in.Order, nil
		}),
		agent.NewTool("refund", "pays money back", func(_ context.Context, in refundArgs) (string, error) {
			d.paid.Add(1)
			return fmt.Sprintf("paid %d", in.Cents), nil
		}, agent.ApproveIf(func(in refundArgs) bool { return in.Cents > 100 })),
	}
}

func newAgent(t *testing.T, c agent.Config) *graph.Graph[agent.Chat, agent.ChatUpdate] {
	t.Helper()
	c.Name = "support"
	app, err := agent.New(c, graph.Saver(memory.New()), graph.Strict())
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// transcript returns a line for each message.
func transcript(c agent.Chat) string {
	var b strings.Builder
	for _, m := range c.Messages {
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case *agent.Text:
				fmt.Fprintf(&b, " %s", p.Text)
			case *agent.Call:
				fmt.Fprintf(&b, " %s(%s)", p.Tool, p.Args)
			case *agent.Result:
				fmt.Fprintf(&b, " %s failed=%t %s", p.Tool, p.Failed, agent.TextOf(p.Parts))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func call(tool, args string) *agent.Call { return &agent.Call{Tool: tool, Args: args} }

func invoke(t *testing.T, th graph.Thread[agent.Chat, agent.ChatUpdate], id, text string) graph.Result[agent.Chat] {
	t.Helper()
	res, err := th.Invoke(t.Context(), agent.Say(id, text))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func wantTranscript(t *testing.T, c agent.Chat, want string) {
	t.Helper()
	if got := transcript(c); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("transcript:\n%s\nwant:%s", got, want)
	}
}

// TestCallsBecomeResults has a call of each kind of fault, and one that succeeds.
func TestCallsBecomeResults(t *testing.T) {
	m := agenttest.NewScript(t,
		agenttest.Parts(&agent.Text{Text: "Let me look."},
			call("get_order", `{"order":"7"}`), call("get_order", `{"order":"404"}`), call("get_order", `{"order":"500"}`),
			call("get_order", `{"order":7}`), call("get_order", `{`), call("nothing", `{}`)),
		agenttest.Text("done"))
	var d desk
	res := invoke(t, newAgent(t, agent.Config{Model: m, Tools: d.tools()}).Thread("t"), "u1", "help")
	got := transcript(res.State)
	for _, want := range []string{
		"tool: get_order failed=false order 7\n", "tool: get_order failed=true The tool failed: no such order\n", "out of order",
		"tool: nothing failed=true The tool failed: there is no tool of this name\n", "assistant: done\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("transcript:\n%s\nlacks %q", got, want)
		}
	}
	if n := strings.Count(got, "The arguments are wrong: "); n != 2 {
		t.Errorf("transcript:\n%s\nhas %d results for wrong arguments; want 2", got, n)
	}
	if res.State.Output != "done" || res.State.Steps != 2 || res.State.InputTokens != 20 || res.State.OutputTokens != 10 || d.looked.Load() != 3 {
		t.Errorf("state: %+v, looked %d", res.State, d.looked.Load())
	}
}

// TestApproval has a call that waits while its sibling runs, and decisions of each kind.
func TestApproval(t *testing.T) {
	for _, tt := range []struct {
		name      string
		decisions []agent.Decision
		paid      int64
		want      string
	}{
		{"allow", []agent.Decision{{Allow: true}}, 1, "tool: refund failed=false paid 400\n"},
		{"deny", []agent.Decision{{Reason: "Too much."}}, 0, "tool: refund failed=true A person has denied this call. Too much.\n"},
		{"deny without a reason", []agent.Decision{{}}, 0, "tool: refund failed=true A person has denied this call.\n"},
		{"edit", []agent.Decision{{Allow: true, Args: `{"order":"7","cents":200}`}}, 1,
			"tool: refund failed=false A person has changed the arguments to {\"order\":\"7\",\"cents\":200}.\npaid 200\n"},
		{"wrong edit", []agent.Decision{{Allow: true, Args: `{"cents":"x"}`}, {Allow: true, Args: `{"order":"7","cents":1}`}}, 1, "\npaid 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := agenttest.NewScript(t,
				agenttest.Parts(call("get_order", `{"order":"7"}`), call("refund", `{"order":"7","cents":400}`), call("refund", `{"order":"7","cents":50}`)),
				agenttest.Text("done"))
			var d desk
			th := newAgent(t, agent.Config{Model: m, Tools: d.tools()}).Thread("t")
			res := invoke(t, th, "u1", "refund 7")
			if res.Status != graph.Waiting || len(res.Questions) != 1 || d.looked.Load() != 1 || d.paid.Load() != 1 {
				t.Fatalf("result: %v, %v; looked %d, paid %d", res.Status, res.Questions, d.looked.Load(), d.paid.Load())
			}
			for i, decision := range tt.decisions {
				a, err := agent.Approve.Decode(res.Questions[0])
				if err != nil || a.Call.Args != `{"order":"7","cents":400}` || (a.Problem == "") != (i == 0) {
					t.Fatalf("question: %+v, %v", a, err)
				}
				res, err = th.Resume(t.Context(), agent.Approve.Answer(res.Questions[0], decision))
				if err != nil {
					t.Fatal(err)
				}
			}
			if got := transcript(res.State); res.Status != graph.Done || !strings.Contains(got, tt.want) || d.paid.Load() != tt.paid+1 {
				t.Errorf("status %v, paid %d, transcript:\n%s", res.Status, d.paid.Load(), got)
			}
		})
	}
}

// TestStopClosesCalls stops a turn that waits. The next request is valid, and nothing is stored
// for the open call.
func TestStopClosesCalls(t *testing.T) {
	m := agenttest.NewScript(t,
		agenttest.Parts(call("get_order", `{"order":"7"}`), call("refund", `{"order":"7","cents":400}`)),
		agenttest.Text("never mind then"))
	var d desk
	th := newAgent(t, agent.Config{Model: m, Tools: d.tools()}).Thread("t")
	invoke(t, th, "u1", "refund 7")
	for range 2 { // the second has nothing to stop
		if err := agent.Stop(t.Context(), th, "never mind"); err != nil {
			t.Fatal(err)
		}
		if snap, err := th.State(t.Context()); err != nil || snap.Status != graph.Cancelled {
			t.Fatalf("status %v, %v", snap.Status, err)
		}
	}
	res := invoke(t, th, "u2", "never mind")
	results := m.Requests()[1].Messages
	if len(results) != 5 || results[3].Parts[0].(*agent.Result).Tool != "refund" || !results[3].Parts[0].(*agent.Result).Failed {
		t.Errorf("request:\n%s", transcript(agent.Chat{Messages: results}))
	}
	if slices.ContainsFunc(res.State.Messages, func(m agent.Message) bool {
		return m.Role == agent.RoleTool && m.Parts[0].(*agent.Result).Tool == "refund"
	}) || d.paid.Load() != 0 {
		t.Errorf("paid %d, transcript:\n%s", d.paid.Load(), transcript(res.State))
	}
	if err := agent.Stop(t.Context(), th, "again"); err != nil {
		t.Errorf("stop of a finished thread: %v", err)
	}
}

// TestStopKeepsTheText stops a reply in its middle. The text so far stays. If the turn is resumed,
// the whole reply replaces it.
func TestStopKeepsTheText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { stopKeepsTheText(t, false) })
	synctest.Test(t, func(t *testing.T) { stopKeepsTheText(t, true) })
}

// stopKeepsTheText is TestStopKeepsTheText with an input after the stop, or with a Resume.
func stopKeepsTheText(t *testing.T, resumed bool) {
	t.Helper()
	began := false
	var last agent.Request
	m := agent.ModelFunc(func(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
		last = r
		if began {
			return agent.Reply{Parts: []agent.Content{&agent.Text{Text: "Hello again."}}}, nil
		}
		emit(agent.Delta{Text: "lost"})
		emit(agent.Delta{Restart: true})
		emit(agent.Delta{Text: "Hel"})
		began = true
		<-ctx.Done()
		return agent.Reply{Usage: agent.Usage{Input: 7}}, ctx.Err()
	})
	th := newAgent(t, agent.Config{Model: m}).Thread("t")
	ended := make(chan error, 1)
	go func() {
		_, err := th.Invoke(t.Context(), agent.Say("u1", "hello"))
		ended <- err
	}()
	synctest.Wait() // the model has begun
	if err := agent.Stop(t.Context(), th, "never mind"); err != nil {
		t.Fatal(err)
	}
	if cancelled := (*graph.CancelledError)(nil); !errors.As(<-ended, &cancelled) {
		t.Fatal("the turn has not been cancelled")
	}
	want := "user: hello\nassistant: Hello again.\n"
	var res graph.Result[agent.Chat]
	if resumed {
		var err error
		if res, err = th.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	} else {
		res, want = invoke(t, th, "u2", "again"), "user: hello\nassistant: Hel\nuser: again\nassistant: Hello again.\n"
		if err := agenttest.Valid(last); err != nil || len(last.Messages) != 3 {
			t.Errorf("request %+v, %v", last.Messages, err)
		}
	}
	wantTranscript(t, res.State, want)
	if res.State.InputTokens != 7 {
		t.Errorf("%d tokens; want 7", res.State.InputTokens)
	}
}

// TestBoundsEndWithAnAnswer has a model that never stops calling tools.
func TestBoundsEndWithAnAnswer(t *testing.T) {
	for name, c := range map[string]agent.Config{"steps": {MaxSteps: 3}, "cost": {MaxCost: 0.00003}} {
		t.Run(name, func(t *testing.T) {
			again := agenttest.Parts(&agent.Text{Text: "Looking."}, call("get_order", `{"order":"7"}`))
			m := agenttest.NewScript(t, again, again, again)
			var d desk
			c.Model, c.Tools = agent.Priced(m, agent.Price{Input: 1, Output: 1}), d.tools()
			res := invoke(t, newAgent(t, c).Thread("t"), "u1", "look")
			if res.Status != graph.Done || res.State.Output != "Looking." || d.looked.Load() != 2 || !m.Requests()[2].NoCalls || m.Requests()[1].NoCalls {
				t.Errorf("%v, looked %d, transcript:\n%s", res.Status, d.looked.Load(), transcript(res.State))
			}
			if got := res.State.Cost * 1e6; got < 44 || got > 46 || res.State.Spent != res.State.Cost {
				t.Errorf("cost of %v, spent %v; want 45 millionths", res.State.Cost, res.State.Spent)
			}
		})
	}
}

// TestRetriesKeepWhatWasPaid has a model that fails twice, with a second failure that is not
// temporary.
func TestRetriesKeepWhatWasPaid(t *testing.T) {
	broken := fmt.Errorf("%w: reset", agent.ErrUnavailable)
	m := agenttest.NewScript(t, agenttest.Fail(graph.RetryAfter(broken, 1)), agenttest.Text("hi"), agenttest.Fail(&agent.RefusalError{Text: "no"}), agenttest.Text("ok"))
	th := newAgent(t, agent.Config{Model: m}).Thread("t")
	if res := invoke(t, th, "u1", "hello"); res.State.InputTokens != 20 || res.State.Output != "hi" {
		t.Errorf("state: %+v", res.State)
	}
	_, err := th.Invoke(t.Context(), agent.Say("u2", "bad"))
	if refusal := (*agent.RefusalError)(nil); !errors.As(err, &refusal) {
		t.Fatalf("error: %v", err)
	}
	res, err := th.Resume(t.Context())
	if err != nil || res.State.Output != "ok" || res.State.InputTokens != 40 {
		t.Errorf("state: %+v, %v", res.State, err)
	}
}

type answer struct {
	City string `json:"city"`
}

func TestOutput(t *testing.T) {
	m := agenttest.NewScript(t, agenttest.Text("Lisbon"), agenttest.Text(`{"city":"Lisbon"}`))
	app := newAgent(t, agent.Config{Model: m, Output: agent.SchemaOf[answer](), ModelOptions: []graph.NodeOption{
		graph.Retry(graph.RetryPolicy{If: agent.Temporary, Attempts: 2, Base: 1}),
	}})
	res := invoke(t, app.Thread("t"), "u1", "where?")
	if got, err := agent.Output[answer](res.State); err != nil || got.City != "Lisbon" {
		t.Errorf("output: %+v, %v", got, err)
	}
	if _, err := agent.Output[answer](agent.Chat{}); err == nil {
		t.Error("an empty chat has an output")
	}
}

func TestFallback(t *testing.T) {
	bad := agenttest.NewScript(t, agenttest.Fail(agent.ErrUnavailable))
	good := agenttest.NewScript(t, agenttest.Text("hi"))
	th := newAgent(t, agent.Config{Model: agent.Fallback(bad, good)}).Thread("t")
	var deltas []agent.Delta
	var res graph.Result[agent.Chat]
	for e, err := range agent.Turn(t.Context(), th, agent.Say("u1", "hello")) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Custom.(agent.Delta); ok {
			deltas = append(deltas, d)
		}
		if e.Result != nil {
			res = *e.Result
		}
	}
	want := []agent.Delta{{Agent: "support", Restart: true}, {Agent: "support", Text: "h"}, {Agent: "support", Text: "i"}}
	if !slices.Equal(deltas, want) || res.State.InputTokens != 20 {
		t.Errorf("deltas %+v, state %+v", deltas, res.State)
	}
}

// TestHooks has a hook that sums up, one that replaces a reply, and one that ends the agent.
func TestHooks(t *testing.T) {
	m := agenttest.NewScript(t, agenttest.Text("one"), agenttest.Text("secret"), agenttest.Call("get_order", `{"order":"7"}`))
	summary := agenttest.NewScript(t, agenttest.Text("so far"))
	var d desk
	app := newAgent(t, agent.Config{
		Model: m, Tools: d.tools(),
		Before: []agent.Hook{agent.Summary(summary, 3, "Sum up.")},
		After: []agent.Hook{
			{Name: "guard", Run: func(_ context.Context, c agent.Chat) (agent.ChatUpdate, agent.Choice, error) {
				var u agent.ChatUpdate
				last := c.Messages[len(c.Messages)-1]
				if last.Text() != "secret" {
					return u, agent.Continue, nil
				}
				last.Parts = []agent.Content{&agent.Text{Text: "I cannot say."}}
				u.Messages.Upsert(last)
				u.Output.Set("I cannot say.")
				return u, agent.Continue, nil
			}},
			{Name: "closed", Run: func(_ context.Context, c agent.Chat) (agent.ChatUpdate, agent.Choice, error) {
				if len(c.Messages[len(c.Messages)-1].Calls()) > 0 {
					return agent.ChatUpdate{}, agent.ToEnd, nil
				}
				return agent.ChatUpdate{}, agent.Continue, nil
			}},
		},
	})
	th := app.Thread("t")
	invoke(t, th, "u1", "first")
	if res := invoke(t, th, "u2", "second"); res.State.Output != "I cannot say." {
		t.Errorf("output: %q", res.State.Output)
	}
	res := invoke(t, th, "u3", "third")
	wantTranscript(t, res.State, `
user: so far
user: third
assistant: get_order({"order":"7"})
`)
	if d.looked.Load() != 0 {
		t.Error("a tool ran after ToEnd")
	}
}

// TestTrim counts where requests begin.
func TestTrim(t *testing.T) {
	var steps []agenttest.Step
	for range 12 {
		steps = append(steps, agenttest.Text("ok"))
	}
	m := agenttest.NewScript(t, steps...)
	th := newAgent(t, agent.Config{Model: m, Middleware: []agent.Middleware{agent.Trim(8)}}).Thread("t")
	var res graph.Result[agent.Chat]
	for i := range steps {
		res = invoke(t, th, fmt.Sprint(i), "hello")
	}
	begins := make(map[string]bool)
	for _, r := range m.Requests() {
		if len(r.Messages) > 8 {
			t.Errorf("a request has %d messages", len(r.Messages))
		}
		begins[r.Messages[0].ID] = true
	}
	if len(begins) != 5 || len(res.State.Messages) != 24 {
		t.Errorf("requests begin at %v, and the chat has %d messages; want 5 beginnings, and 24", begins, len(res.State.Messages))
	}
}

// TestAgentTool calls an agent, whose own tool asks for approval.
func TestAgentTool(t *testing.T) {
	var d desk
	payer, err := agent.New(agent.Config{Name: "payer", Tools: d.tools(),
		Model: agenttest.NewScript(t, agenttest.Call("refund", `{"order":"7","cents":400}`), agenttest.Text("refunded"))}, graph.SubgraphOnly())
	if err != nil {
		t.Fatal(err)
	}
	m := agenttest.NewScript(t, agenttest.Parts(call("payer", `{"task":"refund order 7"}`), call("payer", `{}`)), agenttest.Text("all done"))
	th := newAgent(t, agent.Config{Model: m, Tools: []agent.Tool{agent.NewAgentTool("payer", "pays", payer)}}).Thread("t")
	res := invoke(t, th, "u1", "refund 7")
	if len(res.Questions) != 1 {
		t.Fatalf("questions: %v", res.Questions)
	}
	res, err = th.Resume(t.Context(), agent.Approve.Answer(res.Questions[0], agent.Decision{Allow: true}))
	if err != nil {
		t.Fatal(err)
	}
	if got := transcript(res.State); !strings.Contains(got, "tool: payer failed=false refunded\ntool: payer failed=true ") || res.State.InputTokens != 40 {
		t.Errorf("tokens %d, transcript:\n%s", res.State.InputTokens, got)
	}
}

func TestFaults(t *testing.T) {
	bad := agent.NewTool("a b", "", func(context.Context, chan int) (string, error) { return "", nil })
	_, err := agent.New(agent.Config{Tools: []agent.Tool{bad}, MaxSteps: -1, Output: agent.SchemaOf[func()]()})
	if err == nil || strings.Count(err.Error(), "agent:") != 6 {
		t.Errorf("error: %v", err)
	}
}

// newTeam returns a team of a desk and a bank, which hand off to each other.
func newTeam(t *testing.T, desk, bank agent.Config) *graph.Graph[agent.Chat, agent.ChatUpdate] {
	t.Helper()
	desk.Name, bank.Name = "desk", "bank"
	desk.Tools = append(desk.Tools, agent.Handoff("bank", "hands over to the bank, which pays"))
	bank.Tools = append(bank.Tools, agent.Handoff("desk", "hands back to the desk"))
	b := graph.New("team", agent.ChatSchema)
	first, err := agent.Add(b, graph.End, desk, bank)
	if err != nil {
		t.Fatal(err)
	}
	b.Edge(graph.Start, first)
	app, err := b.Compile(graph.Saver(memory.New()), graph.Strict())
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// TestHandoff has a hand-off alongside a call that must be approved. The bank answers until it
// hands back.
func TestHandoff(t *testing.T) {
	var d desk
	first := agenttest.NewScript(t,
		agenttest.Parts(&agent.Text{Text: "I see."}, &agent.Reasoning{Text: "hm"}, call("refund", `{"order":"7","cents":400}`), call("transfer_to_bank", "{}")),
		agenttest.Text("at your service"))
	second := agenttest.NewScript(t,
		agenttest.Text("I am the bank"), agenttest.Call("get_order", `{"order":"7"}`), agenttest.Text("found"),
		agenttest.Call("transfer_to_desk", "{}"))
	th := newTeam(t, agent.Config{Model: first, Tools: d.tools()}, agent.Config{Model: second, Tools: d.tools()[:1]}).Thread("t")
	res := invoke(t, th, "u1", "refund 7")
	if len(res.Questions) != 1 || len(second.Requests()) != 0 {
		t.Fatalf("questions %v; the bank has %d requests", res.Questions, len(second.Requests()))
	}
	res, err := th.Resume(t.Context(), agent.Approve.Answer(res.Questions[0], agent.Decision{Allow: true}))
	if err != nil || res.State.Output != "I am the bank" || res.State.Active != "bank" || d.paid.Load() != 1 {
		t.Fatalf("state %+v, error %v", res.State, err)
	}
	view := second.Requests()[0].Messages
	last := view[len(view)-1]
	if want := "[desk] I see.\n[desk] called the tool refund with {\"order\":\"7\",\"cents\":400}\n[desk] called the tool transfer_to_bank with {}\n" +
		"[refund] returned:\npaid 400[transfer_to_bank] returned:\nbank has the conversation now."; last.Role != agent.RoleUser || last.Text() != want {
		t.Errorf("the bank sees %s: %q\nwant %q", last.Role, last.Text(), want)
	}
	if res := invoke(t, th, "u2", "and 7?"); res.State.Output != "found" {
		t.Errorf("the bank does not answer: %+v", res.State)
	}
	if res := invoke(t, th, "u3", "back"); res.State.Output != "at your service" || res.State.Active != "desk" {
		t.Errorf("the desk does not answer: %+v", res.State)
	}
	if own := first.Requests()[1].Messages[1]; own.Role != agent.RoleAssistant || len(own.Calls()) != 2 {
		t.Errorf("the desk sees its own message as %+v", own)
	}
}

func TestHandoffToNobody(t *testing.T) {
	c := agent.Config{Name: "desk", Model: agenttest.NewScript(t), Tools: []agent.Tool{agent.Handoff("bank", "")}}
	if _, err := agent.New(c); err == nil || !strings.Contains(err.Error(), "Handoff to bank") {
		t.Errorf("error: %v", err)
	}
	if _, err := agent.Add(graph.New("none", agent.ChatSchema), graph.End); err == nil {
		t.Error("Add without agents has no error")
	}
}
