package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/encrypt"
)

// sealedError reports a payload that is encrypted, on a saver that was opened without keys. It is
// an encrypt.ErrNoKey.
type sealedError struct{ key string }

func (e *sealedError) Error() string {
	return fmt.Sprintf("the payload is encrypted with key %s; give the key by --key-file FILE or $%s", cell(e.key), envKeys)
}

// Is reports whether target is encrypt.ErrNoKey.
func (e *sealedError) Is(target error) bool { return target == encrypt.ErrNoKey }

// sealed returns a *sealedError for an encrypted payload, and nil for any other.
func sealed(payload []byte) error {
	if key, ok := encrypt.KeyID(payload); ok {
		return &sealedError{key}
	}
	return nil
}

// unreadable reports whether err is about the stored data of one thread: damage, or a missing key.
// Lists report such a thread and continue.
func unreadable(err error) bool {
	return errors.Is(err, checkpoint.ErrDamaged) || errors.Is(err, encrypt.ErrNoKey)
}

// guard is a saver that stores messages only if it can read what the program has stored. A program
// could not read a message that is not encrypted as it expects.
type guard struct{ checkpoint.Saver }

// Post stores messages as [checkpoint.Inbox] says. It returns a *sealedError, or the error of the
// saver that decrypts, if the payloads of a thread or of its graph cannot be read.
func (g guard) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	for i := range posts {
		p := &posts[i]
		for n := range p.Messages {
			if p.Messages[n].Payload == nil {
				continue // it has nothing to encrypt
			}
			if err := g.readable(ctx, p); err != nil {
				return nil, err
			}
			break
		}
	}
	return g.Saver.Post(ctx, posts...)
}

// readable returns an error if what the thread of a Post has stored cannot be read. For a new
// thread it looks at another thread of the graph.
func (g guard) readable(ctx context.Context, p *checkpoint.Post) error {
	found, err := g.probe(ctx, p.Thread)
	if err != nil || found {
		return err
	}
	const enough = 10 // threads that are searched for a payload
	for t, err := range g.Threads(ctx, checkpoint.ThreadQuery{Graph: p.Graph, Limit: enough}) {
		if err == nil {
			found, err = g.probe(ctx, t.ID)
		}
		if errors.Is(err, checkpoint.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil || found {
			return err
		}
	}
	return nil
}

// probe reads one payload of a thread. found is false if the thread has none.
func (g guard) probe(ctx context.Context, thread string) (found bool, err error) {
	mail, err := g.Mail(ctx, checkpoint.MailQuery{Thread: thread, Limit: 1})
	if err != nil {
		return false, err
	}
	for i := range mail {
		if mail[i].Payload != nil {
			return true, sealed(mail[i].Payload)
		}
	}
	versions, err := g.Versions(ctx, thread)
	if err != nil || len(versions) == 0 {
		return false, err
	}
	c, err := g.Load(ctx, checkpoint.Ref{Thread: thread, Version: versions[len(versions)-1].Number})
	if err != nil || c.Empty() {
		return false, err
	}
	return true, sealed(c.Snapshot)
}

// Prune removes old records as [checkpoint.Saver] says. It returns a *sealedError before it would
// fold encrypted records.
func (g guard) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	if keep.Fold == nil {
		keep.Fold = func(_ string, chain []checkpoint.Record) ([]byte, error) { return fold(chain) }
	}
	return g.Saver.Prune(ctx, thread, keep)
}

// fold returns the state at the last record of a chain.
func fold(chain []checkpoint.Record) ([]byte, error) {
	var state []byte
	var deltas [][]byte
	for i := range chain {
		if err := sealed(chain[i].Payload); err != nil {
			return nil, err
		}
		if chain[i].Snapshot {
			state, deltas = chain[i].Payload, nil
			continue
		}
		deltas = append(deltas, chain[i].Payload)
	}
	return checkpoint.Fold(state, deltas...)
}
