// Package patterns has the graphs of the page about several agents.
package patterns

import (
	"context"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// App is a graph over a Chat.
type App = graph.Graph[agent.Chat, agent.ChatUpdate]

// Handoffs returns a desk that hands over to the bank, which hands back.
func Handoffs(desk, bank agent.Config, options ...graph.Option) (*App, error) {
	desk.Tools = append(desk.Tools, agent.Handoff("bank", "hands over to the bank, which pays"))
	bank.Tools = append(bank.Tools, agent.Handoff("desk", "hands back to the desk"))
	b := graph.New("shop", agent.ChatSchema)
	first, err := agent.Add(b, graph.End, desk, bank)
	if err != nil {
		return nil, err
	}
	b.Edge(graph.Start, first)
	return b.Compile(options...)
}

// Supervisor returns an agent whose tools are other agents. If its model calls several of them in
// one reply, they run concurrently.
func Supervisor(lead, weather, trains agent.Config, options ...graph.Option) (*App, error) {
	w, err := agent.New(weather, graph.SubgraphOnly())
	if err != nil {
		return nil, err
	}
	t, err := agent.New(trains, graph.SubgraphOnly())
	if err != nil {
		return nil, err
	}
	lead.Tools = append(lead.Tools,
		agent.NewAgentTool("weather", "knows the weather", w), agent.NewAgentTool("trains", "finds trains", t))
	return agent.New(lead, options...)
}

// Sequence returns a graph in which the editor continues after the writer.
func Sequence(writer, editor agent.Config, options ...graph.Option) (*App, error) {
	b := graph.New("sequence", agent.ChatSchema)
	second, err := agent.Add(b, graph.End, editor)
	if err != nil {
		return nil, err
	}
	first, err := agent.Add(b, second, writer)
	if err != nil {
		return nil, err
	}
	b.Edge(graph.Start, first)
	return b.Compile(options...)
}

// Parallel returns a graph in which experts answer the same message concurrently, each in a Chat
// of its own. The editor sees all answers, and makes one of them.
func Parallel(editor agent.Config, experts []agent.Config, options ...graph.Option) (*App, error) {
	b := graph.New("parallel", agent.ChatSchema)
	first, err := agent.Add(b, graph.End, editor)
	if err != nil {
		return nil, err
	}
	var asked []graph.ID
	for _, e := range experts {
		expert, err := agent.New(e, graph.SubgraphOnly())
		if err != nil {
			return nil, err
		}
		id := graph.MapSubgraph(b, graph.ID(e.Name), expert,
			func(_ context.Context, c agent.Chat) (agent.ChatUpdate, error) {
				return agent.Say("question", c.Messages[len(c.Messages)-1].Text()), nil
			},
			func(ctx context.Context, _, own agent.Chat) (u agent.ChatUpdate, err error) {
				u.Messages.Upsert(agent.Message{
					ID: graph.CurrentTask(ctx).Key, Role: agent.RoleAssistant, Agent: e.Name, Parts: []agent.Content{&agent.Text{Text: own.Output}},
				})
				u.InputTokens.Add(own.InputTokens)
				u.OutputTokens.Add(own.OutputTokens)
				u.Cost.Add(own.Cost)
				return u, nil
			})
		b.Edge(graph.Start, id)
		asked = append(asked, id)
	}
	b.Join(asked, first)
	return b.Compile(options...)
}

// Kind is the answer of the classifier of Router.
type Kind struct {
	Kind string `json:"kind" jsonschema:"invoice or repair"`
}

// Router returns a graph in which a classifier chooses who answers.
func Router(classifier, invoices, repairs agent.Config, options ...graph.Option) (*App, error) {
	b := graph.New("router", agent.ChatSchema)
	invoice, err := agent.Add(b, graph.End, invoices)
	if err != nil {
		return nil, err
	}
	repair, err := agent.Add(b, graph.End, repairs)
	if err != nil {
		return nil, err
	}
	choice := b.Node("choice", func(context.Context, agent.Chat) (agent.ChatUpdate, error) { return agent.ChatUpdate{}, nil })
	classifier.Output = agent.SchemaOf[Kind]()
	first, err := agent.Add(b, choice, classifier)
	if err != nil {
		return nil, err
	}
	b.Edge(graph.Start, first)
	b.Route(choice, func(_ context.Context, c agent.Chat) (graph.Next, error) {
		k, err := agent.Output[Kind](c)
		if k.Kind == "invoice" {
			return graph.To(invoice), err
		}
		return graph.To(repair), err
	}, invoice, repair)
	return b.Compile(options...)
}

// Plan is the answer of the planner of PlanAndExecute.
type Plan struct {
	Steps  []string `json:"steps" jsonschema:"what is still to do; empty if nothing is"`
	Answer string   `json:"answer" jsonschema:"the answer for the user; empty while there are steps"`
}

// PlanAndExecute returns a graph in which a worker does the first step of a plan. Then the planner
// plans again, until no steps are left.
func PlanAndExecute(planner, worker agent.Config, options ...graph.Option) (*App, error) {
	b := graph.New("plan", agent.ChatSchema)
	check := b.Node("check", func(context.Context, agent.Chat) (agent.ChatUpdate, error) { return agent.ChatUpdate{}, nil })
	planner.Output = agent.SchemaOf[Plan]()
	plan, err := agent.Add(b, check, planner)
	if err != nil {
		return nil, err
	}
	worker.System = func(_ context.Context, c agent.Chat) (string, error) {
		p, err := agent.Output[Plan](c) // until the worker answers, the output is that of the planner
		if err != nil {
			return "", err
		}
		return "Do this, and nothing else: " + p.Steps[0], nil
	}
	work, err := agent.Add(b, plan, worker)
	if err != nil {
		return nil, err
	}
	b.Edge(graph.Start, plan)
	b.Route(check, func(_ context.Context, c agent.Chat) (graph.Next, error) {
		p, err := agent.Output[Plan](c)
		if len(p.Steps) == 0 || c.Steps >= 30 { // Steps are the calls of models in this turn
			return graph.To(graph.End), err
		}
		return graph.To(work), err
	}, work, graph.End)
	return b.Compile(options...)
}
