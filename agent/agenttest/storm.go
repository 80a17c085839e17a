package agenttest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// bank pays, once for each key, as a service outside does.
type bank struct {
	mu   sync.Mutex
	paid map[string]string // the arguments, by key
}

// payment is the argument of the tool of a conversation.
type payment struct {
	Order string `json:"order"`
	Cents int64  `json:"cents"`
}

// chat is one random conversation of two agents.
type chat struct {
	rnd           *rand.Rand
	bank          bank
	saver         *memory.Saver
	models        map[string]agent.Model // of the agents, by their names
	onlyJSON      bool                   // the model sends no other arguments
	kill          context.CancelFunc     // ends the run in progress; a tool calls it, unless it is nil
	calls, handed int
}

// generate replies with random calls, or with an answer. It checks the request. other is the agent
// that it can hand off to.
func (s *chat) generate(r agent.Request, other string) (agent.Reply, error) {
	if err := Valid(r); err != nil {
		return agent.Reply{}, err
	}
	var parts []agent.Content
	for range s.rnd.IntN(4) {
		s.calls++
		args := fmt.Sprintf(`{"order":"%d","cents":%d}`, s.calls, 50+100*s.rnd.IntN(2))
		if s.rnd.IntN(8) == 0 && !s.onlyJSON {
			args = `{"order":`
		}
		parts = append(parts, &agent.Call{ID: []string{"", "call_0"}[s.rnd.IntN(2)], Tool: "pay", Args: args})
	}
	if s.rnd.IntN(6) == 0 && !r.NoCalls {
		s.handed++
		parts = append(parts, &agent.Call{Tool: "transfer_to_" + other, Args: "{}"})
	}
	if len(parts) == 0 {
		parts = []agent.Content{&agent.Text{Text: "done"}}
	}
	return agent.Reply{Parts: parts}, nil
}

// open compiles the agent again, as a new process does.
func (s *chat) open(t *testing.T) graph.Thread[agent.Chat, agent.ChatUpdate] {
	t.Helper()
	pay := func(ctx context.Context, in payment) (string, error) {
		s.bank.mu.Lock()
		defer s.bank.mu.Unlock()
		if s.calls%5 == 0 && s.kill != nil && s.bank.paid[graph.CurrentTask(ctx).Key] == "" {
			s.kill()
			return "", context.Canceled // the process dies before it pays
		}
		s.bank.paid[graph.CurrentTask(ctx).Key] = fmt.Sprintf("paid %s %d", in.Order, in.Cents)
		return s.bank.paid[graph.CurrentTask(ctx).Key], nil
	}
	member := func(name, other string) agent.Config {
		return agent.Config{
			Name: name, MaxSteps: 6,
			Model: s.models[name],
			Tools: []agent.Tool{
				agent.NewTool("pay", "pays", pay, agent.ApproveIf(func(in payment) bool { return in.Cents > 100 })),
				agent.Handoff(other, "hands off"),
			},
		}
	}
	b := graph.New("storm", agent.ChatSchema)
	first, err := agent.Add(b, graph.End, member("desk", "bank"), member("bank", "desk"))
	if err != nil {
		t.Fatal(err)
	}
	b.Edge(graph.Start, first)
	app, err := b.Compile(graph.Saver(s.saver), graph.Concurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return app.Thread("t")
}

// act does one random thing to the thread, and returns its error.
func (s *chat) act(ctx context.Context, t *testing.T, n int) error {
	t.Helper()
	th := s.open(t)
	snap, err := th.State(ctx)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	say := agent.Say(fmt.Sprintf("u%d", n), "go")
	answers := make([]graph.ResumeOption, 0, len(snap.Questions))
	for _, q := range snap.Questions {
		d := agent.Decision{Allow: s.rnd.IntN(3) > 0}
		if s.rnd.IntN(3) == 0 {
			d.Args = []string{`{"order":"edited","cents":7}`, `{"order":1}`}[s.rnd.IntN(2)]
		}
		if s.rnd.IntN(2) == 0 {
			answers = append(answers, agent.Approve.Answer(q, d))
		}
	}
	switch action := s.rnd.IntN(8); {
	case action == 0 && snap.Status != 0:
		return agent.Stop(ctx, th, "never mind")
	case action == 1:
		_, err = th.Invoke(ctx, say, graph.DiscardPending())
	case snap.Status == graph.Done || snap.Status == graph.Cancelled || snap.Status == 0:
		_, err = th.Invoke(ctx, say)
	default:
		_, err = th.Resume(ctx, answers...)
	}
	return err
}

// storm runs random conversations of inputs, answers, edits, stops, discards, crashes and
// hand-offs. The agents are opened from the saver before each act. Every request is valid, and no
// payment is lost from the state. over returns a model that passes requests to its argument. The
// seeds follow from the name of the test.
func storm(t *testing.T, rounds int, onlyJSON bool, over func(agent.Model) agent.Model) {
	t.Helper()
	name := fnv.New64()
	_, _ = name.Write([]byte(t.Name()))
	if testing.Short() {
		rounds = 20
	} else if _, soak := os.LookupEnv("GRAPHGEN_SOAK"); soak {
		rounds = 10_000
	}
	var s *chat // in progress
	models := make(map[string]agent.Model)
	for name, other := range map[string]string{"desk": "bank", "bank": "desk"} {
		models[name] = over(agent.ModelFunc(func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Reply, error) {
			return s.generate(r, other)
		}))
	}
	var paid, killed, stopped, asked, handed int
	for seed := range rounds {
		s = &chat{rnd: rand.New(rand.NewPCG(uint64(seed), name.Sum64())), saver: memory.New(), models: models, onlyJSON: onlyJSON}
		s.bank.paid = make(map[string]string)
		for n := range 25 {
			ctx, kill := context.WithCancel(t.Context())
			s.kill = kill
			err := s.act(ctx, t, n)
			switch ended := ctx.Err() != nil; {
			case ended:
				killed++
			case err != nil:
				t.Fatalf("seed %d, act %d: %v", seed, n, err)
			}
			kill()
			snap, err := s.open(t).State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			asked += len(snap.Questions)
			if snap.Status == graph.Cancelled {
				stopped++
			}
		}
		snap, err := s.open(t).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The results of a stopped superstep come into the state with the next turn.
		for s.kill = nil; snap.Status != graph.Done; {
			if snap.Status == graph.Cancelled {
				_, err = s.open(t).Invoke(t.Context(), agent.Say("last", "go"))
			} else {
				var answers []graph.ResumeOption
				for _, q := range snap.Questions {
					answers = append(answers, agent.Approve.Answer(q, agent.Decision{}))
				}
				_, err = s.open(t).Resume(t.Context(), answers...)
			}
			if err != nil {
				t.Fatal(err)
			}
			if snap, err = s.open(t).State(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		handed += s.handed
		results := contentOf(snap.State.Messages)
		for _, p := range s.bank.paid {
			if paid++; !slices.Contains(results, "text "+p) {
				t.Errorf("seed %d: %q is not in the state:\n%s", seed, p, strings.Join(results, "\n"))
			}
		}
	}
	t.Logf("%d payments, %d killed runs, %d stopped turns, %d questions, %d hand-offs", paid, killed, stopped, asked, handed)
	if paid < rounds || killed < rounds/4 || stopped < rounds/4 || asked < rounds || handed < rounds {
		t.Error("the storm does too little")
	}
}
