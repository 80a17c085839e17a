package ledger

import (
	"maps"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// About describes a thread in all its versions. It never changes: Opened and Imported return new
// ones.
type About struct {
	Graph   string
	Created time.Time // zero if the thread has not begun
	Title   string
	Labels  map[string]string
}

// Opened returns the description after an opening that was accepted at the time now. changed
// reports whether it differs.
func (b About) Opened(a *checkpoint.Append, now time.Time) (after About, changed bool, err error) {
	return b.with(a.Records[0].Graph, a.Open.Title, a.Open.Labels, now, "open.Labels")
}

// Imported returns the description after an Import of t at the time now. If t has no time of
// creation, that of a new thread is now.
func (b About) Imported(t *checkpoint.Thread, now time.Time) (About, error) {
	if !t.Created.IsZero() {
		now = t.Created
	}
	after, _, err := b.with(t.Graph, t.Title, t.Labels, now, "thread.Labels")
	return after, err
}

func (b About) with(graph, title string, labels map[string]string, created time.Time, field string) (after About, changed bool, err error) {
	after = b
	if b.Created.IsZero() {
		after.Created, changed = Micro(created), true
	}
	if graph != "" && graph != b.Graph {
		after.Graph, changed = strings.Clone(graph), true
	}
	if title != "" && title != b.Title {
		after.Title, changed = strings.Clone(title), true
	}
	relabelled := false
	for name, value := range labels {
		relabelled = relabelled || b.Labels[name] != value
	}
	if !relabelled {
		return after, changed, nil
	}
	after.Labels = make(map[string]string, len(b.Labels)+len(labels))
	maps.Copy(after.Labels, b.Labels)
	for name, value := range labels {
		if value == "" {
			delete(after.Labels, name)
		} else {
			after.Labels[strings.Clone(name)] = strings.Clone(value)
		}
	}
	switch n := len(after.Labels); {
	case n > checkpoint.MaxLabels:
		return b, false, checkpoint.TooManyLabels(field, n)
	case n == 0:
		after.Labels = nil
	}
	return after, true, nil
}

// Describe sets the fields of t that b has.
func (b About) Describe(t *checkpoint.Thread) {
	t.Graph, t.Created, t.Title, t.Labels = b.Graph, b.Created, b.Title, b.Labels
}

// Labelled reports whether labels has all of want.
func Labelled(labels, want map[string]string) bool {
	for name, value := range want {
		if got, found := labels[name]; !found || got != value {
			return false
		}
	}
	return true
}
