package payloads

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Post stores messages with changed payloads, as [checkpoint.Inbox] says.
func (s *Saver) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	return poster{s.codec, s.Saver}.Post(ctx, posts...)
}

// Via implements [checkpoint.PostChanger].
func (s *Saver) Via(p checkpoint.Poster) checkpoint.Poster {
	return poster{s.codec, checkpoint.PostVia(s.Saver, p)}
}

// poster posts messages with changed payloads by another Poster.
type poster struct {
	codec Codec
	by    checkpoint.Poster
}

func (p poster) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	posts = slices.Clone(posts)
	for i := range posts {
		one := &posts[i]
		if err := one.Check(); err != nil {
			return nil, err
		}
		var err error
		if one.Messages, err = changeMessages(one.Thread, one.Messages, p.codec.Seal); err != nil {
			return nil, err
		}
		if one.Outcomes, err = changeWrites(one.Thread, one.Outcomes, p.codec.Seal); err != nil {
			return nil, err
		}
	}
	return p.by.Post(ctx, posts...)
}

// Mail returns messages, as [checkpoint.Inbox] says.
func (s *Saver) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	messages, err := s.Saver.Mail(ctx, q)
	if err != nil {
		return nil, err
	}
	return changeMessages(q.Thread, messages, s.codec.Open)
}

// Ready returns threads that are due, as [checkpoint.Saver] says. It leaves out messages that it
// cannot open: the Mail of their thread returns the error.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, err := s.Saver.Ready(ctx, q)
	for i := range got.Threads {
		t := &got.Threads[i]
		mail, failed := changeMessages(t.ID, t.Mail, s.codec.Open)
		if t.Mail = mail; failed != nil {
			t.HasMail = false
		}
	}
	return got, err
}

// sealHandled returns h with changed payloads of the messages that it returns to the inbox, and of
// the replies.
func (s *Saver) sealHandled(thread string, h checkpoint.Handled) (checkpoint.Handled, error) {
	var err error
	if h.Return, err = changeMessages(thread, h.Return, s.codec.Seal); err == nil {
		h.Reply, err = changeMessages(thread, h.Reply, s.codec.Seal)
	}
	return h, err
}

// changeMessages returns messages with payloads that f changes. A message without a payload stays
// without one.
func changeMessages(thread string, messages []checkpoint.Message, f func(Place, []byte) ([]byte, error)) ([]checkpoint.Message, error) {
	changed := slices.Clone(messages)
	for i := range changed {
		m := &changed[i]
		if m.Payload == nil {
			continue
		}
		var err error
		if m.Payload, err = f(Place{Thread: thread, Kind: Message, Number: uint64(m.Kind), Name: m.ID}, m.Payload); err != nil {
			return nil, at(thread, fmt.Sprintf("the %s message %q", m.Kind, m.ID), err)
		}
	}
	return changed, nil
}
