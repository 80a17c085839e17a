package ledger

import (
	"maps"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// About describes a thread in all its versions. It never changes: After and Imported return new
// ones.
type About struct {
	Graph    string
	Created  time.Time // zero if the thread has not begun
	Birth    checkpoint.ID
	Title    string
	Labels   map[string]string
	Priority checkpoint.Priority // zero is Normal
}

// After returns the description after an Append that was accepted at the time now. changed reports
// whether it differs.
func (b About) After(a *checkpoint.Append, now time.Time) (after About, changed bool, err error) {
	switch {
	case a.Open != nil:
		return b.with(About{Graph: a.Records[0].Graph, Created: now, Title: a.Open.Title, Labels: a.Open.Labels, Priority: a.Open.Priority}, "open.Labels")
	case len(a.Labels) > 0:
		return b.with(About{Created: now, Labels: a.Labels}, "Labels")
	}
	return b, false, nil // as after most commits
}

// Imported returns the description after an Import of t at the time now. If t has no time of
// creation, that of a new thread is now.
func (b About) Imported(t *checkpoint.Thread, now time.Time) (About, error) {
	if !t.Created.IsZero() {
		now = t.Created
	}
	after, _, err := b.with(About{Graph: t.Graph, Created: now, Title: t.Title, Labels: t.Labels, Priority: t.Priority}, "thread.Labels")
	return after, err
}

// with returns the description after a change. A field that is empty in the change stays.
func (b About) with(change About, field string) (after About, changed bool, err error) {
	after = b
	if b.Created.IsZero() {
		after.Created, changed = Micro(change.Created), true
		if after.Birth, err = checkpoint.NewID(); err != nil {
			return b, false, err
		}
	}
	if change.Graph != "" && change.Graph != b.Graph {
		after.Graph, changed = strings.Clone(change.Graph), true
	}
	if change.Title != "" && change.Title != b.Title {
		after.Title, changed = strings.Clone(change.Title), true
	}
	if p := change.Priority.Or(b.Rank()); p != b.Rank() {
		after.Priority, changed = p, true
	}
	relabelled := false
	for name, value := range change.Labels {
		relabelled = relabelled || b.Labels[name] != value
	}
	if !relabelled {
		return after, changed, nil
	}
	after.Labels = make(map[string]string, len(b.Labels)+len(change.Labels))
	maps.Copy(after.Labels, b.Labels)
	for name, value := range change.Labels {
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
	t.Graph, t.Created, t.Title, t.Labels, t.Priority = b.Graph, b.Created, b.Title, b.Labels, b.Rank()
}

// IsBirth reports whether a call that names the Birth of a thread is meant for the thread with the
// Birth found.
func IsBirth(named, found checkpoint.ID) bool { return named.IsZero() || named == found }

// Rank returns the priority of the thread.
func (b About) Rank() checkpoint.Priority { return b.Priority.Or(checkpoint.Normal) }

// Labelled reports whether labels has all of want.
func Labelled(labels, want map[string]string) bool {
	for name, value := range want {
		if got, found := labels[name]; !found || got != value {
			return false
		}
	}
	return true
}
