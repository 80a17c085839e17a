package sqltest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// InboxModel makes random calls to a saver and to the memory saver, and compares what they return.
func InboxModel(t *testing.T, s checkpoint.Saver, calls int) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m := &inboxModel{t: t, rand: rand.New(rand.NewPCG(seed, 1)), savers: [2]checkpoint.Saver{memory.New(), s}, runs: make(map[string]*modelRun)}
	for n := range calls {
		m.step(n)
		m.compare(n)
		if t.Failed() {
			return
		}
	}
}

// inboxModel makes the same random calls on two savers, and compares their answers.
type inboxModel struct {
	t      *testing.T
	rand   *rand.Rand
	savers [2]checkpoint.Saver
	runs   map[string]*modelRun
	log    []string
}

// modelRun is what the model knows of a thread's newest run.
type modelRun struct {
	fence, head checkpoint.ID
	seen        uint64
	held        bool
}

// both makes a call on both savers. The results must be equal, and the errors of one kind.
func (m *inboxModel) both(what string, call func(s checkpoint.Saver) (any, error)) (result any, err error) {
	m.t.Helper()
	m.log = append(m.log, what)
	want, wantErr := call(m.savers[0])
	got, err := call(m.savers[1])
	for _, kind := range []error{checkpoint.ErrConflict, checkpoint.ErrNotFound, checkpoint.ErrInboxFull, checkpoint.ErrNotIdle} {
		if errors.Is(err, kind) != errors.Is(wantErr, kind) {
			m.t.Errorf("%s: got %v, want %v", what, err, wantErr)
		}
	}
	if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
		m.t.Errorf("%s\ngot  %+v, %v\nwant %+v, %v\nafter at last %q", what, got, err, want, wantErr, m.log[max(len(m.log)-12, 0):])
	}
	return got, err
}

// handled draws which messages of a thread a run takes, refuses and returns.
func (m *inboxModel) handled(thread string, r *modelRun) (h checkpoint.Handled) {
	h.Seen = r.seen
	messages := make(map[uint64]checkpoint.Message)
	for item, err := range m.savers[0].Export(m.t.Context(), thread, 0) {
		if err == nil && item.Message != nil {
			messages[item.Message.Number] = *item.Message
		}
	}
	for range m.rand.IntN(4) {
		number := 1 + m.rand.Uint64N(r.seen+2)
		switch m.rand.IntN(5) {
		case 0, 1:
			h.Take = append(h.Take, number)
		case 2:
			h.Refuse = append(h.Refuse, checkpoint.Refusal{Number: number, Reason: fmt.Sprint("reason ", number)})
		case 3:
			replied := messages[number]
			replied.Number, replied.Payload = number, []byte(fmt.Sprint("reply ", number))
			h.Reply = append(h.Reply, replied)
		default:
			back := messages[number]
			back.Number, back.Payload = number, []byte(fmt.Sprint("returned ", number))
			h.Return = append(h.Return, back)
		}
	}
	return h
}

// step makes the n-th random call.
func (m *inboxModel) step(n int) {
	m.t.Helper()
	ctx, thread := m.t.Context(), fmt.Sprint("thread ", m.rand.IntN(3))
	r := m.runs[thread]
	switch c := m.rand.IntN(20); {
	case c < 8:
		m.post(n)
	case r == nil || !r.held:
		m.open(thread)
	case c < 14:
		w := checkpoint.PutWrites{Thread: thread, Fence: r.fence, Lease: time.Hour, Messages: m.handled(thread, r)}
		if m.rand.IntN(3) == 0 {
			w.End, w.Status, r.held = true, checkpoint.Status(1+m.rand.IntN(7)), false
		}
		got, err := m.both(fmt.Sprintf("%+v", w), func(s checkpoint.Saver) (any, error) { return s.PutWrites(ctx, w) })
		if err == nil {
			r.seen = got.(checkpoint.PutResult).Posted
		}
	case c < 18:
		id := newID(m.t)
		a := checkpoint.Append{
			Thread: thread, After: r.head, Fence: r.fence, Lease: time.Hour, Messages: m.handled(thread, r),
			Records: []checkpoint.Record{{ID: id, Parent: r.head, Base: id, Line: r.fence, Commits: r.head, Source: checkpoint.Loop, Graph: "g"}},
		}
		if m.rand.IntN(3) == 0 {
			a.End, a.Status, a.Release, r.held = true, checkpoint.Done, m.rand.IntN(2) == 0, false
		}
		got, err := m.both(fmt.Sprintf("%+v", a), func(s checkpoint.Saver) (any, error) { return s.Append(ctx, a) })
		if r.head = id; err == nil {
			r.seen = got.(checkpoint.AppendResult).Posted
		}
	case c == 18:
		if _, err := m.both("end "+thread, func(s checkpoint.Saver) (any, error) {
			return s.PutWrites(ctx, checkpoint.PutWrites{Thread: thread, Fence: r.fence, End: true, Status: checkpoint.Waiting})
		}); err != nil {
			return
		}
		r.held = false
		_, _ = m.both("release "+thread, func(s checkpoint.Saver) (any, error) {
			v, err := s.Release(ctx, thread, checkpoint.ID{})
			v.Released = time.Time{}
			return v, err
		})
	default:
		_, _ = m.both("delete "+thread, func(s checkpoint.Saver) (any, error) { return nil, s.Delete(ctx, thread) })
	}
}

// post makes a random Post of one to three posts.
func (m *inboxModel) post(n int) {
	m.t.Helper()
	posts := make([]checkpoint.Post, 1+m.rand.IntN(3))
	for i := range posts {
		p := &posts[i]
		*p = checkpoint.Post{
			Thread: fmt.Sprint("thread ", m.rand.IntN(3)), Graph: "g", Idle: m.rand.IntN(5) == 0,
			MaxInputs: 5, MaxOthers: 5, Title: fmt.Sprint(n), Labels: map[string]string{"n": fmt.Sprint(n)},
		}
		used := make(map[string]bool)
		for range 1 + m.rand.IntN(3) {
			id := fmt.Sprint("id ", m.rand.IntN(60))
			if !used[id] {
				p.Messages = append(p.Messages, checkpoint.Message{
					ID: id, Kind: checkpoint.MessageKind(1 + m.rand.IntN(5)), Name: "name", Payload: []byte(id),
				})
			}
			used[id] = true
		}
	}
	_, _ = m.both(fmt.Sprintf("post %+v", posts), func(s checkpoint.Saver) (any, error) {
		done, err := s.Post(m.t.Context(), posts...)
		for i := range done {
			if done[i].Err != nil {
				done[i].Err = errors.New(done[i].Err.Error())
			}
		}
		return done, err
	})
}

// open opens a thread for a run of the model.
func (m *inboxModel) open(thread string) {
	m.t.Helper()
	chain, err := m.savers[0].Load(m.t.Context(), checkpoint.Ref{Thread: thread})
	if err != nil {
		m.t.Fatal(err)
	}
	r := &modelRun{fence: newID(m.t), held: true}
	r.head = r.fence
	got, err := m.both("open "+thread, func(s checkpoint.Saver) (any, error) {
		done, err := s.Append(m.t.Context(), checkpoint.Append{
			Thread: thread, After: chain.Head, Open: &checkpoint.Opening{TakeOver: true}, Lease: time.Hour,
			Records: []checkpoint.Record{{
				ID: r.fence, Parent: chain.Head, Base: r.fence, Line: r.fence, Source: checkpoint.Input, Graph: "g", Snapshot: true,
			}},
		})
		done.Now, done.Birth = time.Time{}, checkpoint.ID{}
		return done, err
	})
	if err == nil {
		r.seen, m.runs[thread] = got.(checkpoint.AppendResult).Posted, r
	}
}

// compare compares what the savers have stored. Their clocks differ.
func (m *inboxModel) compare(n int) {
	m.t.Helper()
	ctx := m.t.Context()
	for _, handled := range []bool{false, true} {
		for i := range 3 {
			q := checkpoint.MailQuery{Thread: fmt.Sprint("thread ", i), Handled: handled, After: m.rand.Uint64N(3), Limit: m.rand.IntN(5)}
			_, _ = m.both(fmt.Sprintf("mail %+v", q), func(s checkpoint.Saver) (any, error) {
				all, err := s.Mail(ctx, q)
				for i := range all {
					all[i].Posted = time.Time{}
				}
				return all, err
			})
			m.log = m.log[:len(m.log)-1]
		}
	}
	if n%5 > 0 {
		return
	}
	for _, q := range []checkpoint.ThreadQuery{{}, {Status: checkpoint.Ready}} {
		_, _ = m.both("threads", func(s checkpoint.Saver) (any, error) {
			var all []string
			for thread, err := range s.Threads(ctx, q) {
				if err != nil {
					return all, err
				}
				d := thread
				due := !d.Wake.IsZero() && d.Wake.Before(time.Now().Add(time.Minute))
				d.Updated, d.Now, d.Created, d.Wake, d.Lease = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
				all = append(all, fmt.Sprintf("%+v due %t wake %t updated %t", d, due, !thread.Wake.IsZero(), thread.Updated.IsZero()))
			}
			slices.Sort(all) // threads of one moment can have another order, because each saver has a clock of its own
			return all, nil
		})
	}
	_, _ = m.both("ready", func(s checkpoint.Saver) (any, error) {
		got, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 9})
		ids := make(map[string]checkpoint.ReadyThread)
		for _, thread := range got.Threads {
			thread.Wake, thread.Birth = time.Time{}, checkpoint.ID{}
			ids[thread.ID] = thread
		}
		return ids, err
	})
	m.copies()
}

// copies imports each thread to another one, and removes that.
func (m *inboxModel) copies() {
	m.t.Helper()
	ctx := m.t.Context()
	from, to := fmt.Sprint("thread ", m.rand.IntN(3)), fmt.Sprint("thread ", m.rand.IntN(4))
	_, _ = m.both("copy "+from+" to "+to, func(s checkpoint.Saver) (any, error) {
		err := checkpoint.Copy(ctx, s, from, 0, s, to)
		var items []checkpoint.Message
		for item, err := range s.Export(ctx, to, 0) {
			if err != nil {
				break
			}
			if item.Message != nil {
				message := *item.Message
				message.Posted = time.Time{}
				items = append(items, message)
			}
		}
		return items, err
	})
}
