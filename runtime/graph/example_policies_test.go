package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var errBusy = errors.New("the server is busy")

// A node that fails is tried again, after the delay that the server asked for.
func ExampleRetry() {
	b := graph.New("weather", TicketSchema)
	b.Node("ask", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		attempt := graph.CurrentTask(ctx).Attempt
		if attempt < 3 {
			return u, graph.RetryAfter(errBusy, time.Millisecond)
		}
		u.Log.Append(fmt.Sprint("answer of attempt ", attempt))
		return u, nil
	}, graph.Retry(graph.RetryPolicy{Attempts: 5}))
	b.Chain(graph.Start, "ask", graph.End)
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Run(context.Background(), TicketUpdate{})
	fmt.Println(res.State.Log, err)
	// Output: [answer of attempt 3] <nil>
}

// The result of a fallback replaces the result of a node that failed.
func ExampleBuilder_Fallback() {
	b := graph.New("answer", TicketSchema)
	b.Node("large model", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{}, errBusy
	})
	b.Fallback("large model", func(_ context.Context, _ Ticket, err error) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("the small model answers, because " + err.Error())}, nil
	})
	b.Chain(graph.Start, "large model", graph.End)
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Run(context.Background(), TicketUpdate{})
	fmt.Println(res.State.Log, err)
	// Output: [the small model answers, because the server is busy] <nil>
}

// One send fails, and its fallback notes that in the state. The others succeed.
func ExampleTaskFallback() {
	b := graph.New("pages", TicketSchema)
	fetch := graph.TaskNode(b, "fetch", func(_ context.Context, _ Ticket, page wire.String) (TicketUpdate, error) {
		if page == "b" {
			return TicketUpdate{}, errBusy
		}
		return TicketUpdate{Log: state.Append("page " + string(page))}, nil
	})
	graph.TaskFallback(b, fetch, func(_ context.Context, _ Ticket, page wire.String, err error) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append(fmt.Sprintf("no page %s: %v", page, err))}, nil
	})
	b.Route(graph.Start, sendPages(fetch), "fetch")
	b.Edge("fetch", graph.End)
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Run(context.Background(), TicketUpdate{})
	for _, line := range res.State.Log {
		fmt.Println(line)
	}
	fmt.Println(err)
	// Output:
	// page a
	// no page b: the server is busy
	// page c
	// <nil>
}

// sendPages is a route that sends three pages.
func sendPages(fetch graph.Sender[wire.String]) func(context.Context, Ticket) (graph.Next, error) {
	return func(context.Context, Ticket) (next graph.Next, _ error) {
		for _, page := range []wire.String{"a", "b", "c"} {
			next.Add(fetch.Send(page))
		}
		return next, nil
	}
}

// One send fails. The others finish, and their results are stored: a Resume runs only the one that
// failed.
func ExampleContinueOnError() {
	busy := true
	b := graph.New("pages", TicketSchema)
	fetch := graph.TaskNode(b, "fetch", func(_ context.Context, _ Ticket, page wire.String) (TicketUpdate, error) {
		if page == "b" && busy {
			return TicketUpdate{}, errBusy
		}
		fmt.Println("fetched", page)
		return TicketUpdate{Log: state.Append(string(page))}, nil
	}, graph.ContinueOnError())
	b.Route(graph.Start, sendPages(fetch), "fetch")
	b.Edge("fetch", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()), graph.Concurrency(1))
	if err != nil {
		log.Fatal(err)
	}
	ctx, t := context.Background(), app.Thread("t-1")
	_, err = t.Invoke(ctx, TicketUpdate{})
	fmt.Println(err)
	busy = false
	res, err := t.Resume(ctx)
	fmt.Println(res.State.Log, err)
	// Output:
	// fetched a
	// fetched c
	// graph: pages: thread "t-1": step 2: node "fetch" (send 1): the server is busy
	// fetched b
	// [a b c] <nil>
}

// At most two attempts of both nodes run at the same time, in all runs of the process.
func ExampleLimit() {
	running := make(chan struct{}, 2) // no attempt has to wait to send
	fetch := func(context.Context, Ticket) (TicketUpdate, error) {
		select {
		case running <- struct{}{}:
			<-running
			return TicketUpdate{Count: state.Add(1)}, nil
		default:
			return TicketUpdate{}, errBusy
		}
	}
	server := graph.Limit(graph.MaxConcurrent(2))
	b := graph.New("crawl", TicketSchema)
	for _, id := range []graph.ID{"news", "prices", "weather"} {
		b.Node(id, fetch, server)
		b.Chain(graph.Start, id, graph.End)
	}
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Run(context.Background(), TicketUpdate{})
	fmt.Println(res.State.Count, err)
	// Output: 3 <nil>
}

// The second run gets the result of the first one.
func ExampleBuilder_Cache() {
	b := graph.New("summaries", TicketSchema)
	b.Node("summarise", func(_ context.Context, s Ticket) (TicketUpdate, error) {
		fmt.Println("the model is called")
		return TicketUpdate{Log: state.Append("summary of " + s.Status)}, nil
	})
	b.Cache("summarise", graph.MemoryCache(1<<20), time.Hour, func(s Ticket) string { return "v1 " + s.Status })
	b.Chain(graph.Start, "summarise", graph.End)
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		res, err := app.Run(context.Background(), TicketUpdate{Status: state.Set("a long text")})
		fmt.Println(res.State.Log, err)
	}
	// Output:
	// the model is called
	// [summary of a long text] <nil>
	// [summary of a long text] <nil>
}

// A function of OnUpdate sees the state and the update of each task. It refuses what is too much.
func ExampleBuilder_OnUpdate() {
	b := graph.New("refund", TicketSchema)
	b.Node("propose", func(context.Context, Ticket) (TicketUpdate, error) {
		return TicketUpdate{Count: state.Add(5000)}, nil
	})
	b.Fallback("propose", func(_ context.Context, _ Ticket, err error) (TicketUpdate, error) {
		return TicketUpdate{Log: state.Append("a person decides: " + err.Error())}, nil
	})
	b.Chain(graph.Start, "propose", graph.End)
	b.OnUpdate(func(_ context.Context, t graph.TaskInfo, _ Ticket, u TicketUpdate) error {
		if u.Equal(TicketUpdate{Count: state.Add(5000)}) {
			return fmt.Errorf("%s proposes too much", t.Node)
		}
		return nil
	})
	app, err := b.Compile()
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Run(context.Background(), TicketUpdate{})
	fmt.Println(res.State.Count, res.State.Log, err)
	// Output: 0 [a person decides: propose proposes too much] <nil>
}
