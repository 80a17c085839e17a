package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var (
	refund = graph.NewQuestion[doc, wire.Bool]("refund")
	amount = graph.NewQuestion[wire.String, wire.Int]("amount")
)

// asker is a graph whose node asks for a refund, alongside one that does not ask.
func asker(ran *counter) *graph.Builder[work, update] {
	b := newWork()
	b.Node("ask", func(ctx context.Context, s work) (update, error) {
		ran.add("ask")
		ok, err := refund.Ask(ctx, doc{Name: "shoes", Pages: []int{s.Count}})
		if err != nil {
			return logged("never merged"), fmt.Errorf("ask: %w", err)
		}
		return logged(fmt.Sprint("answer ", ok)), nil
	}, refund, graph.Retry(graph.RetryPolicy{Attempts: 3}))
	b.Node("sibling", func(context.Context, work) (update, error) { ran.add("sibling"); return logged("sibling"), nil })
	for _, id := range []graph.ID{"ask", "sibling"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	return b
}

func TestANodeAsksAndContinuesWithTheAnswer(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, ok := range []wire.Bool{true, false} {
			var ran counter
			th, s := newThread(t, asker(&ran), d)
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
			if len(res.Questions) != 1 {
				t.Fatalf("got %d questions, want 1", len(res.Questions))
			}
			w := res.Questions[0]
			same(t, "question", w.Question, "refund")
			same(t, "node", w.Node, graph.ID("ask"))
			q, err := refund.Decode(w)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "asked", q, doc{Name: "shoes", Pages: []int{1}})
			same(t, "due", res.Next, []graph.ID{"ask", "sibling"})

			listed := waitingThreads(t, s)
			same(t, "listed", listed, res.Questions)
			snap, err := th.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "seen from outside", snap.Questions, res.Questions)
			same(t, "status", snap.Status, checkpoint.Waiting)

			// In another process, days later.
			th = compile(t, asker(&ran), graph.Saver(s), d).Thread("t")
			res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(w, ok)))
			same(t, "log", res.State.Log, []string{fmt.Sprint("answer ", ok), "sibling"})
			same(t, "runs", ran.counts(), map[string]int{"ask": 2, "sibling": 1})
			same(t, "listed", len(waitingThreads(t, s)), 0)
		}
	})
}

// waitingThreads is what the threads that wait ask.
func waitingThreads(t *testing.T, s checkpoint.Saver) []graph.OpenQuestion {
	t.Helper()
	var all []graph.OpenQuestion
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Status: checkpoint.Waiting}) {
		if err != nil {
			t.Fatal(err)
		}
		ws, err := graph.OpenQuestions(th)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ws...)
	}
	return all
}

func TestResumingWithoutAnAnswerStoresAndRunsNothing(t *testing.T) {
	var ran counter
	s := &counting{Saver: memory.New()}
	th := compile(t, asker(&ran), graph.Saver(s)).Thread("t")
	first := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	before := s.appends.Load() + s.puts.Load()
	res := done(t, graph.Waiting)(th.Resume(t.Context()))
	same(t, "questions", res.Questions, first.Questions)
	same(t, "writes", s.appends.Load()+s.puts.Load(), before)
	same(t, "runs", ran.counts(), map[string]int{"ask": 1, "sibling": 1})
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, graph.ErrUnfinished) {
		t.Errorf("input on a thread that waits: got %v, want ErrUnfinished", err)
	}
}

func TestWrongAnswersAreRefusedBeforeAnythingRuns(t *testing.T) {
	var ran counter
	th, _ := newThread(t, asker(&ran))
	w := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
	unknown := w
	unknown.ID = "nobody/refund"
	str := wire.String("x")
	notABool, err := str.AppendWire(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		answers []graph.ResumeOption
		want    string
	}{
		"wrong id":         {[]graph.ResumeOption{refund.Answer(unknown, true)}, "open questions are " + w.ID},
		"another question": {[]graph.ResumeOption{amount.Answer(w, 3)}, `question "refund" is asked, and the answer is to question "amount"`},
		"wrong bytes":      {[]graph.ResumeOption{graph.AnswerBytes(w.ID, notABool)}, "the answer is of another type"},
		"no bytes":         {[]graph.ResumeOption{graph.AnswerBytes(w.ID, nil)}, "the answer is of another type"},
		"twice":            {[]graph.ResumeOption{refund.Answer(w, true), refund.Answer(w, false)}, "the call has two answers to it"},
	} {
		_, err := th.Resume(t.Context(), test.answers...)
		if !errors.Is(err, graph.ErrNotAsked) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want ErrNotAsked: %s", name, err, test.want)
		}
	}
	same(t, "runs", ran.counts(), map[string]int{"ask": 1, "sibling": 1})
	yes := wire.Bool(true)
	raw, err := yes.AppendWire(nil)
	if err != nil {
		t.Fatal(err)
	}
	done(t, graph.Done)(th.Resume(t.Context(), graph.AnswerBytes(w.ID, raw)))
	if _, err := th.Resume(t.Context(), refund.Answer(w, true)); !errors.Is(err, graph.ErrNotAsked) {
		t.Errorf("an answer to a finished thread: got %v, want ErrNotAsked", err)
	}
}

// twice asks two questions of each kind, one after the other, and two concurrently.
func twice(ran *counter) *graph.Builder[work, update] {
	b := newWork()
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		ran.add("ask")
		one, err := amount.Ask(ctx, "one")
		if err != nil {
			return update{}, err
		}
		two, err := amount.Ask(ctx, "two")
		if err != nil {
			return update{}, err
		}
		var wg sync.WaitGroup
		var got [2]wire.Bool
		var errs [2]error
		for i, as := range []string{"left", "right"} {
			wg.Go(func() { got[i], errs[i] = refund.Ask(ctx, doc{Name: as}, graph.As(as)) })
		}
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			return update{}, err
		}
		return logged(fmt.Sprint(one, two, got)), nil
	}, amount, refund)
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	return b
}

func TestSeveralQuestionsInOneNode(t *testing.T) {
	var ran counter
	th, s := newThread(t, twice(&ran))
	again := func() thread { return compile(t, twice(&ran), graph.Saver(s)).Thread("t") }
	res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	res = done(t, graph.Waiting)(again().Resume(t.Context(), amount.Answer(res.Questions[0], 1)))
	res = done(t, graph.Waiting)(again().Resume(t.Context(), amount.Answer(res.Questions[0], 0)))
	if len(res.Questions) != 2 {
		t.Fatalf("got %d questions, want 2", len(res.Questions))
	}
	slices.SortFunc(res.Questions, func(a, b graph.OpenQuestion) int { return strings.Compare(b.ID, a.ID) }) // right first
	left, right := res.Questions[1], res.Questions[0]
	same(t, "runs", ran.counts()["ask"], 3)
	res = done(t, graph.Waiting)(again().Resume(t.Context(), refund.Answer(right, true)))
	same(t, "runs while one is open", ran.counts()["ask"], 3)
	same(t, "open", res.Questions, []graph.OpenQuestion{left})
	if _, err := again().Resume(t.Context(), refund.Answer(right, false)); !errors.Is(err, graph.ErrNotAsked) || !strings.Contains(err.Error(), "it has been answered") {
		t.Errorf("a second answer: got %v, want ErrNotAsked", err)
	}
	res = done(t, graph.Done)(again().Resume(t.Context(), refund.Answer(left, false)))
	same(t, "log", res.State.Log, []string{"1 0 [false true]"})
	same(t, "runs", ran.counts()["ask"], 4)
}

func TestAReRunThatAsksSomethingElse(t *testing.T) {
	b := newWork()
	runs := 0
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		runs++
		_, err := amount.Ask(ctx, "a", graph.As("fixed"))
		if err != nil && runs > 1 {
			return update{}, err
		}
		_, err = amount.Ask(ctx, wire.String(fmt.Sprint("run ", runs)))
		return update{}, err
	}, amount)
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	th, _ := newThread(t, b)
	res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	_, err := th.Resume(t.Context(), amount.Answer(res.Questions[0], 1), amount.Answer(res.Questions[1], 2))
	if !errors.Is(err, graph.ErrNotAskable) || !strings.Contains(err.Error(), "asks something else") {
		t.Errorf("got %v, want ErrNotAskable", err)
	}
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	ask := func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{})
		return update{}, err
	}
	b := newWork()
	b.Node("ask", ask)
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	th, _ := newThread(t, b)
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, graph.ErrNotAskable) {
		t.Errorf("a question that is not listed: got %v, want ErrNotAskable", err)
	}
	b = newWork()
	b.Node("may", func(ctx context.Context, _ work) (update, error) { return update{}, nil }, refund)
	b.Node("ask", ask)
	b.Edge(graph.Start, "may")
	b.Edge("may", "ask")
	b.Edge("ask", graph.End)
	th, _ = newThread(t, b)
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, graph.ErrNotAskable) {
		t.Errorf("a question that the node before lists: got %v, want ErrNotAskable", err)
	}
	if _, err := refund.Ask(t.Context(), doc{}); !errors.Is(err, graph.ErrNotAskable) {
		t.Errorf("outside of a node: got %v, want ErrNotAskable", err)
	}
	g := compile(t, asker(new(counter)), graph.Saver(memory.New()))
	if _, err := g.Run(t.Context(), input); !errors.Is(err, graph.ErrNotAskable) {
		t.Errorf("without a thread: got %v, want ErrNotAskable", err)
	}
	b = newWork()
	b.Node("ask", ask, refund, refund, graph.NewQuestion[doc, doc]("a/b"))
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	same(t, "faults", faults(t, b), []string{
		`node "ask" asks questions, which needs a Saver: without one nothing can be resumed`,
		`node "ask" lists question "refund" twice`,
		`node "ask": question "a/b": a name is not empty and has none of : # and /`,
	})
}

func TestAQuestionAlongsideAFailure(t *testing.T) {
	var broken = true
	b := asker(new(counter))
	b.Node("bad", func(context.Context, work) (update, error) {
		if broken {
			return update{}, errBroken
		}
		return logged("mended"), nil
	})
	b.Edge(graph.Start, "bad")
	b.Edge("bad", graph.End)
	th, _ := newThread(t, b, graph.Concurrency(1))
	res, err := th.Invoke(t.Context(), input)
	if !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want errBroken", err)
	}
	if len(res.Questions) != 1 {
		t.Fatalf("got %d questions with the error, want 1", len(res.Questions))
	}
	broken = false
	res = done(t, graph.Waiting)(th.Resume(t.Context()))
	res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
	same(t, "log", res.State.Log, []string{"answer true", "sibling", "mended"})
}

func TestQuestionsInSendsAndLoops(t *testing.T) {
	b := newWork()
	each := graph.TaskNode(b, "each", func(ctx context.Context, _ work, d doc) (update, error) {
		n, err := amount.Ask(ctx, wire.String(d.Name))
		return logged(fmt.Sprint(d.Name, n)), err
	}, amount)
	b.Node("again", func(context.Context, work) (update, error) { return logged("again"), nil })
	send := func(context.Context, work) (graph.Next, error) {
		next := each.Send(doc{Name: "a"})
		next.Add(each.Send(doc{Name: "b"}))
		return next, nil
	}
	b.Route(graph.Start, send, "each")
	b.Edge("each", "again")
	b.Route("again", func(ctx context.Context, s work) (graph.Next, error) {
		if len(s.Log) < 6 {
			return send(ctx, s)
		}
		return graph.To(graph.End), nil
	}, "each", graph.End)
	th, _ := newThread(t, b)
	res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	ids := map[string]bool{}
	for round := range 2 {
		if len(res.Questions) != 2 || res.Questions[1].Index != 1 {
			t.Fatalf("got questions %+v, want one of each send", res.Questions)
		}
		ids[res.Questions[0].ID], ids[res.Questions[1].ID] = true, true
		b := amount.Answer(res.Questions[1], wire.Int(10*round+2))
		res = done(t, graph.Waiting)(th.Resume(t.Context(), b)) // one at a time, in any order
		res2, err := th.Resume(t.Context(), amount.Answer(res.Questions[0], wire.Int(10*round+1)))
		if err != nil {
			t.Fatal(err)
		}
		res = res2
	}
	same(t, "status", res.Status, graph.Done)
	same(t, "log", res.State.Log, []string{"a1", "b2", "again", "a11", "b12", "again"})
	same(t, "ids", len(ids), 4)
}

func TestAnAnswerSurvivesEveryCrash(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for left, more := 1, true; more; left++ {
			more = false
			for _, after := range []bool{false, true} {
				what := fmt.Sprintf("crash at call %d, after it was made %t", left, after)
				s := memory.New()
				var ran counter
				w := done(t, graph.Waiting)(compile(t, asker(&ran), graph.Saver(s), d).Thread("t").Invoke(t.Context(), input)).Questions[0]
				dying := &crashing{Saver: s, left: left, after: after}
				_, err := compile(t, asker(&ran), graph.Saver(dying), d).Thread("t").Resume(t.Context(), refund.Answer(w, true))
				if err == nil {
					continue
				}
				more = true
				th := compile(t, asker(&ran), graph.Saver(s), d, graph.Strict()).Thread("t")
				res, err := th.Resume(t.Context(), graph.TakeOver())
				if err == nil && res.Status == graph.Waiting { // the answer was lost with the process
					res, err = th.Resume(t.Context(), refund.Answer(res.Questions[0], true))
				}
				if err != nil || res.Status != graph.Done {
					t.Fatalf("%s: got %v, %v", what, res.Status, err)
				}
				same(t, what, res.State.Log, []string{"answer true", "sibling"})
				same(t, what+": runs of the sibling", ran.counts()["sibling"], 1)
			}
		}
	})
}

func TestAnEditKeepsTheQuestion(t *testing.T) {
	var ran counter
	th, _ := newThread(t, asker(&ran))
	w := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
	if _, err := th.UpdateState(t.Context(), logged("edit")); err != nil {
		t.Fatal(err)
	}
	res := done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(w, true)))
	same(t, "log", res.State.Log, []string{"edit", "answer true", "sibling"})
	same(t, "runs", ran.counts(), map[string]int{"ask": 2, "sibling": 1})
}

func TestAReplayAsksAgain(t *testing.T) {
	var ran counter
	th, _ := newThread(t, asker(&ran))
	first := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(first.Questions[0], true)))
	at := th.At(first.Checkpoint)
	if _, err := at.Resume(t.Context(), refund.Answer(first.Questions[0], true)); !errors.Is(err, graph.ErrNotAsked) {
		t.Errorf("an answer to a replay: got %v, want ErrNotAsked", err)
	}
	res := done(t, graph.Waiting)(at.Resume(t.Context()))
	if res.Questions[0].ID == first.Questions[0].ID {
		t.Error("the replay asks with the id of the first line")
	}
	res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], false)))
	same(t, "log", res.State.Log, []string{"answer false", "sibling"})
}

func TestAQuestionOfAnAbandonedLineCanStillBeAnswered(t *testing.T) {
	var ran counter
	th, _ := newThread(t, asker(&ran))
	first := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
	second := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("two"), graph.DiscardPending()))
	if _, err := th.Resume(t.Context(), refund.Answer(first.Questions[0], true)); !errors.Is(err, graph.ErrNotAsked) {
		t.Errorf("an answer to the other line: got %v, want ErrNotAsked", err)
	}
	res := done(t, graph.Done)(th.At(first.Checkpoint).Resume(t.Context(), refund.Answer(first.Questions[0], true)))
	same(t, "log of the first line", res.State.Log, []string{"one", "answer true", "sibling"})
	res = done(t, graph.Done)(th.At(second.Checkpoint).Resume(t.Context(), refund.Answer(second.Questions[0], false)))
	same(t, "log of the second line", res.State.Log, []string{"one", "sibling", "two", "answer false", "sibling"})
	same(t, "runs", ran.counts(), map[string]int{"ask": 4, "sibling": 2})
}

// renamedAsker is a graph whose node asks in a subgraph, and names that one release gave to all of
// it.
func renamedAsker(tb testing.TB, sub, node graph.ID, asks func(context.Context) error, q graph.NodeOption, was ...graph.ID) *graph.Builder[work, update] {
	tb.Helper()
	var subWas []graph.NodeOption
	var nodeWas []graph.NodeOption
	if len(was) > 0 {
		subWas, nodeWas = []graph.NodeOption{graph.FormerIDs(was[0])}, []graph.NodeOption{graph.FormerIDs(was[1])}
	}
	inner := newWork()
	inner.Node(node, func(ctx context.Context, _ work) (update, error) {
		return logged("done"), asks(ctx)
	}, append(nodeWas, q)...)
	inner.Edge(graph.Start, node)
	inner.Edge(node, graph.End)
	b := newWork()
	b.Subgraph(sub, compile(tb, inner, graph.SubgraphOnly()), subWas...)
	b.Edge(graph.Start, sub)
	b.Edge(sub, graph.End)
	return b
}

func TestANodeThatGotAnotherNameIsAnswered(t *testing.T) {
	older := func(ctx context.Context) error {
		_, err := refund.Ask(ctx, doc{Name: "shoes", Pages: []int{1}})
		return err
	}
	newer := graph.NewQuestion[teststate.NewerDoc, wire.Bool]("refund")
	for name, urgent := range map[string]bool{"asking the same": false, "asking more": true} {
		t.Run(name, func(t *testing.T) {
			th, s := newThread(t, renamedAsker(t, "desk", "ask", older, refund))
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
			b := renamedAsker(t, "counter", "decide", func(ctx context.Context) error {
				_, err := newer.Ask(ctx, teststate.NewerDoc{Title: "shoes", Pages: []int{1}, Urgent: urgent})
				return err
			}, newer, "desk", "ask")
			th = compile(t, b, graph.Saver(s)).Thread("t")
			res, err := th.Resume(t.Context(), newer.Answer(res.Questions[0], true))
			if urgent {
				if !errors.Is(err, graph.ErrNotAskable) {
					t.Errorf("got %v, want an ErrNotAskable", err)
				}
				return
			}
			same(t, "log", done(t, graph.Done)(res, err).State.Log, []string{"done"})
		})
	}
}
