package graph_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// transcribed is a saver that writes its calls down. Its writes take the time of the bubble, so
// that what an Async run queues meanwhile is always the same.
type transcribed struct {
	checkpoint.Saver
	tr *transcript
}

func (s *transcribed) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := s.Saver.Load(ctx, p)
	at := "the head"
	if !p.At.IsZero() {
		at = s.tr.id(p.At)
	}
	records := c.Chained
	if !c.Empty() {
		records++
	}
	s.tr.printf("  Load%s %s at %s: %d records, head %s, %s%s", of(p.Thread), s.tr.namespace(p.Namespace), at, records, s.tr.id(c.Head), c.Thread.Status, failed(err))
	return c, err
}

func (s *transcribed) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	lines := []string{fmt.Sprintf("  Append%s to %s after %s", of(a.Thread), s.tr.namespace(a.Namespace), s.tr.id(a.After)) + says(a.Status, a.End) + wakes(a.Wake)}
	if a.Open != nil {
		lines[0] += ", opening"
	}
	if a.Release {
		lines[0] += ", release"
	}
	for i := range a.Records {
		lines = append(lines, s.tr.record(&a.Records[i]))
	}
	for i := range a.Writes {
		lines = append(lines, s.tr.write(&a.Writes[i]))
	}
	lines = append(lines, handled(&a.Messages)...)
	time.Sleep(time.Nanosecond)
	done, err := s.Saver.Append(ctx, a)
	if n := len(done.Writes); n > 0 {
		lines = append(lines, fmt.Sprintf("    -> %d pending writes", n))
	}
	s.tr.printf("%s%s", strings.Join(lines, "\n"), failed(err))
	return done, err
}

func (s *transcribed) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	lines := []string{"  PutWrites" + of(p.Thread) + says(p.Status, p.End) + wakes(p.Wake)}
	for i := range p.Writes {
		lines = append(lines, s.tr.write(&p.Writes[i]))
	}
	lines = append(lines, handled(&p.Messages)...)
	time.Sleep(time.Nanosecond)
	done, err := s.Saver.PutWrites(ctx, p)
	s.tr.printf("%s%s", strings.Join(lines, "\n"), failed(err))
	return done, err
}

// handled describes what a write makes of messages.
func handled(h *checkpoint.Handled) (lines []string) {
	if len(h.Take) > 0 {
		lines = append(lines, fmt.Sprintf("    takes messages %v", h.Take))
	}
	for _, r := range h.Refuse {
		lines = append(lines, fmt.Sprintf("    refuses message %d: %s", r.Number, r.Reason))
	}
	for _, m := range h.Reply {
		lines = append(lines, fmt.Sprintf("    replies to message %d: %q", m.Number, m.Payload))
	}
	return lines
}

func (s *transcribed) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	done, err := s.Saver.Post(ctx, posts...)
	for i := range posts {
		for j := range posts[i].Outcomes {
			s.tr.printf("  Post%s\n%s", of(posts[i].Thread), s.tr.write(&posts[i].Outcomes[j]))
		}
		for j, m := range posts[i].Messages {
			text := fmt.Sprintf("  Post%s %s", of(posts[i].Thread), m.Kind)
			switch m.Kind {
			case checkpoint.SignalMessage:
				text += fmt.Sprintf(" %q", m.Name)
			case checkpoint.AnswerMessage:
				task, place, _ := strings.Cut(m.Name, "/")
				text += fmt.Sprintf(" to %s of %s", place, s.tr.task(task))
			case checkpoint.CancelMessage:
				text += fmt.Sprintf(" because of %q", m.Payload)
			default:
				text += fmt.Sprintf(" %q", m.ID)
			}
			if err == nil && done[i].Err == nil {
				text += fmt.Sprintf(": message %d", done[i].Messages[j].Number)
				if done[i].Messages[j].Known {
					text += ", known"
				}
			}
			s.tr.printf("%s", text)
		}
		if err == nil && done[i].Err != nil {
			s.tr.printf("    refused: %v", done[i].Err)
		}
	}
	return done, err
}

func (s *transcribed) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	all, err := s.Saver.Mail(ctx, q)
	s.tr.printf("  Mail%s after %d: %d messages%s", of(q.Thread), q.After, len(all), failed(err))
	return all, err
}

func (s *transcribed) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	err := s.Saver.Rewake(ctx, r)
	s.tr.printf("  Rewake%s%s%s", of(r.Thread), wakes(r.Wake), failed(err))
	return err
}

func (s *transcribed) Delete(ctx context.Context, thread string) error {
	err := s.Saver.Delete(ctx, thread)
	s.tr.printf("  Delete%s%s", of(thread), failed(err))
	return err
}

// of names a thread, unless it is that of the scene.
func of(thread string) string {
	switch {
	case thread == "t":
		return ""
	case strings.HasPrefix(thread, checkpoint.TaskPrefix):
		return " of the task"
	}
	return " of " + thread
}

// wakes describes the Wake of a write.
func wakes(wake time.Time) string {
	if wake.IsZero() {
		return ""
	}
	return ", due"
}

func says(status checkpoint.Status, end bool) (text string) {
	if status != 0 {
		text += ", status " + status.String()
	}
	if end {
		text += ", end"
	}
	return text
}

func failed(err error) string {
	if err != nil {
		return ": " + err.Error()
	}
	return ""
}
