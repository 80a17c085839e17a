package file

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Post stores messages, as [checkpoint.Inbox] says. The messages of a Post are one frame of the
// thread's file.
func (s *Saver) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	for i := range posts {
		if err := posts[i].Check(); err != nil {
			return nil, err
		}
	}
	if err := s.begin(ctx, nil); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	all := make([]checkpoint.Posted, len(posts))
	for i := range posts {
		done, err := s.post(ctx, &posts[i])
		switch {
		case errors.Is(err, checkpoint.ErrDamaged):
			done = checkpoint.Posted{Err: err}
		case err != nil:
			return nil, err
		}
		all[i] = done
	}
	return all, nil
}

// post stores the messages of p in the file of their thread, which it creates if necessary.
func (s *Saver) post(ctx context.Context, p *checkpoint.Post) (done checkpoint.Posted, err error) {
	v := s.use(p.Thread, baseName(p.Thread), 0)
	defer s.done(v)
	err = v.counting(func() error {
		done, err = v.post(ctx, p)
		return err
	})
	return done, err
}

// post stores the messages of p under the lock of the file.
func (v *volume) post(ctx context.Context, p *checkpoint.Post) (checkpoint.Posted, error) {
	err := v.enter(ctx, len(p.Outcomes) == 0)
	if errors.Is(err, errAbsent) {
		return checkpoint.Posted{Err: ledger.NoRecord(p.Thread, p.Outcomes[0].Namespace, p.Outcomes[0].Base)}, nil
	}
	if err != nil {
		return checkpoint.Posted{}, err
	}
	defer v.unlock()
	version, now := v.version(), time.Now()
	open := !version.Empty()
	var until time.Time
	if open {
		if _, until, err = v.holds(now); err != nil {
			return checkpoint.Posted{}, err
		}
	}
	e, done := version.Post(p, open, until, now)
	if e != nil {
		if err := v.write(e, nil); err != nil {
			return checkpoint.Posted{}, err
		}
	}
	return done, v.confirm()
}

// Mail returns messages of a thread, as [checkpoint.Inbox] says.
func (s *Saver) Mail(ctx context.Context, q checkpoint.MailQuery) (found []checkpoint.Message, err error) {
	if err := s.begin(ctx, q.Check()); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	err = s.glance(ctx, q.Thread, func(v *ledger.Version) { found = v.Mail.Select(&q) })
	return found, err
}

// News returns the newest messages and runs, as [checkpoint.Inbox] says. It reads a file only if
// the file has changed since the Saver last read or wrote it.
func (s *Saver) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	for _, id := range threads {
		if err := checkpoint.CheckThread(id); err != nil {
			return nil, err
		}
	}
	if err := s.begin(ctx, nil); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	newest := make([]checkpoint.News, len(threads))
	for i, id := range threads {
		if err := s.glance(ctx, id, func(v *ledger.Version) { newest[i] = v.News() }); err != nil {
			return nil, err
		}
	}
	return newest, nil
}

// glance calls f with the version in the file of a thread that new writes go to, if there is one.
// It takes no lock.
func (s *Saver) glance(ctx context.Context, thread string, f func(v *ledger.Version)) error {
	v := s.use(thread, baseName(thread), 0)
	defer s.done(v)
	err := v.read(ctx)
	for n := 0; errors.Is(err, errAbsent) && n < releases; n++ { // the file may be missing for a moment
		next := s.newVolume(thread, v.base, 0)
		next.path = s.siblingPath(v.base, nextName)
		err = next.read(ctx)
		if err == nil {
			f(next.version())
		}
		next.drop()
		if err == nil {
			return nil
		}
		if errors.Is(err, errAbsent) {
			err = v.read(ctx)
		}
	}
	if err == nil {
		f(v.version())
	}
	if errors.Is(err, errAbsent) {
		err = nil
	}
	return err
}
