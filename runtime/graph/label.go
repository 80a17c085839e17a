package graph

import (
	"maps"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Title gives the thread a title for people, such as "Refund of order 7". It replaces an earlier
// title. Thread.Describe, Snapshot.Title and the listing of the saver return it.
//
// The saver stores the title in the call that opens the run. The title stays when the thread is
// released. It has 1 to checkpoint.MaxTitle bytes, otherwise the call returns an error.
func Title(title string) InputOption {
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
// checkpoint.MaxLabelName bytes, and a value at most checkpoint.MaxLabelValue. Otherwise the call
// returns an error and stores nothing.
func Label(name, value string) InputOption {
	return runOption(func(o *runOptions) {
		_, twice := o.labels[name]
		switch {
		case name == "":
			o.fault("Label has an empty name; name every label")
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
