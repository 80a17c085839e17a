package open

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// Store opens the store for a URL: typed memory across threads, for package store. The URLs and
// their settings are those of Saver. A store and a saver may use the same database or folder. The
// caller must close the store. ctx applies only to the opening.
func Store(ctx context.Context, rawURL string) (store.Backend, error) {
	s, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	switch s.u.Scheme {
	case "memory":
		if _, err := openMemory(ctx, s); err != nil {
			return nil, err
		}
		return memory.NewStore(), nil
	}
	saver, err := Saver(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	with, ok := saver.(interface{ Store() store.Backend })
	if !ok {
		return nil, errors.Join(s.bad("this saver has no store"), saver.Close())
	}
	o := &owner{with.Store(), saver}
	if n, ok := o.Backend.(store.Notifier); ok {
		return &notifier{o, n}, nil
	}
	return o, nil
}

// owner is a store that closes the saver whose connections it uses.
type owner struct {
	store.Backend
	saver checkpoint.Saver
}

// Close closes the store and the saver.
func (o *owner) Close() error { return errors.Join(o.Backend.Close(), o.saver.Close()) }

// notifier is an owner whose store is a store.Notifier.
type notifier struct {
	*owner
	store.Notifier
}
