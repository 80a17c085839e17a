package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Approve is the question that a tool with NeedsApproval or ApproveIf asks before a call.
//
//	a, err := agent.Approve.Decode(q) // q of Result.Questions
//	res, err := t.Resume(ctx, agent.Approve.Answer(q, agent.Decision{Allow: true, By: "ann"}))
var Approve = graph.NewQuestion[Approval, Decision]("agent.approve")

// Approval asks a person whether a tool may be called.
type Approval struct {
	Call Call // with arguments that fit the schema of the tool
	// Problem says why the arguments of the last Decision were wrong. It is empty the first time.
	Problem string
}

// Decision answers an Approval.
type Decision struct {
	Allow bool
	// Args replaces the arguments of the call; empty keeps them. If Args does not fit the schema
	// of the tool, the tool is not called, and the question is asked again.
	Args   string
	By     string // who decided
	Reason string // of a refusal, for the model
}

// Tool is a function that a model can call. NewTool, NewDynamicTool, NewAgentTool and Handoff make
// one.
type Tool struct {
	spec    ToolSpec
	err     error // of making it; New and Add return it
	options []graph.NodeOption
	problem func(args string) string // why the arguments do not fit the schema; empty if they fit
	approve func(args string) bool   // whether a person must decide; nil for never
	call    ToolFunc
	agent   *graph.Graph[Chat, ChatUpdate] // runs instead of call; nil for a function
	to      string                         // the agent that gets the conversation after the call; empty for none
}

// ToolFunc makes a call of a tool, whose arguments fit the schema of the tool, and returns its
// result.
type ToolFunc func(ctx context.Context, c Call) ([]Content, error)

// ToolMiddleware wraps a ToolFunc. It can change arguments and results, for example to keep a
// large result elsewhere. If graph.Interrupted reports true for an error of next, it must return
// that error.
type ToolMiddleware func(next ToolFunc) ToolFunc

// ToolOption is an option of a tool.
type ToolOption func(*Tool)

// NeedsApproval asks a person before each call.
func NeedsApproval() ToolOption {
	return func(t *Tool) { t.approve = func(string) bool { return true } }
}

// ApproveIf asks a person before the calls for which f returns true. In must be the type of the
// arguments of the tool. f must return the same each time it gets the same arguments, because it
// is called again after the answer.
func ApproveIf[In any](f func(In) bool) ToolOption {
	return func(t *Tool) {
		t.approve = func(args string) bool {
			var in In
			return json.Unmarshal([]byte(args), &in) != nil || f(in)
		}
	}
}

// NodeOptions adds options to the node of the tool, such as graph.Retry, graph.Timeout,
// graph.Limit, graph.Queue, and questions that the tool asks itself.
func NodeOptions(options ...graph.NodeOption) ToolOption {
	return func(t *Tool) { t.options = append(t.options, options...) }
}

// NewTool returns a tool that calls f. name has letters, digits, _ and -, and is at most 64 bytes
// long. The model reads name and description. The schema of the arguments is made of In, a struct:
// see SchemaOf. The result of f is text for the model: a string as it is, []Content as parts, and
// other types as JSON.
//
// f runs as the node of the tool, so graph.CurrentTask has an idempotency key, and f can use
// graph.Do and ask questions. If f asks a question, pass the question to NodeOptions. An error of
// f is retried if the options have a graph.Retry. The last error, a panic or a timeout is the
// result of the call, and the model sees its text. Calls of f run concurrently.
func NewTool[In, Out any](name, description string, f func(context.Context, In) (Out, error), options ...ToolOption) Tool {
	schema := SchemaOf[In]()
	return newTool(name, description, schema, func(ctx context.Context, c Call) ([]Content, error) {
		var in In
		if err := json.Unmarshal([]byte(c.Args), &in); err != nil {
			return nil, err
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		switch out := any(out).(type) {
		case []Content:
			return out, nil
		case string:
			return []Content{&Text{Text: out}}, nil
		}
		text, err := json.Marshal(out)
		return []Content{&Text{Text: string(text)}}, err
	}, options)
}

// NewDynamicTool is NewTool for a tool that is known only at run time, such as one of a server.
// spec.Schema is the schema of the arguments, and f gets them as JSON that fits the schema.
func NewDynamicTool(spec ToolSpec, f func(ctx context.Context, args string) ([]Content, error), options ...ToolOption) Tool {
	var s jsonschema.Schema
	if err := json.Unmarshal(spec.Schema, &s); err != nil {
		return Tool{spec: spec, err: err}
	}
	call := func(ctx context.Context, c Call) ([]Content, error) { return f(ctx, c.Args) }
	return newTool(spec.Name, spec.Description, newSchema(&s), call, options)
}

// task is the argument of an agent that is a tool.
type task struct {
	Task string `json:"task" jsonschema:"the whole task, with everything that the agent must know"`
}

// NewAgentTool returns a tool that runs another agent. The agent begins each call with an empty
// Chat, whose only message is the task. Its answer is the result of the call. The tokens and the
// cost of its models are added to the Chat of the caller. Its tools can ask for approval. Compile
// it with graph.SubgraphOnly. ApproveIf and NeedsApproval have no effect on the call itself.
func NewAgentTool(name, description string, agent *graph.Graph[Chat, ChatUpdate], options ...ToolOption) Tool {
	t := newTool(name, description, SchemaOf[task](), nil, options)
	t.agent = agent
	return t
}

// Handoff returns a tool by which a model gives the conversation to another agent of the same Add.
// The tool is called transfer_to_ and the name of that agent. When all calls of the reply have
// their results, the other agent continues, and it sees the whole conversation. It also answers
// the next messages of the user, until it hands off itself. If one reply hands off to several
// agents, the last one continues.
func Handoff(agent, description string, options ...ToolOption) Tool {
	t := newTool("transfer_to_"+agent, description, SchemaOf[struct{}](), func(context.Context, Call) ([]Content, error) {
		return []Content{&Text{Text: agent + " has the conversation now."}}, nil
	}, options)
	t.to = agent
	return t
}

// newTool returns a tool with a schema.
func newTool(name, description string, schema *Schema, call ToolFunc, options []ToolOption) Tool {
	t := Tool{
		spec:    ToolSpec{Name: name, Description: description, Schema: schema.text},
		err:     schema.err,
		problem: schema.problem,
		call:    call,
	}
	for _, o := range options {
		o(&t)
	}
	if t.approve != nil && t.agent == nil {
		t.options = append(t.options, Approve)
	}
	return t
}

// input returns the input of an agent that is a tool.
func (t Tool) input(c Call) (ChatUpdate, error) {
	var in task
	if problem := t.problem(arguments(c)); problem != "" {
		return ChatUpdate{}, errors.New("the arguments are wrong: " + problem)
	}
	err := json.Unmarshal([]byte(arguments(c)), &in)
	return Say(c.ID, in.Task), err
}

// arguments returns the arguments of c. Some models send nothing instead of an empty object.
func arguments(c Call) string {
	if c.Args == "" {
		return "{}"
	}
	return c.Args
}

// run makes one call, and returns the message with its result. It returns the errors of the tool:
// the node can retry them, and its fallback makes them results.
func (t Tool) run(ctx context.Context, c Call) (Message, error) {
	graph.Summary(ctx, c.Args)
	args := arguments(c)
	if problem := t.problem(args); problem != "" {
		return failed(c, "The arguments are wrong: "+problem), nil
	}
	var note []Content
	if t.approve != nil && t.approve(args) {
		d, err := t.ask(ctx, c)
		switch {
		case err != nil:
			return Message{}, err
		case !d.Allow:
			return failed(c, strings.TrimSpace("A person has denied this call. "+d.Reason)), nil
		case d.Args != "" && d.Args != args:
			args = d.Args
			note = []Content{&Text{Text: "A person has changed the arguments to " + args + ".\n"}}
		}
	}
	parts, err := t.call(ctx, Call{ID: c.ID, Tool: c.Tool, Args: args})
	return resultOf(c, false, append(note, parts...)...), err
}

// ask asks a person about c until the arguments of the decision fit the schema.
func (t Tool) ask(ctx context.Context, c Call) (Decision, error) {
	for a := (Approval{Call: c}); ; {
		d, err := Approve.Ask(ctx, a)
		if err != nil || !d.Allow || d.Args == "" {
			return d, err
		}
		if a.Problem = t.problem(d.Args); a.Problem == "" {
			return d, nil
		}
	}
}

// failed returns the message with the result of a call that was not made, or failed.
func failed(c Call, text string) Message { return resultOf(c, true, &Text{Text: text}) }

// isolated returns the result of a call whose last attempt returned err. Errors that no model can
// mend fail the run instead.
func isolated(ctx context.Context, c Call, err error) (Message, error) {
	if graph.Interrupted(ctx, err) {
		return Message{}, fmt.Errorf("agent: tool %s: %w", c.Tool, err)
	}
	return failed(c, "The tool failed: "+err.Error()), nil
}
