package memory

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Post stores messages, as [checkpoint.Inbox] says.
func (s *Saver) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	for i := range posts {
		if err := posts[i].Check(); err != nil {
			return nil, err
		}
	}
	if err := s.begin(ctx, nil); err != nil {
		return nil, err
	}
	defer s.end()
	done := make([]checkpoint.Posted, len(posts))
	for i := range posts {
		p := &posts[i]
		t := s.lock(p.Thread, len(p.Outcomes) == 0)
		if t == nil {
			done[i].Err = ledger.NoRecord(p.Thread, p.Outcomes[0].Namespace, p.Outcomes[0].Base)
			continue
		}
		done[i] = t.post(p, time.Now())
		s.changed(t)
		t.mu.Unlock()
	}
	return done, nil
}

// post stores the messages of p in the open version, or in the one that begins next. The caller
// holds the thread.
func (t *thread) post(p *checkpoint.Post, now time.Time) checkpoint.Posted {
	v := t.current()
	if v == nil {
		v = ledger.New(p.Thread, t.last+1)
	}
	e, done := v.Post(p, v == t.open(), t.until(now), now)
	if e == nil {
		return done
	}
	v.Apply(e)
	t.about = v.About
	if v != t.open() {
		t.next = v
	}
	return done
}

// Mail returns messages of a thread, as [checkpoint.Inbox] says.
func (s *Saver) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	if err := s.begin(ctx, q.Check()); err != nil {
		return nil, err
	}
	defer s.end()
	var found []checkpoint.Message
	s.visit(q.Thread, func(_ *thread, v *ledger.Version) { found = v.Mail.Select(&q) })
	return found, nil
}

// News returns the newest messages and runs, as [checkpoint.Inbox] says.
func (s *Saver) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	for _, id := range threads {
		if err := checkpoint.CheckThread(id); err != nil {
			return nil, err
		}
	}
	if err := s.begin(ctx, nil); err != nil {
		return nil, err
	}
	defer s.end()
	newest := make([]checkpoint.News, len(threads))
	for i, id := range threads {
		s.visit(id, func(_ *thread, v *ledger.Version) { newest[i] = v.News() })
	}
	return newest, nil
}
