package graphmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// posts draws messages to the thread.
func (p *Pair) posts(n int) (posts []*post, err error) {
	for range n {
		one := &post{}
		switch k := p.rand.IntN(20); {
		case k < 8:
			p.drawInput(one)
		case k < 10:
			p.cancels++
			one.kind, one.number = aCancel, p.cancels
		case k < 13 && p.spec.listens():
			one.kind, one.name = aSignal, signalNames[p.rand.IntN(len(signalNames))]
		default:
			if err := p.drawAnswer(one); err != nil {
				return nil, err
			}
		}
		posts = append(posts, one)
	}
	return posts, nil
}

// drawInput draws an input: a new one, or one with a request id that was used before.
func (p *Pair) drawInput(one *post) {
	p.Model.inputs++
	one.kind, one.input, one.policy, one.limit = anInput, p.Model.inputs, policy(p.rand.IntN(4)), p.limit()
	if n := len(p.requests); n > 0 && p.rand.IntN(5) == 0 {
		one.request = p.requests[p.rand.IntN(n)]
		return
	}
	one.request = fmt.Sprint("r", one.input)
	p.requests = append(p.requests, one.request)
}

// limit draws the ExecutionTimeout of an input; zero for none. All deadlines have other fractions
// of a second, so that nothing else happens at the same time.
func (p *Pair) limit() time.Duration {
	if !p.corresponds || p.World.Arrive != nil || p.rand.IntN(3) > 0 {
		return 0
	}
	p.limits++
	fraction := time.Duration(p.limits) * time.Second / most
	return fraction + []time.Duration{soon, lease, later, 5 * later}[p.rand.IntN(4)]
}

// drawAnswer draws an answer: to an open question, or to one that nobody asks.
func (p *Pair) drawAnswer(one *post) error {
	one.kind = anAnswer
	open := p.Model.asked()
	if len(open) > 0 && p.rand.IntN(8) > 0 {
		one.question, one.wrong = open[p.rand.IntN(len(open))].name, p.rand.IntN(4) == 0
		return p.find(one)
	}
	p.cancels++
	one.id = fmt.Sprint("nobody asks ", p.cancels)
	return nil
}

// find finds the id of a question by its text, also if the question has expired.
func (p *Pair) find(one *post) error {
	if one.id = p.ids[one.question]; one.id == "" {
		return fmt.Errorf("the thread has not asked %q", one.question)
	}
	return nil
}

// mail sends a message, on both sides, while no run is in progress.
func (p *Pair) mail(ctx context.Context, one *post) error {
	want := p.Model.send(one, p.Model.fate.box.now)
	got, err := p.do(ctx, one)
	if err != nil {
		return err
	}
	return differ("sent "+p.said[len(p.said)-1], got, want)
}

// do sends a message that the model has got already, and returns the result.
func (p *Pair) do(ctx context.Context, one *post) (result string, err error) {
	p.said = append(p.said, fmt.Sprintf("%+v", *one))
	switch one.kind {
	case aSignal:
		return stored, p.sendSignal(ctx, one)
	case aCancel:
		return stored, p.Thread.Cancel(ctx, one.reason())
	case anAnswer:
		given := answering(one.question)
		if one.wrong {
			given = -1 // see sensible
		}
		payload := wire.AppendInt(nil, given)
		refused, err := p.saver.Mail(ctx, checkpoint.MailQuery{Thread: "t", Handled: true})
		if err != nil {
			return "", err
		}
		posted, err := p.saver.Post(ctx, graph.Stored{Graph: "model", Ref: checkpoint.Ref{Thread: "t"}}.AnswerPost(one.id, payload, refused))
		if err == nil && posted[0].Err == nil && posted[0].Messages[0].Known {
			return known, nil
		}
		return stored, err
	}
	opts := []graph.SubmitOption{graph.RequestID(one.request)}
	if one.limit > 0 {
		opts = append(opts, graph.ExecutionTimeout(one.limit))
	}
	switch one.policy {
	case ifIdle:
		opts = append(opts, graph.IfIdle())
	case discards:
		opts = append(opts, graph.DiscardPending())
	case cancels:
		opts = append(opts, graph.CancelPending(one.reason()))
	}
	done, err := p.Thread.Submit(ctx, update(p.spec.input(one.input)), opts...)
	switch {
	case errors.Is(err, checkpoint.ErrNotIdle):
		return notIdle, nil
	case done.Known:
		return known, err
	}
	return stored, err
}

// arriving draws messages that arrive while the next call runs. check compares what came of them,
// after the call.
func (p *Pair) arriving(ctx context.Context) (check func() error, err error) {
	none := func() error { return nil }
	box := p.Model.fate.box
	next, soon := box.limited(nextDue(p.Model.stored())), box.now.Add(time.Minute)
	for _, l := range box.letters {
		if l.limit > 0 && (next.IsZero() || l.posted.Add(l.limit).Before(next)) {
			next = l.posted.Add(l.limit)
		}
	}
	if p.rand.IntN(5) > 1 || !next.IsZero() && next.Before(soon) {
		return none, nil // a time that comes while tasks run changes their order
	}
	n := 1 + p.rand.IntN(5)
	if p.rand.IntN(3) == 0 {
		return p.leaving(n), nil
	}
	posts, err := p.posts(1 + p.rand.IntN(2))
	if err != nil {
		return none, err
	}
	want, left := p.Model.during(n, posts), n
	var got []string
	var failed error
	p.World.Arrive = func(ctx context.Context) error {
		if left--; left != 0 {
			return nil
		}
		until := clock().Add(meantime)
		for _, one := range posts {
			p.said = append(p.said, "  during the next call:")
			result, err := p.do(context.WithoutCancel(ctx), one)
			got, failed = append(got, result), errors.Join(failed, err)
		}
		time.Sleep(time.Until(until)) //nolint:forbidigo // in a bubble
		return ctx.Err()
	}
	return func() error {
		p.World.Arrive, p.Model.fate.box.arrive = nil, nil
		return errors.Join(failed, differ("results during the call", fmt.Sprint(got), fmt.Sprint(*want)))
	}, nil
}

// leaving ends the context of the next call when its n-th attempt begins.
func (p *Pair) leaving(n int) (check func() error) {
	p.Model.leave(n)
	p.World.Arrive = func(ctx context.Context) error {
		if n--; n == 0 {
			p.said = append(p.said, "  the context of the next call ends")
			p.leave()
		}
		return ctx.Err()
	}
	return func() error {
		p.World.Arrive, p.Model.fate.box.arrive = nil, nil
		return nil
	}
}

// during returns the context of a call, which leave ends.
func (p *Pair) during(ctx context.Context) context.Context {
	ctx, p.leave = context.WithCancel(ctx)
	return ctx
}

// compareThread compares what is stored after a worker has looked at the thread.
func (p *Pair) compareThread(ctx context.Context, what string, want Outcome) error {
	snap, err := p.Thread.State(ctx)
	if (err == nil || errors.Is(err, checkpoint.ErrNotFound)) && !p.Model.begun() {
		return nil
	}
	if err != nil {
		return err
	}
	asked, err := p.texts(snap.Questions)
	if err != nil {
		return err
	}
	timers, receives := shownTimers(snap.Timers), shownSignals(snap.Signals)
	shown := p.Model.shown()
	return errors.Join(
		differ(what+": stored status", snap.Status.String(), want.Status),
		differ(what+": stored state", Text(snap.State), Text(want.State)),
		differ(what+": stored next", fmt.Sprint(snap.Next), fmt.Sprint(want.Next)),
		differ(what+": stored questions", fmt.Sprintf("%q", asked), fmt.Sprintf("%q", shown.Waiting)),
		differ(what+": stored timers", fmt.Sprint(timers), fmt.Sprint(shown.Timers)),
		differ(what+": stored signals that it waits for", fmt.Sprint(receives), fmt.Sprint(shown.Signals)),
		differ(what+": has a reason", fmt.Sprint(snap.Reason != ""), fmt.Sprint(want.Status == "failed" || want.Status == "ready" || want.Status == "cancelled")),
		differ(what+": stored tasks", tasksIn(snap), p.Model.dueTasks()),
		p.compareInbox(ctx, what),
	)
}

// compareInbox compares the clocks, the inbox, and when the thread is due.
func (p *Pair) compareInbox(ctx context.Context, what string) error {
	in, err := p.Thread.Inbox(ctx)
	if err != nil {
		return err
	}
	thread, err := p.Thread.Describe(ctx)
	if err != nil {
		return err
	}
	listed, err := graph.OpenQuestions(thread)
	if err != nil {
		return err
	}
	box := p.Model.fate.box
	asked, err := p.texts(listed)
	if err != nil {
		return err
	}
	var open []string
	if p.Model.status != "cancelled" { // rule 21.25
		open = p.Model.shown().Waiting
	}
	slices.Sort(asked)
	slices.Sort(open)
	return errors.Join(
		differ(what+": listed questions", fmt.Sprintf("%q", asked), fmt.Sprintf("%q", open)),
		differ(what+": clock", at(time.Now()), at(box.now)),
		differ(what+": inbox", messagesText(in.Waiting), box.mailText()),
		differ(what+": refused", messagesText(in.Refused), box.refusedText()),
		p.compareReplies(what, in.Replied),
		differ(what+": due", at(thread.Wake), at(box.wake)),
	)
}

// compareReplies compares the replies that the thread has given.
func (p *Pair) compareReplies(what string, replied []checkpoint.Message) error {
	if !p.World.Replies {
		return nil
	}
	got, want := map[uint64]string{}, map[uint64]string{}
	for i := range replied {
		r := wire.NewReader("reply", replied[i].Payload)
		got[replied[i].Number] = fmt.Sprint(r.Int64())
	}
	for n, v := range p.Model.fate.box.replies {
		want[n] = fmt.Sprint(v)
	}
	return differ(what+": replies", numbered(got), numbered(want))
}
