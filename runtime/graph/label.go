package graph

import (
	"context"
	"fmt"
	"maps"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Title gives the thread a title for people, such as "Refund of order 7". It replaces an earlier
// title. Thread.Describe, Snapshot.Title and the listing of the saver return it.
//
// The saver stores the title in the call that opens the run. The title stays when the thread is
// released. It has 1 to checkpoint.MaxTitle bytes, otherwise the call returns an error.
func Title(title string) interface {
	InvokeOption
	SubmitOption
	UpdateOption
	ChildOption
} {
	return singleRunOption("Title", func(o *runOptions) {
		switch n := len(title); {
		case n == 0:
			o.fault("Title is empty; leave the option out to keep the title of the thread")
		case n > checkpoint.MaxTitle:
			o.fault("Title has %d bytes, more than the %d that a thread can have", n, checkpoint.MaxTitle)
		}
		o.title = title
	})
}

// Label gives the thread a label, such as Label("user", "ada"). The saver lists threads by their
// labels: see checkpoint.ThreadQuery. It can be given several times, with different names.
//
// A label stays until a later call gives another value, also when the thread is released. An empty
// value removes the label. A thread has at most checkpoint.MaxLabels labels. A name has 1 to
// checkpoint.MaxLabelName bytes, and a value at most checkpoint.MaxLabelValue. A name that begins
// with two underscores is reserved, see ParentLabel. Otherwise the call returns an error and
// stores nothing.
func Label(name, value string) interface {
	InvokeOption
	SubmitOption
	UpdateOption
	ChildOption
} {
	return runOption(func(o *runOptions) {
		_, twice := o.labels[name]
		switch {
		case name == "":
			o.fault("Label has an empty name; name every label")
		case reserved(name):
			o.fault("Label has the name %q, and those that begin with %q are reserved; choose another name", name, ReservedPrefix)
		case len(name) > checkpoint.MaxLabelName:
			o.fault("Label has a name of %d bytes, more than %d", len(name), checkpoint.MaxLabelName)
		case len(value) > checkpoint.MaxLabelValue:
			o.fault("Label %q has a value of %d bytes, more than %d", name, len(value), checkpoint.MaxLabelValue)
		case twice:
			o.fault("Label %q is given twice; give it once", name)
		case len(o.labels) == checkpoint.MaxLabels:
			o.fault("more than %d labels", checkpoint.MaxLabels)
		}
		o.labels = maps.Clone(o.labels)
		if o.labels == nil {
			o.labels = make(map[string]string)
		}
		o.labels[name] = value
	})
}

// Priority gives the thread a priority, such as Priority(checkpoint.High). It replaces an earlier
// one; the default is checkpoint.Normal for new threads. Workers take the due threads of a graph
// by priority, the highest first.
//
// The priority belongs to the thread and not to the input. Submit sets it when it stores the
// input, also while earlier inputs wait or run. It stays when the thread is released. An unknown
// priority is an error.
func Priority(p checkpoint.Priority) interface {
	InvokeOption
	SubmitOption
	UpdateOption
	ChildOption
} {
	return singleRunOption("Priority", func(o *runOptions) {
		if p < checkpoint.Urgent || p > checkpoint.Low {
			o.fault("Priority is %d; want checkpoint.Urgent, High, Normal or Low", p)
		}
		o.priority = p
	})
}

// ThreadLabel returns a label of the thread whose node or route runs under ctx. It also works in
// subgraphs, in sends, and in a child context of ctx, even after the node has returned. With
// store.Scoped it confines a node to the items of one user: see the example.
//
// A run has the labels that its thread has at the start of the run, with those that the run was
// given by Label. ThreadLabel returns ErrNoLabel if there is no such label, if the run has no
// thread, and under a context of no run. The value is never empty if the error is nil.
//
// The first run of a version has not read the thread. There, ThreadLabel reads the labels of the
// thread when the node asks for one that the run was not given. It returns a *SaverError if that
// fails.
func ThreadLabel(ctx context.Context, name string) (value string, err error) {
	value, err = task.Label(ctx, name)
	if err == nil && value == "" {
		err = fmt.Errorf("graph: label %q: %w; pass graph.Label to the call that starts the thread", name, ErrNoLabel)
	}
	return value, err
}

// label gives the nodes and routes of r the labels of its thread: before, and those of the call,
// which the opening adds.
func label(r *opener, before *task.Labels) {
	if r.labels = before.With(r.run.opt.labels); r.labels == nil {
		r.labels = task.NewLabels(nil, nil) // nodes may set some
	}
	r.run.ctx = task.WithLabels(r.run.ctx, r.labels)
}

// labelsOf returns the labels of a loaded thread.
func labelsOf(g *core, thread string, c *checkpoint.Chain) *task.Labels {
	switch {
	case c.Empty(): // the thread can have earlier versions
		return task.NewLabels(nil, func(ctx context.Context) (map[string]string, error) {
			c, err := loadChain(ctx, g, g.opt.saver, checkpoint.Ref{Thread: thread, Namespace: checkpoint.NoCall})
			return c.Thread.Labels, err
		})
	case len(c.Thread.Labels) == 0:
		return nil
	}
	return task.NewLabels(c.Thread.Labels, nil)
}
