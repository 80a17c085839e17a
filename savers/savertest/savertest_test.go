package savertest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// recorder is a testing.TB that records failures instead of failing.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Helper()           {}

// failuresOf runs one case of the suite and returns its failures.
func failuresOf(t *testing.T, name string, place savertest.Storage) []string {
	t.Helper()
	i := slices.IndexFunc(savertest.Cases(), func(c savertest.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the suite has no case %q", name)
	}
	r := &recorder{TB: t}
	var done sync.WaitGroup
	done.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
			for _, f := range slices.Backward(r.cleanups) {
				f()
			}
		}()
		savertest.Cases()[i].Test(r, place)
	})
	done.Wait()
	return r.failures
}

// broken is a saver that breaks one rule: each function that is not nil replaces the method of
// that name.
type broken struct {
	checkpoint.Saver
	appends  func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error)
	put      func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error)
	load     func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error)
	history  func(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error]
	threads  func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error]
	ready    func(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error)
	rewake   func(ctx context.Context, r checkpoint.Rewake) error
	schemas  func(ctx context.Context, thread string, version int) (map[uint64][]byte, error)
	versions func(ctx context.Context, thread string) ([]checkpoint.Version, error)
	release  func(ctx context.Context, thread string, ifHead checkpoint.ID) (checkpoint.Version, error)
	deletes  func(ctx context.Context, thread string) error
	prune    func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error)
	export   func(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error]
	imports  func(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error
	closes   func() error
}

func (b *broken) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if b.appends != nil {
		return b.appends(ctx, a)
	}
	return b.Saver.Append(ctx, a)
}

func (b *broken) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if b.put != nil {
		return b.put(ctx, w)
	}
	return b.Saver.PutWrites(ctx, w)
}

func (b *broken) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if b.load != nil {
		return b.load(ctx, p)
	}
	return b.Saver.Load(ctx, p)
}

func (b *broken) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	if b.history != nil {
		return b.history(ctx, p, q)
	}
	return b.Saver.History(ctx, p, q)
}

func (b *broken) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	if b.threads != nil {
		return b.threads(ctx, q)
	}
	return b.Saver.Threads(ctx, q)
}

func (b *broken) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if b.ready != nil {
		return b.ready(ctx, q)
	}
	return b.Saver.Ready(ctx, q)
}

func (b *broken) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	if b.rewake != nil {
		return b.rewake(ctx, r)
	}
	return b.Saver.Rewake(ctx, r)
}

func (b *broken) Schemas(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
	if b.schemas != nil {
		return b.schemas(ctx, thread, version)
	}
	return b.Saver.Schemas(ctx, thread, version)
}

func (b *broken) Versions(ctx context.Context, thread string) ([]checkpoint.Version, error) {
	if b.versions != nil {
		return b.versions(ctx, thread)
	}
	return b.Saver.Versions(ctx, thread)
}

func (b *broken) Release(ctx context.Context, thread string, ifHead checkpoint.ID) (checkpoint.Version, error) {
	if b.release != nil {
		return b.release(ctx, thread, ifHead)
	}
	return b.Saver.Release(ctx, thread, ifHead)
}

func (b *broken) Delete(ctx context.Context, thread string) error {
	if b.deletes != nil {
		return b.deletes(ctx, thread)
	}
	return b.Saver.Delete(ctx, thread)
}

func (b *broken) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	if b.prune != nil {
		return b.prune(ctx, thread, keep)
	}
	return b.Saver.Prune(ctx, thread, keep)
}

func (b *broken) Export(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	if b.export != nil {
		return b.export(ctx, thread, version)
	}
	return b.Saver.Export(ctx, thread, version)
}

func (b *broken) Import(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if b.imports != nil {
		return b.imports(ctx, thread, items)
	}
	return b.Saver.Import(ctx, thread, items)
}

func (b *broken) Close() error {
	if b.closes != nil {
		return b.closes()
	}
	return b.Saver.Close()
}

// withoutSchemas returns writes without the descriptions of schemas.
func withoutSchemas(writes []checkpoint.Write) []checkpoint.Write {
	return slices.DeleteFunc(slices.Clone(writes), func(w checkpoint.Write) bool { return w.Kind == checkpoint.Schema })
}

func withoutSchemaItems(items iter.Seq2[checkpoint.ExportItem, error]) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for item, err := range items {
			if item.Write != nil && item.Write.Kind == checkpoint.Schema {
				continue
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// breaks lists savers that break one rule each, and the case that must fail for each.
var breaks = []struct {
	rule, found string
	by          func(b *broken)
}{
	{"compares heads", "a wrong head is a conflict", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if chain, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: a.Thread, Namespace: a.Namespace}); err == nil {
				a.After, a.Records[0].Parent = chain.Head, chain.Head
			}
			return b.Saver.Append(ctx, a)
		}
	}},
	{"compares heads of children", "a wrong head is a conflict", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if chain, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: a.Thread, Namespace: a.Namespace}); err == nil && a.Namespace != "" {
				a.After, a.Records[0].Parent = chain.Head, chain.Head
			}
			return b.Saver.Append(ctx, a)
		}
	}},
	{"shows a lease with its thread", "one of many starts gets a thread and the others are busy", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			c, err := b.Saver.Load(ctx, p)
			if c.Chained == 0 && !c.Empty() {
				c.Thread.Holder = ""
			}
			return c, err
		}
	}},
	{"says who is faster", "one of many starts gets a thread and the others are busy", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			if errors.As(err, new(*checkpoint.BusyError)) {
				err = &checkpoint.ConflictError{Thread: a.Thread, Want: a.After, Reason: "head"}
			}
			return done, err
		}
	}},
	{"fences children", "a run that lost its fence is refused everywhere", func(b *broken) {
		fence := rememberFence(b)
		inner := b.appends
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if a.Namespace != "" {
				a.Fence = fence(a.Thread)
			}
			return inner(ctx, a)
		}
	}},
	{"fences pending writes", "a run that lost its fence is refused everywhere", func(b *broken) {
		fence := rememberFence(b)
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Fence = fence(w.Thread)
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"fences renewals", "a run that lost its fence is refused everywhere", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			if len(w.Writes) == 0 && !w.End && w.Status == 0 {
				return checkpoint.PutResult{}, nil
			}
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"keeps others out", "a lease keeps others out", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if a.Open != nil {
				a.Open = &checkpoint.Opening{Holder: a.Open.Holder, TakeOver: true}
			}
			return b.Saver.Append(ctx, a)
		}
	}},
	{"names the holder", "a lease keeps others out", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if a.Open != nil {
				a.Open = &checkpoint.Opening{TakeOver: a.Open.TakeOver}
			}
			return b.Saver.Append(ctx, a)
		}
	}},
	{"lets take over", "a lease is taken over", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if a.Open != nil {
				a.Open = &checkpoint.Opening{Holder: a.Open.Holder}
			}
			return b.Saver.Append(ctx, a)
		}
	}},
	{"renews by an append", "a lease is renewed by every write", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if a.Open == nil {
				a.Lease = 1
			}
			return b.Saver.Append(ctx, a)
		}
	}},
	{"renews by a put of nothing", "a lease is renewed by every write", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			if len(w.Writes) == 0 && !w.End {
				w.Lease = 1
			}
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"ends a lease with a put", "a lease ends with its run", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.End = false
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"ends a lease with an append", "a lease ends with its run", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			a.End = a.End && a.Release
			return b.Saver.Append(ctx, a)
		}
	}},
	{"sets the status", "a lease ends with its run", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Status = 0
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"reads writes once it has the fence", "an opening reads writes after it took the fence", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			before, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: a.Thread})
			for now := before; a.Open != nil && a.Open.TakeOver && err == nil && len(now.Writes) == len(before.Writes); {
				runtime.Gosched() // until the old run has stored another write
				now, err = b.Saver.Load(ctx, checkpoint.Ref{Thread: a.Thread})
			}
			if err != nil {
				return checkpoint.AppendResult{}, err
			}
			done, err := b.Saver.Append(ctx, a)
			if a.Open != nil {
				done.Writes = before.Writes
			}
			return done, err
		}
	}},
	{"returns the writes that stand", "an opening returns the pending writes", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			done.Writes = nil
			return done, err
		}
	}},
	{"returns the writes of children", "an opening returns the pending writes", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			done.Writes = slices.DeleteFunc(done.Writes, func(w checkpoint.Write) bool { return w.Namespace != "" })
			return done, err
		}
	}},
	{"stores writes with an append", "an opening returns the pending writes", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			a.Writes = nil
			return b.Saver.Append(ctx, a)
		}
	}},
	{"keeps the first result", "a result is final and the rest is replaced", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			var writes []checkpoint.Write
			for _, one := range w.Writes {
				if discard := one; one.Kind == checkpoint.Result {
					discard.Kind = checkpoint.Discard
					writes = append(writes, discard)
				}
				writes = append(writes, one)
			}
			w.Writes = writes
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"replaces questions", "a result is final and the rest is replaced", func(b *broken) {
		seen := make(map[string]bool)
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Writes = slices.DeleteFunc(slices.Clone(w.Writes), func(one checkpoint.Write) bool {
				key := fmt.Sprint(one.Base, one.Task, one.Kind, one.Name)
				again := seen[key]
				seen[key] = true
				return again
			})
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"discards", "a discard drops the results of a task", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Writes = slices.DeleteFunc(slices.Clone(w.Writes), func(one checkpoint.Write) bool { return one.Kind == checkpoint.Discard })
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"discards of answers", "a discard opens a question again", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Writes = slices.DeleteFunc(slices.Clone(w.Writes), func(one checkpoint.Write) bool { return one.Kind == checkpoint.Discard })
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"keeps names of questions apart", "pending writes of a task", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Writes = slices.Clone(w.Writes)
			for i := range w.Writes {
				w.Writes[i].Name = ""
			}
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"drops writes at the commit", "pending writes go with the commit", func(b *broken) {
		var all []checkpoint.Write
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			all = append(all, w.Writes...)
			return b.Saver.PutWrites(ctx, w)
		}
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			if !chain.Empty() {
				chain.Writes = slices.DeleteFunc(slices.Clone(all), func(w checkpoint.Write) bool { return w.Base != chain.Last.Base })
			}
			return chain, err
		}
	}},
	{"reports committed tasks", "pending writes go with the commit", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			chain.Committed = false
			return chain, err
		}
	}},
	{"keeps the first description of a schema", "schemas are described once a version", func(b *broken) {
		newest := make(map[uint64][]byte)
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			all, err := checkpoint.Schemas(w.Writes)
			maps.Copy(newest, all)
			done, putErr := b.Saver.PutWrites(ctx, w)
			return done, errors.Join(err, putErr)
		}
		b.schemas = func(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
			all, err := b.Saver.Schemas(ctx, thread, version)
			for fingerprint := range all {
				if text, ok := newest[fingerprint]; ok {
					all[fingerprint] = text
				}
			}
			return all, err
		}
	}},
	{"stores the descriptions of every append", "schemas are described once a version", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if a.Open == nil {
				a.Writes = withoutSchemas(a.Writes)
			}
			return b.Saver.Append(ctx, a)
		}
	}},
	{"stores descriptions by fingerprint", "schemas are described once a version", func(b *broken) {
		b.schemas = func(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
			all, err := b.Saver.Schemas(ctx, thread, version)
			for fingerprint, text := range all {
				return map[uint64][]byte{fingerprint: text}, nil
			}
			return nil, err
		}
	}},
	{"fences descriptions", "schemas are described once a version", func(b *broken) {
		fence := rememberFence(b)
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Fence = fence(w.Thread)
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"keeps descriptions from openings", "descriptions of schemas are no pending writes", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			done.Writes = append(done.Writes, a.Writes...)
			return done, err
		}
	}},
	{"keeps descriptions from loads", "descriptions of schemas are no pending writes", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			chain.Writes = append(chain.Writes, checkpoint.SchemaWrite(1, []byte("one")))
			return chain, err
		}
	}},
	{"prunes what has ended", "prune removes ended threads", func(b *broken) {
		b.prune = func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			if keep.Ended.IsZero() {
				return b.Saver.Prune(ctx, thread, keep)
			}
			chain, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: thread})
			if err != nil || chain.Thread.Status != checkpoint.Done || chain.Thread.Updated.After(keep.Ended) {
				return b.Saver.Prune(ctx, thread, keep)
			}
			return checkpoint.PruneResult{Deleted: true}, b.Saver.Delete(ctx, thread) // whatever waits in its inbox
		}
	}},
	{"prunes what was released", "prune removes ended threads", func(b *broken) {
		b.prune = func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			if chain, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: thread}); err == nil && chain.Version == 0 {
				keep.Ended = time.Time{}
			}
			return b.Saver.Prune(ctx, thread, keep)
		}
	}},
	{"keeps descriptions when it prunes", "descriptions of schemas stay with their version", func(b *broken) {
		pruned := false
		b.prune = func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			pruned = true
			return b.Saver.Prune(ctx, thread, keep)
		}
		b.schemas = func(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
			if pruned {
				return nil, nil
			}
			return b.Saver.Schemas(ctx, thread, version)
		}
	}},
	{"keeps the descriptions of versions apart", "descriptions of schemas stay with their version", func(b *broken) {
		b.schemas = func(ctx context.Context, thread string, version int) (map[uint64][]byte, error) {
			if version == 2 {
				version = 1
			}
			return b.Saver.Schemas(ctx, thread, version)
		}
	}},
	{"exports descriptions", "descriptions of schemas are copied", func(b *broken) {
		b.export = func(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
			return withoutSchemaItems(b.Saver.Export(ctx, thread, version))
		}
	}},
	{"imports descriptions", "descriptions of schemas are copied", func(b *broken) {
		b.imports = func(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
			return b.Saver.Import(ctx, thread, withoutSchemaItems(items))
		}
	}},
	{"copies its arguments", "the caller may change its arguments after a call", func(b *broken) {
		given := make(map[checkpoint.ID]checkpoint.Record)
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			for _, r := range a.Records {
				given[r.ID] = r
			}
			return b.Saver.Append(ctx, a)
		}
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			chain.Last.Payload = given[chain.Last.ID].Payload
			return chain, err
		}
	}},
	{"keeps returned payloads", "returned payloads never change", func(b *broken) {
		buffers := make([][]byte, 8)
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			for i := range chain.Deltas {
				buffers[i] = append(buffers[i][:0], chain.Deltas[i]...)
				chain.Deltas[i] = buffers[i]
			}
			return chain, err
		}
	}},
	{"starts a chain with the nearest snapshot", "a chain starts with a snapshot", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			if n := len(chain.Deltas); n > 0 {
				chain.Snapshot, chain.Deltas = chain.Deltas[n-1], nil
			}
			return chain, err
		}
	}},
	{"says how long a chain is", "a chain starts with a snapshot", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			if chain.Chained > 0 {
				chain.Chained--
			}
			return chain, err
		}
	}},
	{"returns every delta", "a chain starts with a snapshot", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			if n := len(chain.Deltas); n > 1 {
				chain.Deltas = append(chain.Deltas[:1:1], chain.Deltas[2:]...)
			}
			return chain, err
		}
	}},
	{"returns deltas in order", "a chain starts with a snapshot", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			slices.Reverse(chain.Deltas)
			return chain, err
		}
	}},
	{"numbers records", "a chain starts with a snapshot", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			chain.Last.Seq--
			return chain, err
		}
	}},
	{"returns what is due", "pending writes of a task", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			if !chain.Empty() {
				chain.Due = chain.Last.Due
			}
			return chain, err
		}
	}},
	{"looks for ids", "every checkpoint loads by its id", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			p.At = checkpoint.ID{}
			return b.Saver.Load(ctx, p)
		}
	}},
	{"appends whole or not at all", "an append of many records is whole", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			if err != nil && len(a.Records) > 1 {
				a.Records = a.Records[:1]
				return b.Saver.Append(ctx, a)
			}
			return done, err
		}
	}},
	{"takes an append again", "an append sent again changes nothing", func(b *broken) { b.appends = refuseAgain(b, false) }},
	{"knows an append after a prune", "an append sent again after a prune changes nothing", func(b *broken) { b.appends = refuseAgain(b, false) }},
	{"takes an opening again", "an opening sent again changes nothing", func(b *broken) { b.appends = refuseAgain(b, true) }},
	{"takes a releasing append again", "the last write of a run releases", func(b *broken) { b.appends = refuseAgain(b, false) }},
	{"compares ids", "ids increase within a log", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			var invalid *checkpoint.InvalidError
			if errors.As(err, &invalid) && strings.HasSuffix(invalid.Field, "].ID") {
				return done, nil
			}
			return done, err
		}
	}},
	{"keeps writes without a base", "a write can precede its base", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Writes = slices.DeleteFunc(slices.Clone(w.Writes), func(w checkpoint.Write) bool { return w.Namespace != "" })
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"orders history", "history is newest first", func(b *broken) {
		b.history = func(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
			var all []checkpoint.Record
			for r, err := range b.Saver.History(ctx, p, q) {
				if err != nil {
					break
				}
				all = append(all, r)
			}
			slices.Reverse(all)
			return sequence(all)
		}
	}},
	{"hides resume records", "history is newest first", changedQuery(func(q *checkpoint.Query) { q.Sources = []checkpoint.Source{1, 2, 3, 4, 5} })},
	{"filters by source", "history filters", changedQuery(func(q *checkpoint.Query) { q.Sources = nil })},
	{"filters by step", "history filters", changedQuery(func(q *checkpoint.Query) { q.HasStep = false })},
	{"filters by step 0", "history filters", changedQuery(func(q *checkpoint.Query) { q.HasStep = q.Step != 0 })},
	{"filters by node", "history filters", changedQuery(func(q *checkpoint.Query) { q.Next = "" })},
	{"filters by a node that ran", "history filters", changedQuery(func(q *checkpoint.Query) { q.Ran = "" })},
	{"filters since", "history filters", changedQuery(func(q *checkpoint.Query) { q.Since = q.Until })},
	{"filters until", "history filters", changedQuery(func(q *checkpoint.Query) { q.Until = q.Since })},
	{"limits history", "history filters", changedQuery(func(q *checkpoint.Query) { q.Limit = 0 })},
	{"leaves payloads out", "history without payloads", changedQuery(func(q *checkpoint.Query) { q.Headers = false })},
	{"pages history", "history in pages", changedQuery(func(q *checkpoint.Query) { q.Before = checkpoint.ID{} })},
	{"compares the head of a release", "a release checks the head and the lease", func(b *broken) {
		b.release = func(ctx context.Context, thread string, _ checkpoint.ID) (checkpoint.Version, error) {
			return b.Saver.Release(ctx, thread, checkpoint.ID{})
		}
	}},
	{"starts empty after a release", "a release starts an empty version", func(b *broken) {
		b.release = func(ctx context.Context, thread string, ifHead checkpoint.ID) (checkpoint.Version, error) {
			v, err := b.Versions(ctx, thread)
			if err != nil || len(v) == 0 {
				return checkpoint.Version{}, err
			}
			return v[len(v)-1], nil
		}
	}},
	{"deletes versions", "delete removes all versions", func(b *broken) {
		b.deletes = func(ctx context.Context, thread string) error {
			_, err := b.Saver.Release(ctx, thread, checkpoint.ID{})
			return err
		}
	}},
	{"deletes", "a head of another version is a conflict", func(b *broken) {
		b.deletes = func(ctx context.Context, thread string) error { return nil }
	}},
	{"respects a lease when it deletes", "a lease keeps others out", func(b *broken) {
		fence := rememberFence(b)
		b.deletes = func(ctx context.Context, thread string) error {
			if _, err := b.PutWrites(ctx, checkpoint.PutWrites{Thread: thread, Fence: fence(thread), End: true}); err != nil {
				return err
			}
			return b.Saver.Delete(ctx, thread)
		}
	}},
	{"lists by prefix", "threads are listed by id", changedThreads(func(q *checkpoint.ThreadQuery) { q.Prefix = "" })},
	{"lists after", "threads are listed by id", changedThreads(func(q *checkpoint.ThreadQuery) { q.After = "" })},
	{"limits a list", "threads are listed by id", changedThreads(func(q *checkpoint.ThreadQuery) { q.Limit = 0 })},
	{"lists by status", "threads are listed by what they wait for", changedThreads(func(q *checkpoint.ThreadQuery) { q.Status = 0 })},
	{"stores a status of its own", "every status is stored", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			if w.Status == checkpoint.Ready {
				w.Status = checkpoint.Paused
			}
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"lists by a new status", "every status is stored", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.Status == checkpoint.Cancelled {
			q.Status = checkpoint.Done
		}
	})},
	{"lists idle threads", "threads are listed by what they wait for", changedThreads(func(q *checkpoint.ThreadQuery) { q.IdleSince = q.IdleSince.Add(-1e15) })},
	{"stores titles", "a thread has a graph, a time of creation, a title and labels", changedOpening(func(a *checkpoint.Append) {
		a.Open.Title = ""
	})},
	{"stores the graph", "a thread has a graph, a time of creation, a title and labels", changedOpening(func(a *checkpoint.Append) {
		a.Records[0].Graph = ""
	})},
	{"removes labels without a value", "a thread has a graph, a time of creation, a title and labels", changedOpening(func(a *checkpoint.Append) {
		maps.DeleteFunc(a.Open.Labels, func(_, value string) bool { return value == "" })
	})},
	{"changes labels with a commit", "a commit changes labels", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			a.Labels = nil
			return b.Saver.Append(ctx, a)
		}
	}},
	{"keeps labels", "a thread has a graph, a time of creation, a title and labels", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if a.Open != nil {
				c, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: a.Thread})
				if err != nil {
					return checkpoint.AppendResult{}, err
				}
				open := *a.Open
				open.Labels = make(map[string]string)
				for name := range c.Thread.Labels {
					open.Labels[name] = ""
				}
				maps.Copy(open.Labels, a.Open.Labels)
				a.Open = &open
			}
			return b.Saver.Append(ctx, a)
		}
	}},
	{"keeps the time of creation", "a thread has a graph, a time of creation, a title and labels", changedThread(func(t *checkpoint.Thread) {
		t.Created = t.Updated
	})},
	{"describes nothing when it refuses an opening", "a refused opening describes nothing", describedFirst},
	{"keeps titles over versions", "a description stays until the thread is deleted", changedThread(func(t *checkpoint.Thread) {
		if t.Version > 1 && t.Title == "title" {
			t.Title = ""
		}
	})},
	{"forgets labels that were deleted", "a description stays until the thread is deleted", func(b *broken) {
		before := make(map[string]map[string]string)
		b.deletes = func(ctx context.Context, thread string) error {
			c, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: thread})
			if err == nil {
				before[thread] = c.Thread.Labels
				err = b.Saver.Delete(ctx, thread)
			}
			return err
		}
		changedOpening(func(a *checkpoint.Append) {
			if a.Open.Labels == nil {
				a.Open.Labels = before[a.Thread]
			}
		})(b)
	}},
	{"copies titles", "descriptions are copied", changedImport(func(t *checkpoint.Thread) { t.Title = "" })},
	{"copies labels", "descriptions are copied", changedImport(func(t *checkpoint.Thread) { t.Labels = nil })},
	{"copies the graph", "descriptions are copied", changedImport(func(t *checkpoint.Thread) { t.Graph = "" })},
	{"copies the time of creation", "descriptions are copied", changedImport(func(t *checkpoint.Thread) { t.Created = time.Time{} })},
	{"limits labels", "descriptions have limits", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			if invalid := new(checkpoint.InvalidError); errors.As(err, &invalid) && a.Thread == "t" {
				return done, nil
			}
			return done, err
		}
	}},
	{"stores large labels", "descriptions have limits", changedOpening(func(a *checkpoint.Append) {
		for name, value := range a.Open.Labels {
			if len(value) == checkpoint.MaxLabelValue {
				a.Open.Labels[name] = value[1:]
			}
		}
	})},
	{"lists by label", "threads are listed by graph and label", changedThreads(func(q *checkpoint.ThreadQuery) { q.Labels = nil })},
	{"lists by all labels", "threads are listed by graph and label", changedThreads(func(q *checkpoint.ThreadQuery) {
		if len(q.Labels) > 1 {
			q.Labels = map[string]string{"user": q.Labels["user"]}
		}
	})},
	{"lists by graph", "threads are listed by graph and label", changedThreads(func(q *checkpoint.ThreadQuery) { q.Graph = "" })},
	{"lists since a time of creation", "threads are listed by the time of their creation", changedThreads(func(q *checkpoint.ThreadQuery) {
		q.CreatedSince = time.Time{}
	})},
	{"lists until a time of creation", "threads are listed by the time of their creation", changedThreads(func(q *checkpoint.ThreadQuery) {
		q.CreatedUntil = time.Time{}
	})},
	{"leaves out tasks of queues", "tasks of queues are listed if the caller asks", func(b *broken) {
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			return func(yield func(checkpoint.Thread, error) bool) {
				for _, prefix := range []string{q.Prefix, checkpoint.TaskPrefix} {
					also := q
					if also.Prefix = prefix; prefix != q.Prefix && q.After != "" {
						return
					}
					for t, err := range b.Saver.Threads(ctx, also) {
						if !yield(t, err) {
							return
						}
					}
				}
			}
		}
	}},
	{"lists tasks of queues", "tasks of queues are listed if the caller asks", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.Tasks() {
			q.Prefix = ""
		}
	})},
	{"lists newest first", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.NewestFirst() && q.After == "" {
			q.Order = checkpoint.ByID
		}
	})},
	{"lists newest first with a filter", "threads are listed by graph and label", func(b *broken) {
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			var all []checkpoint.Thread
			for t, err := range b.Saver.Threads(ctx, q) {
				if err != nil {
					return b.Saver.Threads(ctx, q)
				}
				all = append(all, t)
			}
			if q.Order == checkpoint.ByID {
				slices.SortFunc(all, func(a, b checkpoint.Thread) int { return strings.Compare(a.ID, b.ID) })
			}
			return sequence(all)
		}
	}},
	{"lists the newest of a graph", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.NewestFirst() {
			q.Graph = ""
		}
	})},
	{"lists the newest with a prefix", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.NewestFirst() {
			q.Prefix = ""
		}
	})},
	{"lists the newest of a status", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.NewestFirst() {
			q.Status = 0
		}
	})},
	{"lists the newest with a label", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.NewestFirst() {
			q.Labels = nil
		}
	})},
	{"lists the newest of a time", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.NewestFirst() {
			q.CreatedUntil = time.Time{}
		}
	})},
	{"lists the newest idle ones", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.NewestFirst() {
			q.IdleSince = time.Time{}
		}
	})},
	{"tells threads of one time apart", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.NewestFirst() && q.After != "" {
			q.After = "\x00" // as if the cursor were the time alone
		}
	})},
	{"orders threads of one time", "threads are listed newest first", func(b *broken) {
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			var all []checkpoint.Thread
			for t, err := range b.Saver.Threads(ctx, q) {
				if err != nil {
					return b.Saver.Threads(ctx, q)
				}
				all = append(all, t)
			}
			if q.NewestFirst() {
				slices.SortFunc(all, func(a, b checkpoint.Thread) int {
					return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
				})
			}
			return sequence(all)
		}
	}},
	{"checks the order", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		q.Order = min(q.Order, checkpoint.NewestFirst)
	})},
	{"checks the cursor", "threads are listed newest first", changedThreads(func(q *checkpoint.ThreadQuery) {
		if q.After == "" {
			q.AfterCreated = time.Time{}
		}
	})},
	{"finds a thread that a post gave a graph", "a post gives a thread without a graph its graph", func(b *broken) {
		b.ready = func(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
			got, err := b.Saver.Ready(ctx, q)
			got.Next = time.Time{}
			return got, err
		}
	}},
	{"lists released threads", listsReleased, changedThreads(func(q *checkpoint.ThreadQuery) { q.Released = false })},
	{"lists released threads only if asked", listsReleased, changedThreads(func(q *checkpoint.ThreadQuery) { q.Released = true })},
	{"lists the newest released threads", listsReleased, changedThreads(func(q *checkpoint.ThreadQuery) {
		q.Released = q.Released && !q.NewestFirst()
	})},
	{"lists released threads of a label", listsReleased, changedThreads(func(q *checkpoint.ThreadQuery) {
		q.Released = q.Released && len(q.Labels) == 0
	})},
	{"lists released threads without a status", listsReleased, func(b *broken) {
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			return func(yield func(checkpoint.Thread, error) bool) {
				for t, err := range b.Saver.Threads(ctx, q) {
					if t.Version == 0 {
						t.Status = checkpoint.Done
					}
					if !yield(t, err) {
						return
					}
				}
			}
		}
	}},
	{"lists no thread that was deleted", "a list of released threads follows releases and deletions", func(b *broken) {
		var known checkpoint.Thread
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			return func(yield func(checkpoint.Thread, error) bool) {
				for t, err := range b.Saver.Threads(ctx, q) {
					if known = t; !yield(t, err) {
						return
					}
				}
				if all, err := b.Saver.Versions(ctx, known.ID); err == nil && len(all) == 0 {
					yield(known, nil)
				}
			}
		}
	}},
	{"pages by place", "pages of the newest threads have no gaps and no doubles", func(b *broken) {
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			if !q.NewestFirst() || q.After == "" {
				return b.Saver.Threads(ctx, q)
			}
			after, limit := q.After, q.Limit
			q.After, q.AfterCreated, q.Limit = "", time.Time{}, 0
			var all []checkpoint.Thread
			for t, err := range b.Saver.Threads(ctx, q) { // the thread may be gone
				if err != nil {
					break
				}
				all = append(all, t)
			}
			at := slices.IndexFunc(all, func(t checkpoint.Thread) bool { return t.ID == after })
			return sequence(all[at+1 : min(at+1+limit, len(all))])
		}
	}},
	{"lists by the time of the newest run", "pages of the newest threads have no gaps and no doubles", func(b *broken) {
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			limit := q.Limit
			if q.Limit = 0; !q.NewestFirst() {
				q.Limit = limit
				return b.Saver.Threads(ctx, q)
			}
			var all []checkpoint.Thread
			for t, err := range b.Saver.Threads(ctx, q) {
				if err != nil {
					break
				}
				all = append(all, t)
			}
			slices.SortStableFunc(all, func(a, b checkpoint.Thread) int { return b.Updated.Compare(a.Updated) })
			if limit > 0 {
				all = all[:min(limit, len(all))]
			}
			return sequence(all)
		}
	}},
	{"wakes a run that ended", "threads are ready when they are due", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Wake = time.Time{}
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"waits for a wake", "threads are ready when they are due", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			if !w.Wake.IsZero() {
				w.Wake = time.Unix(1, 0)
			}
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"reserves ready threads", "threads are ready when they are due", changedReady(func(q *checkpoint.ReadyQuery) { q.Reserve = 0 })},
	{"leaves out threads", "threads are ready when they are due", changedReady(func(q *checkpoint.ReadyQuery) { q.Except = nil })},
	{"takes graphs in turn", "threads are ready when they are due", changedReady(func(q *checkpoint.ReadyQuery) {
		q.Graphs = slices.Sorted(slices.Values(q.Graphs))
	})},
	{"returns the labels of ready threads", "ready threads have their labels", func(b *broken) {
		b.ready = func(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
			got, err := b.Saver.Ready(ctx, q)
			for i := range got.Threads {
				got.Threads[i].Labels = nil
			}
			return got, err
		}
	}},
	{"stores the priority of an opening", "ready threads come by priority", changedOpening(func(a *checkpoint.Append) { a.Open.Priority = 0 })},
	{"keeps the priority without a new one", "ready threads come by priority", changedOpening(func(a *checkpoint.Append) {
		a.Open.Priority = a.Open.Priority.Or(checkpoint.Normal)
	})},
	{"copies priorities", "ready threads come by priority", changedImport(func(t *checkpoint.Thread) { t.Priority = 0 })},
	{"returns the priority of ready threads", "ready threads come by priority", readyChanged(func(t *checkpoint.ReadyThread) { t.Priority = 0 })},
	{"orders ready threads by priority", "ready threads come by priority", func(b *broken) {
		b.ready = func(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
			got, err := b.Saver.Ready(ctx, q)
			slices.SortStableFunc(got.Threads, func(a, b checkpoint.ReadyThread) int { return a.Wake.Compare(b.Wake) })
			return got, err
		}
	}},
	{"reserves by priority", "old threads of a low priority come last", func(b *broken) {
		b.ready = func(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
			all := q
			all.Limit, all.Reserve = 1000, 0
			got, err := b.Saver.Ready(ctx, all)
			slices.SortStableFunc(got.Threads, func(a, b checkpoint.ReadyThread) int { return a.Wake.Compare(b.Wake) })
			for _, t := range got.Threads[min(q.Limit, len(got.Threads)):] {
				q.Except = append(q.Except, t.ID)
			}
			if err != nil {
				return got, err
			}
			return b.Saver.Ready(ctx, q)
		}
	}},
	{"reserves once", "a ready thread is reserved once", changedReady(func(q *checkpoint.ReadyQuery) { q.Reserve = min(q.Reserve, 1) })},
	{"announces threads that stay due", "callers hear of due threads that they did not get", func(b *broken) {
		b.ready = func(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
			q.Limit = (q.Limit + 1) / 2
			got, err := b.Saver.Ready(ctx, q)
			got.Next = time.Time{}
			return got, err
		}
	}},
	{"leaves the wake to commits", "a thread is ready when its lease has ended", func(b *broken) {
		moved := make(map[string]time.Time)
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			if !w.End && w.Lease > 0 {
				moved[w.Thread] = time.Now().Add(w.Lease)
			}
			return b.Saver.PutWrites(ctx, w)
		}
		changedThread(func(t *checkpoint.Thread) {
			if wake := moved[t.ID]; !wake.IsZero() {
				t.Wake = wake
			}
		})(b)
	}},
	{"looks at leases", "a thread is ready when its lease has ended", func(b *broken) {
		b.ready = func(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
			got, err := b.Saver.Ready(ctx, q)
			for t, failed := range b.Saver.Threads(ctx, checkpoint.ThreadQuery{}) {
				if failed != nil {
					return got, failed
				}
				if t.Holder != "" && slices.Contains(q.Graphs, t.Graph) && t.Lease.Sub(got.Now) < 90*time.Minute && t.ID == "short" {
					got.Threads = append(got.Threads, checkpoint.ReadyThread{ID: t.ID})
				}
			}
			return got, err
		}
	}},
	{"compares the fence of a rewake", "a wake is set if the fence is that of the newest run", func(b *broken) {
		b.rewake = func(ctx context.Context, r checkpoint.Rewake) error {
			got, err := b.Saver.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
			if err == nil && len(got.Threads) == 1 && got.Threads[0].ID == r.Thread {
				r.Fence = got.Threads[0].Fence
			}
			return b.Saver.Rewake(ctx, r)
		}
	}},
	{"refuses to wake a released thread", "a wake is set if the fence is that of the newest run", func(b *broken) {
		b.rewake = func(ctx context.Context, r checkpoint.Rewake) error {
			err := b.Saver.Rewake(ctx, r)
			if errors.Is(err, checkpoint.ErrConflict) && r.Fence.IsZero() {
				return nil
			}
			return err
		}
	}},
	{"rewakes", "a wake is set if the fence is that of the newest run", func(b *broken) {
		b.rewake = func(ctx context.Context, r checkpoint.Rewake) error { return nil }
	}},
	{"returns the time", "an opening returns the time", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			done.Now = time.Time{}
			return done, err
		}
	}},
	{"returns the time of its own clock", "an opening returns the time", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			done.Now = done.Now.Add(time.Second)
			return done, err
		}
	}},
	{"keeps all microseconds of a wake", "a thread can be due in centuries", ending(func(w *checkpoint.PutWrites) {
		w.Wake = time.UnixMicro(int64(float64(w.Wake.UnixMicro())))
	})},
	{"has a time for each wake", "a thread can be due in centuries", ending(func(w *checkpoint.PutWrites) {
		w.Wake = time.UnixMicro(w.Wake.UnixMicro()) // overflows
	})},
	{"counts attempts", "attempts without progress are counted", changedOpening(func(a *checkpoint.Append) { a.Open.Retry = false })},
	{"forgets attempts of a person", "attempts without progress are counted", changedOpening(func(a *checkpoint.Append) { a.Open.Retry = true })},
	{"forgets attempts by a result", "attempts without progress are counted", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Progress = false
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"forgets attempts by a commit", "attempts without progress are counted", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			a.Progress = false
			return b.Saver.Append(ctx, a)
		}
	}},
	{"lists in order", "threads are listed by id", func(b *broken) {
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			var all []checkpoint.Thread
			for t, err := range b.Saver.Threads(ctx, q) {
				if err != nil {
					break
				}
				all = append(all, t)
			}
			slices.SortFunc(all, func(a, b checkpoint.Thread) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) })
			return sequence(all)
		}
	}},
	{"leaves out answered questions", "threads are listed by what they wait for", func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Writes = slices.DeleteFunc(slices.Clone(w.Writes), func(one checkpoint.Write) bool { return one.Kind == checkpoint.Answer })
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"exports writes", "a copy resumes", func(b *broken) {
		b.export = changedItems(b, func(item checkpoint.ExportItem) bool { return item.Write == nil })
	}},
	{"exports children", "a copy resumes", func(b *broken) {
		b.export = changedItems(b, func(item checkpoint.ExportItem) bool { return item.Record == nil || item.Record.Namespace == "" })
	}},
	{"exports one view", "an export is one view", func(b *broken) {
		b.export = func(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
			return func(yield func(checkpoint.ExportItem, error) bool) {
				n := 0
				for { // queries again for each item
					i := 0
					for item, err := range b.Saver.Export(ctx, thread, version) {
						if i++; i > n {
							if !yield(item, err) || err != nil {
								return
							}
							break
						}
					}
					if i <= n {
						return
					}
					n++
				}
			}
		}
	}},
	{"shows no later records", "history shows no later records", func(b *broken) {
		b.history = func(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
			return func(yield func(checkpoint.Record, error) bool) {
				for n := 0; ; n++ { // queries again for each record
					var nth []checkpoint.Record
					for r, err := range b.Saver.History(ctx, p, q) {
						if err != nil {
							yield(r, err)
							return
						}
						nth = append(nth, r)
					}
					if n == len(nth) || !yield(nth[n], nil) {
						return
					}
				}
			}
		}
	}},
	{"refuses calls after close", "close waits for calls under way", func(b *broken) { b.closes = func() error { return nil } }},
	{"imports whole", "an import is whole or not at all", func(b *broken) {
		b.imports = func(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
			var broke error
			err := b.Saver.Import(ctx, thread, func(yield func(checkpoint.ExportItem, error) bool) {
				for item, err := range items {
					if err != nil {
						broke = err
						return
					}
					if !yield(item, nil) {
						return
					}
				}
			})
			return errors.Join(err, broke)
		}
	}},
	{"imports in order", "an import must be in order", func(b *broken) {
		b.imports = func(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
			if err := b.Saver.Import(ctx, thread, items); !errors.As(err, new(*checkpoint.InvalidError)) {
				return err
			}
			return nil
		}
	}},
	{"prunes", "prune keeps what loads", func(b *broken) {
		b.prune = func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			return checkpoint.PruneResult{}, nil
		}
	}},
	{"prunes no more than Keep allows", "prune keeps what loads", func(b *broken) {
		b.prune = func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			keep.Last = (keep.Last + 1) / 2
			return b.Saver.Prune(ctx, thread, keep)
		}
	}},
	{"compares the fence of a Prune", "prune by the run that holds the thread", func(b *broken) {
		b.prune = func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			if chain, err := b.Saver.Load(ctx, checkpoint.Ref{Thread: thread}); err == nil && !keep.Fence.IsZero() && !chain.Empty() {
				keep.Fence = chain.Last.Line // the fence of the run, in this suite
			}
			return b.Saver.Prune(ctx, thread, keep)
		}
	}},
	{"lets the run prune its thread", "prune by the run that holds the thread", func(b *broken) {
		b.prune = func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			keep.Fence = checkpoint.ID{}
			return b.Saver.Prune(ctx, thread, keep)
		}
	}},
	{"prunes released versions", "prune removes released versions", func(b *broken) {
		b.prune = func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			keep.Released = 0
			return b.Saver.Prune(ctx, thread, keep)
		}
	}},
	{"keeps needed records", "prune keeps what is needed", func(b *broken) {
		// Forgets which records have pending writes, by dropping the writes.
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Writes = nil
			return b.Saver.PutWrites(ctx, w)
		}
	}},
	{"folds what it cuts", "prune folds what it cuts", func(b *broken) {
		var first []byte
		pruned := false
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if a.Open != nil {
				first = slices.Clone(a.Records[0].Payload)
			}
			return b.Saver.Append(ctx, a)
		}
		b.prune = func(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
			pruned = true
			return b.Saver.Prune(ctx, thread, keep)
		}
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			if pruned && !chain.Empty() {
				chain.Snapshot = first
			}
			return chain, err
		}
	}},
	{"tells case", "hostile names", changedNames(strings.ToLower)},
	{"does not cut names", "hostile names", changedNames(func(s string) string { return s[:min(len(s), 255)] })},
	{"does not end names at NUL", "hostile names", changedNames(func(s string) string { head, _, _ := strings.Cut(s, "\x00"); return head + "!" })},
	{"does not trim names", "hostile names", changedNames(func(s string) string { return strings.TrimRight(s, " ") + "!" })},
	{"does not repair names", "hostile names", changedNames(func(s string) string { return strings.ToValidUTF8(s, "?") })},
	{"keeps namespaces apart", "threads and namespaces are apart", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			p.Namespace = strings.ToLower(p.Namespace)
			return b.Saver.Load(ctx, p)
		}
	}},
	{"checks names", "invalid calls return errors", func(b *broken) {
		b.deletes = func(ctx context.Context, thread string) error {
			if err := b.Saver.Delete(ctx, thread); !errors.As(err, new(*checkpoint.InvalidError)) {
				return err
			}
			return nil
		}
	}},
	{"minds its context", "a cancelled context", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			return b.Saver.Load(context.WithoutCancel(ctx), p)
		}
	}},
	{"says that it is closed", "use after close", func(b *broken) {
		b.versions = func(ctx context.Context, thread string) ([]checkpoint.Version, error) {
			v, err := b.Saver.Versions(ctx, thread)
			if errors.Is(err, checkpoint.ErrClosed) {
				return nil, nil
			}
			return v, err
		}
	}},
	{"closes", "use after close", func(b *broken) { b.closes = func() error { return nil } }},
	{"reports missing threads", "a thread that does not exist", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			if errors.Is(err, checkpoint.ErrNotFound) {
				return chain, nil
			}
			return chain, err
		}
	}},
	{"stores large payloads", "large payloads", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			for i := range a.Records {
				a.Records[i].Payload = a.Records[i].Payload[:min(len(a.Records[i].Payload), 64<<10)]
			}
			return b.Saver.Append(ctx, a)
		}
	}},
	{"lets one of many win", "one of many writers wins each place", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			if errors.As(err, new(*checkpoint.ConflictError)) {
				return done, nil // the writer believed that it had won
			}
			return done, err
		}
	}},
	{"lets one of many under a fence win", "one of many appends under a fence wins", func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			done, err := b.Saver.Append(ctx, a)
			if errors.As(err, new(*checkpoint.ConflictError)) {
				return done, nil
			}
			return done, err
		}
	}},
	{"loads released versions", "a release starts an empty version", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			p.Version = 0
			return b.Saver.Load(ctx, p)
		}
	}},
	{"loads a checkpoint of a released version", "a release starts an empty version", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			if p.Version != 0 {
				p.At = checkpoint.ID{}
			}
			return b.Saver.Load(ctx, p)
		}
	}},
	{"keeps the checkpoints of versions apart", "a release starts an empty version", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			for n := 1; n <= 4 && p.Version != 0 && errors.Is(err, checkpoint.ErrNotFound) && !p.At.IsZero(); n++ {
				p.Version = n
				chain, err = b.Saver.Load(ctx, p)
			}
			return chain, err
		}
	}},
	{"pages the history of a released version", "a release starts an empty version", func(b *broken) {
		b.history = func(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
			if p.Version != 0 {
				q.Before = checkpoint.ID{}
			}
			return b.Saver.History(ctx, p, q)
		}
	}},
	{"describes a thread without its records", "a load where no records are describes the thread", func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			chain, err := b.Saver.Load(ctx, p)
			if chain.Empty() {
				chain.Thread = checkpoint.Thread{}
			}
			return chain, err
		}
	}},
	{"stops history with its loop", "history stops with its loop", func(b *broken) {
		b.history = func(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
			return func(yield func(checkpoint.Record, error) bool) {
				for r, err := range b.Saver.History(ctx, p, q) {
					yield(r, err)
				}
			}
		}
	}},
}

// rememberFence makes b record the newest fence of each thread.
func rememberFence(b *broken) func(thread string) checkpoint.ID {
	fences := make(map[string]checkpoint.ID)
	b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
		done, err := b.Saver.Append(ctx, a)
		if err == nil && a.Open != nil {
			fences[a.Thread] = a.Records[0].ID
		}
		return done, err
	}
	return func(thread string) checkpoint.ID { return fences[thread] }
}

// refuseAgain rejects repeated appends or openings.
func refuseAgain(b *broken, openings bool) func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	seen := make(map[checkpoint.ID]bool)
	return func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
		id := a.Records[0].ID
		if (a.Open != nil) == openings && seen[id] {
			return checkpoint.AppendResult{}, &checkpoint.ConflictError{Thread: a.Thread, Reason: "head"}
		}
		seen[id] = true
		return b.Saver.Append(ctx, a)
	}
}

func sequence[V any](all []V) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func changedQuery(change func(q *checkpoint.Query)) func(b *broken) {
	return func(b *broken) {
		b.history = func(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
			change(&q)
			return b.Saver.History(ctx, p, q)
		}
	}
}

// listsReleased is the name of a case.
const listsReleased = "threads with released versions only are listed if the caller asks"

func changedThreads(change func(q *checkpoint.ThreadQuery)) func(b *broken) {
	return func(b *broken) {
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			change(&q)
			return b.Saver.Threads(ctx, q)
		}
	}
}

// ending returns a change of a saver that changes the end of a run with a Wake.
func ending(change func(w *checkpoint.PutWrites)) func(b *broken) {
	return func(b *broken) {
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			if w.End && !w.Wake.IsZero() {
				change(&w)
			}
			return b.Saver.PutWrites(ctx, w)
		}
	}
}

// changedOpening returns a change of a saver that stores openings changed.
func changedOpening(change func(a *checkpoint.Append)) func(b *broken) {
	return func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			if a.Open != nil {
				open := *a.Open
				open.Labels = maps.Clone(open.Labels)
				a.Open, a.Records = &open, slices.Clone(a.Records)
				change(&a)
			}
			return b.Saver.Append(ctx, a)
		}
	}
}

// describedFirst makes a saver store what an opening describes before it looks whether the opening
// is refused.
func describedFirst(b *broken) {
	about := make(map[string]string)
	b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
		if a.Open != nil {
			about[a.Thread] = a.Open.Title
		}
		return b.Saver.Append(ctx, a)
	}
	changedThread(func(t *checkpoint.Thread) { t.Title = about[t.ID] })(b)
}

// changedThread returns a change of a saver that describes threads changed.
func changedThread(change func(t *checkpoint.Thread)) func(b *broken) {
	return func(b *broken) {
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			c, err := b.Saver.Load(ctx, p)
			change(&c.Thread)
			return c, err
		}
		b.threads = func(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
			return func(yield func(checkpoint.Thread, error) bool) {
				for t, err := range b.Saver.Threads(ctx, q) {
					change(&t)
					if !yield(t, err) {
						return
					}
				}
			}
		}
	}
}

// readyChanged is for a saver whose Ready returns other threads.
func readyChanged(change func(t *checkpoint.ReadyThread)) func(b *broken) {
	return func(b *broken) {
		b.ready = func(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
			got, err := b.Saver.Ready(ctx, q)
			for i := range got.Threads {
				change(&got.Threads[i])
			}
			return got, err
		}
	}
}

func changedReady(change func(q *checkpoint.ReadyQuery)) func(b *broken) {
	return func(b *broken) {
		b.ready = func(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
			change(&q)
			return b.Saver.Ready(ctx, q)
		}
	}
}

// changedImport returns a change of a saver that imports threads changed.
func changedImport(change func(t *checkpoint.Thread)) func(b *broken) {
	return func(b *broken) {
		b.imports = func(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
			return b.Saver.Import(ctx, thread, func(yield func(checkpoint.ExportItem, error) bool) {
				for item, err := range items {
					if item.Thread != nil {
						t := *item.Thread
						change(&t)
						item.Thread = &t
					}
					if !yield(item, err) {
						return
					}
				}
			})
		}
	}
}

func changedItems(b *broken, keep func(item checkpoint.ExportItem) bool) func(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	return func(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
		return func(yield func(checkpoint.ExportItem, error) bool) {
			for item, err := range b.Saver.Export(ctx, thread, version) {
				if (err != nil || keep(item)) && !yield(item, err) {
					return
				}
			}
		}
	}
}

// changedNames returns a change of a saver that stores threads under other names.
func changedNames(change func(string) string) func(b *broken) {
	return func(b *broken) {
		b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
			a.Thread = change(a.Thread)
			return b.Saver.Append(ctx, a)
		}
		b.put = func(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
			w.Thread = change(w.Thread)
			return b.Saver.PutWrites(ctx, w)
		}
		b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
			asked := p.Thread
			p.Thread = change(p.Thread)
			chain, err := b.Saver.Load(ctx, p)
			chain.Thread.ID = asked
			return chain, err
		}
	}
}

func memoryPlace(by func(b *broken)) savertest.Storage {
	return savertest.Storage{Open: func() (checkpoint.Saver, error) {
		b := &broken{Saver: memory.New()}
		if by != nil {
			by(b)
		}
		return b, nil
	}}
}

func TestBrokenSaversFail(t *testing.T) {
	for _, c := range breaks {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if failures := failuresOf(t, c.found, memoryPlace(c.by)); len(failures) == 0 {
				t.Errorf("a saver that breaks this rule passes %q", c.found)
			} else {
				t.Logf("found: %.300s", failures[0])
			}
		})
	}
}

// TestASaverWithoutChecksumsFails tests the one rule that needs its own Storage.
func TestASaverWithoutChecksumsFails(t *testing.T) {
	const name = "altered bytes are never returned"
	from, to := "", ""
	kept := memory.New()
	place := savertest.Storage{
		Shared: true,
		Open: func() (checkpoint.Saver, error) {
			b := &broken{Saver: kept, closes: func() error { return nil }}
			b.load = func(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
				chain, err := kept.Load(ctx, p)
				alter := func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), from, to)) }
				chain.Last.Payload, chain.Snapshot = alter(chain.Last.Payload), alter(chain.Snapshot)
				for i := range chain.Deltas {
					chain.Deltas[i] = alter(chain.Deltas[i])
				}
				return chain, err
			}
			return b, nil
		},
		Alter: func(_ testing.TB, stored, altered []byte) int {
			from, to = string(stored), string(altered)
			return 1
		},
	}
	failures := failuresOf(t, name, place)
	if !slices.ContainsFunc(failures, func(f string) bool {
		return strings.Contains(f, "load after a state was altered: the altered bytes were returned")
	}) {
		t.Errorf("got %q, want a failure about altered bytes", failures)
	}
	place.Alter = func(testing.TB, []byte, []byte) int { return 1 }
	if failures := failuresOf(t, name, place); len(failures) == 0 {
		t.Error("a saver that notices nothing passes")
	}
}

// The same cases must pass with an unchanged wrapper, or the test above proves nothing.
func TestWholeSaverPassesThroughTheWrapper(t *testing.T) {
	for _, c := range breaks {
		if failures := failuresOf(t, c.found, memoryPlace(nil)); len(failures) > 0 {
			t.Errorf("%q: %s", c.found, failures[0])
		}
	}
}

// Random calls alone must detect most of the broken savers.
func TestRandomCallsFindBrokenSavers(t *testing.T) {
	const name = "random calls match the memory saver"
	found := 0
	for _, c := range breaks {
		if c.found == "an opening reads writes after it took the fence" {
			continue // it waits for an effect of another run
		}
		if len(failuresOf(t, name, memoryPlace(c.by))) > 0 {
			found++
		}
		if found > len(breaks)/2 {
			break
		}
	}
	if found <= len(breaks)/2 {
		t.Errorf("%d of %d broken savers fail %q, want most", found, len(breaks), name)
	}
	if failures := failuresOf(t, name, memoryPlace(nil)); len(failures) > 0 {
		t.Errorf("through the wrapper alone: %s", failures[0])
	}
}

// The same seed makes the same random calls.
func TestRandomCallsCanBeRepeated(t *testing.T) {
	var failures []string
	for _, seed := range []string{"7", "7", "8", "nonsense"} {
		t.Setenv("SAVERTEST_SEED", seed)
		failures = append(failures, strings.Join(failuresOf(t, "random calls match the memory saver", memoryPlace(func(b *broken) {
			b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
				done, err := b.Saver.Append(ctx, a)
				done.Head += uint64(len(done.Writes))
				return done, err
			}
		})), "\n"))
	}
	if failures[0] != failures[1] || failures[0] == failures[2] || !strings.Contains(failures[0], "SAVERTEST_SEED=7") {
		t.Errorf("with seeds 7, 7 and 8: got\n%s, want the same twice, then another, with the seed", strings.Join(failures[:3], "\n"))
	}
	if !strings.Contains(failures[3], "want a number") {
		t.Errorf("with a seed that is none: got %q, want an error that says so", failures[3])
	}
}

// A saver that loses any single field of its records fails.
func TestLostFieldsAreFound(t *testing.T) {
	for _, field := range []string{
		"Line", "Commits", "Step", "Node", "Due", "PendingRoutes", "Joins", "ClearedStops", "Request", "Fingerprint", "Graph", "Meta", "Created", "Payload",
	} {
		failures := failuresOf(t, "a record comes back as it was stored", memoryPlace(func(b *broken) {
			b.appends = func(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
				a.Records = slices.Clone(a.Records)
				for i := range a.Records {
					reflect.ValueOf(&a.Records[i]).Elem().FieldByName(field).SetZero()
				}
				return b.Saver.Append(ctx, a)
			}
		}))
		if len(failures) == 0 {
			t.Errorf("a saver that loses %s passes", field)
		}
	}
}

// Savers with Shared set must share their threads.
func TestSaversThatDoNotShareFail(t *testing.T) {
	for _, name := range []string{"a new saver finds all of it", "two savers share one place"} {
		place := savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) { return memory.New(), nil }}
		if failures := failuresOf(t, name, place); len(failures) == 0 {
			t.Errorf("%q: two savers of their own pass as one", name)
		}
	}
}

// rotten is a saver with one damaged thread.
type rotten struct {
	checkpoint.Saver
	thread string
	ends   bool // a listing ends at the damaged thread
}

func (r *rotten) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		found, limit := 0, q.Limit
		q.Limit = 0
		for t, err := range r.Saver.Threads(ctx, q) {
			if t.ID == r.thread {
				if !yield(checkpoint.Thread{ID: t.ID}, checkpoint.ErrDamaged) || r.ends {
					return
				}
				continue
			}
			if found++; !yield(t, err) || found == limit {
				return
			}
		}
	}
}

func TestAListingThatEndsAtADamagedThreadIsFound(t *testing.T) {
	for _, ends := range []bool{false, true} {
		s := &rotten{Saver: memory.New(), ends: ends}
		failures := failuresOf(t, "a damaged thread does not end a listing", savertest.Storage{
			Open: func() (checkpoint.Saver, error) { return s, nil },
			Damage: func(thread string) error {
				s.thread = thread
				return nil
			},
		})
		if found := len(failures) > 0; found != ends {
			t.Errorf("ends %t: got %q", ends, failures)
		}
	}
}
