package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Retention says what workers remove of the threads of a graph. At least one of Ended, Last, Age
// and Released is set. All other data stays, and so do threads that a run holds.
//
// A walk visits all threads of the graph, in passes. A pass lists at most 1,000 threads. Workers
// pause between two passes as Rate demands, and for Every between two walks. One worker at a time
// makes a pass. If it dies, another one repeats the pass.
type Retention struct {
	// Graph is the name of one of the graphs of the worker. Threads under its FormerNames count.
	Graph string
	// Ended removes whole threads this long after they became Done or Cancelled. A thread stays
	// as long as inputs wait in its inbox, or it is a child that has not reported its end. It also
	// stays for this long after its newest message, such as a signal that no task has received.
	// Zero removes none.
	Ended time.Duration
	// Last is the number of newest checkpoints of each thread that stay. Zero is no limit. If both
	// Last and Age are set, a checkpoint stays if one of them keeps it.
	Last int
	// Age removes the checkpoints that are older than this, except the newest one of a thread.
	// Zero is no limit.
	Age time.Duration
	// Released is the number of newest released versions of each thread that stay. Zero keeps all,
	// less than 0 removes all. Workers do not find threads without an open version. The command
	// graphctl prune does.
	Released int
	// Rate is how many threads a second all workers together prune or remove at most, on average
	// over a walk. The default is 100. They also visit at most 1,000 threads a second that they
	// leave as they are.
	Rate int
	// Every is the pause between two walks. The default is 10 minutes.
	Every time.Duration
}

// A walk is stored as a thread with this prefix before the name of the graph. Its name of a graph
// is the same, so Ready gives each pass to one worker.
const retentionPrefix = graph.ReservedPrefix + "retention/"

// The bounds of a pass.
const (
	passRows = 1000        // threads that it lists
	passTime = reserve / 2 // in which it begins to prune threads
	together = 64          // threads that it prunes at the same time

	visit = time.Second / 1000 // the pause after a thread that needs no pruning
)

// keeper carries out a Retention. It is an App whose only thread stores the walk.
type keeper struct {
	w     *Worker
	r     Retention
	names []string // of the graph
	began bool     // the thread of the walk is due; the loop's
}

// walk is the progress of a walk, as the metadata of the newest record.
type walk struct {
	Of       string    // the Retention
	Next     time.Time // when the next pass is due; all times are on the saver's clock
	Began    time.Time // zero before that
	Previous time.Time // when the walk before it began; zero for none under the same Retention
	Name     int       // the index of the name whose threads come next
	After    []byte    // the id of the last thread under that name; empty for none
	Created  time.Time // when that thread was created
	Partial  bool      // a part of the storage did not answer
}

// walkKey is the key of the metadata.
const walkKey = "walk"

// addKeepers makes apps of Options.Retention.
func (w *Worker) addKeepers() error {
	for _, r := range w.opt.Retention {
		t := w.apps[r.Graph]
		switch {
		case t == nil || t.names[0] != r.Graph:
			return fmt.Errorf("worker: Retention names graph %q; want the name of one of the graphs of the worker", r.Graph)
		case r.Ended < 0 || r.Last < 0 || r.Age < 0 || r.Rate < 0 || r.Every < 0:
			return fmt.Errorf("worker: the Retention of graph %q has a negative value; want 0 to leave it out, or more", r.Graph)
		case r.Ended == 0 && r.Last == 0 && r.Age == 0 && r.Released == 0:
			return fmt.Errorf("worker: the Retention of graph %q removes nothing; set Ended, Last, Age or Released", r.Graph)
		case w.apps[retentionPrefix+r.Graph] != nil:
			return fmt.Errorf("worker: graph %q has two Retentions; give one", r.Graph)
		}
		r.Rate, r.Every = cmp.Or(r.Rate, 100), cmp.Or(r.Every, 10*time.Minute)
		k := &keeper{w: w, r: r, names: t.names}
		if err := w.add(k); err != nil {
			return err
		}
		w.keepers = append(w.keepers, k)
	}
	return nil
}

// beginWalks makes the threads of the walks due, once. The next poll repeats what fails.
func (w *Worker) beginWalks(ctx context.Context) error {
	for _, k := range w.keepers {
		if k.began {
			continue
		}
		id, err := checkpoint.NewID()
		if err != nil {
			return err
		}
		call, cancel := context.WithTimeout(ctx, w.opt.SaverTimeout)
		done, err := w.saver.Post(call, checkpoint.Post{Thread: k.id(), Graph: k.id(), Messages: []checkpoint.Message{
			{ID: id.String(), Kind: checkpoint.WakeMessage},
		}})
		cancel()
		if err == nil {
			err = done[0].Err
		}
		if k.began = err == nil; err != nil {
			w.emit(Event{Kind: EventSaverFailed, Graph: k.r.Graph, Thread: k.id(), Err: err})
		}
	}
	return nil
}

func (k *keeper) id() string { return retentionPrefix + k.r.Graph }

// Serves implements App.
func (k *keeper) Serves(checkpoint.Saver) ([]string, error) { return []string{k.id()}, nil }

// Queues implements App.
func (k *keeper) Queues() []string { return nil }

// RunQueued implements App.
func (k *keeper) RunQueued(context.Context, []byte, bool) error { return nil }

// ResumeDue makes a pass while it holds the thread of the walk.
func (k *keeper) ResumeDue(ctx context.Context, found checkpoint.ReadyThread, _ graph.DueOptions) (run graph.DueRun, err error) {
	c, err := k.w.saver.Load(ctx, checkpoint.Ref{Thread: found.ID})
	if err != nil {
		return run, k.fail("load", err)
	}
	p := k.walk(c.Last.Meta)
	if c.Thread.Now.Before(p.Next) { // a worker that has begun made the thread due
		return run, k.fail("rewake", k.w.saver.Rewake(ctx, checkpoint.Rewake{
			Thread: found.ID, Fence: found.Fence, Posted: found.Posted, Birth: found.Birth, Wake: p.Next,
		}))
	}
	opening, err := k.record(c.Head, &p)
	if err != nil {
		return run, err
	}
	opening.Open = &checkpoint.Opening{Holder: "worker.Retention", Title: "retention of graph " + k.r.Graph}
	opened, err := k.w.saver.Append(ctx, opening)
	if err != nil {
		return run, k.fail("append", err)
	}
	if p.Began.IsZero() {
		p.Began = opened.Now
	}
	failed := k.pass(ctx, &p, opened.Now)
	if failed != nil {
		p.Next = opened.Now.Add(reserve)
	}
	fence := opening.Records[0].ID
	end, err := k.record(fence, &p)
	if err != nil {
		return run, errors.Join(failed, err)
	}
	end.Fence, end.End, end.Wake, end.Messages.Seen = fence, true, p.Next, opened.Posted
	_, err = k.w.saver.Append(ctx, end)
	if err == nil && p.Began.IsZero() { // the walk is over
		_, err = k.w.saver.Prune(ctx, k.id(), checkpoint.Retention{Last: 1})
	}
	return run, errors.Join(failed, k.fail("append", err))
}

// walk reads the progress of a walk. Under another Retention it begins again.
func (k *keeper) walk(meta map[string]string) walk {
	var p walk
	of := fmt.Sprint(k.r)
	if err := json.Unmarshal([]byte(meta[walkKey]), &p); err != nil || p.Of != of || p.Name >= len(k.names) {
		p = walk{Of: of}
	}
	return p
}

// pass prunes the threads that come next in a walk, and sets when the next pass is due.
func (k *keeper) pass(ctx context.Context, p *walk, now time.Time) error {
	began, cleaned := time.Now(), Event{Kind: EventCleaned, Graph: k.r.Graph}
	defer func() {
		if cleaned.Deleted+cleaned.Pruned > 0 {
			k.w.emit(cleaned)
		}
	}()
	page, more, err := k.page(ctx, p)
	if err != nil {
		return err
	}
	p.Next = now
	for len(page) > 0 {
		n, some := k.group(page, p, now)
		if time.Since(began) > passTime {
			return nil
		}
		if err := k.pruneAll(ctx, some, now, &cleaned); err != nil {
			return err
		}
		p.Next = p.Next.Add(time.Duration(len(some))*time.Second/time.Duration(k.r.Rate) + time.Duration(n-len(some))*visit)
		p.After, p.Created, page = []byte(page[n-1].ID), page[n-1].Created, page[n:]
	}
	if more {
		return nil
	}
	if p.Name++; p.Name < len(k.names) {
		p.After, p.Created = nil, time.Time{}
		return nil
	}
	next := walk{Of: p.Of, Previous: p.Began, Next: now.Add(k.r.Every)}
	if p.Partial { // which left something to remove
		next.Previous = p.Previous
	}
	*p = next
	return nil
}

// group returns the first threads of a page that are pruned together, and how many threads of the
// page they and those between them are.
func (k *keeper) group(page []checkpoint.Thread, p *walk, now time.Time) (n int, some []string) {
	for n < len(page) && len(some) < together {
		if t := &page[n]; k.concerns(t, p, now) {
			some = append(some, t.ID)
		}
		n++
	}
	return n, some
}

// pruneAll prunes threads at the same time, and adds what it has removed to an event. A saver can
// remove them together.
func (k *keeper) pruneAll(ctx context.Context, some []string, now time.Time, cleaned *Event) error {
	results, errs := make([]checkpoint.PruneResult, len(some)), make([]error, len(some))
	var calls sync.WaitGroup
	for i, id := range some {
		calls.Go(func() { results[i], errs[i] = k.prune(ctx, id, now) })
	}
	calls.Wait()
	for _, done := range results {
		cleaned.Pruned += done.Records + done.Versions
		if done.Deleted {
			cleaned.Deleted++
		}
	}
	return errors.Join(errs...)
}

// page lists the threads that come next, newest first. more says that others may follow.
func (k *keeper) page(ctx context.Context, p *walk) (page []checkpoint.Thread, more bool, err error) {
	q := checkpoint.ThreadQuery{Graph: k.names[p.Name], After: string(p.After), AfterCreated: p.Created, Limit: passRows}
	for t, err := range k.w.saver.Threads(ctx, q) {
		if errors.Is(err, checkpoint.ErrDamaged) {
			continue
		}
		if err != nil && k.w.partial(err) {
			p.Partial = true
			break
		}
		if err != nil {
			return nil, false, k.failure("threads", k.id(), err)
		}
		page = append(page, checkpoint.Thread{ // without its questions
			ID: t.ID, Created: t.Created, Status: t.Status, Holder: t.Holder, Updated: t.Updated, Inputs: t.Inputs,
		})
	}
	return page, len(page) == passRows, nil
}

// concerns reports whether the Retention may remove anything of a thread. The previous walk left
// nothing to remove, unless the thread has changed or its checkpoints were too young.
func (k *keeper) concerns(t *checkpoint.Thread, p *walk, now time.Time) bool {
	if t.Holder != "" || t.Status == 0 {
		return false
	}
	over := t.Status == checkpoint.Done || t.Status == checkpoint.Cancelled
	if k.r.Ended > 0 && over && t.Inputs == 0 && t.Updated.Before(now.Add(-k.r.Ended)) {
		return true
	}
	prunes := k.r.Last > 0 || k.r.Age > 0 || k.r.Released != 0
	return prunes && !t.Updated.Add(k.r.Age).Before(p.Previous)
}

// prune carries out the Retention on one thread. It leaves a thread that has changed meanwhile, or
// that is damaged.
func (k *keeper) prune(ctx context.Context, id string, now time.Time) (checkpoint.PruneResult, error) {
	keep := checkpoint.Retention{Last: k.r.Last, Released: k.r.Released}
	if k.r.Age > 0 {
		keep.Since = now.Add(-k.r.Age)
	}
	if k.r.Ended > 0 {
		keep.Ended = now.Add(-k.r.Ended)
	}
	call, cancel := context.WithTimeout(ctx, k.w.opt.SaverTimeout)
	defer cancel()
	done, err := k.w.saver.Prune(call, id, keep)
	switch {
	case moved(err): // it is in progress, or gone
		return done, nil
	case errors.Is(err, checkpoint.ErrDamaged):
		k.w.emit(Event{Kind: EventSaverFailed, Graph: k.r.Graph, Thread: id, Err: err})
		return done, nil
	}
	if err != nil {
		return done, k.failure("prune", id, err)
	}
	return done, nil
}

// record returns the Append of the progress of a walk, after a head.
func (k *keeper) record(head checkpoint.ID, p *walk) (checkpoint.Append, error) {
	meta, err := json.Marshal(p)
	if err != nil {
		return checkpoint.Append{}, fmt.Errorf("worker: the progress of a walk: %w", err)
	}
	id, err := checkpoint.NewIDAfter(head)
	return checkpoint.Append{
		Thread: k.id(), After: head, Status: checkpoint.Ready,
		Records: []checkpoint.Record{{
			ID: id, Parent: head, Base: id, Line: id, Source: checkpoint.Input, Graph: k.id(), Snapshot: true, Payload: []byte{0x80},
			Created: time.Now().UTC(), Meta: map[string]string{walkKey: string(meta)},
		}},
	}, err
}

// fail returns an error of the saver about the walk, unless another worker was faster.
func (k *keeper) fail(op string, err error) error {
	if err == nil || moved(err) {
		return nil
	}
	return k.failure(op, k.id(), err)
}

// failure returns an error of the saver.
func (k *keeper) failure(op, thread string, err error) error {
	return &graph.SaverError{Graph: k.r.Graph, Thread: thread, Step: -1, Op: op, Err: err}
}
