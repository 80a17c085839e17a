package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// program is a program of one of the releases between which fields got other names. All have the
// same fields.
type program struct {
	name  string
	run   func(ctx context.Context, steps []teststate.BeforeUpdate, opts ...graph.InvokeOption) (teststate.Before, error)
	state func(ctx context.Context) (teststate.Before, error)
}

// releaseOf compiles a graph whose nodes return the given updates, one after another.
func releaseOf[S, U any](t *testing.T, s checkpoint.Saver, name string, schema *state.Schema[S, U], before func(S) teststate.Before, toUpdate func(teststate.BeforeUpdate) U) program {
	t.Helper()
	var todo []teststate.BeforeUpdate
	b := graph.New("rename", schema)
	b.Node("n", func(context.Context, S) (U, error) {
		u := todo[0]
		todo = todo[1:]
		return toUpdate(u), nil
	})
	b.Edge(graph.Start, "n")
	b.Route("n", func(context.Context, S) (graph.Next, error) {
		if len(todo) == 0 {
			return graph.To(graph.End), nil
		}
		return graph.To("n"), nil
	}, "n", graph.End)
	g, err := b.Compile(graph.Saver(s))
	if err != nil {
		t.Fatal(err)
	}
	th := g.Thread("t")
	return program{
		name: name,
		run: func(ctx context.Context, steps []teststate.BeforeUpdate, opts ...graph.InvokeOption) (teststate.Before, error) {
			todo = steps[1:]
			res, err := th.Invoke(ctx, toUpdate(steps[0]), opts...)
			return before(res.State), err
		},
		state: func(ctx context.Context) (teststate.Before, error) {
			snap, err := th.State(ctx)
			return before(snap.State), err
		},
	}
}

// randomUpdate changes some fields, in ways that their reducers have.
func randomUpdate(rnd *rand.Rand) teststate.BeforeUpdate {
	var u teststate.BeforeUpdate
	word := func() string { return string(rune('a' + rnd.IntN(5))) }
	ops := []func(){
		func() { u.Log.Append(word(), word()) }, func() { u.Log.Remove(word()) }, func() { u.Log.Replace(word()) }, func() { u.Log.Clear() },
		func() { u.Docs.Upsert(teststate.Doc{Name: word(), Pages: []int{rnd.IntN(9)}}) }, func() { u.Docs.Remove(word()) },
		func() { u.Docs.Replace(teststate.Doc{Name: word()}) }, func() { u.Docs.Clear() },
		func() { u.Tags.Add(word()) }, func() { u.Tags.Remove(word()) },
		func() { u.Facts.Put(word(), word()) }, func() { u.Facts.Delete(word()) }, func() { u.Facts.Replace(map[string]string{word(): word()}) },
		func() { u.Count.Add(rnd.IntN(9) - 4) }, func() { u.Least.Offer(rnd.IntN(9)) }, func() { u.All.And(rnd.IntN(4) > 0) },
		func() { u.Title.Set(word()) }, func() { u.Draft.Set(word()) }, func() { u.Stack.Reduce(word()) },
		func() { u.Kept.Append(word()) }, func() { u.Kept.Clear() }, func() { u.Facts.Clear() }, func() { u.Tags.Clear() },
		func() { u.Count.Clear() }, func() { u.Least.Clear() }, func() { u.Title.Clear() }, func() { u.Stack.Clear() },
	}
	for range rnd.IntN(4) {
		ops[rnd.IntN(len(ops))]()
	}
	return u
}

// TestReleasesWithOtherNamesOfAFieldNeverDisagree alternates, on one thread, between programs in
// which fields have different names. Each program sees the work of all, as one program would, or
// gets an error.
func TestReleasesWithOtherNamesOfAFieldNeverDisagree(t *testing.T) {
	refused, agreed := 0, 0
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		s := memory.New()
		releases := []program{
			releaseOf(t, s, "before", teststate.BeforeSchema, func(b teststate.Before) teststate.Before { return b }, func(u teststate.BeforeUpdate) teststate.BeforeUpdate { return u }),
			releaseOf(t, s, "after", teststate.AfterSchema, func(a teststate.After) teststate.Before { return teststate.Before(a) }, func(u teststate.BeforeUpdate) teststate.AfterUpdate { return teststate.AfterUpdate(u) }),
			releaseOf(t, s, "after all", teststate.AfterAllSchema, func(a teststate.AfterAll) teststate.Before { return teststate.Before(a) }, func(u teststate.BeforeUpdate) teststate.AfterAllUpdate { return teststate.AfterAllUpdate(u) }),
		}
		if seed%2 == 0 {
			releases = releases[:2]
		}
		model := teststate.BeforeSchema.New(cell.Options{})
		wrote := ""         // the release that wrote last
		everStored := false // a record of a step had a field that has another name by now
		for call := range 10 {
			rel := releases[rnd.IntN(len(releases))]
			steps := make([]teststate.BeforeUpdate, 1+1+rnd.IntN(3))
			for i := range steps {
				steps[i] = randomUpdate(rnd)
			}
			where := fmt.Sprintf("seed %d, call %d by %q after %q", seed, call, rel.name, wrote)
			other := rel.name == "before" && wrote == "after"
			knows := !other || !renamedStored(t, model)
			got, err := rel.run(t.Context(), steps, []graph.InvokeOption{graph.Sync, graph.Async, graph.OnExit}[rnd.IntN(3)])
			if !knows || other && everStored && err != nil { // a field that is cleared by now may be in an earlier record
				refused++
				checkRefused(t, where, err)
				_, err := rel.state(t.Context())
				checkRefused(t, where, err)
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			agreed++
			wrote = rel.name
			for i := range steps {
				if err := model.Merge(0, &steps[i]); err != nil {
					t.Fatal(err)
				}
				model.EndStep()
				everStored = everStored || renamedStored(t, model)
			}
			same(t, where, got, model.View())
			got, err = rel.state(t.Context())
			if err != nil {
				t.Fatalf("%s: State: %v", where, err)
			}
			same(t, where+": State", got, model.View())
			model.Share()
			if t.Failed() {
				return
			}
		}
	}
	if refused < 100 || agreed < 500 {
		t.Errorf("%d calls were refused and %d agreed: too few of one to tell anything", refused, agreed)
	}
}

// renamedStored reports whether a field that has another name by now is stored.
func renamedStored(t *testing.T, live cell.Live[teststate.Before, teststate.BeforeUpdate]) bool {
	t.Helper()
	b, err := live.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	fields := int(b[0] & 0xf)
	if strings.Contains(string(b), "\xa4Kept") {
		fields--
	}
	return fields > 0
}

func checkRefused(t *testing.T, where string, err error) {
	t.Helper()
	var renamed *state.RenameError
	if !errors.Is(err, graph.ErrGraphChanged) || !errors.As(err, &renamed) {
		t.Fatalf("%s: got %v, want an ErrGraphChanged with a *RenameError in it", where, err)
	}
	text := err.Error()
	if renamed.Field == "" || renamed.Was != renamed.Field || renamed.Now != strings.ToLower(renamed.Field) || !strings.Contains(text, renamed.Was) || !strings.Contains(text, renamed.Now) {
		t.Fatalf("%s: got %v, want both names of the field", where, err)
	}
}
