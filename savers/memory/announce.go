package memory

import (
	"context"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

var _ checkpoint.Notifier = (*Saver)(nil)

// watchers are the functions that Notify has got.
type watchers struct {
	mu  sync.Mutex
	due map[*func(checkpoint.Notice)]struct{}
}

// Notify announces due threads, messages and ends of runs, as [checkpoint.Notifier] says.
func (s *Saver) Notify(ctx context.Context, due func(checkpoint.Notice)) (stop func(), err error) {
	if err := s.begin(ctx, nil); err != nil {
		return nil, err
	}
	defer s.end()
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	if s.watchers.due == nil {
		s.watchers.due = make(map[*func(checkpoint.Notice)]struct{})
	}
	s.watchers.due[&due] = struct{}{}
	return func() {
		s.watchers.mu.Lock()
		defer s.watchers.mu.Unlock()
		delete(s.watchers.due, &due)
	}, nil
}

// changed notes the Wake of a locked thread after a change, and announces it.
func (s *Saver) changed(t *thread) {
	s.noteWake(t)
	if v := t.current(); v != nil {
		s.announce(checkpoint.Notice{Graph: t.about.Graph, Thread: v.Thread, Wake: v.Wake, Posted: v.Mail.Posted, Replies: v.Mail.Replies})
	}
}

// announce calls the functions that Notify has got.
func (s *Saver) announce(n checkpoint.Notice) {
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	for due := range s.watchers.due {
		(*due)(n)
	}
}
