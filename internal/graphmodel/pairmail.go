package graphmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// A Pair that corresponds gets most of its calls by mail, as a thread that workers run. It needs a
// bubble of testing/synctest.

// pause is that of a worker before a thread runs again that failed.
const pause = 8 * time.Second

// Correspond sends messages to the thread for the given number of rounds, while workers and
// persons run it. Then it sends what is missing, until nothing is left to do. whole says that the
// durability of the graph stores all checkpoints, which are compared at the end.
func (p *Pair) Correspond(ctx context.Context, rounds int, whole bool) error {
	p.timed, p.corresponds, p.whole, p.World.Settles = true, true, whole, true
	p.Model.fate.box.now = clock()
	for range rounds {
		if err := p.round(ctx); err != nil {
			return err
		}
	}
	for calls := 0; !p.over(); calls++ {
		if calls > most {
			return fmt.Errorf("the thread is %s after %d calls", p.Model.status, most)
		}
		if err := p.complete(ctx); err != nil {
			return err
		}
	}
	if !p.whole {
		return nil
	}
	_, err := p.history(ctx)
	return err
}

// over reports whether no input waits and nothing is due.
func (p *Pair) over() bool {
	return p.Model.rests() && len(p.Model.fate.box.left(new(handling), anInput)) == 0
}

// round sends some messages, and then lets a worker or a person run the thread.
func (p *Pair) round(ctx context.Context) error {
	if err := p.meanwhile(ctx, p.Model.stored()); err != nil {
		return err
	}
	posts, err := p.posts(p.rand.IntN(3))
	if err != nil {
		return err
	}
	for _, one := range posts {
		if err := p.mail(ctx, one); err != nil {
			return err
		}
	}
	check, err := p.arriving(ctx)
	if err != nil {
		return err
	}
	switch p.rand.IntN(8) {
	case 0:
		_, err = p.invoke(ctx)
	case 1, 2:
		err = p.person(ctx)
	default:
		err = p.work(ctx)
	}
	return errors.Join(err, check())
}

// complete answers what the thread asks, lets the time come for which it waits, and runs it.
func (p *Pair) complete(ctx context.Context) error {
	open := p.Model.stored()
	if err := p.meanwhile(ctx, open); err != nil {
		return err
	}
	switch p.Model.status {
	case "paused", "failed":
		return p.person(ctx)
	case "ready":
		if p.Model.fate.box.wake.IsZero() {
			return p.person(ctx)
		}
	}
	if p.Model.fate.box.wake.IsZero() {
		if err := p.unblock(ctx, open); err != nil {
			return err
		}
		p.Model.fate.box.now = clock()
		for _, w := range open {
			if w.kind != forAnswer {
				continue
			}
			one := &post{kind: anAnswer, question: w.name}
			if err := p.find(one); err != nil {
				return err
			}
			if err := p.mail(ctx, one); err != nil {
				return err
			}
		}
	}
	if wake := p.Model.fate.box.wake; wake.After(time.Now()) {
		time.Sleep(time.Until(wake)) //nolint:forbidigo // in a bubble
		p.Model.fate.box.now = wake
	}
	return p.work(ctx)
}

// person resumes the thread, if there is something to resume.
func (p *Pair) person(ctx context.Context) error {
	if !p.Model.begun() || p.Model.done {
		return nil
	}
	_, err := p.step(ctx, p.Thread, Outcome{Status: p.Model.status, open: p.Model.stored(), rerun: p.rerun}, false)
	return err
}

// work lets a worker look at the thread, if that is due.
func (p *Pair) work(ctx context.Context) error {
	found, err := p.saver.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"model"}, Limit: 1, Reserve: time.Microsecond, Mail: 2})
	if err != nil {
		return err
	}
	box := p.Model.fate.box
	due := !box.wake.IsZero() && !box.wake.After(box.now)
	if err := differ("due now", fmt.Sprint(len(found.Threads) > 0), fmt.Sprint(due)); err != nil || !due {
		return err
	}
	before := len(box.refused)
	p.Model.onExit = !p.whole
	want, opened := p.Model.Work(pause)
	var refused []refusal
	run, err := p.app.ResumeDue(p.during(ctx), found.Threads[0], graph.DueOptions{
		Retry:   graph.RetryPolicy{Base: pause, Max: pause, Jitter: func() float64 { return 1 }},
		Refused: func(r checkpoint.Refusal) { refused = append(refused, refusal{r.Number, whyRefused(r.Reason)}) },
	})
	byNumber := func(a, b refusal) int { return int(a.number) - int(b.number) }
	slices.SortFunc(refused, byNumber)
	told := slices.SortedFunc(slices.Values(box.refused[before:]), byNumber)
	what := "a worker"
	if opened {
		p.rerun = want.rerun
	}
	p.said = append(p.said, fmt.Sprintf("%s: opened %t, %s %q, due %v", what, opened, want.Status, want.Failed, want.Next))
	return errors.Join(
		differ(what+": failure", failure(err), want.Failed),
		differ(what+": opened", fmt.Sprint(run.Opened), fmt.Sprint(opened)),
		differ(what+": status", run.Status.String(), want.Status),
		differ(what+": reported as refused", fmt.Sprint(refused), fmt.Sprint(told)),
		p.compareThread(ctx, what, want),
	)
}
