package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Filter selects threads by what no saver has an index for, so the threads that the saver lists
// are read. The zero Filter selects all threads.
type Filter struct {
	// Text is part of the id, of the title or of a label name=value. Case does not count.
	Text string
	// Waits selects the threads that wait for this; empty is any. A thread that waits for a
	// question, signal, timer or child and also for a queue is selected by the former only.
	Waits Kind
	Stuck bool // only threads whose wait is stuck: see Standing
	// Waited selects the threads that have waited for longer, for whatever they wait; 0 is any.
	// For a task in a queue it counts from the last update of the thread.
	Waited time.Duration
	// Node selects the threads with a due task of this node that has not finished. Error selects
	// the failed threads with this text in the error of a task; case does not count. Both read
	// each thread, so Threads searches the first Searched ones only.
	Node, Error string
}

// Searched is the number of threads that a search by node or error reads at most.
const Searched = 10_000

// SearchError is the end of a list whose search by node or error has read Searched threads.
type SearchError struct {
	After checkpoint.Thread // the last one that was read
}

func (e *SearchError) Error() string {
	return fmt.Sprintf("the search by node or error has read %d threads, and further ones follow thread %q; narrow it by other filters, or continue there",
		Searched, e.After.ID)
}

// Any reports whether the filter selects all threads.
func (f Filter) Any() bool { return f == Filter{} }

// Reads reports whether Match may read a thread.
func (f Filter) Reads() bool { return f.Searches() || f.Waits == KindQueue || f.Waits == "" && f.Stuck }

// Searches reports whether the filter has a Node or an Error.
func (f Filter) Searches() bool { return f.Node != "" || f.Error != "" }

// finds reports whether a thread has the Text.
func (f Filter) finds(t *checkpoint.Thread) bool {
	if has(t.ID, f.Text) || has(t.Title, f.Text) {
		return true
	}
	for name, value := range t.Labels {
		if has(name+"="+value, f.Text) {
			return true
		}
	}
	return false
}

// has reports whether a text has a part. Case does not count.
func has(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// stands reports whether a thread has a due task that the Node and the Error of the filter select.
// It returns a *LockedError if it cannot read the errors.
func (o *Operator) stands(ctx context.Context, f Filter, t *checkpoint.Thread) (bool, error) {
	p, err := o.position(ctx, checkpoint.Ref{Thread: t.ID}, false)
	if err == nil && f.Error != "" {
		err = p.Locked
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(p.Snap.Tasks, func(s graph.TaskState) bool {
		return !s.Finished && (f.Node == "" || string(s.Node) == f.Node) && has(s.Failure, f.Error)
	}), nil
}

// Match returns the Standing of a listed thread at the time now, and whether the filter selects
// the thread. read reports that it has read the thread. It does so for a Node or an Error, and
// for a thread that may wait for a queue. With an error that is Unreadable, the results are those
// of the list alone.
func (o *Operator) Match(ctx context.Context, f Filter, t *checkpoint.Thread, now time.Time) (s Standing, ok, read bool, err error) {
	s = o.Standing(t, now)
	if !f.finds(t) {
		return s, false, false, nil
	}
	found := true
	if f.Searches() {
		ended := t.Version == 0 || t.Status == checkpoint.Done || t.Status == checkpoint.Cancelled
		if read = !ended && (f.Error == "" || t.Status == checkpoint.Failed); !read {
			return s, false, false, nil
		}
		found, err = o.stands(ctx, f, t)
	}
	if err == nil && found && s.queue && f.Reads() && (!f.Stuck || now.Sub(t.Updated) > overdue) {
		read, err = true, o.Complete(ctx, t, now, &s)
	}
	if errors.Is(err, checkpoint.ErrNotFound) || !found && err == nil {
		return s, false, read, nil // it may be deleted since it was listed
	}
	long := f.Waited == 0 || s.Since != nil && now.Sub(*s.Since) > f.Waited
	return s, long && (f.Waits == "" || s.Kind == f.Waits) && (!f.Stuck || s.Stuck), read, err
}

// Found is a thread that a search has read.
type Found struct {
	checkpoint.Thread // of a damaged one only the ID and Created, each if it can be read

	Wait    Standing
	Match   bool  // the filter selects the thread, and Sees does not hide it
	Hidden  bool  // Sees hides it, and the rest of Found but the Thread is not set
	Read    bool  // the filter has read the thread itself: see Operator.Match
	Damaged error // why the list could not read the thread; nil if it could
	Unread  error // why the filter could not read it, so that Match is unknown; nil if it could
}

// Search yields all threads that a query lists, with what the filter says of them. So a caller can
// stop after a number of threads or a time, and continue later after the last one. Any error but
// that of a single thread ends the list.
func (o *Operator) Search(ctx context.Context, q checkpoint.ThreadQuery, f Filter) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		for t, err := range o.Saver.Threads(ctx, q) {
			s := Found{Thread: t}
			switch {
			case err != nil && !OfOneThread(&t, err):
				yield(Found{}, err)
				return
			case o.Sees != nil && (t.ID == "" || !o.Sees(&t)):
				s.Hidden = true
			case err != nil:
				s.Damaged, s.Match = err, f.finds(&t)
			default:
				if s.Wait, s.Match, s.Read, s.Unread = o.Match(ctx, f, &t, now(&t)); s.Unread != nil && !Unreadable(s.Unread) {
					yield(Found{}, s.Unread)
					return
				}
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Threads yields those threads of Search that match, with what they wait for. An error of one
// thread alone does not end the list: see OfOneThread. Any other error has no thread, and ends the
// list. The Limit of the query counts the selected threads. A search by node or error ends with a
// *SearchError after Searched threads.
func (o *Operator) Threads(ctx context.Context, q checkpoint.ThreadQuery, f Filter) iter.Seq2[Found, error] {
	left := q.Limit
	if !f.Any() || o.Sees != nil {
		q.Limit = 0
	}
	return func(yield func(Found, error) bool) {
		searched := 0
		var last checkpoint.Thread
		for s, err := range o.Search(ctx, q, f) {
			if searched == Searched && err == nil && s.Read {
				err = &SearchError{last}
			}
			if err != nil {
				yield(Found{}, err)
				return
			}
			last = s.Thread
			if s.Read && f.Searches() {
				searched++
			}
			if !s.Match && s.Unread == nil {
				continue
			}
			if !yield(s, cmp.Or(s.Damaged, s.Unread)) {
				return
			}
			if s.Damaged != nil {
				continue
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

// now returns when the saver has listed a thread, on its clock.
func now(t *checkpoint.Thread) time.Time {
	if t.Now.IsZero() {
		return time.Now()
	}
	return t.Now
}
