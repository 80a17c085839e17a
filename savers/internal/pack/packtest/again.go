package packtest

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// PacksAgain takes records out of packs, and lets records stay without one. It tests that the end
// of a later run packs them. open opens a saver on the same place with each call. A Load then
// returns one delta for each pack, and one for each record that is in none.
func PacksAgain(t *testing.T, open func(tb testing.TB) checkpoint.Saver) {
	t.Helper()
	for _, c := range []struct {
		name string
		do   func(th *thread) // after 150 turns, with packs
		own  int              // records that keep their own place: those with a pending write, and too few around one
	}{
		{"nothing", func(*thread) {}, 0},
		{"a late result of a packed task", func(th *thread) { th.result(th.step(11)) }, 31},
		{"a late commit of a packed record", func(th *thread) { th.commit(th.step(11)) }, 0},
		{"a late result and its commit", func(th *thread) { th.result(th.step(11)); th.commit(th.step(11)) }, 31},
		{"a prune", func(th *thread) { th.prune(400) }, 0},
		{"a long run that did not end", func(th *thread) { th.dies(1500) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			th := &thread{t: t, open: open, want: memory.New()}
			th.turns(150)
			c.do(th)
			th.turns(43) // 129 records: one run ends at a multiple of Every, or after it
			for th.written%pack.Default.Every > 2 {
				th.turns(1)
			}
			s := open(t)
			chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: Thread})
			most := pack.Default.Keep + pack.Default.Fewest() + c.own + th.written/pack.Default.Every*2
			t.Logf("%d records are restored by %d deltas", chain.Chained, len(chain.Deltas))
			if err != nil || len(chain.Deltas) > most {
				t.Errorf("%d records are restored by %d deltas, %v; want at most %d", chain.Chained, len(chain.Deltas), err, most)
			}
			Same(t, s, th.want)
			if err := errors.Join(s.Delete(t.Context(), Thread), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// thread is a thread that a saver and the memory saver have. Each use of the saver is by another
// process, whose end waits for its packing.
type thread struct {
	t       *testing.T
	open    func(tb testing.TB) checkpoint.Saver
	want    *memory.Saver
	head    checkpoint.ID
	count   int // of turns
	written int // records
}

// with calls f with both savers.
func (th *thread) with(f func(s checkpoint.Saver) error) {
	th.t.Helper()
	s := th.open(th.t)
	for _, s := range []checkpoint.Saver{s, th.want} {
		if err := f(s); err != nil {
			th.t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		th.t.Fatal(err)
	}
}

// turns runs n turns of the thread.
func (th *thread) turns(n int) {
	th.t.Helper()
	s := th.open(th.t)
	for range n {
		var err error
		if th.head, err = Turn(th.t.Context(), th.count, th.head, s, th.want); err != nil {
			th.t.Fatal(err)
		}
		th.count, th.written = th.count+1, th.written+3
	}
	if err := s.Close(); err != nil {
		th.t.Fatal(err)
	}
}

// step returns the id of the last record of a turn. Nothing commits it, and later it is in a pack.
func (th *thread) step(turn int) checkpoint.ID {
	th.t.Helper()
	for r, err := range th.want.History(th.t.Context(), checkpoint.Ref{Thread: Thread}, checkpoint.Query{}) {
		if err != nil {
			th.t.Fatal(err)
		}
		if r.Seq == uint64(3*turn) {
			return r.ID
		}
	}
	th.t.Fatalf("there is no record %d", 3*turn)
	return checkpoint.ID{}
}

// opening returns records that follow the head. The first opens a run.
func (th *thread) opening(n int) (checkpoint.Append, []checkpoint.ID) {
	th.t.Helper()
	a := checkpoint.Append{Thread: Thread, After: th.head, Open: &checkpoint.Opening{Holder: "other", TakeOver: true}}
	ids := make([]checkpoint.ID, n)
	for i := range ids {
		var err error
		if ids[i], err = checkpoint.NewID(); err != nil {
			th.t.Fatal(err)
		}
		r := checkpoint.Record{ID: ids[i], Parent: th.head, Base: ids[i], Line: ids[0], Source: checkpoint.Input, Payload: noChange}
		if i > 0 {
			r.Commits, r.Source = th.head, checkpoint.Loop
		}
		th.head = ids[i]
		a.Records = append(a.Records, r)
	}
	th.written += n
	return a, ids
}

// result stores the result of a task of a base.
func (th *thread) result(base checkpoint.ID) {
	th.t.Helper()
	a, ids := th.opening(1)
	w := checkpoint.Write{Base: base, Task: "t", Kind: checkpoint.Result, Payload: []byte("result")}
	th.with(func(s checkpoint.Saver) error {
		_, err := s.Append(th.t.Context(), a)
		_, putErr := s.PutWrites(th.t.Context(), checkpoint.PutWrites{
			Thread: Thread, Fence: ids[0], Writes: []checkpoint.Write{w}, End: true,
		})
		return errors.Join(err, putErr)
	})
}

// commit stores a record that commits a base.
func (th *thread) commit(base checkpoint.ID) {
	th.t.Helper()
	a, _ := th.opening(1)
	a.Records[0].Commits, a.End = base, true
	th.with(func(s checkpoint.Saver) error {
		_, err := s.Append(th.t.Context(), a)
		return err
	})
}

// prune keeps the last records. A pack must stay if all its records stay.
func (th *thread) prune(last int) {
	th.t.Helper()
	th.with(func(s checkpoint.Saver) error {
		_, err := s.Prune(th.t.Context(), Thread, checkpoint.Retention{Last: last})
		if err != nil || s == th.want {
			return err
		}
		chain, err := s.Load(th.t.Context(), checkpoint.Ref{Thread: Thread})
		if err == nil && len(chain.Deltas) > chain.Chained-50 {
			th.t.Errorf("after the prune: %d deltas restore %d records, want at most %d", len(chain.Deltas), chain.Chained, chain.Chained-50)
		}
		return err
	})
}

// dies writes records in a run that another takes over.
func (th *thread) dies(n int) {
	th.t.Helper()
	died, _ := th.opening(n)
	next, _ := th.opening(1)
	next.End = true
	for _, a := range []checkpoint.Append{died, next} {
		th.with(func(s checkpoint.Saver) error {
			_, err := s.Append(th.t.Context(), a)
			return err
		})
	}
}
