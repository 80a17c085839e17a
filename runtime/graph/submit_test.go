package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// serve resumes due threads of a graph until none is due, as a worker does. It returns how often
// it opened a thread.
func serve(t *testing.T, g *app, s checkpoint.Saver) (opened int) {
	t.Helper()
	for range 100 {
		found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Threads) == 0 {
			return opened
		}
		for _, th := range found.Threads {
			run, err := g.ResumeDue(t.Context(), th, graph.DueOptions{})
			if err != nil {
				t.Fatalf("thread %q: %v", th.ID, err)
			}
			if run.Opened {
				opened++
			}
		}
	}
	t.Fatal("threads are due again and again")
	return opened
}

// refusals returns why the messages of a thread were refused.
func refusals(t *testing.T, th thread) (reasons []string) {
	t.Helper()
	in, err := th.Inbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range in.Refused {
		reasons = append(reasons, m.Refused)
	}
	return reasons
}

// untaken returns the kinds of the messages that no run has taken.
func untaken(t *testing.T, th thread) (kinds []checkpoint.MessageKind) {
	t.Helper()
	in, err := th.Inbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range in.Waiting {
		kinds = append(kinds, m.Kind)
	}
	return kinds
}

// submit submits an input.
func submit(t *testing.T, th thread, line string, opts ...graph.SubmitOption) graph.Submitted {
	t.Helper()
	done, err := th.Submit(t.Context(), logged(line), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func snapshot(t *testing.T, th thread) graph.Snapshot[work] {
	t.Helper()
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestSubmittedInputsRunInTheirOrder(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		g := compile(t, chain("a", "b"), graph.Saver(s), d)
		th := g.Thread("new")
		for _, line := range []string{"one", "two", "three"} {
			submit(t, th, line)
		}
		same(t, "openings", serve(t, g, s), 3)
		snap := snapshot(t, th)
		same(t, "log", snap.State.Log, []string{"one", "a", "b", "two", "a", "b", "three", "a", "b"})
		same(t, "status", snap.Status, graph.Done)
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	})
}

// An imported thread has checkpoints and no fence, as a thread that has none.
func TestAWorkerContinuesAnImportedThread(t *testing.T) {
	from, s := memory.New(), memory.New()
	submit(t, compile(t, chain("a"), graph.Saver(from)).Thread("t"), "one")
	serve(t, compile(t, chain("a"), graph.Saver(from)), from)
	if err := checkpoint.Copy(t.Context(), from, "t", 0, s, "t"); err != nil {
		t.Fatal(err)
	}
	g := compile(t, chain("a"), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "two")
	same(t, "openings", serve(t, g, s), 1)
	same(t, "log", snapshot(t, th).State.Log, []string{"one", "a", "two", "a"})
	same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
}

// A thread that another call opens after a worker has found it has a checkpoint.
func TestAWorkerLoadsAThreadThatAnotherCallHasJustOpened(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "two")
	found := ready(t, s)
	done(t, graph.Done)(th.Invoke(t.Context(), logged("one")))
	run, err := g.ResumeDue(t.Context(), found[0], graph.DueOptions{})
	if err != nil || !run.Opened {
		t.Fatalf("opened: %v, %v; want an opening", run.Opened, err)
	}
	same(t, "log", snapshot(t, th).State.Log, []string{"one", "a", "two", "a"})
}

func TestASubmitIsStoredOnceForEachRequest(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s))
	th := g.Thread("t")
	first, again := submit(t, th, "in", graph.RequestID("r")), submit(t, th, "other", graph.RequestID("r"))
	same(t, "first", first, graph.Submitted{Thread: "t", Request: "r"})
	same(t, "again", again, graph.Submitted{Thread: "t", Request: "r", Known: true})
	serve(t, g, s)
	if got := submit(t, th, "late", graph.RequestID("r")); !got.Known {
		t.Errorf("after the run: got %+v, want it known", got)
	}
	serve(t, g, s)
	same(t, "log", snapshot(t, th).State.Log, []string{"in", "a"})
}

// The clock of a bubble begins at midnight in UTC.
func TestASubmitIsUniqueByPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g := compile(t, chain("a"), graph.Saver(s))
		th := g.Thread("report")
		daily := graph.UniqueByPeriod(24 * time.Hour)
		day := graph.Submitted{Thread: "report", Request: "2000-01-01T00:00:00Z"}
		same(t, "first", submit(t, th, "first", daily), day)
		time.Sleep(24*time.Hour - time.Nanosecond)
		day.Known = true
		same(t, "in the same day", submit(t, th, "again", daily), day)
		time.Sleep(time.Nanosecond)
		same(t, "on the next day", submit(t, th, "next", daily), graph.Submitted{Thread: "report", Request: "2000-01-02T00:00:00Z"})
		serve(t, g, s)
		same(t, "log", snapshot(t, th).State.Log, []string{"first", "a", "next", "a"})
		for want, opts := range map[string][]graph.SubmitOption{
			"UniqueByPeriod has a period of 0s": {graph.UniqueByPeriod(0)},
			"RequestID is given twice":          {daily, graph.RequestID("r")},
		} {
			if _, err := th.Submit(t.Context(), logged("no"), opts...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

func TestAnInputPostIsTheInputThatSubmitStores(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s))
	th := g.Thread("t")
	post, err := g.InputPost(graph.Submission[update]{Thread: "t", Input: logged("in"), Options: []graph.SubmitOption{
		graph.RequestID("r"), graph.Title("title"), graph.Label("kind", "order"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "stored before the Post", untaken(t, th), []checkpoint.MessageKind(nil))
	for range 2 {
		if posted, err := s.Post(t.Context(), post); err != nil || posted[0].Err != nil {
			t.Fatal(posted, err)
		}
	}
	if got := submit(t, th, "other", graph.RequestID("r")); !got.Known {
		t.Errorf("Submit after the Post: got %+v, want the request known", got)
	}
	serve(t, g, s)
	same(t, "log", snapshot(t, th).State.Log, []string{"in", "a"})
	same(t, "title", post.Title, "title")
	same(t, "labels", post.Labels, map[string]string{"kind": "order"})
	both := graph.Submission[update]{Thread: "t", Options: []graph.SubmitOption{graph.IfIdle(), graph.CancelPending("")}}
	if _, err := g.InputPost(both); err == nil {
		t.Error("InputPost with two policies: got no error")
	}
}

func TestASubmittedInputDescribesItsThreadAndItsRun(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "in", graph.Title("Order 7"), graph.Label("user", "ada"), graph.Metadata(map[string]string{"by": "ada"}), graph.RequestID("r"))
	serve(t, g, s)
	submit(t, th, "in", graph.Title("Order 8"))
	serve(t, g, s)
	snap := snapshot(t, th)
	same(t, "title", snap.Title, "Order 8")
	same(t, "labels", snap.Labels, map[string]string{"user": "ada"})
	var first graph.Snapshot[work]
	for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		first = snap
	}
	same(t, "metadata", first.Metadata, map[string]string{"by": "ada"})
	if res := done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("more"))); len(res.State.Log) != 6 {
		t.Errorf("got the log %v, want that of three inputs", res.State.Log)
	}
}

func TestAnInputWaitsBehindAQuestion(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s, ran := memory.New(), &counter{}
		g := compile(t, asker(ran), graph.Saver(s), d)
		th := g.Thread("t")
		submit(t, th, "one")
		serve(t, g, s)
		submit(t, th, "two")
		same(t, "openings for an input that must wait", serve(t, g, s), 0)
		snap := snapshot(t, th)
		same(t, "status", snap.Status, graph.Waiting)
		q := snap.Questions[0]
		if err := th.Answer(t.Context(), refund.Answer(q, true)); err != nil {
			t.Fatal(err)
		}
		if err := th.Answer(t.Context(), refund.Answer(q, false)); !errors.Is(err, graph.ErrNotAsked) {
			t.Errorf("the second answer: got %v, want ErrNotAsked", err)
		}
		same(t, "openings for the answer and the input behind it", serve(t, g, s), 2)
		snap = snapshot(t, th)
		same(t, "log", snap.State.Log, []string{"one", "answer true", "sibling", "two"})
		same(t, "status", snap.Status, graph.Waiting)
		same(t, "runs", ran.counts(), map[string]int{"ask": 3, "sibling": 2})
	})
}

func TestAResumeTakesPostedAnswers(t *testing.T) {
	s := memory.New()
	g := compile(t, asker(new(counter)), graph.Saver(s))
	th := g.Thread("t")
	q := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
	if err := th.Answer(t.Context(), refund.Answer(q, true)); err != nil {
		t.Fatal(err)
	}
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"answer true", "sibling"})
	same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
}

func TestAnswersAreCheckedBeforeTheyArePosted(t *testing.T) {
	s := memory.New()
	g := compile(t, asker(new(counter)), graph.Saver(s))
	th := g.Thread("t")
	q := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
	for what, a := range map[string]graph.AnswerOption{
		"of another type":     graph.AnswerBytes(q.ID, wire.AppendString(nil, "yes")),
		"to another question": amount.Answer(q, 7),
		"to no question":      graph.AnswerBytes("gone", wire.AppendBool(nil, true)),
	} {
		if err := th.Answer(t.Context(), a); !errors.Is(err, graph.ErrNotAsked) {
			t.Errorf("an answer %s: got %v, want ErrNotAsked", what, err)
		}
	}
	same(t, "messages", untaken(t, th), []checkpoint.MessageKind(nil))
}

func TestAnAnswerThatCannotCountIsRefusedAndListed(t *testing.T) {
	s := memory.New()
	g := compile(t, asker(new(counter)), graph.Saver(s))
	th := g.Thread("t")
	q := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
	if err := th.Answer(t.Context(), refund.Answer(q, true)); err != nil {
		t.Fatal(err)
	}
	done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(q, false))) // a person was faster
	serve(t, g, s)
	same(t, "refused", refusals(t, th), []string{"it was answered by a Resume"})
	same(t, "log", snapshot(t, th).State.Log, []string{"answer false", "sibling"})
}

// A tool that knows no types can post an answer that the run refuses. The question is still open,
// so another answer counts, and only the first of them.
func TestAQuestionWhoseAnswerWasRefusedCanBeAnswered(t *testing.T) {
	for name, answer := range map[string]func(t *testing.T, s checkpoint.Saver, th thread, q graph.OpenQuestion, yes bool) error{
		"typed": func(t *testing.T, _ checkpoint.Saver, th thread, q graph.OpenQuestion, yes bool) error {
			t.Helper()
			return th.Answer(t.Context(), refund.Answer(q, wire.Bool(yes)))
		},
		"encoded": func(t *testing.T, s checkpoint.Saver, _ thread, q graph.OpenQuestion, yes bool) error {
			t.Helper()
			refused, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: "t", Handled: true})
			if err != nil {
				return err
			}
			posted, err := s.Post(t.Context(), graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.AnswerPost(q.ID, wire.AppendBool(nil, yes), refused))
			if err == nil && posted[0].Messages[0].Known {
				err = graph.ErrNotAsked
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			g := compile(t, asker(new(counter)), graph.Saver(s))
			th := g.Thread("t")
			q := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
			for range 2 {
				refused, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: "t", Handled: true})
				if err != nil {
					t.Fatal(err)
				}
				posted, err := s.Post(t.Context(), graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.AnswerPost(q.ID, wire.AppendString(nil, "yes"), refused))
				if err != nil || posted[0].Err != nil || posted[0].Messages[0].Known {
					t.Fatal(posted, err)
				}
				serve(t, g, s)
			}
			same(t, "refused answers", len(refusals(t, th)), 2)
			if err := answer(t, s, th, q, true); err != nil {
				t.Errorf("an answer after refused ones: %v", err)
			}
			if err := answer(t, s, th, q, false); !errors.Is(err, graph.ErrNotAsked) {
				t.Errorf("a second answer: got %v, want ErrNotAsked", err)
			}
			serve(t, g, s)
			same(t, "log", snapshot(t, th).State.Log, []string{"answer true", "sibling"})
		})
	}
}

func TestIfIdleRefusesInputOnABusyThread(t *testing.T) {
	s := memory.New()
	g := compile(t, asker(new(counter)), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "one", graph.IfIdle())
	for _, state := range []string{"input waits", "question waits"} {
		_, err := th.Submit(t.Context(), input, graph.IfIdle())
		if !errors.Is(err, checkpoint.ErrNotIdle) {
			t.Errorf("while the %s: got %v, want ErrNotIdle", state, err)
		}
		serve(t, g, s)
	}
	if _, err := th.Submit(t.Context(), input, graph.IfIdle(), graph.CancelPending("")); err == nil {
		t.Error("two policies: got no error")
	}
}

func TestDiscardPendingBeginsInputOnAWaitingThread(t *testing.T) {
	s := memory.New()
	g := compile(t, asker(new(counter)), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "one")
	serve(t, g, s)
	submit(t, th, "two", graph.DiscardPending())
	same(t, "openings", serve(t, g, s), 1)
	same(t, "log", snapshot(t, th).State.Log, []string{"one", "sibling", "two"})
}

func TestSubmitManyIsOneCall(t *testing.T) {
	s := &postCounter{Saver: memory.New()}
	g := compile(t, chain("a"), graph.Saver(s))
	got, err := g.SubmitMany(t.Context(),
		graph.Submission[update]{Thread: "x", Input: logged("one"), Options: []graph.SubmitOption{graph.RequestID("1")}},
		graph.Submission[update]{Thread: "y", Input: logged("two"), Options: []graph.SubmitOption{graph.RequestID("2")}},
	)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "submitted", got, []graph.Submitted{{Thread: "x", Request: "1"}, {Thread: "y", Request: "2"}})
	same(t, "calls", s.posts, 1)
	serve(t, g, s)
	for thread, line := range map[string]string{"x": "one", "y": "two"} {
		same(t, thread, snapshot(t, g.Thread(thread)).State.Log, []string{line, "a"})
	}
}

// postCounter counts calls of Post.
type postCounter struct {
	*memory.Saver
	posts int
}

func (s *postCounter) Post(ctx context.Context, p ...checkpoint.Post) ([]checkpoint.Posted, error) {
	s.posts++
	return s.Saver.Post(ctx, p...)
}

func TestACancelEndsAThreadThatNoRunHolds(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s, ran := memory.New(), &counter{}
		g := compile(t, asker(ran), graph.Saver(s), d)
		th := g.Thread("t")
		submit(t, th, "one")
		serve(t, g, s)
		submit(t, th, "two")
		if err := th.Cancel(t.Context(), "the customer left"); err != nil {
			t.Fatal(err)
		}
		submit(t, th, "three")
		serve(t, g, s)
		snap := snapshot(t, th)
		same(t, "log", snap.State.Log, []string{"one", "sibling", "three"})
		same(t, "refused", refusals(t, th), []string{"cancelled: the customer left"})
		same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	})
}

func TestACancelledThreadIsResumedOnlyInPerson(t *testing.T) {
	s := memory.New()
	g := compile(t, asker(new(counter)), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "one")
	serve(t, g, s)
	if err := th.Cancel(t.Context(), "no stock"); err != nil {
		t.Fatal(err)
	}
	res, err := th.Resume(t.Context())
	var cancelled *graph.CancelledError
	if !errors.As(err, &cancelled) || cancelled.Reason != "no stock" || res.Status != graph.Cancelled {
		t.Fatalf("got %s, %v; want a CancelledError", res.Status, err)
	}
	snap := snapshot(t, th)
	same(t, "status", snap.Status, graph.Cancelled)
	if !strings.Contains(snap.Reason, "no stock") {
		t.Errorf("got the reason %q, want it to contain that of the cancel", snap.Reason)
	}
	if err := th.Wake(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "openings by a worker", serve(t, g, s), 0)
	q := snap.Questions[0]
	done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(q, true)))
}

func TestInputBeginsOnACancelledThread(t *testing.T) {
	s := memory.New()
	g := compile(t, asker(new(counter)), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "one")
	serve(t, g, s)
	if err := th.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	serve(t, g, s)
	same(t, "status", snapshot(t, th).Status, graph.Cancelled)
	res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("two")))
	same(t, "log", res.State.Log, []string{"one", "sibling", "two"})
}

func TestACancelOfADoneThreadIsRefused(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "one")
	serve(t, g, s)
	if err := th.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	serve(t, g, s)
	same(t, "refused", len(refusals(t, th)), 1)
	same(t, "status", snapshot(t, th).Status, graph.Done)
	submit(t, th, "two")
	serve(t, g, s)
	same(t, "log", snapshot(t, th).State.Log, []string{"one", "a", "two", "a"})
}

func TestACancelBeforeTheFirstInputBeginsLeavesAnEmptyThread(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "one")
	if err := th.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	serve(t, g, s)
	same(t, "status", snapshot(t, th).Status, graph.Cancelled)
	if reason := snapshot(t, th).Reason; !strings.HasSuffix(reason, "cancelled") {
		t.Errorf("got reason %q, want that of the cancel", reason)
	}
	same(t, "refused", refusals(t, th), []string{"cancelled"})
	submit(t, th, "two")
	serve(t, g, s)
	same(t, "log", snapshot(t, th).State.Log, []string{"two", "a"})
}

// TestCancelPendingWithTheLongestRequestID submits twice, so the ids of the messages are the same.
func TestCancelPendingWithTheLongestRequestID(t *testing.T) {
	s := memory.New()
	th := compile(t, chain("a"), graph.Saver(s)).Thread("t")
	for n, last := range []string{"x", "x", "y"} {
		request := strings.Repeat("r", checkpoint.MaxMessageID-1) + last
		got, err := th.Submit(t.Context(), input, graph.RequestID(request), graph.CancelPending("a newer order"))
		if err != nil || got.Known != (n == 1) {
			t.Fatalf("submit %d: got known %t, %v, want %t", n, got.Known, err, n == 1)
		}
	}
	want := []checkpoint.MessageKind{checkpoint.CancelMessage, checkpoint.InputMessage, checkpoint.CancelMessage, checkpoint.InputMessage}
	same(t, "messages", untaken(t, th), want)
	long := graph.CancelPending(strings.Repeat("r", checkpoint.MaxReason+1))
	if _, err := th.Submit(t.Context(), input, long); err == nil || !strings.Contains(err.Error(), "a reason of 1025 bytes") {
		t.Errorf("a long reason: got %v, want an error with its size", err)
	}
}

func TestCancelPendingReplacesWhatWasAsked(t *testing.T) {
	s := memory.New()
	g := compile(t, asker(new(counter)), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "one")
	serve(t, g, s)
	submit(t, th, "two")
	submit(t, th, "three", graph.CancelPending("a newer order"))
	serve(t, g, s)
	snap := snapshot(t, th)
	same(t, "log", snap.State.Log, []string{"one", "sibling", "three"})
	same(t, "status", snap.Status, graph.Waiting)
	same(t, "refused", refusals(t, th), []string{"cancelled: a newer order"})
}

func TestACancelDoesNotEndInputThatCameLater(t *testing.T) {
	s := memory.New()
	g := compile(t, asker(new(counter)), graph.Saver(s))
	th := g.Thread("t")
	if err := th.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
	serve(t, g, s)
	same(t, "status", snapshot(t, th).Status, graph.Waiting)
}

func TestMailDuringARunMakesTheThreadDueAtItsEnd(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s, b := memory.New(), newWork()
		var g *app
		b.Node("a", func(ctx context.Context, w work) (update, error) {
			if len(w.Log) == 1 {
				if _, err := g.Thread("t").Submit(ctx, logged("again")); err != nil {
					return update{}, err
				}
			}
			return logged("a"), nil
		})
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g = compile(t, b, graph.Saver(s), d)
		th := g.Thread("t")
		done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
		same(t, "openings", serve(t, g, s), 1)
		same(t, "log", snapshot(t, th).State.Log, []string{"in", "a", "again", "a"})
	})
}

func TestAnInvokeDoesNotWaitForSubmittedInput(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s))
	th := g.Thread("t")
	submit(t, th, "queued")
	done(t, graph.Done)(th.Invoke(t.Context(), logged("now")))
	serve(t, g, s)
	same(t, "log", snapshot(t, th).State.Log, []string{"now", "a", "queued", "a"})
}

func TestInputOutlivesARelease(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s), graph.ReleaseOnDone())
	th := g.Thread("t")
	submit(t, th, "one")
	submit(t, th, "two")
	serve(t, g, s)
	versions, err := s.Versions(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "versions", len(versions), 2)
}
