// Package agent (experimental) makes agents: graphs in which a language model calls tools until it
// answers.
//
//	app, err := agent.New(agent.Config{
//		Name:   "support",
//		Model:  model, // of a package such as agent/openai
//		System: agent.System("You help customers of a shop."),
//		Tools: []agent.Tool{
//			agent.NewTool("find_order", "finds an order", findOrder),
//			agent.NewTool("refund", "pays money back", refund, agent.NeedsApproval()),
//		},
//	}, graph.Saver(saver))
//	t := app.Thread("chat-1")
//	res, err := t.Invoke(ctx, agent.Say("m1", "refund order 7"))
//
// An agent is an ordinary compiled graph, so everything of package graph applies to it. Each reply
// of the model and each result of a tool is stored before the next step begins. After a crash,
// Resume repeats only the calls that were in progress. Every call of a tool is a task of the
// graph. The calls of one reply run concurrently. While one call waits for the approval of a
// person, the others continue.
//
// Chat is the state of an agent. Add puts an agent into a graph over a larger state.
//
// # Errors
//
// An error of a model ends the run as Failed, and Resume calls the model again. Most errors wrap
// one of this package, such as ErrRateLimited, ErrContextTooLarge or a *RefusalError. Wrong
// arguments, an error, a panic and a timeout of a tool do not end the run. They become the result
// of the call, which the model sees.
package agent
