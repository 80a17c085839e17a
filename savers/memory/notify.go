package memory

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/store"
)

var _ store.Notifier = (*Store)(nil)

// watched is a call of Notify.
type watched struct {
	namespace store.Namespace
	changed   func()
}

// Notify calls changed after writes in a namespace and those below it, until stop is called.
func (s *Store) Notify(ctx context.Context, n store.Namespace, changed func()) (stop func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx, nil); err != nil {
		return nil, err
	}
	if s.watched == nil {
		s.watched = make(map[*watched]struct{})
	}
	w := &watched{n.Below(), changed}
	s.watched[w] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watched, w)
	}, nil
}

// notify calls those who watch a namespace of ops. The caller must hold s.mu.
func (s *Store) notify(ops []store.Op) {
	for w := range s.watched {
		for i := range ops {
			if w.namespace.Contains(ops[i].Namespace) {
				w.changed()
				break
			}
		}
	}
}
