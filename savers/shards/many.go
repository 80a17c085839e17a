package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// each calls f for some shards at the same time, and returns the errors.
func (s *Saver) each(some []*shard, f func(i int, sh *shard) error) (errs []error) {
	all := make([]error, len(some))
	var calls sync.WaitGroup
	for i, sh := range some {
		calls.Go(func() { all[i] = f(i, sh) })
	}
	calls.Wait()
	return slices.DeleteFunc(all, func(err error) bool { return err == nil })
}

// join returns nil, the only error, or all of them.
func join(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// partial returns the error of a call that some of n shards failed.
func partial(errs []error, n int) error {
	if len(errs) == 0 || len(errs) == n {
		return join(errs)
	}
	return fmt.Errorf("shards: %w: %w", checkpoint.ErrPartial, join(errs))
}

// rest is how long calls over all shards leave out a shard that has failed such a call.
const rest = 5 * time.Second

// brief makes a call for one of several shards. It fails after a quarter of the time that ctx
// leaves. So a shard that does not answer does not use up the time of the call.
func (sh *shard) brief(ctx context.Context, call func(context.Context, checkpoint.Saver) error) error {
	if err := sh.resting(); err != nil {
		return err
	}
	short, cancel := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		short, cancel = context.WithTimeout(ctx, time.Until(end)/4)
	}
	defer cancel()
	in, err := sh.saver(short)
	if err == nil {
		err = sh.failed(call(short, in))
	}
	return sh.note(ctx, err)
}

// resting returns why calls over all shards leave out the shard; nil if they do not.
func (sh *shard) resting() error {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if time.Now().Before(sh.rests) {
		return sh.cause
	}
	return nil
}

// note returns the error of a call. If the shard has failed the call before the end of ctx, the
// shard rests.
func (sh *shard) note(ctx context.Context, err error) error {
	var failed *ShardError
	if errors.As(err, &failed) && ctx.Err() == nil && !errors.Is(err, checkpoint.ErrClosed) && !errors.Is(err, checkpoint.ErrDamaged) {
		sh.mu.Lock()
		sh.rests, sh.cause = time.Now().Add(rest), err
		sh.mu.Unlock()
	}
	return err
}

// Ready returns threads that are due, as checkpoint.Saver says.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	return s.ready(ctx, q, s.shards)
}

// ready is Ready for some shards.
func (s *Saver) ready(ctx context.Context, q checkpoint.ReadyQuery, some []*shard) (got checkpoint.ReadyThreads, err error) {
	if err := q.Check(); err != nil {
		return got, err
	}
	if len(q.Graphs) == 0 { // only the time
		for _, sh := range some {
			e := sh.brief(ctx, func(ctx context.Context, in checkpoint.Saver) (err error) {
				got, err = in.Ready(ctx, q)
				return err
			})
			if e == nil {
				return got, nil
			}
			err = errors.Join(err, e)
		}
		return got, err
	}
	r := round{q: q, of: s.of, results: make([]checkpoint.ReadyThreads, len(some))}
	ask := func(limits []int, reserve time.Duration) (errs []error) {
		return s.each(some, func(i int, sh *shard) error {
			if limits[i] == 0 {
				return nil
			}
			return sh.brief(ctx, func(ctx context.Context, in checkpoint.Saver) error {
				part := q
				if part.Limit, part.Reserve = limits[i], reserve; reserve == 0 {
					part.Mail = 0
				}
				part.Except = slices.DeleteFunc(slices.Clone(q.Except), func(id string) bool { return s.of(id) != sh })
				found, err := in.Ready(ctx, part)
				if err == nil || errors.Is(err, checkpoint.ErrPartial) {
					r.results[i] = found
				}
				return err
			})
		})
	}
	limits := slices.Repeat([]int{q.Limit}, len(some))
	if len(some) == 1 {
		errs := ask(limits, q.Reserve)
		return r.results[0], join(errs)
	}
	errs := ask(limits, 0)
	if q.Reserve > 0 && len(errs) < len(some) {
		limits = r.share(some)
		errs = append(errs, ask(limits, q.Reserve)...)
	}
	return r.merge(), partial(errs, len(some))
}

// round is one call of Ready over several shards.
type round struct {
	q       checkpoint.ReadyQuery
	of      func(thread string) *shard
	results []checkpoint.ReadyThreads // of the shards
}

// compare orders due threads as Ready returns them.
func (r *round) compare(a, b checkpoint.ReadyThread) int {
	return cmp.Or(cmp.Compare(slices.Index(r.q.Graphs, a.Graph), slices.Index(r.q.Graphs, b.Graph)),
		cmp.Compare(a.Priority, b.Priority), a.Wake.Compare(b.Wake))
}

// first returns the due threads of all shards that come first.
func (r *round) first() (all []checkpoint.ReadyThread) {
	for _, result := range r.results {
		all = append(all, result.Threads...)
	}
	slices.SortStableFunc(all, r.compare)
	return all[:min(len(all), r.q.Limit)]
}

// share returns how many of the first due threads each shard has. If there is room, a shard
// without one of them whose next wake has come is asked for one. Then it moves the wakes of
// threads that runs hold.
func (r *round) share(some []*shard) []int {
	limits := make([]int, len(some))
	first := r.first()
	for i := range first {
		limits[slices.Index(some, r.of(first[i].ID))]++
	}
	room := r.q.Limit - len(first)
	for i, result := range r.results {
		if limits[i] == 0 && room > 0 && !result.Next.IsZero() && !result.Next.After(result.Now) {
			limits[i] = 1
			room--
		}
	}
	for i := range r.results {
		r.results[i].Threads = nil // those that the shard does not return again are reserved by others
	}
	return limits
}

// merge returns the result. Its times are the earliest of all shards, and its messages are bounded
// as those of one saver.
func (r *round) merge() (all checkpoint.ReadyThreads) {
	all.Threads = r.first()
	for _, result := range r.results {
		all.Now, all.Next = earlier(all.Now, result.Now), earlier(all.Next, result.Next)
	}
	bytes := 0
	for i := range all.Threads {
		t, size := &all.Threads[i], 0
		for _, m := range t.Mail {
			size += len(m.Payload)
		}
		if bytes+size > checkpoint.MaxReadyMail {
			t.Mail, t.HasMail = nil, false
			continue
		}
		bytes += size
	}
	return all
}

// earlier returns the earlier of two times. A zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Only returns a saver of the same shards whose Ready asks only some of them. So a worker serves
// the threads of these shards. All other calls are for all shards. Its Close does nothing. Only
// returns a *checkpoint.InvalidError for a name that no shard has, and for no names.
func (s *Saver) Only(names ...string) (checkpoint.Saver, error) {
	var some []*shard
	for _, sh := range s.shards {
		if slices.Contains(names, sh.Name) {
			some = append(some, sh)
		}
	}
	if len(some) == 0 || len(some) != len(names) {
		return nil, &checkpoint.InvalidError{Field: "names", Found: fmt.Sprintf("%q", names), Want: "different names from " + list(s.shards[0].layout)}
	}
	return only{s, some}, nil
}

// only is a Saver whose Ready asks some shards.
type only struct {
	*Saver
	some []*shard
}

// Ready returns threads that are due, as checkpoint.Saver says.
func (o only) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	return o.ready(ctx, q, o.some)
}

// Close does nothing: the Saver closes the shards.
func (only) Close() error { return nil }

// Post stores messages, as checkpoint.Inbox says.
func (s *Saver) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	for i := range posts {
		err := posts[i].Check()
		if err == nil {
			err = checkThread(posts[i].Thread)
		}
		if err != nil {
			return nil, err
		}
	}
	some, indexes := s.group(len(posts), func(i int) string { return posts[i].Thread })
	all := make([]checkpoint.Posted, len(posts))
	post := func(k int, sh *shard) error {
		in, err := sh.saver(ctx)
		if err != nil {
			return err
		}
		posted, err := in.Post(ctx, picked(posts, indexes[k])...)
		for j, i := range indexes[k] {
			if err == nil {
				all[i] = posted[j]
			}
		}
		return sh.failed(err)
	}
	errs := s.each(some, func(k int, sh *shard) error {
		err := post(k, sh)
		for _, i := range indexes[k] {
			if err != nil {
				all[i].Err = err
				if !errors.Is(err, checkpoint.ErrUnavailable) {
					all[i].Err = fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
				}
			}
		}
		return err
	})
	if len(errs) == len(some) {
		return nil, join(errs)
	}
	return all, nil
}

// group returns the shards of n threads, and the indexes of the threads of each.
func (s *Saver) group(n int, thread func(i int) string) (some []*shard, indexes [][]int) {
	for i := range n {
		sh := s.of(thread(i))
		k := slices.Index(some, sh)
		if k < 0 {
			k, some, indexes = len(some), append(some, sh), append(indexes, nil)
		}
		indexes[k] = append(indexes[k], i)
	}
	return some, indexes
}

// picked returns the elements of all with some indexes.
func picked[V any](all []V, indexes []int) []V {
	some := make([]V, len(indexes))
	for j, i := range indexes {
		some[j] = all[i]
	}
	return some
}

// News returns the newest messages and runs, as checkpoint.Inbox says.
func (s *Saver) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	some, indexes := s.group(len(threads), func(i int) string { return threads[i] })
	all := make([]checkpoint.News, len(threads))
	errs := s.each(some, func(k int, sh *shard) error {
		ask := func(ctx context.Context, in checkpoint.Saver) error {
			found, err := in.News(ctx, picked(threads, indexes[k]))
			for j := range found {
				all[indexes[k][j]] = found[j]
			}
			return err
		}
		if len(some) > 1 {
			return sh.brief(ctx, ask)
		}
		in, err := sh.saver(ctx) // nobody else waits for this shard
		if err == nil {
			err = sh.failed(ask(ctx, in))
		}
		return err
	})
	return all, partial(errs, len(some))
}

// Threads yields threads, as checkpoint.Saver says. A page reads a page of each shard.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	if q.ID != "" {
		return yielding(ctx, s, q.ID, func(in checkpoint.Saver) iter.Seq2[checkpoint.Thread, error] { return in.Threads(ctx, q) })
	}
	return func(yield func(checkpoint.Thread, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.Thread{}, err)
			return
		}
		l := lists{q: &q}
		defer l.stop()
		for _, sh := range s.shards {
			l.open(ctx, sh)
		}
		s.each(s.shards, func(i int, _ *shard) error { return l.all[i].pull() })
		for count := 0; q.Limit < 1 || count < q.Limit; {
			next := l.least()
			if next == nil {
				break
			}
			if next.err == nil {
				count++
			}
			if !yield(next.t, next.err) {
				return
			}
			_ = next.pull() // next keeps the error
		}
		if err := l.failure(); err != nil {
			yield(checkpoint.Thread{}, err)
		}
	}
}

// lists are the lists of all shards.
type lists struct {
	q   *checkpoint.ThreadQuery
	all []*reader
}

// reader is the list of one shard, with its next thread.
type reader struct {
	sh     *shard
	next   func() (checkpoint.Thread, error, bool)
	end    func()
	t      checkpoint.Thread
	err    error // of t alone
	over   bool
	failed error // why the list is over early
}

// open adds the list of a shard. The first thread has as much time as a call of brief.
func (l *lists) open(ctx context.Context, sh *shard) {
	r := &reader{sh: sh}
	r.next, r.end = iter.Pull2(func(yield func(checkpoint.Thread, error) bool) {
		if err := sh.resting(); err != nil {
			yield(checkpoint.Thread{}, err)
			return
		}
		short, cancel := context.WithCancel(ctx)
		defer cancel()
		answered := func() bool { return true }
		if end, ok := ctx.Deadline(); ok {
			answered = time.AfterFunc(time.Until(end)/4, cancel).Stop
			defer answered()
		}
		in, err := sh.saver(short)
		if err != nil {
			yield(checkpoint.Thread{}, sh.note(ctx, err))
			return
		}
		for t, err := range in.Threads(short, *l.q) {
			answered()
			if !yield(t, sh.note(ctx, sh.failed(err))) {
				return
			}
		}
	})
	l.all = append(l.all, r)
}

// pull reads the next thread of a list. It returns the error that ended the list.
func (r *reader) pull() error {
	t, err, ok := r.next()
	switch {
	case !ok:
		r.over = true
	case err != nil && t.ID == "" && !errors.Is(err, checkpoint.ErrDamaged):
		r.over, r.failed = true, err
	}
	r.t, r.err = t, err
	return r.failed
}

// stop ends all lists.
func (l *lists) stop() {
	for _, r := range l.all {
		r.end()
	}
}

// least returns the list whose next thread comes first, or nil if all are over.
func (l *lists) least() (first *reader) {
	for _, r := range l.all {
		if !r.over && (first == nil || l.compare(r, first) < 0) {
			first = r
		}
	}
	return first
}

// compare compares the next threads of two lists. One that is damaged may have no place: it comes
// first.
func (l *lists) compare(a, b *reader) int {
	switch {
	case !l.q.NewestFirst():
		return strings.Compare(a.t.ID, b.t.ID)
	case a.t.Created.IsZero() || b.t.Created.IsZero():
		return a.t.Created.Compare(b.t.Created)
	}
	return ledger.Newer(a.t.ID, b.t.ID, a.t.Created, b.t.Created)
}

// failure returns the error of the whole list.
func (l *lists) failure() error {
	var errs []error
	for _, r := range l.all {
		if r.failed != nil {
			errs = append(errs, r.failed)
		}
	}
	return partial(errs, len(l.all))
}
