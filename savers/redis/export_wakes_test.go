package redis

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Announced is a Post in two steps, as on a cluster.
type Announced struct{ call announced }

// Announce makes the first step of a Post: it tells the index of the thread.
func Announce(ctx context.Context, s *Saver, p checkpoint.Post) (*Announced, error) {
	token, err := checkpoint.NewID()
	if err != nil {
		return nil, err
	}
	a := &Announced{s.posting(&p, token)}
	if err := a.call.newStamp(); err != nil {
		return nil, err
	}
	return a, s.tellAll(ctx, []announced{a.call}, nil)
}

// Make makes the second step: it stores the messages, as announced.
func (a *Announced) Make(ctx context.Context) (outcome string, err error) {
	r, err := a.call.s.run(ctx, a.call.script, a.call.keys(), a.call.args...)
	if err != nil {
		return "", err
	}
	return r.text(), nil
}

// Again tells the index a second time, as the last step of a Post that made a thread due does.
func (a *Announced) Again(ctx context.Context) error {
	return a.call.s.tellAll(ctx, []announced{a.call}, nil)
}

// RunUnannounced makes the end of a run without telling the index.
func RunUnannounced(ctx context.Context, s *Saver, w checkpoint.PutWrites) (outcome string, err error) {
	args := []any{"e", w.Fence[:], statusArg(w.Status), leaseArg(w.Lease), s.ttl, wakeArg(w.Wake), "", "", w.Messages.Seen, ""}
	r, err := s.run(ctx, s.script.put, []string{s.key(w.Thread)}, args...)
	if err != nil {
		return "", err
	}
	return r.text(), nil
}
