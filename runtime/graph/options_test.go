package graph_test

import (
	"context"
	"errors"
	"go/ast"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// calls that take options, with the type of the options.
var callsWithOptions = map[string]reflect.Type{
	"Node":            lastElem((*graph.Builder[work, update]).Node),
	"RoutingNode":     lastElem((*graph.Builder[work, update]).RoutingNode),
	"TaskNode":        lastElem(graph.TaskNode[work, update, doc]),
	"RoutingTaskNode": lastElem(graph.RoutingTaskNode[work, update, doc]),
	"Subgraph":        lastElem((*graph.Builder[work, update]).Subgraph),
	"MapSubgraph":     lastElem(graph.MapSubgraph[work, update, work, update]),
	"TaskSubgraph":    lastElem(graph.TaskSubgraph[work, update, doc, work, update]),
	"Compile":         lastElem((*graph.Builder[work, update]).Compile),
	"Run":             lastElem((*app).Run),
	"RunStream":       lastElem((*app).Stream),
	"Invoke":          lastElem(thread.Invoke),
	"Stream":          lastElem(thread.Stream),
	"Resume":          lastElem(thread.Resume),
	"ResumeStream":    lastElem(thread.ResumeStream),
	"UpdateState":     lastElem(thread.UpdateState),
	"UpdateStates":    lastElem(thread.UpdateStates),
	"Ask":             lastElem(graph.Question[doc, wire.Bool].Ask),
	"Release":         lastElem(thread.Release),
	"Submit":          lastElem(thread.Submit),
	"PostAnswer":      lastElem(thread.Answer),
	"Receive":         lastElem(graph.Signal[doc].Receive),
	"With":            lastElem(graph.Signal[doc].With),
	"Child":           lastElem(graph.Child[work, update]),
	"Result":          lastElem(thread.Result),
}

// lastElem returns the type of the options that a function takes.
func lastElem(f any) reflect.Type {
	t := reflect.TypeOf(f)
	return t.In(t.NumIn() - 1).Elem()
}

// Calls that take many options.
const (
	anyNode = "Node RoutingNode TaskNode RoutingTaskNode Subgraph MapSubgraph TaskSubgraph"
	inputs  = "Invoke Stream "
	resumes = "Resume ResumeStream "
	updates = "UpdateState UpdateStates"
)

// optionsOfCalls has the calls for which each option compiles. A pair is here if the option has an
// effect on the call. All options of nodes compile for every kind of node; Compile reports the
// ones without an effect. UpdateStates returns an error for AsNode.
var optionsOfCalls = map[string]struct {
	option any // the function that returns the option, or a value that is one
	calls  string
}{
	"ContinueOnError": {graph.ContinueOnError, anyNode},
	"Limit":           {graph.Limit, anyNode},

	"KeepUpdateOnError": {graph.KeepUpdateOnError, anyNode},
	"Queue":             {graph.Queue, anyNode},
	"StartTimeout":      {graph.StartTimeout, anyNode},
	"Detail":            {graph.Detail, anyNode},
	"Timeout":           {graph.Timeout, anyNode},
	"IdleTimeout":       {graph.IdleTimeout, anyNode},
	"Uncancellable":     {graph.Uncancellable, anyNode},
	"Retry":             {graph.Retry, anyNode},
	"CatchAll":          {graph.CatchAll, anyNode},
	"Deferred":          {graph.Deferred, anyNode},
	"FormerIDs":         {graph.FormerIDs, anyNode},
	"Writes":            {graph.Writes, anyNode},
	"Targets":           {graph.Targets, anyNode},
	"Stateful":          {graph.Stateful, anyNode},
	"Unstored":          {graph.Unstored, anyNode},
	"Question":          {refund, anyNode},
	"Signal":            {payment, anyNode},

	"Saver":             {graph.Saver, "Compile"},
	"InterruptBefore":   {graph.InterruptBefore, "Compile " + inputs + resumes},
	"InterruptAfter":    {graph.InterruptAfter, "Compile " + inputs + resumes},
	"BeforeRoute":       {graph.BeforeRoute, "Compile " + inputs + resumes},
	"InSubgraph":        {graph.InSubgraph, inputs + resumes},
	"Strict":            {graph.Strict, "Compile"},
	"DropUnknownFields": {graph.DropUnknownFields, "Compile"},
	"FormerNames":       {graph.FormerNames, "Compile"},
	"ReleaseOnDone":     {graph.ReleaseOnDone, "Compile"},
	"RedactErrors":      {graph.RedactErrors, "Compile"},
	"KeepCheckpoints":   {graph.KeepCheckpoints, "Compile"},
	"HotThreads":        {graph.HotThreads, "Compile"},
	"SharedState":       {graph.SharedState, "Compile"},
	"SubgraphOnly":      {graph.SubgraphOnly, "Compile"},
	"Holder":            {graph.Holder, "Compile"},
	"Lease":             {graph.Lease, "Compile"},
	"SaverTimeout":      {graph.SaverTimeout, "Compile"},
	"Observe":           {graph.Observe, "Compile"},
	"Intercept":         {graph.Intercept, "Compile"},
	"Log":               {graph.Log, "Compile"},
	"Propagate":         {graph.Propagate, "Compile"},

	"MaxSteps":       {graph.MaxSteps, "Compile Run RunStream " + inputs + resumes},
	"Concurrency":    {graph.Concurrency, "Compile Run RunStream " + inputs + resumes},
	"Durability":     {graph.Async, "Compile " + inputs + resumes},
	"TakeOver":       {graph.TakeOver, inputs + resumes + updates},
	"Wait":           {graph.Wait, inputs + resumes + updates + " Release"},
	"Metadata":       {graph.Metadata, inputs + resumes + updates + " Submit"},
	"IfHead":         {graph.IfHead, inputs + resumes + updates + " Release"},
	"RequestID":      {graph.RequestID, inputs + " Submit With Result"},
	"UniqueByPeriod": {graph.UniqueByPeriod, "Submit"},
	"UntilWaiting":   {graph.UntilWaiting, "Result"},

	"ExecutionTimeout": {graph.ExecutionTimeout, inputs + " Submit Child"},

	"Title":          {graph.Title, inputs + updates + " Submit Child"},
	"Priority":       {graph.Priority, inputs + updates + " Submit Child"},
	"Label":          {graph.Label, inputs + updates + " Submit Child"},
	"Abandon":        {graph.Abandon, "Child"},
	"DiscardPending": {graph.DiscardPending, inputs + updates + " Submit"},
	"IfIdle":         {graph.IfIdle, "Submit"},
	"CancelPending":  {graph.CancelPending, "Submit"},
	"Rerun":          {graph.Rerun, resumes},
	"AnswerBytes":    {graph.AnswerBytes, resumes + "PostAnswer"},
	"Answer":         {refund.Answer, resumes + "PostAnswer"},
	"AsNode":         {graph.AsNode, updates},
	"Goto":           {graph.Goto, updates},
	"ExpireAfter":    {graph.ExpireAfter, "Ask Receive"},
	"As":             {graph.As, "Ask"},
	"For":            {graph.For, "With Receive"},
	"Events":         {graph.Events, "Run RunStream " + inputs + resumes}, // those without a stream return an error
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

// TestEveryOptionIsListed keeps the table of TestAnOptionCompilesOnlyForCallsThatItAffects whole.
func TestEveryOptionIsListed(t *testing.T) {
	for _, file := range parsed(t, ".") {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil {
				continue
			}
			switch result := f.Type.Results.List[0].Type.(type) {
			case *ast.InterfaceType: // the options of several calls
			case *ast.Ident:
				if !strings.HasSuffix(result.Name, "Option") {
					continue
				}
			default:
				continue
			}
			if _, ok := optionsOfCalls[f.Name.Name]; !ok {
				t.Errorf("option %s is not in the table of options and calls", f.Name.Name)
			}
		}
	}
}

// given is options of every call.
type given interface {
	graph.InvokeOption
	graph.ResumeOption
}

func TestAnOptionGivenTwiceIsRefusedBeforeAnythingIsStored(t *testing.T) {
	g := compile(t, chain("a"), graph.Saver(memory.New()))
	id := checkpoint.ID{1}
	for name, o := range map[string]given{
		"MaxSteps": graph.MaxSteps(2), "Concurrency": graph.Concurrency(2), "Durability": graph.Sync, "TakeOver": graph.TakeOver(),
		"Wait": graph.Wait(), "IfHead": graph.IfHead(id),
		"Metadata": graph.Metadata(map[string]string{"user": "ada"}),
	} {
		_, invoked := g.Thread("t").Invoke(t.Context(), input, o, o)
		_, resumed := g.Thread("t").Resume(t.Context(), o, o)
		for _, err := range []error{invoked, resumed} {
			if want := name + " is given twice; give it once"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	for want, err := range map[string]error{
		"RequestID is given twice":      second(g.Thread("t").Invoke(t.Context(), input, graph.RequestID("1"), graph.RequestID("2"))),
		"RequestID is empty":            second(g.Thread("t").Invoke(t.Context(), input, graph.RequestID(""))),
		"DiscardPending is given twice": second(g.Thread("t").Invoke(t.Context(), input, graph.DiscardPending(), graph.DiscardPending())),
		"IfHead has a zero id":          second(g.Thread("t").Release(t.Context(), graph.IfHead(checkpoint.ID{}))),
		"MaxSteps is given twice":       second(g.Run(t.Context(), input, graph.MaxSteps(1), graph.MaxSteps(1))),

		"Events is given to a call without events": second(g.Run(t.Context(), input, graph.Events(graph.EventAll))),
		`thread "t": Events is given`:              second(g.Thread("t").Invoke(t.Context(), input, graph.Events(graph.EventAll))),
		"call Stream or ResumeStream":              second(g.Thread("t").Resume(t.Context(), graph.Events(graph.EventAll))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := g.Thread("t").State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a refused call left a thread: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

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
