package graphhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// typing returns a node that emits each text from tokens. The text "fail" ends the attempt with an
// error, and "end" ends the node.
func typing(id graph.ID, tokens <-chan string) node {
	return node{id, func(ctx context.Context, _ work) (update, error) {
		for {
			select {
			case <-ctx.Done():
				return update{}, ctx.Err()
			case text := <-tokens:
				switch text {
				case "fail":
					return update{}, errBroken
				case "end":
					return logged(string(id)), nil
				}
				graph.Emit(ctx, text)
			}
		}
	}}
}

// typist compiles a graph of one node, or of a subgraph that a send of the graph runs.
func typist(t *testing.T, n node, nested bool, opts ...graph.NodeOption) *app {
	t.Helper()
	b := graph.New("work", teststate.WorkSchema)
	b.Node(n.id, n.f, opts...)
	b.Chain(graph.Start, n.id, graph.End)
	if !nested {
		a, err := b.Compile(graph.Saver(memory.New()))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	inner, err := b.Compile(graph.SubgraphOnly())
	if err != nil {
		t.Fatal(err)
	}
	outer := graph.New("work", teststate.WorkSchema)
	each := graph.TaskSubgraph(outer, "each", inner,
		func(context.Context, work, wire.String) (update, error) { return update{}, nil },
		func(_ context.Context, _ work, _ wire.String, w work) (update, error) { return logged(w.Log...), nil })
	outer.Route(graph.Start, func(context.Context, work) (graph.Next, error) { return each.Send("one"), nil }, each.ID)
	outer.Edge(each.ID, graph.End)
	a, err := outer.Compile(graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// tokens are the custom events among events, as words.
func tokens(events []string) string {
	var all []string
	for _, e := range events {
		if text, ok := strings.CutPrefix(e, "custom "); ok {
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

func TestAClientThatConnectsInTheMiddleOfAnAnswerGetsItFromItsBeginning(t *testing.T) {
	for _, nested := range []bool{false, true} {
		t.Run(fmt.Sprint("nested ", nested), func(t *testing.T) {
			in := make(chan string)
			a := typist(t, typing("write", in), nested)
			url := serve(t, a, newHub(a))
			first := open(t, http.MethodPost, url+"/t?in=x", "")
			in <- "Dear"
			in <- "Ada,"
			same(t, "the first client", tokens(first.until("custom", "Ada,")), "Dear Ada,")

			late := open(t, http.MethodGet, url+"/t", "")
			got := late.until("custom", "Ada,")
			same(t, "a late client begins with the checkpoint", strings.HasPrefix(got[0], "checkpoint "), true)
			same(t, "a late client", tokens(got), "Dear Ada,")
			in <- "how"
			same(t, "and what follows", late.until("custom", "how"), []string{"custom how"})
			late.close()

			in <- "are"
			in <- "you?"
			first.until("custom", "you?")
			again := open(t, http.MethodGet, url+"/t", late.last)
			same(t, "after a reconnect", again.until("custom", "you?"), []string{"custom are", "custom you?"})
			elsewhere := strings.Split(late.last, ".")[0] + ".another.99"
			other := open(t, http.MethodGet, url+"/t", elsewhere)
			same(t, "with the id of another Hub", other.until("custom", "you?"),
				[]string{"custom Dear", "custom Ada,", "custom how", "custom are", "custom you?"})

			in <- "end"
			same(t, "after the commit", tokens(again.rest()), "")
			same(t, "a client after the end", tokens(open(t, http.MethodGet, url+"/t", "").rest()), "")
		})
	}
}

func TestAClientGetsNoTokensOfAFailedAttempt(t *testing.T) {
	in := make(chan string)
	a := typist(t, typing("write", in), false, graph.Retry(graph.RetryPolicy{Attempts: 2}))
	url := serve(t, a, newHub(a))
	first := open(t, http.MethodPost, url+"/t?in=x", "")
	in <- "wrong"
	first.until("custom", "wrong")
	in <- "fail"
	in <- "right"
	same(t, "a client that follows", first.until("custom", "right"), []string{"custom right"})
	late := open(t, http.MethodGet, url+"/t", "")
	same(t, "a late client", tokens(late.until("custom", "right")), "right")
	in <- "end"
	late.rest()
}

func TestAClientIsToldThatTheOldestTokensAreMissing(t *testing.T) {
	in := make(chan string)
	a := typist(t, typing("write", in), true)
	long := strings.Repeat("x", 1000)
	url := serve(t, a, newHub(a, graphhttp.CustomBuffer(3000)))
	first := open(t, http.MethodPost, url+"/t?in=x", "")
	for i := range 5 {
		in <- fmt.Sprint(i, long)
	}
	same(t, "a client that follows", len(first.until("custom", "4"+long)), 6)
	late := open(t, http.MethodGet, url+"/t", "")
	got := late.until("custom", "4"+long)
	same(t, "a late client", got[1:], []string{
		`missing {"node":"each/write","index":0,"attempt":1}`, "custom 3" + long, "custom 4" + long,
	})
	in <- "end"
	late.rest()
}

func TestWithoutACustomBufferALateClientGetsLaterTokens(t *testing.T) {
	in := make(chan string)
	a := typist(t, typing("write", in), false)
	url := serve(t, a, newHub(a, graphhttp.CustomBuffer(0)))
	first := open(t, http.MethodPost, url+"/t?in=x", "")
	in <- "a"
	first.until("custom", "a")
	late := open(t, http.MethodGet, url+"/t", "")
	late.until("checkpoint", "1 x next [write]")
	in <- "b"
	same(t, "a late client", late.until("custom", "b"), []string{"custom b"})
	in <- "end"
	late.rest()
}

// TestASlowClientGetsEachTokenOnce has a queue so short that the client falls behind all the time.
func TestASlowClientGetsEachTokenOnce(t *testing.T) {
	in := make(chan string)
	a := typist(t, typing("write", in), false)
	url := serve(t, a, newHub(a, graphhttp.BufferSize(1)))
	first := open(t, http.MethodPost, url+"/t?in=x", "")
	late := open(t, http.MethodGet, url+"/t", "")
	var want []string
	go func() {
		for i := range 300 {
			in <- fmt.Sprint(i)
		}
	}()
	for i := range 300 {
		want = append(want, fmt.Sprint(i))
	}
	for name, c := range map[string]*client{"the client of the run": first, "a follower": late} {
		same(t, name, tokens(c.until("custom", "299")), strings.Join(want, " "))
	}
	in <- "end"
	late.rest()
}
