package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// Config configures an agent.
type Config struct {
	// Name is the name of the graph that New returns. It also begins the ids of the nodes, and is
	// the Agent of messages. A graph with several agents needs a Name for each.
	Name  string
	Model Model
	// System returns the instructions for the model, from the Chat at each step; nil for none. The
	// function System returns a constant. Providers cache requests that begin with the same text.
	System func(ctx context.Context, c Chat) (string, error)
	Tools  []Tool
	// Middleware wraps Model; the first is outermost.
	Middleware []Middleware
	// ToolMiddleware wraps the functions of Tools; the first is outermost. It runs after approval.
	// It does not wrap a tool of NewAgentTool: set it in the Config of that agent.
	ToolMiddleware []ToolMiddleware
	// Before are the hooks that run in order before each call of the model, and After those after
	// each reply, before the calls of tools in it.
	Before, After []Hook
	// MaxSteps bounds the calls of the model for one input. The last one must answer without
	// calling tools. The default is 20.
	MaxSteps int
	// MaxCost bounds the cost for one input: when the calls of models have cost that much, the
	// next one must answer without calling tools. It needs a Priced model. 0 is no bound.
	MaxCost float64
	// Output is the schema of the answer; nil for text. The model replies again to an answer that
	// does not fit, as ModelOptions say.
	Output *Schema
	// ModelOptions are the options of the node of the model, which has graph.KeepUpdateOnError.
	// The default is a graph.Retry of at most 3 attempts, for errors that are Temporary.
	ModelOptions []graph.NodeOption
}

// Choice is the next step after a Hook.
type Choice int

const (
	Continue Choice = iota // the next hook, the call of the model, or the calls of tools
	ToModel                // the first Before hook; after MaxSteps calls of the model it is ToEnd
	ToEnd                  // the end of the agent
)

// Hook is a node before or after the model. It can change the Chat, for example to shorten it or
// to replace an unwanted reply, and choose what follows. Its update is stored.
type Hook struct {
	Name string // of its node, after the Name of the agent
	Run  func(ctx context.Context, c Chat) (ChatUpdate, Choice, error)
	// Options are options of its node, such as graph.Retry. The node has graph.KeepUpdateOnError.
	Options []graph.NodeOption
}

// System returns text as the instructions of every call, for Config.
func System(text string) func(context.Context, Chat) (string, error) {
	return func(context.Context, Chat) (string, error) { return text, nil }
}

// New returns the agent of c as a graph over a Chat, compiled with options. The input of a turn is
// that of Say. It returns an error if c has faults.
func New(c Config, options ...graph.Option) (*graph.Graph[Chat, ChatUpdate], error) {
	b := graph.New(c.Name, ChatSchema)
	first, err := Add(b, graph.End, c)
	if err != nil {
		return nil, err
	}
	b.Edge(graph.Start, first)
	return b.Compile(options...)
}

// Add adds agents to b. With graph.Part, b builds a graph of a larger state. Each agent gets a
// node for its model, and one for each hook and tool. Agents of one Add share the Chat, and can
// have tools of Handoff to each other. A model gets the words and calls of other agents as
// context, in messages from a user.
//
// Add returns the first node, for edges and routes that lead to the agents. With several agents,
// that node routes to the Active one. The node next follows when a model has answered, and can be
// graph.End. Add returns an error if a Config has faults.
func Add(b *graph.Builder[Chat, ChatUpdate], next graph.ID, agents ...Config) (graph.ID, error) {
	if len(agents) == 0 {
		return "", errors.New("agent: Add has no agent; give it a Config")
	}
	firsts := make(map[string]graph.ID) // by the names of agents
	var ids []graph.ID
	for _, c := range agents {
		firsts[c.Name], ids = c.first(), append(ids, c.first())
	}
	var faults []error
	for _, c := range agents {
		faults = append(faults, c.check(firsts))
	}
	if err := errors.Join(faults...); err != nil {
		return "", err
	}
	for _, c := range agents {
		c.add(b, next, firsts)
	}
	if len(agents) == 1 {
		return ids[0], nil
	}
	entry := b.Node(agents[0].id("entry"), func(context.Context, Chat) (ChatUpdate, error) { return ChatUpdate{}, nil })
	b.Route(entry, func(_ context.Context, chat Chat) (graph.Next, error) {
		if id, ok := firsts[chat.Active]; ok {
			return graph.To(id), nil
		}
		return graph.To(ids[0]), nil
	}, ids...)
	return entry, nil
}

// add adds the nodes of one agent. firsts has the first nodes of all agents, by their names.
func (c Config) add(b *graph.Builder[Chat, ChatUpdate], next graph.ID, firsts map[string]graph.ID) {
	if c.MaxSteps == 0 {
		c.MaxSteps = 20
	}
	if c.ModelOptions == nil {
		c.ModelOptions = []graph.NodeOption{graph.Retry(graph.RetryPolicy{If: Temporary, Attempts: 3})}
	}
	for i := len(c.Middleware) - 1; i >= 0; i-- {
		c.Model = c.Middleware[i](c.Model)
	}

	first, model := c.first(), c.id("model")
	tools := make(map[string]graph.Sender[Call])
	var called []graph.ID          // the nodes of tools
	continues := []graph.ID{first} // the nodes that can follow those of tools
	for _, t := range slices.Concat(c.Tools, []Tool{unknownTool()}) {
		for i := len(c.ToolMiddleware) - 1; i >= 0 && t.agent == nil; i-- {
			t.call = c.ToolMiddleware[i](t.call)
		}
		s := addTool(b, c.id(t.spec.Name), t)
		tools[t.spec.Name], called = s, append(called, s.ID)
		if t.to != "" {
			continues = append(continues, firsts[t.to])
		}
	}
	slices.Sort(continues)
	continues = slices.Compact(continues)
	for _, id := range called {
		if len(continues) == 1 {
			b.Edge(id, first)
			continue
		}
		b.Route(id, func(_ context.Context, chat Chat) (graph.Next, error) {
			if id := firsts[chat.Active]; slices.Contains(continues, id) {
				return graph.To(id), nil
			}
			return graph.To(first), nil // nobody has handed off
		}, continues...)
	}

	// calls chooses what follows a reply: its calls of tools, or the end.
	calls := func(chat Chat) graph.Next {
		last := chat.Messages[len(chat.Messages)-1].Calls()
		if len(last) == 0 {
			return graph.To(next)
		}
		var n graph.Next
		for _, call := range last {
			tool, ok := tools[call.Tool]
			if !ok {
				tool = tools[unknown]
			}
			n.Add(tool.Send(call))
		}
		return n
	}
	targets := append(called, next)
	b.Node(model, c.step, append([]graph.NodeOption{graph.KeepUpdateOnError()}, c.ModelOptions...)...)
	ends := ends{first: first, next: next, maxSteps: c.MaxSteps}
	addHooks(b, c, c.Before, ends, []graph.ID{model}, func(Chat) graph.Next { return graph.To(model) })
	if len(c.After) == 0 {
		b.Route(model, func(_ context.Context, chat Chat) (graph.Next, error) { return calls(chat), nil }, targets...)
		return
	}
	b.Edge(model, c.id(c.After[0].Name))
	addHooks(b, c, c.After, ends, targets, calls)
}

// ends are the nodes that a hook can choose instead of what follows it.
type ends struct {
	first, next graph.ID
	maxSteps    int
}

// addHooks adds a node for each of hooks. After the last one, then chooses among targets, by the
// chat with the update of the hook.
func addHooks(
	b *graph.Builder[Chat, ChatUpdate], c Config, hooks []Hook, e ends, targets []graph.ID, then func(Chat) graph.Next,
) {
	for i, h := range hooks {
		follow, ids := then, targets
		if i+1 < len(hooks) {
			id := c.id(hooks[i+1].Name)
			follow, ids = func(Chat) graph.Next { return graph.To(id) }, []graph.ID{id}
		}
		ids = slices.Concat(ids, []graph.ID{e.first, e.next})
		slices.Sort(ids)
		options := append([]graph.NodeOption{graph.KeepUpdateOnError(), graph.Targets(slices.Compact(ids)...)}, h.Options...)
		b.RoutingNode(c.id(h.Name), func(ctx context.Context, chat Chat) (ChatUpdate, graph.Next, error) {
			u, choice, err := h.Run(ctx, chat)
			if err != nil {
				return u, graph.Next{}, err
			}
			switch {
			case choice == ToModel && chat.Steps < e.maxSteps:
				return u, graph.To(e.first), nil
			case choice != Continue:
				return u, graph.To(e.next), nil
			}
			chat, err = state.Apply(ChatSchema, chat, u)
			return u, follow(chat), err
		}, options...)
	}
}

// addTool adds the node of a tool, and the fallback that makes its errors results.
func addTool(b *graph.Builder[Chat, ChatUpdate], id graph.ID, t Tool) graph.Sender[Call] {
	put := func(m Message, err error) (ChatUpdate, error) {
		var u ChatUpdate
		if err == nil {
			u.Messages.Upsert(m)
			if r, ok := m.Parts[0].(*Result); ok && t.to != "" && !r.Failed {
				u.Active.Set(t.to)
			}
		}
		return u, err
	}
	var s graph.Sender[Call]
	if t.agent == nil {
		s = graph.TaskNode(b, id, func(ctx context.Context, _ Chat, call Call) (ChatUpdate, error) { return put(t.run(ctx, call)) }, t.options...)
	} else {
		s = graph.TaskSubgraph(b, id, t.agent,
			func(_ context.Context, _ Chat, call Call) (ChatUpdate, error) { return t.input(call) },
			func(_ context.Context, _ Chat, call Call, child Chat) (ChatUpdate, error) {
				u := Usage{child.InputTokens, child.CachedTokens, child.OutputTokens, child.Cost}.update()
				u.Messages.Upsert(resultOf(call, false, &Text{Text: child.Output}))
				return u, nil
			}, t.options...)
	}
	graph.TaskFallback(b, s, func(ctx context.Context, _ Chat, call Call, err error) (ChatUpdate, error) {
		return put(isolated(ctx, call, err))
	})
	return s
}

// unknown is the name of the tool that answers calls of unknown tools. No model can call it.
const unknown = "unknown tool"

// unknownTool returns the tool for calls of tools that the agent does not have.
func unknownTool() Tool {
	return Tool{
		spec:    ToolSpec{Name: unknown},
		problem: func(string) string { return "" },
		call: func(context.Context, Call) ([]Content, error) {
			return nil, errors.New("there is no tool of this name")
		},
	}
}

// named are the names that providers accept for tools.
var named = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// check returns an error with the faults of c, which is added with the agents of firsts.
func (c Config) check(firsts map[string]graph.ID) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("agent: "+format, args...)) }
	if c.Name == "" {
		fault("the Config has no Name; give the agent one")
	}
	if c.Model == nil {
		fault("%s has no Model; set one", c.Name)
	}
	if c.MaxSteps < 0 || c.MaxCost < 0 {
		fault("%s has a negative bound; use 0 for the default", c.Name)
	}
	if c.Output != nil && c.Output.err != nil {
		fault("%s has an Output without a schema: %w; change its type", c.Name, c.Output.err)
	}
	for _, t := range c.Tools {
		if _, ok := firsts[t.to]; t.to != "" && !ok {
			fault("%s has a Handoff to %s, which is no agent of the same Add; add it", c.Name, t.to)
		}
		if t.err != nil {
			fault("tool %s has no schema: %w; change the type of its arguments", t.spec.Name, t.err)
		}
		if !named.MatchString(t.spec.Name) {
			fault("the name of tool %q has other bytes than letters, digits, _ and -, or more than 64; rename it", t.spec.Name)
		}
	}
	return errors.Join(faults...)
}

// id returns the id of a node of the agent.
func (c Config) id(name string) graph.ID { return graph.ID(c.Name + "." + name) }

// first returns the first node of the agent.
func (c Config) first() graph.ID {
	if len(c.Before) > 0 {
		return c.id(c.Before[0].Name)
	}
	return c.id("model")
}

// step calls the model once, and returns its message and what it has used.
func (c Config) step(ctx context.Context, chat Chat) (ChatUpdate, error) {
	var u ChatUpdate
	r := Request{
		Agent:    c.Name,
		Messages: viewed(chat.Messages, c.Name),
		NoCalls:  chat.Steps+1 >= c.MaxSteps || c.MaxCost > 0 && chat.Spent >= c.MaxCost,
	}
	if c.System != nil {
		system, err := c.System(ctx, chat)
		if err != nil {
			return u, err
		}
		r.System = system
	}
	if c.Output != nil {
		r.Output = c.Output.text
	}
	for _, t := range c.Tools {
		r.Tools = append(r.Tools, t.spec)
	}
	var text strings.Builder // so far
	reply, err := c.Model.Generate(ctx, r, func(d Delta) {
		if d.Restart {
			text.Reset()
		}
		text.WriteString(d.Text)
		d.Agent = c.Name
		graph.Emit(ctx, d)
	})
	u = reply.Usage.update()
	m := Message{ID: graph.CurrentTask(ctx).Key, Role: RoleAssistant, Agent: c.Name}
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) && text.Len() > 0 { // the user has seen the text
			m.Parts = []Content{&Text{Text: text.String()}}
			u.Messages.Upsert(m)
		}
		return u, err
	}
	m.Parts = numbered(reply.Parts, m.ID, chat.Messages, r.NoCalls)
	if len(m.Parts) == 0 && !r.NoCalls {
		return u, fmt.Errorf("%w: it is empty", ErrInvalidReply)
	}
	if len(m.Calls()) == 0 {
		if c.Output != nil {
			if err := c.Output.check(m.Text()); err != nil {
				return u, fmt.Errorf("%w: it does not fit Config.Output: %w", ErrInvalidReply, err)
			}
		}
		u.Output.Set(m.Text())
	}
	u.Steps.Add(1)
	u.Messages.Upsert(m)
	return u, nil
}

// numbered returns parts with calls whose ids no other call in the chat has, because some
// providers leave ids out or repeat them. key makes new ids. With noCalls it leaves calls out.
func numbered(parts []Content, key string, messages []Message, noCalls bool) []Content {
	used := make(map[string]bool)
	for _, m := range messages {
		used[m.ID] = true
		for _, c := range m.Calls() {
			used[c.ID] = true
		}
	}
	var all []Content
	for i, p := range parts {
		c, ok := p.(*Call)
		if ok && noCalls {
			continue
		}
		if ok && (c.ID == "" || used[c.ID]) {
			sum := sha256.Sum256([]byte(key + "/" + strconv.Itoa(i)))
			c = &Call{ID: "call_" + hex.EncodeToString(sum[:12]), Tool: c.Tool, Args: c.Args}
			p = c
		}
		if ok {
			used[c.ID] = true
		}
		all = append(all, p)
	}
	return all
}
