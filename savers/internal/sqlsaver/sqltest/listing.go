package sqltest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Listing is a database with N idle threads, thread-000000 and so on. Every hundredth waits for an
// answer. Later threads have been idle for longer, and were created earlier. Thread i has the
// graph GraphOf(i) and the label "user" UserOf(i).
type Listing struct {
	N int
	// Open opens a saver on it.
	Open func() (checkpoint.Saver, error)
	// Read closes a saver that Open opened and returns how many rows and index entries the server
	// has ever read in its tables, and how many blocks of them; 0 if it does not count blocks.
	Read func(s checkpoint.Saver) (rows, blocks int)
}

// GraphOf returns the name of the graph of thread i.
func GraphOf(i int) string { return fmt.Sprintf("graph-%03d", i%200) }

// UserOf returns the value of the label "user" of thread i.
func UserOf(i int) string { return fmt.Sprintf("u%03d", i%1000) }

// user returns the label of the i-th thread.
func user(i int) map[string]string { return map[string]string{"user": UserOf(i)} }

// query is one that selects some threads.
type query struct {
	checkpoint.ThreadQuery
	found int
}

// queries returns the listings that are measured, each with how many threads it returns.
func (l *Listing) queries() map[string]query {
	return map[string]query{
		"all":                  {checkpoint.ThreadQuery{}, l.N},
		"a page":               {checkpoint.ThreadQuery{Limit: 50}, 50},
		"a page in the middle": {checkpoint.ThreadQuery{Limit: 50, After: fmt.Sprintf("thread-%06d", l.N/2)}, 50},
		"a prefix":             {checkpoint.ThreadQuery{Prefix: "thread-0099"}, 100},
		"all that wait":        {checkpoint.ThreadQuery{Status: checkpoint.Waiting, IdleSince: time.Now().Add(time.Hour)}, l.N / 100},
	}
}

// newest returns queries in the order NewestFirst. The thread with the smallest id is the newest.
func (l *Listing) newest(created time.Time) map[string]query {
	later, middle := time.Now().Add(time.Hour), fmt.Sprintf("thread-%06d", l.N/2)
	last := time.Now().Add(-time.Duration(l.N-100) * time.Second)
	all := map[string]query{
		"all, as metrics do":     {checkpoint.ThreadQuery{Status: checkpoint.Done, Limit: l.N / 2}, l.N / 2},
		"a page":                 {checkpoint.ThreadQuery{Limit: 100}, 100},
		"a page in the middle":   {checkpoint.ThreadQuery{Limit: 100, After: middle}, 100},
		"a prefix of few":        {checkpoint.ThreadQuery{Prefix: "thread-0099"}, 100},
		"a prefix of all":        {checkpoint.ThreadQuery{Prefix: "thread-", Limit: 100}, 100},
		"waiting":                {checkpoint.ThreadQuery{Status: checkpoint.Waiting, Limit: 100}, 100},
		"waiting, a page":        {checkpoint.ThreadQuery{Status: checkpoint.Waiting, Limit: 50, After: middle}, 50},
		"done, a page":           {checkpoint.ThreadQuery{Status: checkpoint.Done, Limit: 100, After: middle}, 100},
		"failed, of which none":  {checkpoint.ThreadQuery{Status: checkpoint.Failed}, 0},
		"cancelled: none":        {checkpoint.ThreadQuery{Status: checkpoint.Cancelled}, 0},
		"idle":                   {checkpoint.ThreadQuery{IdleSince: later, Limit: 50}, 50},
		"idle, a page":           {checkpoint.ThreadQuery{IdleSince: later, Limit: 50, After: middle}, 50},
		"idle, the last few":     {checkpoint.ThreadQuery{IdleSince: last, Limit: 50}, 50},
		"idle for too long":      {checkpoint.ThreadQuery{IdleSince: time.Unix(1, 0)}, 0},
		"waiting, the last idle": {checkpoint.ThreadQuery{IdleSince: last, Status: checkpoint.Waiting, Limit: 1}, 1},
		"a label":                {checkpoint.ThreadQuery{Labels: user(42), Limit: 10}, 10},
		"a label with a prefix":  {checkpoint.ThreadQuery{Labels: user(42), Prefix: "thread-0090"}, 1},
		"a label, idle":          {checkpoint.ThreadQuery{Labels: user(42), IdleSince: later, Limit: 10}, 10},
		"a label, a page":        {checkpoint.ThreadQuery{Labels: user(42), Limit: 5, After: middle}, 5},
		"a label, waiting":       {checkpoint.ThreadQuery{Labels: user(99), Status: checkpoint.Waiting, Limit: 10}, 10},
		"a label of nobody":      {checkpoint.ThreadQuery{Labels: map[string]string{"user": "nobody"}}, 0},
		"a label, long ago":      {checkpoint.ThreadQuery{Labels: user(l.N - 1), CreatedUntil: last, Limit: 1}, 1},
		"a graph":                {checkpoint.ThreadQuery{Graph: GraphOf(7), Limit: 50}, 50},
		"a graph, a page":        {checkpoint.ThreadQuery{Graph: GraphOf(7), Limit: 10, After: middle}, 10},
		"a graph, waiting":       {checkpoint.ThreadQuery{Graph: GraphOf(99), Status: checkpoint.Waiting, Limit: 10}, 10},
		"a graph, done":          {checkpoint.ThreadQuery{Graph: GraphOf(7), Status: checkpoint.Done, Limit: 10}, 10},
		"a graph, failed: none":  {checkpoint.ThreadQuery{Graph: GraphOf(7), Status: checkpoint.Failed}, 0},
		"a graph, long ago":      {checkpoint.ThreadQuery{Graph: GraphOf(l.N - 1), CreatedUntil: last}, 1},
		"created long ago":       {checkpoint.ThreadQuery{CreatedUntil: last, Limit: 20}, 20},
		"created at any time":    {checkpoint.ThreadQuery{CreatedSince: time.Unix(1, 0), Limit: 100}, 100},
		"created in no time":     {checkpoint.ThreadQuery{CreatedSince: later}, 0},
	}
	for name, q := range all {
		if q.Order = checkpoint.NewestFirst; q.After != "" {
			q.AfterCreated = created.Add(-time.Duration(l.N/2) * time.Second)
		}
		all[name] = q
	}
	return all
}

// check fails unless a thread may follow the thread before in a list.
func (q *query) check(before, t *checkpoint.Thread) error {
	if waits := t.Status == checkpoint.Waiting; waits != (len(t.Questions) == 1) {
		return fmt.Errorf("%q is %s and has %d questions", t.ID, t.Status, len(t.Questions))
	}
	switch {
	case t.Head.IsZero():
		return fmt.Errorf("%q has no head", t.ID)
	case t.ID <= q.After, t.ID <= before.ID: // in both orders
		return fmt.Errorf("%q comes after %q and %q", t.ID, q.After, before.ID)
	case q.NewestFirst() && before.ID != "" && !t.Created.Before(before.Created):
		return fmt.Errorf("%q of %v comes after %q of %v", t.ID, t.Created, before.ID, before.Created)
	}
	return nil
}

// ByIndex lists threads in all ways and counts what the server reads. That must grow with the
// number of listed threads, not with the number of all threads.
func (l *Listing) ByIndex(t *testing.T) {
	t.Helper()
	open := func() checkpoint.Saver {
		s, err := l.Open()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before, blocksBefore := l.Read(open())
	now, blocks := l.Read(open())
	opening, blocksOpening := now-before, blocks-blocksBefore
	first, err := firstThread(t, open())
	if err != nil {
		t.Fatal(err)
	}
	all := l.queries()
	for name, q := range l.newest(first.Created) {
		all["newest first: "+name] = q
	}
	now, blocks = l.Read(open())
	for name, q := range all {
		s, before, blocksBefore := open(), now, blocks
		found, last := 0, checkpoint.Thread{}
		for thread, err := range s.Threads(t.Context(), q.ThreadQuery) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := q.check(&last, &thread); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			last = thread
			found++
		}
		if found != q.found {
			t.Errorf("%s: %d threads, want %d", name, found, q.found)
		}
		// For a thread the server reads its row, and the row of its head twice. It reads the rows
		// of a question, its base and the record after the base. It also reads entries of indexes.
		// MySQL 8.0 reads some of them twice until it has counted its rows. NewestFirst counts up
		// to a thousand threads that have a prefix, and reads and sorts them if they are fewer.
		// Some servers count rows of a temporary table.
		now, blocks = l.Read(s)
		read, most := now-before-opening, 24*(found+2)
		if q.NewestFirst() && q.Prefix != "" {
			most += 3100
		}
		readBlocks, mostBlocks := blocks-blocksBefore-blocksOpening, 2*most // an entry and its row
		t.Logf("%s: %d threads, %d rows and entries in %d blocks read", name, found, read, readBlocks)
		if read > most || readBlocks > mostBlocks {
			t.Errorf("%s: %d threads of %d: %d rows and entries in %d blocks read, want at most %d in %d", name, found, l.N, read, readBlocks, most, mostBlocks)
		}
	}
}

// firstThread returns the thread with the smallest id, and closes s.
func firstThread(t *testing.T, s checkpoint.Saver) (first checkpoint.Thread, err error) {
	t.Helper()
	for first, err = range s.Threads(t.Context(), checkpoint.ThreadQuery{Limit: 1}) {
		if err != nil {
			break
		}
	}
	return first, errors.Join(err, s.Close())
}
