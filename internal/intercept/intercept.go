// Package intercept has a saver whose calls a test delays, breaks and counts.
package intercept

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Saver is a saver whose calls are made by a function.
type Saver struct {
	checkpoint.Saver
	// By makes a call of the Saver by do, and returns its error, or another one. op is the name of
	// the method. thread is empty for a call that is not about one thread. do may be called in
	// another goroutine, and after By has returned: then nobody gets the result.
	By func(ctx context.Context, op, thread string, do func(context.Context) error) error
}

// Call makes a call that has a result by a function as Saver.By. The result is zero if by returns
// an error, unless the error is ErrPartial.
func Call[R any](by func(do func(context.Context) error) error, do func(context.Context) (R, error)) (result R, err error) {
	var got atomic.Pointer[R]
	err = by(func(ctx context.Context) error {
		r, err := do(ctx)
		got.Store(&r)
		return err
	})
	if r := got.Load(); r != nil && (err == nil || errors.Is(err, checkpoint.ErrPartial)) {
		result = *r
	}
	return result, err
}

// call makes a call of the saver.
func call[R any](ctx context.Context, s *Saver, op, thread string, do func(context.Context) (R, error)) (R, error) {
	return Call(func(f func(context.Context) error) error { return s.By(ctx, op, thread, f) }, do)
}

// list makes a call that yields values, before the first one is yielded.
func list[V any](ctx context.Context, s *Saver, op, thread string, do func(context.Context) iter.Seq2[V, error]) iter.Seq2[V, error] {
	type item struct {
		v   V
		err error
	}
	return func(yield func(V, error) bool) {
		all, err := call(ctx, s, op, thread, func(ctx context.Context) (all []item, _ error) {
			for v, err := range do(ctx) {
				all = append(all, item{v, err})
			}
			return all, nil
		})
		for _, i := range all {
			if !yield(i.v, i.err) {
				return
			}
		}
		if err != nil {
			var none V
			yield(none, err)
		}
	}
}

// Append makes the call of that name by By.
func (s *Saver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	return call(ctx, s, "append", a.Thread, func(ctx context.Context) (checkpoint.AppendResult, error) { return s.Saver.Append(ctx, a) })
}

// PutWrites makes the call of that name by By.
func (s *Saver) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	return call(ctx, s, "put", w.Thread, func(ctx context.Context) (checkpoint.PutResult, error) { return s.Saver.PutWrites(ctx, w) })
}

// Load makes the call of that name by By.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	return call(ctx, s, "load", p.Thread, func(ctx context.Context) (checkpoint.Chain, error) { return s.Saver.Load(ctx, p) })
}

// History makes the call of that name by By.
func (s *Saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return list(ctx, s, "history", p.Thread, func(ctx context.Context) iter.Seq2[checkpoint.Record, error] {
		return s.Saver.History(ctx, p, q)
	})
}

// Threads makes the call of that name by By.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return list(ctx, s, "threads", "", func(ctx context.Context) iter.Seq2[checkpoint.Thread, error] { return s.Saver.Threads(ctx, q) })
}

// Ready makes the call of that name by By.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	return call(ctx, s, "ready", "", func(ctx context.Context) (checkpoint.ReadyThreads, error) { return s.Saver.Ready(ctx, q) })
}

// Rewake makes the call of that name by By.
func (s *Saver) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	return s.By(ctx, "rewake", r.Thread, func(ctx context.Context) error { return s.Saver.Rewake(ctx, r) })
}

// Schemas makes the call of that name by By.
func (s *Saver) Schemas(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
	return call(ctx, s, "schemas", thread, func(ctx context.Context) (map[uint64][]byte, error) {
		return s.Saver.Schemas(ctx, thread, version)
	})
}

// Versions makes the call of that name by By.
func (s *Saver) Versions(ctx context.Context, thread string) ([]checkpoint.Version, error) {
	return call(ctx, s, "versions", thread, func(ctx context.Context) ([]checkpoint.Version, error) { return s.Saver.Versions(ctx, thread) })
}

// Release makes the call of that name by By.
func (s *Saver) Release(ctx context.Context, thread string, ifHead checkpoint.ID) (checkpoint.Version, error) {
	return call(ctx, s, "release", thread, func(ctx context.Context) (checkpoint.Version, error) { return s.Saver.Release(ctx, thread, ifHead) })
}

// Delete makes the call of that name by By.
func (s *Saver) Delete(ctx context.Context, thread string) error {
	return s.By(ctx, "delete", thread, func(ctx context.Context) error { return s.Saver.Delete(ctx, thread) })
}

// Prune makes the call of that name by By.
func (s *Saver) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	return call(ctx, s, "prune", thread, func(ctx context.Context) (checkpoint.PruneResult, error) { return s.Saver.Prune(ctx, thread, keep) })
}

// Post makes the call of that name by By.
func (s *Saver) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	thread := ""
	if len(posts) == 1 {
		thread = posts[0].Thread
	}
	return call(ctx, s, "post", thread, func(ctx context.Context) ([]checkpoint.Posted, error) { return s.Saver.Post(ctx, posts...) })
}

// Mail makes the call of that name by By.
func (s *Saver) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	return call(ctx, s, "mail", q.Thread, func(ctx context.Context) ([]checkpoint.Message, error) { return s.Saver.Mail(ctx, q) })
}

// News makes the call of that name by By.
func (s *Saver) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	return call(ctx, s, "news", "", func(ctx context.Context) ([]checkpoint.News, error) { return s.Saver.News(ctx, threads) })
}
