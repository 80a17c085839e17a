package file

import (
	"cmp"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// backlog is the threads that were due when Ready looked at the folder, and that no call has
// returned since. They spare the next calls a look at all files. A call that takes such a thread
// checks under its lock that it is still due.
type backlog struct {
	graphs []string
	due    map[string]checkpoint.ReadyThread // by thread id
	until  time.Time
}

// knownDue returns the threads of the backlog by id, if it is one of the same graphs and not too
// old.
func (s *Saver) knownDue(q *checkpoint.ReadyQuery) []checkpoint.ReadyThread {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.Reserve == 0 || !slices.Equal(s.backlog.graphs, q.Graphs) || time.Now().After(s.backlog.until) {
		return nil
	}
	all := make([]checkpoint.ReadyThread, 0, len(s.backlog.due))
	for _, t := range s.backlog.due {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b checkpoint.ReadyThread) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// keepDue makes the due threads of round the backlog. It stays for ten times as long as it took to
// find them, but not longer than a second. So Ready looks at all files for at most a tenth of the
// time.
func (s *Saver) keepDue(round *ledger.Round, took time.Duration) {
	if round.Query.Reserve == 0 {
		return
	}
	due := make(map[string]checkpoint.ReadyThread)
	for _, t := range round.Candidates() {
		due[t.ID] = t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backlog = backlog{slices.Clone(round.Query.Graphs), due, time.Now().Add(min(10*took, time.Second))}
}

// dropDue removes a thread from the backlog, because a call takes it.
func (s *Saver) dropDue(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.backlog.due, id)
}

// forgetDue makes the next call of Ready look at all files. It is called after this process has
// made a thread due, or has given a due thread another file.
func (s *Saver) forgetDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backlog = backlog{}
}
