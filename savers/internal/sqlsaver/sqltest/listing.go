package sqltest

import (
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
	// has ever read in its tables.
	Read func(s checkpoint.Saver) int
}

// Pattern makes one thread that waits for an answer, and returns the id of its head. A test copies
// its rows. Pattern closes s.
func Pattern(tb testing.TB, s checkpoint.Saver) checkpoint.ID {
	tb.Helper()
	id, err := checkpoint.NewID()
	if err == nil {
		_, err = s.Append(tb.Context(), checkpoint.Append{
			Thread: "pattern", Open: &checkpoint.Opening{}, End: true, Status: checkpoint.Done,
			Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true}},
			Writes:  []checkpoint.Write{{Base: id, Task: "a", Kind: checkpoint.Question}},
		})
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// GraphOf returns the name of the graph of thread i.
func GraphOf(i int) string { return fmt.Sprintf("graph-%03d", i%200) }

// UserOf returns the value of the label "user" of thread i.
func UserOf(i int) string { return fmt.Sprintf("u%03d", i%1000) }

func user(i int) map[string]string { return map[string]string{"user": UserOf(i)} }

// query is one that selects some threads.
type query struct {
	checkpoint.ThreadQuery
	found int
}

func (l *Listing) queries() map[string]query {
	later, middle := time.Now().Add(time.Hour), fmt.Sprintf("thread-%06d", l.N/2)
	last := time.Now().Add(-time.Duration(l.N-100) * time.Second) // of some hundred, which end the list
	return map[string]query{
		"a page":                 {checkpoint.ThreadQuery{Limit: 50}, 50},
		"a page in the middle":   {checkpoint.ThreadQuery{Limit: 50, After: middle}, 50},
		"a prefix":               {checkpoint.ThreadQuery{Prefix: "thread-0099"}, 100},
		"waiting":                {checkpoint.ThreadQuery{Status: checkpoint.Waiting, Limit: 50}, 50},
		"waiting, a page":        {checkpoint.ThreadQuery{Status: checkpoint.Waiting, Limit: 50, After: middle}, 50},
		"waiting with a prefix":  {checkpoint.ThreadQuery{Status: checkpoint.Waiting, Prefix: "thread-009"}, 10},
		"failed, of which none":  {checkpoint.ThreadQuery{Status: checkpoint.Failed}, 0},
		"idle":                   {checkpoint.ThreadQuery{IdleSince: later, Limit: 50}, 50},
		"idle, a page":           {checkpoint.ThreadQuery{IdleSince: later, Limit: 50, After: middle}, 50},
		"idle, the last few":     {checkpoint.ThreadQuery{IdleSince: last, Limit: 50}, 50},
		"idle for too long":      {checkpoint.ThreadQuery{IdleSince: time.Unix(1, 0)}, 0},
		"waiting and idle":       {checkpoint.ThreadQuery{IdleSince: later, Status: checkpoint.Waiting, Limit: 50}, 50},
		"failed and idle: none":  {checkpoint.ThreadQuery{IdleSince: later, Status: checkpoint.Failed}, 0},
		"waiting, the last idle": {checkpoint.ThreadQuery{IdleSince: last, Status: checkpoint.Waiting, Limit: 1}, 1},
		"a label":                {checkpoint.ThreadQuery{Labels: user(42), Limit: 10}, 10},
		"a label, a page":        {checkpoint.ThreadQuery{Labels: user(42), Limit: 5, After: middle}, 5},
		"a label with a prefix":  {checkpoint.ThreadQuery{Labels: user(42), Prefix: "thread-0090"}, 1},
		"a label, waiting":       {checkpoint.ThreadQuery{Labels: user(99), Status: checkpoint.Waiting, Limit: 10}, 10},
		"a label of nobody":      {checkpoint.ThreadQuery{Labels: map[string]string{"user": "nobody"}}, 0},
		"a label, idle":          {checkpoint.ThreadQuery{Labels: user(42), IdleSince: later, Limit: 10}, 10},
		"a graph":                {checkpoint.ThreadQuery{Graph: GraphOf(7), Limit: 10}, 10},
		"a graph, a page":        {checkpoint.ThreadQuery{Graph: GraphOf(7), Limit: 10, After: middle}, 10},
		"a graph, waiting":       {checkpoint.ThreadQuery{Graph: GraphOf(99), Status: checkpoint.Waiting, Limit: 10}, 10},
		"a graph, failed: none":  {checkpoint.ThreadQuery{Graph: GraphOf(7), Status: checkpoint.Failed}, 0},
		"created long ago":       {checkpoint.ThreadQuery{CreatedUntil: last, Limit: 20}, 20},
		"created at any time":    {checkpoint.ThreadQuery{CreatedSince: time.Unix(1, 0), Limit: 20}, 20},
		"created in no time":     {checkpoint.ThreadQuery{CreatedSince: later}, 0},
	}
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
	before := l.Read(open())
	now := l.Read(open())
	opening := now - before
	for name, q := range l.queries() {
		s, before := open(), now
		found := 0
		for thread, err := range s.Threads(t.Context(), q.ThreadQuery) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if waits := thread.Status == checkpoint.Waiting; waits != (len(thread.Questions) == 1) {
				t.Errorf("%s: %q is %s and has %d questions", name, thread.ID, thread.Status, len(thread.Questions))
			}
			found++
		}
		if found != q.found {
			t.Errorf("%s: %d threads, want %d", name, found, q.found)
		}
		// For a thread the server reads its row, and the row of its head twice. It reads the rows
		// of a question, its base and the record after the base. It also reads entries of indexes.
		// MySQL 8.0 reads some of them twice until it has counted its rows. Up to a thousand
		// threads that are idle, or were created in the time, are counted first. Some servers
		// count rows of a temporary table.
		now = l.Read(s)
		read, most := now-before-opening, 24*(found+2)
		if !q.IdleSince.IsZero() || !q.CreatedSince.IsZero() || !q.CreatedUntil.IsZero() {
			most += 2100
		}
		if t.Logf("%s: %d threads, %d rows and entries read", name, found, read); read > most {
			t.Errorf("%s: %d threads of %d: %d rows and entries read, want at most %d", name, found, l.N, read, most)
		}
	}
}
