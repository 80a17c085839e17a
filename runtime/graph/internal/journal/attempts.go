package journal

import (
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// attempts counts the runs of workers that failed or died in a row, and stored nothing new. The
// saver counts them. The zero attempts is that of a run that a person opened.
type attempts struct {
	opened int  // those of the thread at the opening, this run included
	moved  bool // the run has written something new, stored or not
	stored bool // a write with Progress is stored
}

// Progress reports whether writes have a new result: of a task or of a durable call. The update of
// a failed attempt is no such result, because each run of the node can leave one.
func Progress(writes []checkpoint.Write) bool {
	for i := range writes {
		if writes[i].Kind == checkpoint.Result && !strings.HasPrefix(writes[i].Name, keptPrefix) {
			return true
		}
	}
	return false
}

// Attempts returns how many runs of workers failed or died in a row before this one, without a new
// result. It is 0 once this run has written one.
func (s *Sync) Attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempts.moved {
		return 0
	}
	return s.attempts.opened
}

// note records that the run has written e, stored or not. It reports whether the write must have
// Progress.
func (s *Sync) note(e *Entry) (progress bool) {
	if s.attempts.opened == 0 || len(e.Records) == 0 && len(e.Messages.Take) == 0 && !Progress(e.Writes) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts.moved = true
	return !s.attempts.stored
}

// noted records that a write with Progress was stored.
func (s *Sync) noted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts.stored = true
}
