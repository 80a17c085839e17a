package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Round is one call of Ready of a saver that looks at every thread.
type Round struct {
	Query  *checkpoint.ReadyQuery
	Result checkpoint.ReadyThreads

	due  []checkpoint.ReadyThread
	mail int // the bytes of messages that the call returns
}

// NewRound begins a call at the time now.
func NewRound(q *checkpoint.ReadyQuery, now time.Time) *Round {
	return &Round{Query: q, Result: checkpoint.ReadyThreads{Now: Micro(now)}}
}

// Ready returns the version as a thread that Ready may return.
func (v *Version) Ready() checkpoint.ReadyThread {
	t := checkpoint.ReadyThread{
		ID: v.Thread, Graph: v.About.Graph, Status: v.Status, Wake: v.Wake, Fence: v.Fence, Attempts: v.Attempts, Posted: v.Mail.Posted,
		Labels: v.About.Labels, Priority: v.About.Rank(), Birth: v.About.Birth,
	}
	if t.Status == 0 {
		t.Status = checkpoint.Ready // no version is open
	}
	return t
}

// Offer gives the round a thread with an open version, which Due can choose. until is the end of
// its lease; zero for none. Offer returns the end of the lease if the Wake of the thread must be
// moved to it, else zero.
func (r *Round) Offer(t checkpoint.ReadyThread, until time.Time) (move time.Time) {
	if t.Wake.IsZero() || !slices.Contains(r.Query.Graphs, t.Graph) || slices.Contains(r.Query.Except, t.ID) {
		return move
	}
	switch {
	case t.Wake.After(r.Result.Now):
		r.Later(t.Wake)
	case until.IsZero():
		r.due = append(r.due, t)
	default:
		r.Later(Micro(until))
		if r.Query.Reserve > 0 {
			move = Micro(until)
		}
	}
	return move
}

// Candidates returns the threads that were offered and that are due and free. The caller must
// not modify them.
func (r *Round) Candidates() []checkpoint.ReadyThread { return r.due }

// Later notes the Wake that a thread has after the call.
func (r *Round) Later(wake time.Time) {
	if r.Result.Next.IsZero() || wake.Before(r.Result.Next) {
		r.Result.Next = wake
	}
}

// Due calls take with the due threads in their order, until the limit is reached. take returns the
// Wake that the thread has now, or zero if the thread is not due any more. It may add messages.
func (r *Round) Due(take func(t *checkpoint.ReadyThread) (wake time.Time, err error)) error {
	slices.SortStableFunc(r.due, func(a, b checkpoint.ReadyThread) int {
		return cmp.Or(
			cmp.Compare(slices.Index(r.Query.Graphs, a.Graph), slices.Index(r.Query.Graphs, b.Graph)),
			cmp.Compare(a.Priority, b.Priority), a.Wake.Compare(b.Wake),
		)
	})
	for _, t := range r.due {
		if len(r.Result.Threads) == r.Query.Limit {
			r.Later(t.Wake)
			continue
		}
		wake, err := take(&t)
		if err != nil {
			return err
		}
		if !wake.IsZero() {
			r.Result.Threads = append(r.Result.Threads, t)
			if r.Query.Reserve == 0 {
				r.Later(wake)
			}
		}
	}
	return nil
}

// Reserved returns the Wake of a thread that the call returns.
func (r *Round) Reserved(t *checkpoint.ReadyThread) time.Time {
	if r.Query.Reserve == 0 {
		return t.Wake
	}
	return Micro(r.Result.Now.Add(r.Query.Reserve))
}

// AddMail adds the messages of v to a thread that the call reserves, if it has room for them.
func (r *Round) AddMail(t *checkpoint.ReadyThread, v *Version) {
	if v.Mail.Inputs+v.Mail.Others > r.Query.Mail {
		return
	}
	all, size := v.Mail.Select(new(checkpoint.MailQuery)), 0
	for i := range all {
		size += len(all[i].Payload)
	}
	if r.HasRoom(len(all), size) {
		t.HasMail, t.Posted, t.Mail = true, v.Mail.Posted, all
	}
}

// HasRoom reports whether the call returns a number of messages of a thread that it reserves. size
// is the number of bytes of their payloads, which count from then on.
func (r *Round) HasRoom(messages, size int) bool {
	if r.Query.Mail < 1 || messages > r.Query.Mail || r.mail+size > checkpoint.MaxReadyMail {
		return false
	}
	r.mail += size
	return true
}

// Is reports whether v is still as t says.
func (v *Version) Is(t *checkpoint.ReadyThread) bool {
	return v.Wake.Equal(t.Wake) && v.Fence == t.Fence
}

// AcceptRewake returns an error if v refuses a Rewake. busy is the error for a live lease, or nil.
func (v *Version) AcceptRewake(r *checkpoint.Rewake, busy error) error {
	switch {
	case v.Empty() && v.Mail.Empty():
		return Missing(r.Thread, "", r.Fence, "fence", true)
	case r.Fence != v.Fence:
		return v.conflict("fence", "", r.Fence, v.Fence)
	case r.Posted != v.Mail.Posted:
		return v.conflict("mail", "", r.Fence, v.Fence)
	case !IsBirth(r.Birth, v.About.Birth):
		return v.conflict("birth", "", r.Birth, v.About.Birth)
	}
	return busy
}
