package journal

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Async is the Log that queues entries and stores them in order while the run continues. Entries
// that wait are stored by one call of the saver where that is the same as one call for each.
// NewAsync returns one.
type Async struct {
	*Sync
	queue queue
}

// NewAsync returns a Log that has not been opened.
func NewAsync(c Config) *Async {
	a := &Async{Sync: NewSync(c)}
	a.queue.store, a.queue.changed.L = a.store, &a.queue.mu
	return a
}

// Write implements Log. An entry that is queued is not stored if one before it, or one that is
// stored by the same call, fails.
func (a *Async) Write(ctx context.Context, e Entry) error {
	a.note(&e)
	if !e.End {
		return a.queue.add(ctx, e)
	}
	err := a.Close()
	switch {
	case err == nil:
		return a.Sync.Write(ctx, e)
	case !errors.Is(err, checkpoint.ErrTooLarge):
		a.LetGo(ctx)
	case len(e.Records) == 0: // the run knows that nothing of the refused entry is stored
		return a.Sync.Write(ctx, a.bare(&e))
	}
	return err
}

// WaitStored implements Log.
func (a *Async) WaitStored() error { return a.queue.waitStored() }

// Load implements Log. It waits until everything queued is stored.
func (a *Async) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if err := a.queue.wait(); err != nil {
		return checkpoint.Chain{}, err
	}
	return a.Sync.Load(ctx, p)
}

// Keeps implements Log.
func (a *Async) Keeps() bool { return true }

// Broken implements Log.
func (a *Async) Broken() error {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	return a.queue.failed
}

// Close implements Log. It waits for queued entries, and returns the error of the one that failed.
func (a *Async) Close() error {
	if err := a.Sync.Close(); err != nil {
		return err
	}
	return a.queue.wait()
}
