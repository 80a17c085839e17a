package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Limits on what an opening stores about a run and its thread. All but MaxLabels are in bytes.
const (
	MaxHolder     = 1 << 10
	MaxGraph      = 200 // the name of the graph
	MaxTitle      = 1 << 10
	MaxLabels     = 32 // of one thread
	MaxLabelName  = 100
	MaxLabelValue = 200
)

// check returns an *InvalidError for the first value in o that no saver accepts, or nil.
func (o *Opening) check() error {
	if n := len(o.Holder); n > MaxHolder {
		return &InvalidError{"open.Holder", strconv.Itoa(n) + " bytes", fmt.Sprintf("at most %d", MaxHolder)}
	}
	return checkDescription("open.", o.Title, o.Labels, o.Priority)
}

func checkGraph(field, graph string) error {
	if n := len(graph); n > MaxGraph {
		return &InvalidError{field, fmt.Sprintf("%s, %d bytes", quote(graph), n), fmt.Sprintf("at most %d", MaxGraph)}
	}
	return nil
}

func checkDescription(within, title string, labels map[string]string, priority Priority) error {
	if n := len(title); n > MaxTitle {
		return &InvalidError{within + "Title", strconv.Itoa(n) + " bytes", fmt.Sprintf("at most %d", MaxTitle)}
	}
	if err := checkPriority(within+"Priority", priority); err != nil {
		return err
	}
	if len(labels) == 0 {
		return nil
	}
	if n := len(labels); n > MaxLabels {
		return TooManyLabels(within+"Labels", n)
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if name == "" || len(name) > MaxLabelName {
			return &InvalidError{within + "Labels", fmt.Sprintf("the name %s, %d bytes", quote(name), len(name)), fmt.Sprintf("1 to %d bytes", MaxLabelName)}
		}
		if n := len(labels[name]); n > MaxLabelValue {
			return &InvalidError{within + "Labels", fmt.Sprintf("a value of %s with %d bytes", quote(name), n), fmt.Sprintf("at most %d", MaxLabelValue)}
		}
	}
	return nil
}

// TooManyLabels returns the [*InvalidError] for a thread with more than [MaxLabels] labels. Savers
// use it.
func TooManyLabels(field string, n int) error {
	return &InvalidError{field, fmt.Sprintf("%d labels of one thread", n), fmt.Sprintf("at most %d", MaxLabels)}
}

// CheckDescription returns an [*InvalidError] if no saver can store the Graph, Title, Labels
// and Priority of t, or nil. Savers call it for an imported thread.
func (t Thread) CheckDescription() error {
	if err := checkGraph("thread.Graph", t.Graph); err != nil {
		return err
	}
	return checkDescription("thread.", t.Title, t.Labels, t.Priority)
}
