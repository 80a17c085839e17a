package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ThreadOrder is the order in which a [Saver] lists threads.
type ThreadOrder uint8

// The orders of threads.
const (
	// ByID lists threads by their ids, bytewise.
	ByID ThreadOrder = iota
	// NewestFirst lists the thread with the latest Created first. Threads with the same Created
	// are in descending order of their ids, so the order is total.
	NewestFirst
)

// String returns "id" or "newest".
func (o ThreadOrder) String() string {
	switch o {
	case ByID:
		return "id"
	case NewestFirst:
		return "newest"
	}
	return "order " + strconv.Itoa(int(o))
}

// TaskPrefix begins the ids of threads that are tasks of queues: see graph.Queue. Lists leave them
// out, because users know the threads that wait for the tasks. See [ThreadQuery.SelectsID].
const TaskPrefix = "__task-"

// TaskID returns the id of a thread that is a task of a queue. parent is the thread that waits for
// the task, and task what distinguishes it from the other tasks of parent.
func TaskID(parent, task string) string {
	return fmt.Sprintf("%s%016x-%s", TaskPrefix, ThreadHash(parent), task)
}

// ThreadHash returns the number by which storages with several parts place a thread. A task of a
// queue has that of the thread that waits for it. The number of an id never changes.
func ThreadHash(id string) uint64 {
	if rest, task := strings.CutPrefix(id, TaskPrefix); task {
		digits, _, _ := strings.Cut(rest, "-")
		if parent, err := strconv.ParseUint(digits, 16, 64); err == nil && len(digits) == 16 {
			return parent
		}
	}
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// ThreadQuery selects threads. The zero ThreadQuery selects all but tasks of queues, by their ids.
//
// Status, IdleSince, Graph, Labels, CreatedSince and CreatedUntil are filters. A list with a
// filter is newest first, whatever Order says.
//
// To read the next page in either order, set After and AfterCreated to the ID and Created of the
// last thread of the page. The pages have no gaps and no doubles, even if that thread was deleted
// meanwhile. NewestFirst leaves out threads that were created after the first page was read. ByID
// lists those whose ids are still to come.
type ThreadQuery struct {
	ID     string      // only the thread with this id, also a task of a queue; empty is all; not a filter
	Order  ThreadOrder // of a list without filters
	Prefix string      // of the thread id; not a filter; a list has tasks of queues if it begins with TaskPrefix
	After  string      // only threads that follow the thread with this id in the order, for paging; empty is all
	Limit  int         // the maximum number of threads; less than 1 is all

	// AfterCreated is the Created of the thread After. A list that is newest first needs it to
	// know where that thread stood, and ByID ignores it. The thread need not exist.
	AfterCreated time.Time

	Status       Status            // zero is any
	IdleSince    time.Time         // only threads without a live lease that were created and last updated before this time; zero is all
	Graph        string            // empty is any
	Labels       map[string]string // only threads that have all of these labels
	CreatedSince time.Time         // only threads created at or after this time; zero is all
	CreatedUntil time.Time         // only threads created before this time; zero is all

	// Brief asks for the ID, the Graph, the Status and the Created of each thread. A saver may
	// leave out the rest, and damage that it does not read. The savers of package rows then read
	// a list by Status from an index alone.
	Brief bool

	// Released also selects threads whose versions are all released. It is not a filter. Such a
	// thread has Version 0, Status 0 and no Updated, so a query with a Status or with IdleSince
	// selects none. A saver may have no index of these threads, and then each query reads all
	// threads. So Released is for copies, checks and cleaning, and not for short pages.
	Released bool
}

// SelectsID reports whether q selects a thread by its id. The id must be ID, if that is set, and
// begin with Prefix. A task of a queue is selected only if ID or Prefix begins with TaskPrefix. A
// saver may have no index of tasks in another order than ByID. Then each such query reads all
// tasks with the prefix.
func (q *ThreadQuery) SelectsID(id string) bool {
	return (q.ID == "" || id == q.ID) && strings.HasPrefix(id, q.Prefix) && (q.Tasks() || !strings.HasPrefix(id, TaskPrefix))
}

// Tasks reports whether q selects only tasks of queues, because ID or Prefix begins with
// TaskPrefix.
func (q *ThreadQuery) Tasks() bool {
	return strings.HasPrefix(q.ID, TaskPrefix) || strings.HasPrefix(q.Prefix, TaskPrefix)
}

// FindThread returns the thread with an id as the saver lists it. It returns an error that is
// ErrNotFound if no list has the thread: nothing is stored, or no version is open and no input
// waits. For a damaged thread it returns an error that is ErrDamaged, with a Thread that has the
// ID.
func FindThread(ctx context.Context, s Saver, id string) (Thread, error) {
	if err := CheckThread(id); err != nil {
		return Thread{}, err
	}
	for t, err := range s.Threads(ctx, ThreadQuery{ID: id}) {
		if t.ID == id || err != nil && !errors.Is(err, ErrDamaged) { // of another thread, whose id is unknown
			return t, err
		}
	}
	return Thread{}, fmt.Errorf("thread %s: %w", quote(id), ErrNotFound)
}

// Filtered reports whether q has a filter.
func (q *ThreadQuery) Filtered() bool {
	return q.Status != 0 || !q.IdleSince.IsZero() || q.Graph != "" || len(q.Labels) > 0 || !q.CreatedSince.IsZero() || !q.CreatedUntil.IsZero()
}

// NewestFirst reports whether the list is newest first, because of Order or because of a filter.
func (q *ThreadQuery) NewestFirst() bool { return q.Order == NewestFirst || q.Filtered() }

// Check returns an [*InvalidError] for the first value in q that no saver accepts, or nil. Every
// saver calls it first. It needs no storage.
func (q *ThreadQuery) Check() error {
	switch {
	case q.Order > NewestFirst:
		return &InvalidError{"order", strconv.Itoa(int(q.Order)), "ByID or NewestFirst"}
	case q.NewestFirst() && q.After != "" && q.AfterCreated.IsZero():
		return &InvalidError{"afterCreated", "none, with after " + quote(q.After), "both, or neither: the id and Created of the last thread; a list with filters is newest first"}
	case q.NewestFirst() && q.After == "" && !q.AfterCreated.IsZero():
		return &InvalidError{"after", "none, with afterCreated " + q.AfterCreated.Format(time.RFC3339Nano), "both, or neither: the id and Created of the last thread"}
	}
	return nil
}
