package shards_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/graphmodel"
	"github.com/graphgen-go/graphgen/internal/intercept"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/savertest"
	"github.com/graphgen-go/graphgen/savers/shards"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// restless is a saver over shards in the middle of a change of their layout. It moves threads to
// random shards before and after their calls.
type restless struct {
	intercept.Saver
	tb     testing.TB
	shards *shards.Saver

	mu      sync.Mutex
	random  *rand.Rand
	threads []string // those that calls were about
	moves   int
}

// newRestless returns a saver over all shards. The old layout has all but the last.
func newRestless(tb testing.TB, all ...shards.Shard) (*restless, error) {
	tb.Helper()
	ctx := context.Background()
	s, err := moving(ctx, all...)
	if err != nil {
		return nil, err
	}
	r := &restless{tb: tb, shards: s, random: rand.New(rand.NewPCG(1, 2))}
	r.Saver = intercept.Saver{Saver: s, By: r.call}
	return r, nil
}

// moving returns a saver over all shards, in the phase Moving. The old layout has all but the
// last.
func moving(ctx context.Context, all ...shards.Shard) (*shards.Saver, error) {
	before, err := shards.Open(ctx, all[:len(all)-1]...)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(before.Close(), shards.Announce(ctx, all...)); err != nil {
		return nil, err
	}
	s, err := shards.Open(ctx, all...)
	if err != nil {
		return nil, err
	}
	return s, s.Advance(ctx)
}

// call makes a call.
func (r *restless) call(ctx context.Context, op, thread string, do func(context.Context) error) error {
	if r.move(thread); op == "close" {
		return do(ctx)
	}
	err := do(ctx)
	r.move(thread)
	return err
}

// move moves a thread, or some thread of an earlier call, in half of the calls.
func (r *restless) move(thread string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if thread != "" && !slices.Contains(r.threads, thread) {
		r.threads = append(r.threads, thread)
	}
	if thread == "" && len(r.threads) > 0 {
		thread = r.threads[r.random.IntN(len(r.threads))]
	}
	if checkpoint.CheckThread(thread) != nil || r.random.IntN(2) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	all, err := r.shards.Places(ctx)
	if err != nil {
		return // it is closed
	}
	dst := all[r.random.IntN(len(all))]
	if dst.Name == r.shards.Shard(thread) {
		return // calls begin there, so a thread that has left it does not come back
	}
	for _, src := range all {
		if src.Name == dst.Name {
			continue
		}
		r.moves++
		if err := rows.Move(ctx, src, dst, thread); err != nil && !errors.Is(err, checkpoint.ErrUnavailable) && !errors.Is(err, checkpoint.ErrClosed) {
			r.tb.Errorf("move: %v", err)
		}
	}
}

// onRows is a shard in memory whose threads can move.
func onRows(name string, store rows.Store) shards.Shard {
	return shards.Shard{Name: name, Open: func(context.Context) (checkpoint.Saver, error) {
		return rows.New(name, store, rows.Options{}), nil
	}}
}

// TestThreadsMoveBetweenCalls runs the suite of savers while threads move between three shards.
func TestThreadsMoveBetweenCalls(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{Open: func() (checkpoint.Saver, error) {
			all := []shards.Shard{onFile("f", dir), onSQLite("s", dir), onRows("m", memrows.New())}
			if testing.Short() {
				all[0], all[1] = onRows("f", memrows.New()), onRows("s", memrows.New())
			}
			return newRestless(tb, all...)
		}}
	})
}

// TestRandomGraphsOnThreadsThatMove runs random graphs, alone and in storms, while their threads
// move.
func TestRandomGraphsOnThreadsThatMove(t *testing.T) {
	for seed := range uint64(12) {
		if testing.Short() && seed > 2 {
			return
		}
		s, err := newRestless(t, onRows("a", memrows.New()), onRows("b", memrows.New()), onRows("c", memrows.New()))
		if err != nil {
			t.Fatal(err)
		}
		spec := graphmodel.Draw(seed)
		p, err := graphmodel.NewPair(spec, s, fmt.Sprint("travels ", seed))
		if err == nil {
			err = p.Travel(t.Context(), 2)
		}
		if err != nil {
			t.Fatalf("graph %d: %v\n%v\nafter\n%s", seed, err, spec, p.Said())
		}
		if f := p.World.Faults(); f != nil {
			t.Fatalf("graph %d: %s\n%v", seed, strings.Join(f, "\n"), spec)
		}
		if spec.Stormy(true) {
			d := []graph.Durability{graph.Sync, graph.Async, graph.OnExit}[seed%3]
			storm := graphmodel.Storm{Spec: spec, World: graphmodel.NewWorld(), Saver: s, Thread: fmt.Sprintf("storm %d %s", seed, d), Durability: d}
			err = storm.Run(t.Context(), uint64(d))
			if err = errors.Join(err, storm.Check(t.Context(), spec.Alone(), d != graph.OnExit)); err != nil {
				t.Fatalf("graph %d in a storm, %s: %v\n%v\nafter\n%s", seed, d, err, spec, storm.Said())
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("graph %d: %d moves", seed, s.moves)
	}
}

// TestATransactionPostsToAThreadThatHasMoved posts by the shard on which a thread was, and by the
// one on which it is.
func TestATransactionPostsToAThreadThatHasMoved(t *testing.T) {
	dir := t.TempDir()
	all := []shards.Shard{onSQLite("a", dir), onSQLite("b", dir)}
	s, err := moving(t.Context(), all...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := "t"
	for i := 0; s.Shard(id) != "a" || i == 0; i++ {
		id = fmt.Sprint("t", i)
	}
	post(t, s, id)
	places, err := s.Places(t.Context())
	if err == nil {
		err = rows.Move(t.Context(), places[0], places[1], id)
	}
	if err != nil {
		t.Fatal(err)
	}
	second := input(id)
	second.Messages[0].ID = "second"
	for i, name := range []string{"a", "b"} {
		db, err := all[i].Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		tx, err := openDB(t, filepath.Join(dir, name+".db")).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		in := db.(*sqlite.Saver).InTx(tx)
		_, err = s.Via(name, in).Post(t.Context(), second)
		if name == "a" {
			if !errors.As(err, new(*checkpoint.InvalidError)) || !strings.Contains(err.Error(), `on shard "b"`) {
				t.Errorf("got %v, want an *InvalidError that names the shard", err)
			}
			if posted, err := in.Post(t.Context(), second); err != nil || !errors.As(posted[0].Err, new(*rows.MovedError)) {
				t.Errorf("without shards: got %+v and %v, want a *MovedError", posted, err)
			}
		}
		if err := errors.Join(err, tx.Commit()); err != nil && name == "b" {
			t.Fatal(err)
		}
	}
	if mail, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: id}); err != nil || len(mail) != 2 {
		t.Errorf("got %d messages and %v, want both", len(mail), err)
	}
}
