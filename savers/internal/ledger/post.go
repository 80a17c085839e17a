package ledger

import (
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Released is the reason for which a release refuses messages.
const Released = "the version of the thread was released"

// Limits returns the limits of untaken messages for a Post.
func Limits(p *checkpoint.Post) (inputs, others int) {
	inputs, others = p.MaxInputs, p.MaxOthers
	if inputs == 0 {
		inputs = checkpoint.DefaultMaxInputs
	}
	if others == 0 {
		others = checkpoint.DefaultMaxOthers
	}
	return inputs, others
}

// Full returns the ErrInboxFull of a thread.
func Full(thread, messages string, limit int) error {
	return fmt.Errorf("checkpoint: thread %q: %w: a thread may have %d untaken %s; post again after a run has taken some",
		thread, checkpoint.ErrInboxFull, limit, messages)
}

// NotIdle returns the ErrNotIdle of a thread.
func NotIdle(thread string) error {
	return fmt.Errorf("checkpoint: thread %q: %w; wait until it is done, or post without Idle", thread, checkpoint.ErrNotIdle)
}

// PostWake returns the Wake of a thread after a Post that makes it due now. until is the end of a
// live lease; zero for none.
func PostWake(wake, until, now time.Time) time.Time {
	if !until.IsZero() || !wake.IsZero() && !wake.After(now) {
		return wake
	}
	return Micro(now)
}

// Post decides about a Post that passed its Check. open reports whether v is an open version, and
// until is the end of its live lease, zero for none. It returns the event that stores what is
// new, nil for nothing.
func (v *Version) Post(p *checkpoint.Post, open bool, until, now time.Time) (*Event, checkpoint.Posted) {
	if len(p.Outcomes) > 0 {
		return v.outcomes(p, open, until, now)
	}
	e := &Event{Posted: v.Mail.Posted, Time: now}
	done := checkpoint.Posted{Messages: make([]checkpoint.PostedMessage, len(p.Messages))}
	var inputs, others int
	due := false
	for i := range p.Messages {
		m := &p.Messages[i]
		if number, known := v.Mail.ids[m.ID]; known && m.Kind != checkpoint.WakeMessage {
			done.Messages[i] = checkpoint.PostedMessage{Number: number, Known: true}
			continue
		}
		e.Posted++
		done.Messages[i].Number = e.Posted
		due = due || open || m.Kind == checkpoint.InputMessage || m.Kind == checkpoint.WakeMessage
		switch m.Kind {
		case checkpoint.WakeMessage:
			e.Progress = true
			continue
		case checkpoint.InputMessage:
			inputs++
		case checkpoint.AnswerMessage, checkpoint.SignalMessage:
			others++
		}
		e.Messages = append(e.Messages, checkpoint.Message{
			Number: e.Posted, ID: m.ID, Kind: m.Kind, Name: m.Name, Key: m.Key, Payload: CloneBytes(m.Payload), Posted: Micro(now),
		})
	}
	if e.Posted == v.Mail.Posted {
		return nil, done
	}
	if err := v.acceptPost(p, open && !v.idle(until), inputs, others); err != nil {
		return nil, checkpoint.Posted{Err: err}
	}
	if due {
		wake := PostWake(v.Wake, until, now)
		e.Wake = &wake
	}
	about, changed, err := v.About.posted(p, now)
	if err != nil {
		return nil, checkpoint.Posted{Err: err}
	}
	if changed {
		e.About = &about
	}
	return e, done
}

// idle reports whether an open version has nothing to do.
func (v *Version) idle(until time.Time) bool {
	return until.IsZero() && (v.Status == checkpoint.Done || v.Status == checkpoint.Cancelled)
}

// acceptPost returns the error of a Post with new messages.
func (v *Version) acceptPost(p *checkpoint.Post, busy bool, inputs, others int) error {
	maxInputs, maxOthers := Limits(p)
	switch {
	case p.Idle && (busy || v.Mail.Inputs > 0):
		return NotIdle(v.Thread)
	case inputs > 0 && v.Mail.Inputs+inputs > maxInputs:
		return Full(v.Thread, "inputs", maxInputs)
	case others > 0 && v.Mail.Others+others > maxOthers:
		return Full(v.Thread, "answers, signals and cancels", maxOthers)
	}
	return nil
}

// posted returns the description after a Post.
func (b About) posted(p *checkpoint.Post, now time.Time) (after About, changed bool, err error) {
	change := About{Graph: p.Graph, Created: now, Title: p.Title, Labels: p.Labels, Priority: p.Priority}
	if !b.Created.IsZero() {
		change.Title, change.Labels = "", nil
	}
	if b.Graph != "" {
		change.Graph = ""
	}
	return b.with(change, "labels")
}

// Posted returns the description after a Post that was accepted at the time now.
func (b About) Posted(p *checkpoint.Post, now time.Time) (About, error) {
	after, _, err := b.posted(p, now)
	return after, err
}

// Inbox describes the thread of v, which is no open version, with its inbox. Without untaken
// inputs it has no status, and no time of an update.
func (v *Version) Inbox(updated time.Time, versions int) checkpoint.Thread {
	if updated.IsZero() {
		updated = v.About.Created
	}
	t := checkpoint.Thread{
		ID: v.Thread, Status: checkpoint.Ready, Updated: updated, Versions: versions, Wake: v.Wake, Attempts: v.Attempts,
		Posted: v.Mail.Posted, Inputs: v.Mail.Inputs, Others: v.Mail.Others, Cancels: v.Mail.Cancels,
	}
	if t.Inputs == 0 {
		t.Status, t.Updated = 0, time.Time{}
	}
	v.About.Describe(&t)
	return t
}

// Next returns the version that follows v, which was released. It has the inbox of v.
func (v *Version) Next() *Version {
	next := New(v.Thread, v.Number+1)
	next.Mail, next.About, next.Wake = v.Mail, v.About, v.Wake
	v.Mail, v.Wake = Mail{}, time.Time{}
	return next
}
