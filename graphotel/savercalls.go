package graphotel

import (
	"context"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Append implements checkpoint.Saver.
func (s *saver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	c := call{operation: "append", thread: a.Thread, records: len(a.Records), writes: len(a.Writes)}
	if a.Namespace == "" && len(a.Records) > 0 {
		c.checkpoint = a.Records[len(a.Records)-1].ID
	}
	return reported(ctx, s.calls, c, func(ctx context.Context) (checkpoint.AppendResult, error) { return s.Saver.Append(ctx, a) })
}

// PutWrites implements checkpoint.Saver.
func (s *saver) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	c := call{operation: "put_writes", thread: w.Thread, writes: len(w.Writes)}
	return reported(ctx, s.calls, c, func(ctx context.Context) (checkpoint.PutResult, error) { return s.Saver.PutWrites(ctx, w) })
}

// Load implements checkpoint.Saver.
func (s *saver) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c := call{operation: "load", thread: p.Thread}
	return reported(ctx, s.calls, c, func(ctx context.Context) (checkpoint.Chain, error) { return s.Saver.Load(ctx, p) })
}

// Post implements checkpoint.Inbox.
func (s *saver) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	return poster{s.calls, s.Saver}.Post(ctx, posts...)
}

// Via implements checkpoint.PostChanger.
func (s *saver) Via(p checkpoint.Poster) checkpoint.Poster {
	return poster{s.calls, checkpoint.PostVia(s.Saver, p)}
}

// poster reports posts.
type poster struct {
	calls *calls
	by    checkpoint.Poster
}

// Post implements checkpoint.Poster.
func (p poster) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	c := call{operation: "post"}
	if len(posts) == 1 {
		c.thread = posts[0].Thread
	}
	return reported(ctx, p.calls, c, func(ctx context.Context) ([]checkpoint.Posted, error) { return p.by.Post(ctx, posts...) })
}

// Mail implements checkpoint.Inbox.
func (s *saver) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	c := call{operation: "mail", thread: q.Thread}
	return reported(ctx, s.calls, c, func(ctx context.Context) ([]checkpoint.Message, error) { return s.Saver.Mail(ctx, q) })
}

// Ready implements checkpoint.Saver.
func (s *saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	return reported(ctx, s.calls, call{operation: "ready"}, func(ctx context.Context) (checkpoint.ReadyThreads, error) { return s.Saver.Ready(ctx, q) })
}

// Rewake implements checkpoint.Saver.
func (s *saver) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	c := call{operation: "rewake", thread: r.Thread}
	return s.calls.done(ctx, c, func(ctx context.Context) error { return s.Saver.Rewake(ctx, r) })
}

// Schemas implements checkpoint.Saver.
func (s *saver) Schemas(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
	c := call{operation: "schemas", thread: thread}
	return reported(ctx, s.calls, c, func(ctx context.Context) (map[uint64][]byte, error) { return s.Saver.Schemas(ctx, thread, version) })
}

// Versions implements checkpoint.Saver.
func (s *saver) Versions(ctx context.Context, thread string) ([]checkpoint.Version, error) {
	c := call{operation: "versions", thread: thread}
	return reported(ctx, s.calls, c, func(ctx context.Context) ([]checkpoint.Version, error) { return s.Saver.Versions(ctx, thread) })
}

// Release implements checkpoint.Saver.
func (s *saver) Release(ctx context.Context, thread string, ifHead checkpoint.ID) (checkpoint.Version, error) {
	c := call{operation: "release", thread: thread}
	return reported(ctx, s.calls, c, func(ctx context.Context) (checkpoint.Version, error) { return s.Saver.Release(ctx, thread, ifHead) })
}

// Delete implements checkpoint.Saver.
func (s *saver) Delete(ctx context.Context, thread string) error {
	c := call{operation: "delete", thread: thread}
	return s.calls.done(ctx, c, func(ctx context.Context) error { return s.Saver.Delete(ctx, thread) })
}

// Prune implements checkpoint.Saver.
func (s *saver) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	c := call{operation: "prune", thread: thread}
	return reported(ctx, s.calls, c, func(ctx context.Context) (checkpoint.PruneResult, error) { return s.Saver.Prune(ctx, thread, keep) })
}

// Import implements checkpoint.Saver.
func (s *saver) Import(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	c := call{operation: "import", thread: thread}
	return s.calls.done(ctx, c, func(ctx context.Context) error { return s.Saver.Import(ctx, thread, items) })
}

// History implements checkpoint.Saver.
func (s *saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return yielded(ctx, s.calls, call{operation: "history", thread: p.Thread}, func(ctx context.Context) iter.Seq2[checkpoint.Record, error] {
		return s.Saver.History(ctx, p, q)
	})
}

// Threads implements checkpoint.Saver.
func (s *saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return yielded(ctx, s.calls, call{operation: "threads"}, func(ctx context.Context) iter.Seq2[checkpoint.Thread, error] {
		return s.Saver.Threads(ctx, q)
	})
}

// Export implements checkpoint.Saver.
func (s *saver) Export(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	return yielded(ctx, s.calls, call{operation: "export", thread: thread}, func(ctx context.Context) iter.Seq2[checkpoint.ExportItem, error] {
		return s.Saver.Export(ctx, thread, version)
	})
}

// yielded reports a call that yields a sequence, from the begin of the loop to its end. The error
// of the call is the last one of the sequence.
func yielded[T any](ctx context.Context, by *calls, c call, do func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		within, end := by.begin(ctx, c)
		var failed error
		defer func() { end(failed) }()
		for item, err := range do(within) {
			if failed = err; !yield(item, err) {
				return
			}
		}
	}
}
