package graph

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// RequestID names the input. For Submit and Signal it is the id of the message. For
// Result it names the input whose result the caller wants. If the
// thread's newest input has the same id, Invoke does not start a second run. It resumes an
// unfinished run, or returns the result of a finished one. So a caller that does not know whether
// its input arrived can send it again.
//
// Another input under that id returns ErrRequestReused: inputs are compared by their encoded
// bytes, unless the state's schema has changed since. While another run executes the request, the
// error is a *checkpoint.BusyError whose Request is the id.
//
// Only the newest input of the open version is known. An id is forgotten when the next input
// starts, when its record is pruned, and when the version is released, also by ReleaseOnDone. The
// request then runs again.
//
// The id must not be empty.
func RequestID(id string) interface {
	InvokeOption
	SubmitOption
	SignalOption
	ResultOption
} {
	return singleRunOption("RequestID", func(o *runOptions) {
		o.request = id
		if id == "" {
			o.fault("RequestID is empty; name the request, or leave the option out")
		}
	})
}

// UniqueByPeriod makes Submit store one input of the thread in each period, such as 24*time.Hour.
// The request id of the input is the beginning of the period in UTC. A second input in the same
// period is not stored, and Submitted.Known reports it, for as long as the saver knows the id: see
// Submit. Choose the id of the thread by what is unique, such as "report-de".
//
// The time is that of the caller's clock. Periods are multiples of the period since the zero time,
// so 24 hours are a day in UTC. Processes whose clocks differ can store two inputs at the border
// of two periods. A period that is not positive is an error.
func UniqueByPeriod(period time.Duration) SubmitOption {
	return singleRunOption("RequestID", func(o *runOptions) {
		if period <= 0 {
			o.fault("UniqueByPeriod has a period of %v; give a positive one", period)
		}
		o.request = time.Now().UTC().Truncate(period).Format(time.RFC3339Nano)
	})
}

// nameRequest stores the request id in the record of an input.
func (r *run) nameRequest(rec *checkpoint.Record) error {
	if r.opt.request == "" {
		return nil
	}
	b, err := r.encodeInput()
	if err != nil {
		return err
	}
	meta := make(map[string]string, len(rec.Meta)+1)
	maps.Copy(meta, rec.Meta)
	journal.SetInput(meta, b)
	rec.Request, rec.Meta = r.opt.request, meta
	return nil
}

func (r *run) encodeInput() ([]byte, error) {
	b, err := r.state.encodeInput()
	if err != nil {
		return nil, fmt.Errorf("%s: encode the input: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	return b, nil
}

// isRequest reports whether begun, the record of an input, is the caller's request.
func (r *run) isRequest(begun *checkpoint.Record) (bool, error) {
	if begun.Request != r.opt.request {
		return false, nil
	}
	b, err := r.encodeInput()
	if err != nil {
		return false, err
	}
	same, known := journal.SameInput(begun.Meta, b)
	if !known || begun.Fingerprint != r.g.fingerprint {
		return true, nil // the same input may have other bytes under another schema
	}
	if !same {
		err = fmt.Errorf("%s: request %q of %s: %w; give a new input a new id",
			where(r.g.name, r.thread, begun.Step), r.opt.request, begun.Created.UTC().Format(time.RFC3339), ErrRequestReused)
	}
	return err == nil, err
}

// busyWith returns err. If another run holds the thread for the same request, busyWith sets
// Request in the error.
func (r *opener) busyWith(err error) error {
	var busy *checkpoint.BusyError
	if r.run.opt.request == "" || r.run.opt.wait || !errors.As(err, &busy) {
		return err
	}
	c, lost := r.load(checkpoint.ID{})
	if lost != nil {
		return err
	}
	again, other := r.run.repeats(&c)
	if errors.Is(other, ErrRequestReused) {
		return other
	}
	if again {
		busy.Request = r.run.opt.request // a saver returns a new error for each call
	}
	return err
}

// repeats reports whether the newest input of the head's run line is in, sent before under the
// same request id. It returns ErrRequestReused for another input under that id.
func (r *run) repeats(c *checkpoint.Chain) (bool, error) {
	if r.opt.request == "" || c.Empty() {
		return false, nil
	}
	for last := c.Last; ; {
		begun, err := r.begun(&last)
		if err == nil && begun.Source != checkpoint.Fork {
			return r.isRequest(&begun)
		}
		if err == nil && begun.Parent.IsZero() {
			return false, nil // an edit began the thread
		}
		var parent checkpoint.Chain
		if err == nil {
			parent, err = loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, At: begun.Parent})
		}
		if errors.Is(err, checkpoint.ErrNotFound) {
			return false, nil // it was pruned
		}
		if err != nil {
			return false, err
		}
		last = parent.Last
	}
}

// lineNear bounds the search for the record that began the run line of the newest record. Only a
// long run has more records; then that record is loaded by its id, with its chain.
const lineNear = 16

// begun returns the record that began the run line of last.
func (r *run) begun(last *checkpoint.Record) (checkpoint.Record, error) {
	if last.ID == last.Line {
		return *last, nil
	}
	for rec, err := range r.history(checkpoint.Query{Before: last.ID, Sources: everySource, Limit: lineNear}) {
		if err != nil || rec.ID == last.Line {
			return rec, err
		}
	}
	c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, At: last.Line})
	return c.Last, err
}
