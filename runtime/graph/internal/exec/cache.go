package exec

import (
	"context"
	"fmt"
)

// errCache is the error of a task while its cache is read or written.
var errCache = fmt.Errorf("its cache: %w", ErrGoexit)

// cached reports whether task i has its result from the cache of its node. It then has no attempt.
func (s *Superstep) cached(ctx context.Context, i int, seen *attempts) (hit bool) {
	err := s.consult(i, func() (err error) {
		hit, err = s.host.Cached(ctx, i)
		return err
	})
	if hit = hit && err == nil; hit {
		s.Tasks[i].Progress = Succeeded
	}
	if hit || err != nil {
		s.showCached(ctx, i, err, seen)
	}
	return hit
}

// cache puts the result of task i, whose node has returned it, into the cache of the node.
func (s *Superstep) cache(ctx context.Context, i int, seen *attempts) {
	if err := s.consult(i, func() error { return s.host.Cache(ctx, i) }); err != nil {
		s.showCached(ctx, i, err, seen)
	}
}

// consult calls f, which uses the cache of task i. A panic is an error.
func (s *Superstep) consult(i int, f func() error) (err error) {
	t := &s.Tasks[i]
	before := t.Progress
	t.Progress, t.Err = Failed, errCache // as they stay if f ends the goroutine
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		t.Progress, t.Err = before, nil
		err = fmt.Errorf("its cache: %w", s.host.Panicked(v))
	}()
	err = f()
	t.Progress, t.Err = before, nil
	return err
}

// showCached reports the use of a cache, with its error.
func (s *Superstep) showCached(ctx context.Context, i int, err error, seen *attempts) {
	if s.Observer != nil {
		s.Observer.Cached(ctx, s.seen(i), err)
	}
	if seen != nil {
		seen.fan.s.Watcher.Cached(s.seen(i), err, seen.fan.post)
	}
}
