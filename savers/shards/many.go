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
	"github.com/graphgen-go/graphgen/savers/rows"
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
	return s.ready(ctx, q, s.view.Load().withThreads())
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
	r := round{q: q, results: make([]checkpoint.ReadyThreads, len(some))}
	changes := s.view.Load().to != nil
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
				if !changes {
					part.Except = slices.DeleteFunc(slices.Clone(q.Except), func(id string) bool { return s.of(id).sh != sh })
				}
				found, err := in.Ready(ctx, part)
				if err = s.settle(ctx, sh, err); err == nil || errors.Is(err, checkpoint.ErrPartial) {
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
		limits = r.share()
		errs = append(errs, ask(limits, q.Reserve)...)
	}
	return r.merge(), partial(errs, len(some))
}

// round is one call of Ready over several shards.
type round struct {
	q       checkpoint.ReadyQuery
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
func (r *round) share() []int {
	limits := make([]int, len(r.results))
	first := r.first()
	for i := range first {
		has := func(result checkpoint.ReadyThreads) bool {
			return slices.ContainsFunc(result.Threads, func(t checkpoint.ReadyThread) bool { return t.ID == first[i].ID })
		}
		limits[slices.IndexFunc(r.results, has)]++
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
		return nil, &checkpoint.InvalidError{Field: "names", Found: fmt.Sprintf("%q", names), Want: "different names of shards"}
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
	all := make([]checkpoint.Posted, len(posts))
	post := func(p *part, _ bool) error {
		in, err := p.sh.saver(ctx)
		var posted []checkpoint.Posted
		switch {
		case err != nil:
		case p.outdated(s):
			return nil
		default:
			posted, err = in.Post(ctx, picked(posts, p.indexes)...)
			err = p.sh.failed(err)
		}
		for j, i := range p.indexes {
			if err == nil {
				all[i] = posted[j]
				p.moved = append(p.moved, rows.Moved(all[i].Err)...)
			}
		}
		return err
	}
	failed := func(i int, err error) {
		if all[i].Err = err; !errors.Is(err, checkpoint.ErrUnavailable) {
			all[i].Err = fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
		}
	}
	if errs, parts := s.spread(ctx, len(posts), func(i int) string { return posts[i].Thread }, true, post, failed); len(errs) == parts {
		return nil, join(errs)
	}
	return all, nil
}

// part is a call for several threads of one shard.
type part struct {
	sh      *shard
	view    *view              // by which the threads were found
	indexes []int              // of the threads
	moved   []*rows.MovedError // of those that are elsewhere
	again   bool               // the layout has changed: no call was made
}

// outdated reports whether the layout was found to have changed since the threads were found.
func (p *part) outdated(s *Saver) bool {
	p.again = s.view.Load() != p.view
	return p.again
}

// spread makes calls for n threads: one for each shard, and others for threads that move
// meanwhile. failed gets the error of each thread without a result. It returns the errors of the
// calls, and how many there were. creates is that of place.
func (s *Saver) spread(ctx context.Context, n int, thread func(i int) string, creates bool,
	call func(p *part, alone bool) error, failed func(i int, err error),
) (errs []error, count int) {
	left, at := make([]int, 0, n), map[int]*shard(nil) // where to try threads that have moved
	for i := range n {
		left = append(left, i)
	}
	for tries := 0; len(left) > 0; tries++ {
		var parts []*part
		v := s.view.Load()
		for _, i := range left {
			sh, err := at[i], error(nil)
			if sh == nil {
				sh, err = s.begin(ctx, thread(i), creates)
			}
			if err != nil {
				errs, count = append(errs, err), count+1
				failed(i, err)
				continue
			}
			k := slices.IndexFunc(parts, func(p *part) bool { return p.sh == sh })
			if k < 0 {
				k, parts = len(parts), append(parts, &part{sh: sh, view: v})
			}
			parts[k].indexes = append(parts[k].indexes, i)
		}
		left = nil
		failures := make([]error, len(parts))
		var calls sync.WaitGroup
		for k, p := range parts {
			calls.Go(func() { failures[k] = call(p, len(parts) == 1) })
		}
		calls.Wait()
		for k, p := range parts {
			if count++; failures[k] != nil {
				errs = append(errs, failures[k])
				for _, i := range p.indexes {
					failed(i, failures[k])
				}
				continue
			}
			if p.again {
				left = append(left, p.indexes...)
			}
			for _, m := range p.moved {
				next, err := s.follow(ctx, p.sh, m, tries)
				for _, i := range p.indexes {
					switch {
					case thread(i) != m.Thread || at[i] == next && slices.Contains(left, i):
					case err != nil:
						errs, count = append(errs, err), count+1
						failed(i, err)
					default:
						if at == nil {
							at = make(map[int]*shard)
						}
						at[i], left = next, append(left, i)
					}
				}
			}
		}
		slices.Sort(left)
	}
	return errs, count
}

// begin returns the shard at which a call for one of several threads begins. If no change is in
// progress, it is that of the thread, whether or not it is open.
func (s *Saver) begin(ctx context.Context, thread string, creates bool) (*shard, error) {
	if s.view.Load().to == nil {
		return s.of(thread).shard(s)
	}
	sh, _, err := s.place(ctx, thread, creates)
	return sh, err
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
	all := make([]checkpoint.News, len(threads))
	news := func(p *part, alone bool) error {
		ask := func(ctx context.Context, in checkpoint.Saver) error {
			if p.outdated(s) {
				return nil
			}
			found, err := in.News(ctx, picked(threads, p.indexes))
			for j := range found {
				all[p.indexes[j]] = found[j]
			}
			if p.moved = rows.Moved(err); len(p.moved) > 0 {
				return nil
			}
			return err
		}
		if !alone {
			return p.sh.brief(ctx, ask)
		}
		in, err := p.sh.saver(ctx) // nobody else waits for this shard
		if err == nil {
			err = p.sh.failed(ask(ctx, in))
		}
		return err
	}
	errs, parts := s.spread(ctx, len(threads), func(i int) string { return threads[i] }, false, news, func(int, error) {})
	return all, partial(errs, parts)
}

// Threads yields threads, as checkpoint.Saver says. A page reads a page of each shard.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	if q.ID != "" {
		return yielding(ctx, s, q.ID, func(in checkpoint.Saver) iter.Seq2[checkpoint.Thread, error] { return in.Threads(ctx, q) }, nil)
	}
	return func(yield func(checkpoint.Thread, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.Thread{}, err)
			return
		}
		l := s.lists(ctx, &q)
		defer l.stop()
		last := ""
		for count := 0; q.Limit < 1 || count < q.Limit; {
			next := l.least()
			if next == nil {
				break
			}
			t, found, err := l.current(ctx, next, last)
			if found && err == nil {
				count++
				last = t.ID
			}
			if found && !yield(t, err) {
				return
			}
			_ = next.pull() // next keeps the error
		}
		if err := l.failure(ctx); err != nil {
			yield(checkpoint.Thread{}, err)
		}
	}
}

// current returns the next thread of a list. If the thread has left the shard, current reads it
// from its new one. found is false for a thread that another list has, or that does not exist any
// more. last is the thread before it.
func (l *lists) current(ctx context.Context, r *reader, last string) (t checkpoint.Thread, found bool, err error) {
	here := func(other *reader) bool { return other != r && !other.over && other.t.ID == r.t.ID }
	switch moved := movedOf(r.err) != nil; {
	case last != "" && r.t.ID == last, moved && slices.ContainsFunc(l.all, here):
		return t, false, nil
	case !moved:
		return r.t, true, r.err
	case !ledger.Follows(l.q, r.t.ID, r.t.Created):
		return t, false, nil
	}
	q := *l.q
	q.ID, q.After, q.AfterCreated, q.Limit = r.t.ID, "", time.Time{}, 0
	for t, err = range l.s.Threads(ctx, q) {
		if err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
			l.missed = append(l.missed, err)
			return t, false, nil
		}
		return t, err != nil || !q.NewestFirst() || t.Created.Equal(r.t.Created), err
	}
	return t, false, nil
}

// lists returns the lists of all shards, each with its first thread.
func (s *Saver) lists(ctx context.Context, q *checkpoint.ThreadQuery) *lists {
	for {
		v, l := s.view.Load(), &lists{s: s, q: q}
		all := v.withThreads()
		for _, sh := range all {
			l.open(ctx, sh)
		}
		s.each(all, func(i int, _ *shard) error { return l.all[i].pull() })
		if s.view.Load() == v { // else the shards may be others
			return l
		}
		l.stop()
	}
}

// lists are the lists of all shards.
type lists struct {
	s      *Saver
	q      *checkpoint.ThreadQuery
	all    []*reader
	missed []error // of threads that have left their shards, and could not be read
}

// reader is the list of one shard, with its next thread.
type reader struct {
	sh     *shard
	next   func() (checkpoint.Thread, error, bool)
	end    func()
	t      checkpoint.Thread
	err    error // of t alone
	over   bool
	failed error   // why the list is over early
	layout *stored // of the shard, when the list began
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
		q := *l.q
		r.layout, q.Brief = sh.stored.Load(), q.Brief && l.s.view.Load().to == nil // a brief list does not see what has left
		for t, err := range in.Threads(short, q) {
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

// failure returns the error of the whole list. A list that has taken so long that threads which
// had left a shard were removed from it meanwhile is partial.
func (l *lists) failure(ctx context.Context) error {
	var errs, moved []error
	for _, r := range l.all {
		_, err := r.sh.saver(ctx)
		now := r.sh.stored.Load()
		switch {
		case r.failed != nil:
			errs = append(errs, r.failed)
		case err == nil && now != r.layout && now.Phase >= Sweeping && (r.layout == nil || r.layout.Change != now.Change || r.layout.Phase < Sweeping):
			moved = append(moved, fmt.Errorf("shard %q: its threads have moved while the list was read; read it again", r.sh.Name))
		}
	}
	if len(l.missed) > 0 {
		moved = append(moved, l.missed[0])
	}
	return partial(append(errs, moved...), len(l.all)+len(moved)) // a shard whose threads have moved has yielded others
}
