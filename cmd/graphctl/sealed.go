package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/encrypt"
)

// sealedError reports a payload that is encrypted, on a saver that was opened without keys. It is
// an encrypt.ErrNoKey.
type sealedError struct {
	key      string
	ofTarget bool // of a copy
}

func (e *sealedError) Error() string {
	flag, env := "--key-file", envKeys
	if e.ofTarget {
		flag, env = "--to-key-file", envToKeys
	}
	return fmt.Sprintf("the payload is encrypted with key %s; give the key by %s FILE or $%s", cell(e.key), flag, env)
}

// Is reports whether target is encrypt.ErrNoKey.
func (e *sealedError) Is(target error) bool { return target == encrypt.ErrNoKey }

// sealed returns a *sealedError for an encrypted payload, and nil for any other.
func sealed(payload []byte) error {
	if key, ok := encrypt.KeyID(payload); ok {
		return &sealedError{key: key}
	}
	return nil
}

// unreadable reports whether err is about the stored data of one thread: damage, or a missing key.
// Lists report such a thread and continue.
func unreadable(err error) bool {
	return operate.Unreadable(err)
}

// guard is a saver that stores messages and threads only if it can read what the program has
// stored. A program could not read data that is not encrypted as it expects. newGuard makes one.
type guard struct {
	checkpoint.Saver

	target bool         // of a copy
	read   *atomic.Bool // a payload was read
}

func newGuard(s checkpoint.Saver) guard { return guard{Saver: s, read: new(atomic.Bool)} }

// Post stores messages as [checkpoint.Inbox] says. It returns a *sealedError, or the error of the
// saver that decrypts, if the payloads of a thread or of its graph cannot be read.
func (g guard) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	for i := range posts {
		p := &posts[i]
		for n := range p.Messages {
			if p.Messages[n].Payload == nil {
				continue // it has nothing to encrypt
			}
			if err := g.readable(ctx, p.Thread, p.Graph); err != nil {
				return nil, err
			}
			break
		}
	}
	return g.Saver.Post(ctx, posts...)
}

// Import creates a version as [checkpoint.Saver] says. It returns the errors of Post if the
// payloads of other threads cannot be read, unless the version is encrypted already.
func (g guard) Import(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	next, stop := iter.Pull2(items)
	defer stop()
	var first []checkpoint.ExportItem // up to the first record; a saver cannot be read during Import
	for {
		item, err, ok := next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		first = append(first, item)
		if item.Record == nil {
			continue
		}
		if sealed(item.Record.Payload) == nil && !g.read.Load() {
			if err := g.readable(ctx, thread, ""); err != nil {
				return err
			}
		}
		break
	}
	return g.Saver.Import(ctx, thread, func(yield func(checkpoint.ExportItem, error) bool) {
		for _, item := range first {
			if !yield(item, nil) {
				return
			}
		}
		for item, err, ok := next(); ok; item, err, ok = next() {
			if !yield(item, err) {
				return
			}
		}
	})
}

// readable returns an error if what a thread has stored cannot be read. For a new thread it looks
// at others of the graph, until it can read one.
func (g guard) readable(ctx context.Context, thread, graph string) error {
	found, err := g.probe(ctx, thread)
	if err != nil || found {
		return g.explain(err)
	}
	const enough = 10 // threads that are searched for a payload
	var failed error
	for t, err := range g.Threads(ctx, checkpoint.ThreadQuery{Graph: graph, Limit: enough}) {
		if err == nil {
			found, err = g.probe(ctx, t.ID)
		}
		switch {
		case errors.Is(err, checkpoint.ErrNotFound): // it was deleted meanwhile
		case unreadable(err):
			failed = err
		case err != nil || found:
			return g.explain(err)
		}
	}
	if failed != nil {
		return g.explain(failed)
	}
	return nil
}

// explain notes that a payload was read, or names the flag of the missing key.
func (g guard) explain(err error) error {
	var locked *sealedError
	switch {
	case err == nil:
		g.read.Store(true)
	case errors.As(err, &locked):
		return &sealedError{locked.key, g.target}
	}
	return err
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
