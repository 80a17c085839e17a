//go:build unix

package proof_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/internal/proof"
)

type (
	app    = graph.Graph[proof.State, proof.StateUpdate]
	result = graph.Result[proof.State]
	update = proof.StateUpdate
)

// journal is the file of a thread with its events, in order. A node first writes "run key step".
// When the saver has acknowledged them, the run writes "result key" and "record id step source".
// Each line is one write, so it survives kill -9; it need not survive the machine. Several
// processes may write to it.
type journal string

func journalOf(dir, thread string) journal { return journal(filepath.Join(dir, thread+".journal")) }

func (j journal) note(words ...any) error {
	f, err := os.OpenFile(string(j), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, words...)
	return errors.Join(err, f.Close())
}

// noting is a saver that takes down what it acknowledges before its caller learns of it.
type noting struct {
	checkpoint.Saver
	dir string
}

func (n noting) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	done, err := n.Saver.Append(ctx, a)
	if err != nil {
		return done, err
	}
	for _, r := range a.Records {
		if err := journalOf(n.dir, a.Thread).note("record", r.ID, r.Step, r.Source, os.Getpid()); err != nil {
			return done, err
		}
	}
	return done, n.results(a.Thread, a.Writes)
}

func (n noting) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	done, err := n.Saver.PutWrites(ctx, w)
	if err != nil {
		return checkpoint.PutResult{}, err
	}
	return done, n.results(w.Thread, w.Writes)
}

func (n noting) results(thread string, writes []checkpoint.Write) error {
	for _, w := range writes {
		if w.Kind != checkpoint.Result {
			continue
		}
		if err := journalOf(n.dir, thread).note("result", w.Task); err != nil {
			return err
		}
	}
	return nil
}

// spins is how often the loop of the graph goes round.
const spins = 5

// build returns the graph: two parallel branches of different length that join, then a loop. Each
// node takes itself down in the journal before anything else.
func build(s checkpoint.Saver, dir string, opts ...graph.Option) (*app, error) {
	return buildHeld(s, dir, func() {}, opts...)
}

// buildHeld returns the graph; its first node, when it has taken itself down, does not return
// before hold does.
func buildHeld(s checkpoint.Saver, dir string, hold func(), opts ...graph.Option) (*app, error) {
	g := graph.New("proof", proof.StateSchema)
	node := func(id graph.ID) {
		g.Node(id, func(ctx context.Context, s proof.State) (update, error) {
			task := graph.CurrentTask(ctx)
			var u update
			u.Log.Append(fmt.Sprint(id, len(s.Log)))
			u.Count.Add(1)
			u.Facts.Put(string(id), strings.Repeat(string(id), 20))
			err := journalOf(dir, task.Thread).note("run", task.Key, task.Step, id, os.Getpid())
			if id == "begin" {
				hold()
			}
			return u, err
		})
	}
	for _, id := range []graph.ID{"begin", "left", "right", "longer", "spin"} {
		node(id)
	}
	g.Edge(graph.Start, "begin")
	g.Edge("begin", "left")
	g.Edge("begin", "right")
	g.Edge("right", "longer")
	g.Join([]graph.ID{"left", "longer"}, "spin")
	g.Route("spin", func(_ context.Context, s proof.State) (graph.Next, error) {
		if s.Count < 4+spins {
			return graph.To("spin"), nil
		}
		return graph.To(graph.End), nil
	}, "spin", graph.End)
	return g.Compile(append([]graph.Option{graph.Saver(noting{s, dir})}, opts...)...)
}

// travel begins a thread, or resumes it after any holder. An earlier attempt to begin it may only
// now come through, so each sends the same request.
func travel(ctx context.Context, g *app, thread string) (result, error) {
	t := g.Thread(thread)
	res, err := t.Resume(ctx, graph.TakeOver())
	if errors.Is(err, checkpoint.ErrNotFound) {
		return t.Invoke(ctx, update{Facts: state.Put("who", "proof")}, graph.TakeOver(), graph.RequestID(thread))
	}
	return res, err
}

// arrive travels until the thread is finished, and counts the faults that stop it. It returns any
// error that is no fault, and gives up after some minutes.
func arrive(ctx context.Context, thread string, try again, stopped *atomic.Int64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for n := 0; ; n++ {
		c, cancel, g, err := try(n)
		if err != nil {
			return err
		}
		res, err := travel(c, g, thread)
		cancel()
		if err == nil && res.Status == graph.Done {
			return nil
		}
		var saver *graph.SaverError
		explained := errors.As(err, &saver) && !errors.Is(err, checkpoint.ErrDamaged) || errors.Is(err, context.DeadlineExceeded)
		if ctx.Err() != nil || !explained {
			return fmt.Errorf("thread %s, attempt %d: got it %s with error %w, want it finished", thread, n+1, res.Status, err)
		}
		stopped.Add(1)
		if n > 5 {
			rest(10 * time.Millisecond) // the server is on its way
		}
	}
}

// rest waits for something outside that gives no sign.
func rest(d time.Duration) { <-time.After(d) }

// check fails the test unless a finished thread holds all that its journal says was acknowledged,
// once, and nothing that was finished ran again.
func check(tb testing.TB, s checkpoint.Saver, dir, thread string, c *count) {
	tb.Helper()
	g, err := build(s, dir)
	if err != nil {
		tb.Fatal(err)
	}
	all := recordsOf(tb, s, checkpoint.Ref{Thread: thread})
	snap, err := g.Thread(thread).State(tb.Context())
	if err != nil {
		tb.Fatalf("thread %s: %v", thread, err)
	}
	checkState(tb, thread, snap)
	checkLog(tb, thread, all)
	c.acknowledged += checkJournal(tb, dir, thread, all, 4+spins, 0)
	c.runs++
}

// recordsOf returns the records of a version, the oldest first.
func recordsOf(tb testing.TB, s checkpoint.Saver, of checkpoint.Ref) (all []checkpoint.Record) {
	tb.Helper()
	sources := []checkpoint.Source{checkpoint.Input, checkpoint.Loop, checkpoint.Update, checkpoint.Fork, checkpoint.Resume}
	for r, err := range s.History(tb.Context(), of, checkpoint.Query{Sources: sources}) {
		if err != nil {
			tb.Fatalf("thread %s: history: %v", of.Thread, err)
		}
		all = append(all, r)
	}
	slices.Reverse(all)
	return all
}

func checkState(tb testing.TB, thread string, snap graph.Snapshot[proof.State]) {
	tb.Helper()
	want := []string{"begin0", "left1", "right1", "longer3"}
	for i := range spins {
		want = append(want, fmt.Sprint("spin", 4+i))
	}
	s := snap.State
	if !slices.Equal(s.Log, want) || s.Count != 4+spins || len(s.Facts) != 6 || snap.Status != checkpoint.Done {
		tb.Errorf("thread %s: got the state %+v, %s; want the log %q, %d, 6 facts, done", thread, s, snap.Status, want, 4+spins)
	}
}

// checkLog fails unless the records are numbered 1, 2, 3 ... and every superstep was committed
// once.
func checkLog(tb testing.TB, thread string, all []checkpoint.Record) {
	tb.Helper()
	step := 0
	for i, r := range all {
		if r.Seq != uint64(i+1) {
			tb.Errorf("thread %s: record %d has number %d", thread, i+1, r.Seq)
		}
		if r.Source == checkpoint.Resume || i == 0 {
			continue
		}
		if step++; r.Step != step {
			tb.Errorf("thread %s: checkpoint %d is of step %d, want %d: each once, in order", thread, i+1, r.Step, step)
		}
	}
	if want := 1 + 3 + spins; step != want {
		tb.Errorf("thread %s: got %d checkpoints after the first, want %d", thread, step, want)
	}
}

// checkJournal compares the records with what was acknowledged, and returns how much that was. So
// many tasks must have noted that they run. The process late was stopped, and could note what it
// had stored only after others had continued.
func checkJournal(tb testing.TB, dir, thread string, all []checkpoint.Record, tasks, late int) (acknowledged int) {
	tb.Helper()
	text, err := os.ReadFile(string(journalOf(dir, thread)))
	if err != nil {
		tb.Fatal(err)
	}
	ran, results, place, committed := make(map[string]bool), make(map[string]bool), -1, -1
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch words[0] {
		case "run":
			step := number(tb, words[2])
			if results[words[1]] || step <= committed {
				tb.Errorf("thread %s: a finished task ran again: %s", thread, line)
			}
			ran[words[1]] = true
		case "result":
			results[words[1]] = true
			acknowledged++
		case "record":
			at := slices.IndexFunc(all, func(r checkpoint.Record) bool { return r.ID.String() == words[1] })
			if at < 0 || at <= place && number(tb, words[4]) != late {
				tb.Errorf("thread %s: an acknowledged record is at %d of the history, after %d: lost, or out of order: %s", thread, at, place, line)
			}
			place = max(place, at)
			if words[3] != checkpoint.Resume.String() {
				committed = max(committed, number(tb, words[2]))
			}
			acknowledged++
		}
	}
	if len(ran) != tasks {
		tb.Errorf("thread %s: %d tasks ran, want %d", thread, len(ran), tasks)
	}
	if tb.Failed() {
		tb.Logf("the journal of thread %s:\n%s", thread, text)
	}
	return acknowledged
}

func number(tb testing.TB, word string) (n int) {
	tb.Helper()
	if _, err := fmt.Sscan(word, &n); err != nil {
		tb.Fatal(err)
	}
	return n
}
