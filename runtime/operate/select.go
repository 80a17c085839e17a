package operate

import (
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Selection selects threads in the words of a page or of a command line. The zero Selection
// selects all threads.
type Selection struct {
	Graph  string
	Prefix string        // of the id
	Status string        // the text of a checkpoint.Status; empty is any
	Order  string        // the text of a checkpoint.ThreadOrder; empty is the order of the ids
	Labels []string      // each name=value, and a thread has all of them
	Older  time.Duration // only threads created longer ago; 0 is all
	Newer  time.Duration // only threads created less long ago; 0 is all
	Idle   time.Duration // only threads that no run holds, last updated longer ago; 0 is all

	Filter // that no saver applies
}

// Query returns the part of the selection that a saver applies, at the time now. A search by node
// or error is newest first, and a search by error is of failed threads. Query returns a
// *RequestError for a word that names nothing. The Threads of an Operator apply the Filter.
func (s *Selection) Query(now time.Time) (q checkpoint.ThreadQuery, err error) {
	q.Graph, q.Prefix = s.Graph, s.Prefix
	if s.Status != "" {
		if q.Status, err = Choose("status", s.Status, Statuses()...); err != nil {
			return q, err
		}
	}
	if s.Order != "" {
		if q.Order, err = Choose("order", s.Order, checkpoint.NewestFirst, checkpoint.ByID); err != nil {
			return q, err
		}
	}
	if s.Searches() {
		q.Order = checkpoint.NewestFirst
	}
	if s.Error != "" {
		if q.Status != 0 && q.Status != checkpoint.Failed {
			return q, &RequestError{fmt.Sprintf("only failed threads have an error; leave out the status %q or the error", s.Status)}
		}
		q.Status = checkpoint.Failed
	}
	if s.Waits != "" {
		if _, err := Choose("wait", string(s.Waits), Kinds()...); err != nil {
			return q, err
		}
	}
	if q.Labels, err = Pairs("label", s.Labels); err != nil {
		return q, err
	}
	if s.Idle > 0 {
		q.IdleSince = now.Add(-s.Idle)
	}
	if s.Older > 0 {
		q.CreatedUntil = now.Add(-s.Older)
	}
	if s.Newer > 0 {
		q.CreatedSince = now.Add(-s.Newer)
	}
	return q, nil
}

// All reports whether the selection selects all threads.
func (s *Selection) All() bool {
	q, err := s.Query(time.Time{})
	return err == nil && !q.Filtered() && q.Prefix == "" && s.Any()
}

// Statuses returns all statuses of threads.
func Statuses() (all []checkpoint.Status) {
	for s := checkpoint.Running; s <= checkpoint.Cancelled; s++ {
		all = append(all, s)
	}
	return all
}

// Choose returns the one of all whose text is name. It returns a *RequestError with the texts of
// all if there is none. what is the noun of the error.
func Choose[T fmt.Stringer](what, name string, all ...T) (T, error) {
	texts := make([]string, len(all))
	for i, one := range all {
		if texts[i] = one.String(); texts[i] == name {
			return one, nil
		}
	}
	var none T
	return none, &RequestError{fmt.Sprintf("there is no %s %q; want one of %s", what, name, strings.Join(texts, ", "))}
}

// Pairs returns texts of the form name=value as a map, nil for none. It returns a *RequestError
// for any other text. what is the noun of the error.
func Pairs(what string, texts []string) (map[string]string, error) {
	var all map[string]string
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, &RequestError{fmt.Sprintf("the %s %q is not name=value", what, text)}
		}
		if all == nil {
			all = make(map[string]string)
		}
		all[name] = value
	}
	return all, nil
}
