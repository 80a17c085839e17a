//go:build unix

package proof_test

import (
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// broken is a saver that breaks one rule of messages or attempts. It changes calls before it makes
// them; functions that are nil change nothing.
type broken struct {
	checkpoint.Saver
	appends func(a *checkpoint.Append)
	puts    func(w *checkpoint.PutWrites)
	handles func(ctx context.Context, fence checkpoint.ID, thread string, h *checkpoint.Handled)
	posts   func(ctx context.Context, p *checkpoint.Post) error
	loads   func(c *checkpoint.Chain)
	rewakes func(r *checkpoint.Rewake)
}

func (b *broken) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if b.appends != nil {
		if a.Open != nil {
			opening := *a.Open
			a.Open = &opening
		}
		b.appends(&a)
	}
	if b.handles != nil {
		b.handles(ctx, a.Fence, a.Thread, &a.Messages)
	}
	return b.Saver.Append(ctx, a)
}

func (b *broken) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if b.puts != nil {
		b.puts(&w)
	}
	if b.handles != nil {
		b.handles(ctx, w.Fence, w.Thread, &w.Messages)
	}
	return b.Saver.PutWrites(ctx, w)
}

func (b *broken) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	p := posts[0]
	if b.posts != nil {
		p.Messages = append([]checkpoint.Message(nil), p.Messages...)
		if err := b.posts(ctx, &p); err != nil {
			return []checkpoint.Posted{{Err: err}}, nil //nolint:nilerr // the result has the error of the post
		}
	}
	return b.Saver.Post(ctx, p)
}

func (b *broken) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := b.Saver.Load(ctx, p)
	if b.loads != nil {
		b.loads(&c)
	}
	return c, err
}

func (b *broken) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	if b.rewakes != nil {
		b.rewakes(&r)
	}
	return b.Saver.Rewake(ctx, r)
}

func (b *broken) on(s checkpoint.Saver) checkpoint.Saver {
	b.Saver = s
	return b
}

// handling returns a saver that changes what writes do with messages.
func handling(change func(h *checkpoint.Handled)) func(s checkpoint.Saver) checkpoint.Saver {
	return func(s checkpoint.Saver) checkpoint.Saver {
		return (&broken{handles: func(_ context.Context, _ checkpoint.ID, _ string, h *checkpoint.Handled) { change(h) }}).on(s)
	}
}

// takesBefore takes messages in a write of its own before the write that handles others.
func takesBefore(which func(h *checkpoint.Handled) []uint64) func(s checkpoint.Saver) checkpoint.Saver {
	return func(s checkpoint.Saver) checkpoint.Saver {
		return (&broken{handles: func(ctx context.Context, fence checkpoint.ID, thread string, h *checkpoint.Handled) {
			w := checkpoint.PutWrites{Thread: thread, Fence: fence, Lease: long, Messages: checkpoint.Handled{Take: which(h)}}
			_, _ = s.PutWrites(ctx, w) // under an old fence it takes nothing
		}}).on(s)
	}
}

// sending returns a saver that changes each message of a kind before it stores it.
func sending(kind checkpoint.MessageKind, change func(m *checkpoint.Message)) func(s checkpoint.Saver) checkpoint.Saver {
	return posting(func(p *checkpoint.Post) {
		for i := range p.Messages {
			if p.Messages[i].Kind == kind {
				change(&p.Messages[i])
			}
		}
	})
}

func posting(change func(p *checkpoint.Post)) func(s checkpoint.Saver) checkpoint.Saver {
	return func(s checkpoint.Saver) checkpoint.Saver {
		return (&broken{posts: func(_ context.Context, p *checkpoint.Post) error {
			change(p)
			return nil
		}}).on(s)
	}
}

func with(b broken) func(s checkpoint.Saver) checkpoint.Saver {
	return func(s checkpoint.Saver) checkpoint.Saver {
		own := b
		return own.on(s)
	}
}

// brokenInboxes are savers. Each breaks one rule of the model.
func brokenInboxes() map[string]func(checkpoint.Saver) checkpoint.Saver {
	return map[string]func(checkpoint.Saver) checkpoint.Saver{
		"refuses nothing": handling(func(h *checkpoint.Handled) { h.Refuse = nil }),
		"takes what a run refuses": handling(func(h *checkpoint.Handled) {
			for _, r := range h.Refuse {
				h.Take = append(h.Take, r.Number)
			}
			h.Refuse = nil
		}),
		"gives one reason for all": handling(func(h *checkpoint.Handled) {
			h.Refuse = append([]checkpoint.Refusal(nil), h.Refuse...)
			for i := range h.Refuse {
				h.Refuse[i].Reason = "no"
			}
		}),
		"returns nothing": handling(func(h *checkpoint.Handled) { h.Return = nil }),
		"returns messages without payloads": handling(func(h *checkpoint.Handled) {
			h.Return = append([]checkpoint.Message(nil), h.Return...)
			for i := range h.Return {
				h.Return[i].Payload = nil
			}
		}),
		"changes untaken messages by a return": takesBefore(func(h *checkpoint.Handled) (all []uint64) {
			for _, m := range h.Return {
				all = append(all, m.Number)
			}
			return all
		}),
		"opens with messages that were handled": func(s checkpoint.Saver) checkpoint.Saver {
			return (&broken{handles: func(ctx context.Context, fence checkpoint.ID, thread string, h *checkpoint.Handled) {
				untaken, err := s.Mail(ctx, checkpoint.MailQuery{Thread: thread})
				if err != nil || !fence.IsZero() {
					return
				}
				gone := func(number uint64) bool {
					return !slices.ContainsFunc(untaken, func(m checkpoint.Message) bool { return m.Number == number })
				}
				h.Take = slices.DeleteFunc(slices.Clone(h.Take), gone)
				h.Refuse = slices.DeleteFunc(slices.Clone(h.Refuse), func(r checkpoint.Refusal) bool { return gone(r.Number) })
			}}).on(s)
		},
		"takes before the write": takesBefore(func(h *checkpoint.Handled) []uint64 { return h.Take }),
		"takes first and then returns": handling(func(h *checkpoint.Handled) {
			back := make(map[uint64]bool)
			for _, m := range h.Return {
				back[m.Number] = true
			}
			var left []uint64
			for _, n := range h.Take {
				if !back[n] {
					left = append(left, n)
				}
			}
			h.Take = left
		}),
		"refuses cancels of a full inbox": sending(checkpoint.CancelMessage, func(m *checkpoint.Message) { m.Kind = checkpoint.SignalMessage }),
		"counts no cancels":               with(broken{loads: func(c *checkpoint.Chain) { c.Thread.Cancels = 0 }}),
		"counts no inputs":                with(broken{loads: func(c *checkpoint.Chain) { c.Thread.Inputs = 0 }}),
		"keeps answers for the next version": sending(checkpoint.AnswerMessage, func(m *checkpoint.Message) {
			m.Kind = checkpoint.InputMessage
		}),
		"refuses inputs with a release": sending(checkpoint.InputMessage, func(m *checkpoint.Message) { m.Kind = checkpoint.SignalMessage }),
		"limits no inputs":              posting(func(p *checkpoint.Post) { p.MaxInputs = 0 }),
		"limits nothing but inputs":     posting(func(p *checkpoint.Post) { p.MaxOthers = 0 }),
		"limits one message more": posting(func(p *checkpoint.Post) {
			if p.MaxInputs > 0 {
				p.MaxInputs++
				p.MaxOthers++
			}
		}),
		"stores a post in parts":            storingParts,
		"posts to any thread":               posting(func(p *checkpoint.Post) { p.Idle = false }),
		"looks at the lease alone for idle": leaseAlone,
		"stores a wake":                     sending(checkpoint.WakeMessage, func(m *checkpoint.Message) { m.Kind = checkpoint.SignalMessage }),
		"counts no attempts":                opening(func(o *checkpoint.Opening) { o.Retry = false }),
		"counts attempts of a person":       opening(func(o *checkpoint.Opening) { o.Retry = true }),
		"counts attempts despite progress": with(broken{
			appends: func(a *checkpoint.Append) { a.Progress = false }, puts: func(w *checkpoint.PutWrites) { w.Progress = false },
		}),
		"counts no attempt that failed": with(broken{puts: func(w *checkpoint.PutWrites) { w.Progress = w.Progress || w.End }}),
		"forgets a status":              with(broken{puts: func(w *checkpoint.PutWrites) { w.Status = 0 }}),
		"sleeps after an end": with(broken{puts: func(w *checkpoint.PutWrites) {
			if w.Wake.Unix() == 1 {
				w.Wake = timeOf(wakesLater)
			}
		}}),
		"rewakes no thread now": with(broken{rewakes: func(r *checkpoint.Rewake) { r.Wake = timeOf(wakesLater) }}),
	}
}

func opening(change func(o *checkpoint.Opening)) func(s checkpoint.Saver) checkpoint.Saver {
	return with(broken{appends: func(a *checkpoint.Append) {
		if a.Open != nil {
			change(a.Open)
		}
	}})
}

// storingParts returns a saver that stores the first message of a Post before the others.
func storingParts(s checkpoint.Saver) checkpoint.Saver {
	return (&broken{posts: func(ctx context.Context, p *checkpoint.Post) error {
		first := *p
		first.Messages = p.Messages[:1]
		done, err := s.Post(ctx, first)
		if err == nil && done[0].Err != nil {
			err = done[0].Err
		}
		return err
	}}).on(s)
}

// leaseAlone returns a saver to which each thread without a lease and without inputs is idle.
func leaseAlone(s checkpoint.Saver) checkpoint.Saver {
	return (&broken{posts: func(ctx context.Context, p *checkpoint.Post) error {
		c, err := s.Load(ctx, checkpoint.Ref{Thread: p.Thread})
		if err == nil && c.Thread.Holder == "" && c.Thread.Inputs == 0 {
			p.Idle = false
		}
		return err
	}}).on(s)
}
