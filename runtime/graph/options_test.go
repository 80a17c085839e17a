package graph_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// calls that take options, with the type of the options.
var callsWithOptions = map[string]reflect.Type{
	"Node":            lastElem((*graph.Builder[work, update]).Node),
	"RoutingNode":     lastElem((*graph.Builder[work, update]).RoutingNode),
	"TaskNode":        lastElem(graph.TaskNode[work, update, doc]),
	"RoutingTaskNode": lastElem(graph.RoutingTaskNode[work, update, doc]),
	"Subgraph":        lastElem((*graph.Builder[work, update]).Subgraph),
	"MapSubgraph":     lastElem(graph.MapSubgraph[work, update, work, update]),
}

// lastElem returns the type of the options that a function takes.
func lastElem(f any) reflect.Type {
	t := reflect.TypeOf(f)
	return t.In(t.NumIn() - 1).Elem()
}

// anyNode is the calls that take an option of every node.
const anyNode = "Node RoutingNode TaskNode RoutingTaskNode Subgraph MapSubgraph"

// optionsOfCalls has the calls for which each option compiles. A pair is here if the option has an effect on the call.
var optionsOfCalls = map[string]struct {
	option any // the function that returns the option, or a value that is one
	calls  string
}{
	"Timeout":   {graph.Timeout, anyNode},
	"Retry":     {graph.Retry, anyNode},
	"Deferred":  {graph.Deferred, anyNode},
	"FormerIDs": {graph.FormerIDs, anyNode},
	"Writes":    {graph.Writes, anyNode},
	"Targets":   {graph.Targets, "RoutingNode RoutingTaskNode Subgraph MapSubgraph"},
	"Stateful":  {graph.Stateful, "MapSubgraph"},
	"Question":  {refund, "Node RoutingNode TaskNode RoutingTaskNode MapSubgraph"},
}

func TestAnOptionCompilesOnlyForCallsThatItAffects(t *testing.T) {
	for name, o := range optionsOfCalls {
		typ := reflect.TypeOf(o.option)
		if typ.Kind() == reflect.Func {
			typ = typ.Out(0)
		}
		for call, takes := range callsWithOptions {
			want := slices.Contains(strings.Fields(o.calls), call)
			if got := typ.AssignableTo(takes); got != want {
				t.Errorf("%s for %s: compiles %t, want %t", name, call, got, want)
			}
		}
		for _, call := range strings.Fields(o.calls) {
			if callsWithOptions[call] == nil {
				t.Errorf("%s names %s, which is no call", name, call)
			}
		}
	}
}

// TestAMappingCanAsk: the functions around a subgraph over another state run as parts of its node.
func TestAMappingCanAsk(t *testing.T) {
	enter := graph.NewQuestion[wire.String, wire.Bool]("enter")
	leave := graph.NewQuestion[wire.String, wire.Bool]("leave")
	ran := &counter{}
	b := newWork()
	graph.MapSubgraph(b, "sub", compile(t, chain("x"), graph.SubgraphOnly()),
		func(ctx context.Context, _ work) (update, error) {
			_, err := enter.Ask(ctx, "in?")
			ran.add("in")
			return update{}, err
		},
		func(ctx context.Context, _, _ work) (update, error) {
			ran.add("out")
			_, err := leave.Ask(ctx, "out?")
			return logged("sub"), err
		}, enter, leave)
	b.Edge(graph.Start, "sub")
	b.Edge("sub", graph.End)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, b, d)
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		same(t, "first question", res.Questions[0].Question, "enter")
		res = done(t, graph.Waiting)(th.Resume(t.Context(), enter.Answer(res.Questions[0], true)))
		same(t, "second question", res.Questions[0].Question, "leave")
		res = done(t, graph.Done)(th.Resume(t.Context(), leave.Answer(res.Questions[0], true)))
		same(t, "log", res.State.Log, []string{"sub"})
	})
}
