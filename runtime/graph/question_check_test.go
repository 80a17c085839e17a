package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// errTooMuch is why atMost refuses an answer.
var errTooMuch = errors.New("that is more than was paid")

// atMost returns the question how much to pay back. The question is the amount that was paid.
func atMost() graph.Question[wire.Int, wire.Int] {
	return graph.NewQuestion[wire.Int, wire.Int]("back").Check(func(paid, back wire.Int) error {
		if back > paid {
			return fmt.Errorf("%d of %d: %w", back, paid, errTooMuch)
		}
		return nil
	})
}

// paysBack asks back in a node of the graph, or in one of a subgraph.
func paysBack(t *testing.T, back graph.Question[wire.Int, wire.Int], nested bool) *graph.Builder[work, update] {
	t.Helper()
	b := newWork()
	b.Node("pay", func(ctx context.Context, _ work) (update, error) {
		n, err := back.Ask(ctx, 40)
		return logged(fmt.Sprint("back ", n)), err
	}, back)
	b.Chain(graph.Start, "pay", graph.End)
	if !nested {
		return b
	}
	outer := newWork()
	outer.Subgraph("sub", compile(t, b, graph.SubgraphOnly()))
	outer.Chain(graph.Start, "sub", graph.End)
	return outer
}

// TestTheCheckOfAQuestionRefusesAnAnswerBeforeItIsStored is rule 12.12.
func TestTheCheckOfAQuestionRefusesAnAnswerBeforeItIsStored(t *testing.T) {
	for _, nested := range []bool{false, true} {
		t.Run(fmt.Sprint("nested ", nested), func(t *testing.T) {
			back, s := atMost(), memory.New()
			app := compile(t, paysBack(t, back, nested), graph.Saver(s))
			th := app.Thread("t")
			q := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
			before := records(t, s)
			tooMuch := graph.AnswerBytes(q.ID, wire.AppendInt(nil, 41))
			for name, give := range map[string]func() error{
				"Resume":         func() error { _, err := th.Resume(t.Context(), back.Answer(q, 41)); return err },
				"Resume, bytes":  func() error { _, err := th.Resume(t.Context(), tooMuch); return err },
				"Answer":         func() error { return th.Answer(t.Context(), back.Answer(q, 41)) },
				"Untyped.Answer": func() error { return app.Untyped().Answer(t.Context(), "t", tooMuch) },
				"Untyped.Resume": func() error { _, err := app.Untyped().Resume(t.Context(), "t", checkpoint.ID{}, tooMuch); return err },
			} {
				err := give()
				refused := (*graph.AnswerError)(nil)
				if !errors.As(err, &refused) || !errors.Is(err, errTooMuch) || errors.Is(err, graph.ErrNotAsked) {
					t.Errorf("%s: got %v, want an AnswerError with the error of the check", name, err)
					continue
				}
				same(t, name+": the question", refused.Question, q)
			}
			same(t, "records", records(t, s), before)
			same(t, "the mail", len(untaken(t, th)), 0)
			same(t, "the open questions", waitingThreads(t, s), []graph.OpenQuestion{q})
			res := done(t, graph.Done)(th.Resume(t.Context(), back.Answer(q, 40)))
			same(t, "log", res.State.Log, []string{"back 40"})
		})
	}
}

// records returns how many records and pending writes the thread t has.
func records(t *testing.T, s checkpoint.Saver) (n [2]int) {
	t.Helper()
	for rec, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n[0]++; n[0] == 1 {
			c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t", At: rec.ID})
			if err != nil {
				t.Fatal(err)
			}
			n[1] = len(c.Writes)
		}
	}
	return n
}

// TestARunRefusesAPostedAnswerThatTheCheckRefuses: a tool without the graph posts it (rule 12.12).
func TestARunRefusesAPostedAnswerThatTheCheckRefuses(t *testing.T) {
	for _, nested := range []bool{false, true} {
		t.Run(fmt.Sprint("nested ", nested), func(t *testing.T) {
			back, s := atMost(), memory.New()
			app := compile(t, paysBack(t, back, nested), graph.Saver(s))
			th := app.Thread("t")
			q := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
			for i, given := range []int64{41, 50} {
				refused, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: "t", Handled: true})
				if err != nil {
					t.Fatal(err)
				}
				posted, err := s.Post(t.Context(), graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.AnswerPost(q.ID, wire.AppendInt(nil, given), refused))
				if err != nil || posted[0].Err != nil || posted[0].Messages[0].Known {
					t.Fatal(posted, err)
				}
				serve(t, app, s)
				all := refusals(t, th)
				if len(all) != i+1 || !strings.Contains(all[0]+all[i], fmt.Sprint(given, " of 40: that is more than was paid")) {
					t.Errorf("got refusals %q, want the error of the check", all)
				}
				same(t, "the open questions", waitingThreads(t, s), []graph.OpenQuestion{q})
			}
			if err := th.Answer(t.Context(), back.Answer(q, 7)); err != nil {
				t.Fatal(err)
			}
			serve(t, app, s)
			same(t, "log", snapshot(t, th).State.Log, []string{"back 7"})
		})
	}
}

// TestAPanicOfACheckRefusesTheAnswer is an error of the call, not a verdict about the answer.
func TestAPanicOfACheckRefusesTheAnswer(t *testing.T) {
	back := graph.NewQuestion[wire.Int, wire.Int]("back").Check(func(_, back wire.Int) error {
		if back > 40 {
			panic("a bug")
		}
		return nil
	})
	th, _ := newThread(t, paysBack(t, back, false))
	q := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
	_, err := th.Resume(t.Context(), back.Answer(q, 41))
	panicked, refused := (*graph.PanicError)(nil), (*graph.AnswerError)(nil)
	if !errors.As(err, &panicked) || errors.As(err, &refused) {
		t.Errorf("got %v, want a PanicError and no AnswerError", err)
	}
	done(t, graph.Done)(th.Resume(t.Context(), back.Answer(q, 1)))
}

// TestAStoredAnswerIsNotCheckedAgain: the check became stricter while the thread waited for
// another answer (rule 12.12).
func TestAStoredAnswerIsNotCheckedAgain(t *testing.T) {
	s := memory.New()
	with := func(limit wire.Int) *app {
		back := graph.NewQuestion[wire.String, wire.Int]("back").Check(func(_ wire.String, n wire.Int) error {
			if n > limit {
				return errTooMuch
			}
			return nil
		})
		b := newWork()
		b.Node("pay", func(ctx context.Context, _ work) (update, error) {
			n, err := back.Ask(ctx, "first", graph.As("first"))
			m, err2 := back.Ask(ctx, "second", graph.As("second"))
			return logged(fmt.Sprint(n, " and ", m)), errors.Join(err, err2)
		}, back)
		b.Chain(graph.Start, "pay", graph.End)
		return compile(t, b, graph.Saver(s))
	}
	back := graph.NewQuestion[wire.String, wire.Int]("back")
	res := done(t, graph.Waiting)(with(100).Thread("t").Invoke(t.Context(), input))
	res = done(t, graph.Waiting)(with(100).Thread("t").Resume(t.Context(), back.Answer(res.Questions[0], 80)))
	if err := with(50).Rehearse(t.Context(), s, "t"); err != nil {
		t.Errorf("Rehearse: got %v", err)
	}
	if _, err := with(50).Thread("t").Resume(t.Context(), back.Answer(res.Questions[0], 80)); !errors.Is(err, errTooMuch) {
		t.Errorf("a new answer: got %v, want %v", err, errTooMuch)
	}
	res = done(t, graph.Done)(with(50).Thread("t").Resume(t.Context(), back.Answer(res.Questions[0], 20)))
	same(t, "log", res.State.Log, []string{"80 and 20"})
}
