package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// summariser counts its calls. Its result depends on Status.
type summariser struct{ calls int }

func (s *summariser) node(_ context.Context, w work) (update, error) {
	s.calls++
	return logged(fmt.Sprint("summary of ", w.Status)), nil
}

func byStatus(w work) string { return w.Status }

// statusOf is an input.
func statusOf(text string) (u update) {
	u.Status.Set(text)
	return u
}

// cacheEvents observes EventTaskCached.
type cacheEvents struct{ seen []string }

func (e *cacheEvents) Observe(_ context.Context, o graph.RunEvent) {
	switch o.Kind {
	case graph.EventTaskCached, graph.EventTaskStarted:
		e.seen = append(e.seen, fmt.Sprint(o.Kind, " ", o.Node, " ", o.Err))
	}
}

func TestACachedResultReplacesTheCallOfTheNode(t *testing.T) {
	for name, where := range map[string]graph.Cacher{
		"memory": graph.MemoryCache(1 << 20),
		"store":  store.Cache{Backend: memory.NewStore(), Namespace: store.Namespace{"cache"}},
	} {
		t.Run(name, func(t *testing.T) {
			var s summariser
			var events cacheEvents
			b := single(s.node)
			b.Cache("pay", where, time.Hour, byStatus)
			g := compile(t, b, graph.Saver(memory.New()), graph.Observe(&events), graph.Strict())
			var streamed []string
			for i, text := range []string{"x", "y", "x"} {
				for e, err := range g.Thread(fmt.Sprint(i)).Stream(t.Context(), statusOf(text), graph.Events(graph.EventTaskCached)) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Kind == graph.EventTaskCached {
						streamed = append(streamed, fmt.Sprint(i, " ", e.Node, " ", e.Err))
						continue
					}
					same(t, "log", e.Result.State.Log, []string{"summary of " + text})
				}
			}
			same(t, "calls", s.calls, 2)
			same(t, "events of the stream", streamed, []string{"2 pay <nil>"})
			same(t, "events", events.seen, []string{"task started pay <nil>", "task started pay <nil>", "task cached pay <nil>"})
		})
	}
}

func TestCachedResultsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s summariser
		b := single(s.node)
		b.Cache("pay", graph.MemoryCache(1<<20), time.Hour, byStatus)
		g := compile(t, b)
		for _, pause := range []time.Duration{0, time.Hour - 1, 1} {
			time.Sleep(pause)
			done(t, graph.Done)(g.Run(t.Context(), statusOf("x")))
		}
		same(t, "calls", s.calls, 2)
	})
}

func TestCachedResultsAreOfOneGraphNodeAndSchema(t *testing.T) {
	var s summariser
	where := graph.MemoryCache(1 << 20)
	build := func(name string, id graph.ID, fingerprint uint64) {
		schema := *teststate.WorkSchema
		schema.Fingerprint += fingerprint
		b := graph.New(name, &schema)
		b.Node(id, s.node)
		b.Chain(graph.Start, id, graph.End)
		b.Cache(id, where, 0, byStatus)
		done(t, graph.Done)(compile(t, b).Run(t.Context(), statusOf("x")))
	}
	build("g", "a", 0)
	build("g", "a", 0)
	same(t, "calls of one node", s.calls, 1)
	build("other", "a", 0)
	build("g", "b", 0)
	build("g", "a", 1)
	same(t, "calls", s.calls, 4)
}

func TestTheChoiceOfACachedNodeIsFollowed(t *testing.T) {
	var calls atomic.Int64 // The two sends run at the same time.
	b := newWork()
	fetch := graph.TaskNode(b, "fetch", func(_ context.Context, _ work, d doc) (update, error) {
		calls.Add(1)
		return logged("fetched " + d.Name), nil
	})
	graph.TaskCache(b, fetch, graph.MemoryCache(1<<20), 0, func(_ work, d doc) string { return d.Name })
	b.RoutingNode("plan", func(context.Context, work) (update, graph.Next, error) {
		calls.Add(1)
		next := fetch.Send(doc{Name: "a"})
		next.Add(fetch.Send(doc{Name: "b"}))
		return logged("plan"), next, nil
	}, graph.Targets("fetch"))
	b.Cache("plan", graph.MemoryCache(1<<20), 0, byStatus)
	b.Edge(graph.Start, "plan")
	b.Edge("fetch", graph.End)
	th, _ := newThread(t, b)
	for range 2 {
		res := done(t, graph.Done)(th.Invoke(t.Context(), statusOf("x")))
		same(t, "log", res.State.Log[len(res.State.Log)-3:], []string{"plan", "fetched a", "fetched b"})
	}
	same(t, "calls", calls.Load(), int64(3))
}

func TestOnlyTheResultOfTheNodeIsCached(t *testing.T) {
	calls := 0
	b := single(func(context.Context, work) (update, error) { calls++; return update{}, errBroken })
	b.Fallback("pay", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
	b.Cache("pay", graph.MemoryCache(1<<20), 0, byStatus)
	g := compile(t, b)
	for range 2 {
		same(t, "log", done(t, graph.Done)(g.Run(t.Context(), statusOf("x"))).State.Log, []string{"fallback"})
	}
	same(t, "calls", calls, 2)
}

// badCache is a Cacher that does what a test says.
type badCache struct {
	get func() ([]byte, bool, error)
	put func() error
}

func (c badCache) Get(context.Context, string) ([]byte, bool, error) { return c.get() }

func (c badCache) Put(context.Context, string, []byte, time.Duration) error { return c.put() }

func TestAnErrorOfACacheDoesNotFailTheTask(t *testing.T) {
	none := func() ([]byte, bool, error) { return nil, false, nil }
	well := func() error { return nil }
	for name, test := range map[string]struct {
		where graph.Cacher
		key   func(work) string
		want  []string
	}{
		"get fails":  {badCache{func() ([]byte, bool, error) { return nil, false, errBroken }, well}, byStatus, []string{"it broke"}},
		"put fails":  {badCache{none, func() error { return errBroken }}, byStatus, []string{"it broke"}},
		"get panics": {badCache{func() ([]byte, bool, error) { panic(errBroken) }, well}, byStatus, []string{"its cache: panic: it broke"}},
		"put panics": {badCache{none, func() error { panic(errBroken) }}, byStatus, []string{"its cache: panic: it broke"}},
		"wrong bytes": {
			badCache{func() ([]byte, bool, error) { return []byte{0xc1}, true, nil }, well}, byStatus, []string{"the cached result cannot be read"},
		},
		"key panics": {badCache{none, well}, func(work) string { panic(errBroken) }, []string{"its cache: panic: it broke", "its cache: panic: it broke"}},
	} {
		var s summariser
		var events cacheEvents
		b := single(s.node)
		b.Cache("pay", test.where, 0, test.key)
		res, err := compile(t, b, graph.Observe(&events)).Run(t.Context(), statusOf("x"))
		if err != nil || s.calls != 1 || len(res.State.Log) != 1 {
			t.Errorf("%s: got %q, %v, after %d calls; want the result of one call", name, res.State.Log, err, s.calls)
		}
		var got []string
		for _, e := range events.seen {
			if text, ok := strings.CutPrefix(e, "task cached pay "); ok {
				got = append(got, text)
			}
		}
		if len(got) != len(test.want) || !strings.Contains(got[0], test.want[0]) {
			t.Errorf("%s: got the events %q, want %q", name, got, test.want)
		}
	}
}

func TestAMemoryCacheIsBounded(t *testing.T) {
	c := graph.MemoryCache(10_000)
	put := func(key string, size int) {
		if err := c.Put(t.Context(), key, make([]byte, size), 0); err != nil {
			t.Fatal(err)
		}
	}
	has := func(key string) bool {
		_, ok, err := c.Get(t.Context(), key)
		return ok && err == nil
	}
	for i := range 100 {
		put(fmt.Sprint(i), 800)
		if i < 9 && !has("0") {
			t.Fatalf("dropped after %d values of 800 bytes, want room for 9", i+1)
		}
	}
	same(t, "the oldest", has("0"), false)
	same(t, "the newest", has("99"), true)
	for i := range 50 {
		put(fmt.Sprint("new ", i), 800)
		has("99")
	}
	same(t, "one that is used", has("99"), true)
	put("too large", 20_000)
	same(t, "one that is too large", has("too large"), false)
}

func TestCachesInCompile(t *testing.T) {
	where := graph.MemoryCache(1)
	b := newWork()
	b.Node("a", say("a"))
	b.Node("asks", say("asks"), refund)
	b.Subgraph("sub", compile(t, chain("x"), graph.SubgraphOnly()))
	b.Chain(graph.Start, "a", "asks", "sub", graph.End)
	b.Cache("nobody", where, 0, byStatus)
	b.Cache(graph.Start, where, 0, byStatus)
	b.Cache("a", where, 0, nil)
	b.Cache("a", nil, 0, byStatus)
	b.Cache("a", where, -1, byStatus)
	b.Cache("a", where, 0, byStatus)
	b.Cache("a", where, 0, byStatus)
	b.Cache("asks", where, 0, byStatus)
	b.Cache("sub", where, 0, byStatus)
	_, err := b.Compile(graph.Saver(memory.New()))
	var faults *graph.CompileError
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want a *CompileError", err)
	}
	want := []string{
		`no node "nobody"`, "Start is no node", "has no function for the key", "has no Cacher", "is negative", "has a cache already",
		"asks questions", "is a subgraph",
	}
	if len(faults.Faults) != len(want) {
		t.Fatalf("got %d faults, want %d: %q", len(faults.Faults), len(want), faults.Faults)
	}
	for i, fault := range faults.Faults {
		if !strings.Contains(fault, want[i]) {
			t.Errorf("fault %d: got %q, want it to say %q", i, fault, want[i])
		}
	}
}
