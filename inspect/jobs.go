package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// Causes of the end of a job.
var (
	errStopped = errors.New("a user stopped the action")
	errClosed  = errors.New("the server stops")
)

// jobs are the actions on many threads that were started.
type jobs struct {
	ctx  context.Context //nolint:containedctx // that of all jobs, which outlive their requests
	stop context.CancelCauseFunc
	wait sync.WaitGroup

	mu   sync.Mutex
	list []*job // oldest first
}

// job is an action on all threads that a filter matches.
type job struct {
	id     string
	action Action
	text   string
	op     operate.Operation
	actor  string
	filter filter
	began  time.Time
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	done   int
	left   int // as they are
	failed int
	read   int
	errors []jobError
	ended  time.Time
	err    error
}

// jobError is the error of an action on a thread.
type jobError struct {
	thread checkpoint.Thread
	text   string
}

// open makes the list of jobs ready.
func (js *jobs) open() { js.ctx, js.stop = context.WithCancelCause(context.Background()) }

// start begins a job.
func (js *jobs) start(j *job, work func(ctx context.Context) error) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.ctx.Err() != nil {
		return errClosed
	}
	ctx, cancel := context.WithCancelCause(js.ctx)
	j.cancel = cancel
	js.list = append(js.list, j)
	if len(js.list) > keptJobs {
		js.drop()
	}
	js.wait.Go(func() {
		defer cancel(nil)
		err := work(ctx)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.ended, j.err = time.Now(), err
	})
	return nil
}

// drop forgets the oldest job that has ended.
func (js *jobs) drop() {
	for i, j := range js.list {
		j.mu.Lock()
		ended := !j.ended.IsZero()
		j.mu.Unlock()
		if ended {
			js.list = append(js.list[:i:i], js.list[i+1:]...)
			return
		}
	}
}

// find returns a job, or nil.
func (js *jobs) find(id string) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.list {
		if j.id == id {
			return j
		}
	}
	return nil
}

// close stops all jobs, and waits for them.
func (js *jobs) close() {
	js.mu.Lock()
	js.stop(errClosed)
	js.mu.Unlock()
	js.wait.Wait()
}

// count notes the outcome for one thread.
func (j *job) count(t *checkpoint.Thread, skipped bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case skipped:
		j.left++
		return
	case err == nil:
		j.done++
		return
	}
	j.failed++
	if len(j.errors) < keptFails {
		j.errors = append(j.errors, jobError{checkpoint.Thread{ID: t.ID, Graph: t.Graph, Labels: t.Labels}, err.Error()})
	}
}

// reads notes that one more thread was read.
func (j *job) reads() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read++
}

// data returns the page of the job, with the errors of the threads that the reader sees.
func (j *job) data(h head, sees func(t *checkpoint.Thread) bool) jobData {
	j.mu.Lock()
	defer j.mu.Unlock()
	d := jobData{
		head: h, ID: j.id, Text: j.text, Filter: j.filter.values().Encode(), Running: j.ended.IsZero(), Done: j.done, Left: j.left,
		Failed: j.failed, Read: j.read, Began: j.began, Took: j.ended.Sub(j.began), Back: "./?" + j.filter.values().Encode(),
	}
	for i := range j.errors {
		if e := &j.errors[i]; sees(&e.thread) {
			d.Errors = append(d.Errors, choice{e.thread.ID, e.text})
		}
	}
	var end *operate.SearchError
	if j.err != nil {
		d.Err = j.err.Error()
	}
	if errors.As(j.err, &end) && !sees(&end.After) {
		d.Err = fmt.Sprintf("the search by node or error has read %d threads, and further ones follow; narrow it by other filters", operate.Searched)
	}
	if d.Running {
		d.Every, d.Took = 1, h.Now.Sub(j.began)
	}
	return d
}
