package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// courier carries the tenant of a context.
type courier struct {
	key   string
	panic bool
}

type tenantKey struct{}

func tenant(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, tenantKey{}, name)
}

func (c *courier) Inject(ctx context.Context) map[string]string {
	if c.panic {
		panic("bang")
	}
	name, ok := ctx.Value(tenantKey{}).(string)
	if !ok {
		return nil
	}
	return map[string]string{c.key: name}
}

func (c *courier) Extract(ctx context.Context, stored map[string]string) context.Context {
	if c.panic {
		panic("bang")
	}
	if name, ok := stored[c.key]; ok && ctx.Value(tenantKey{}) == nil {
		return tenant(ctx, name)
	}
	return ctx
}

// saysTenant is a node that logs the tenant.
func saysTenant(ctx context.Context, _ work) (update, error) {
	name, _ := ctx.Value(tenantKey{}).(string)
	return logged(graph.CurrentTask(ctx).Node + " for " + name), nil
}

func TestAPropagatorCarriesValuesToTheNextRun(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		b.Node("a", saysTenant)
		b.Node("b", saysTenant)
		s := memory.New()
		g := compile(t, line(b, "a", "b"), graph.Saver(s), d, graph.InterruptBefore("b"), graph.Propagate(&courier{key: "tenant"}))
		done(t, graph.Paused)(g.Thread("t").Invoke(tenant(t.Context(), "ada"), input, graph.Metadata(map[string]string{"by": "form"})))
		snap, err := g.Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "metadata", snap.Metadata, map[string]string{"by": "form", "tenant": "ada"})
		res := done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a for ada", "b for ada"})

		res = done(t, graph.Paused)(g.Thread("t").Invoke(t.Context(), input)) // a new input has the context of its caller
		same(t, "log", res.State.Log[2:], []string{"a for "})
	})
}

func TestAPropagatorCarriesValuesOfSubmittedInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		b.Node("a", saysTenant)
		s := memory.New()
		g := compile(t, line(b, "a"), graph.Saver(s), graph.Propagate(&courier{key: "tenant"}))
		for _, name := range []string{"ada", "grace"} {
			if _, err := g.Thread("t").Submit(tenant(t.Context(), name), input); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := g.SubmitMany(tenant(t.Context(), "alan"), graph.Submission[update]{Thread: "t", Input: input}); err != nil {
			t.Fatal(err)
		}
		same(t, "runs", serve(t, g, s), 3)
		snap, err := g.Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "log", snap.State.Log, []string{"a for ada", "a for grace", "a for alan"})
		same(t, "metadata", snap.Metadata, map[string]string{"tenant": "alan"})
	})
}

func TestAPropagatorCarriesValuesToWorkersOfQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g := queued(t, saysTenant, s, []graph.Option{graph.Propagate(&courier{key: "tenant"})})
		th := g.Thread("t")
		res := done(t, graph.Done)(serving(g, s).drive(t, th)(th.Invoke(tenant(t.Context(), "ada"), input)))
		same(t, "log", res.State.Log, []string{"a", "gpu for ada", "z"})
	})
}

func TestABrokenPropagatorIsAnErrorOfTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		by   *courier
		name string
		want string
	}{
		"panic":     {&courier{panic: true}, "ada", "a Propagator: panic: bang"},
		"empty key": {&courier{}, "ada", "injects a value with an empty key"},
		"too long":  {&courier{key: "tenant"}, strings.Repeat("x", 2043), "the metadata has 2049 bytes with the values of the propagators"},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			g := compile(t, chain("a"), graph.Saver(s), graph.Propagate(c.by))
			_, invoked := g.Thread("t").Invoke(tenant(t.Context(), c.name), input)
			_, submitted := g.Thread("t").Submit(tenant(t.Context(), c.name), input)
			for _, err := range []error{invoked, submitted} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
			}
			if _, err := g.Thread("t").State(t.Context()); err == nil {
				t.Error("a refused call left a thread")
			}
		})
	}
	t.Run("Extract", func(t *testing.T) {
		s := memory.New()
		fine := compile(t, chain("a"), graph.Saver(s), graph.InterruptBefore("a"))
		done(t, graph.Paused)(fine.Thread("t").Invoke(t.Context(), input, graph.Metadata(map[string]string{"k": "v"})))
		_, err := compile(t, chain("a"), graph.Saver(s), graph.Propagate(lost{})).Thread("t").Resume(t.Context())
		if err == nil || !strings.Contains(err.Error(), "graph_test.lost extracts a nil context") {
			t.Errorf("got %v, want the fault of the propagator", err)
		}
		_, err = compile(t, chain("a"), graph.Saver(s), graph.Propagate(burning{})).Thread("t").Resume(t.Context())
		var panicked *graph.PanicError
		if !errors.As(err, &panicked) {
			t.Errorf("got %v, want a PanicError", err)
		}
		done(t, graph.Done)(fine.Thread("t").Resume(t.Context()))
	})
}

// lost is a Propagator that loses contexts.
type lost struct{}

func (lost) Inject(context.Context) map[string]string { return nil }

func (lost) Extract(context.Context, map[string]string) context.Context { return nil }

// burning is a Propagator that panics.
type burning struct{ lost }

func (burning) Extract(context.Context, map[string]string) context.Context { panic("bang") }
