// Package sqltest has tests of savers on SQL servers that package savertest does not have. They
// count round trips, break connections and kill servers.
package sqltest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Backend is a saver under test.
type Backend struct {
	// Database returns the DSN of a new database.
	Database func(tb testing.TB) string
	// Start starts a durable server for one test and returns the DSN of a database on it.
	Start func(tb testing.TB) (server *testenv.Server, dsn string)
	// Address returns the host:port in a DSN.
	Address func(tb testing.TB, dsn string) string
	// At returns the DSN with another address.
	At func(tb testing.TB, dsn, address string) string
	// Open opens a saver that uses at most so many connections.
	Open func(ctx context.Context, dsn string, conns int) (checkpoint.Saver, error)
	// Patient is like Open, but the saver retries calls for minutes.
	Patient func(ctx context.Context, dsn string, conns int) (checkpoint.Saver, error)
}

// through opens a saver that reaches its server through a proxy.
func (b *Backend) through(t *testing.T, conns int) (checkpoint.Saver, *testenv.Proxy) {
	t.Helper()
	dsn := b.Database(t)
	proxy := testenv.NewProxy(t, b.Address(t, dsn))
	return b.open(t, b.At(t, dsn, proxy.Addr), conns), proxy
}

// open opens a saver that the end of the test closes.
func (b *Backend) open(t *testing.T, dsn string, conns int) checkpoint.Saver {
	t.Helper()
	return closing(t, b.Open, dsn, conns)
}

// closing opens a saver that closes with the test.
func closing(t *testing.T, open func(context.Context, string, int) (checkpoint.Saver, error), dsn string, conns int) checkpoint.Saver {
	t.Helper()
	s, err := open(t.Context(), dsn, conns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// run is a run that a test drives.
type run struct {
	s      checkpoint.Saver
	thread string
	fence  checkpoint.ID
	heads  map[string]checkpoint.ID
}

// opening opens a run after a head.
func opening(t *testing.T, s checkpoint.Saver, thread string, after checkpoint.ID) *run {
	t.Helper()
	r, err := tryOpening(t.Context(), s, thread, after)
	if err != nil {
		t.Fatalf("open a run on %q: %v", thread, err)
	}
	return r
}

// tryOpening opens a thread for a run, and returns its error.
func tryOpening(
	ctx context.Context, s checkpoint.Saver, thread string, after checkpoint.ID, writes ...checkpoint.Write,
) (*run, error) {
	id, err := checkpoint.NewID()
	if err != nil {
		return nil, err
	}
	_, err = s.Append(ctx, checkpoint.Append{
		Thread: thread, After: after, Open: &checkpoint.Opening{Holder: "test", TakeOver: true}, Lease: time.Hour,
		Records: []checkpoint.Record{{ID: id, Parent: after, Base: id, Line: id, Source: checkpoint.Input, Graph: "test", Snapshot: true}},
		Writes:  writes,
	})
	return &run{s: s, thread: thread, fence: id, heads: map[string]checkpoint.ID{"": id}}, err
}

// commit commits a superstep of 200 bytes.
func (r *run) commit(ctx context.Context, namespace string) error {
	id, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	head := r.heads[namespace]
	_, err = r.s.Append(ctx, checkpoint.Append{
		Thread: r.thread, Namespace: namespace, After: head, Fence: r.fence, Lease: time.Hour, Status: checkpoint.Running,
		Records: []checkpoint.Record{{
			ID: id, Parent: head, Base: id, Line: r.fence, Commits: head, Source: checkpoint.Loop, Graph: "test",
			Snapshot: head.IsZero(), Payload: make([]byte, 200),
		}},
	})
	if err == nil {
		r.heads[namespace] = id
	}
	return err
}

// Long makes a log of n records and one more, with a snapshot. It returns the head.
func Long(t *testing.T, s checkpoint.Saver, thread string, n int) checkpoint.ID {
	t.Helper()
	r := opening(t, s, thread, checkpoint.ID{})
	for range n - 1 {
		if err := r.commit(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	return opening(t, s, thread, r.heads[""]).fence
}

// put stores the result of a task of the root's head.
func (r *run) put(ctx context.Context, task string) error {
	_, err := r.s.PutWrites(ctx, checkpoint.PutWrites{
		Thread: r.thread, Fence: r.fence, Lease: time.Hour,
		Writes: []checkpoint.Write{{Base: r.heads[""], Task: task, Kind: checkpoint.Result, Payload: []byte(task)}},
	})
	return err
}

// ids returns the ids of a thread's root, oldest first.
func ids(t *testing.T, s checkpoint.Saver, thread string) (all []checkpoint.ID) {
	t.Helper()
	for r, err := range s.History(t.Context(), checkpoint.Ref{Thread: thread}, checkpoint.Query{}) {
		if err != nil {
			t.Fatalf("history of %q: %v", thread, err)
		}
		all = append(all, r.ID)
	}
	slices.Reverse(all)
	return all
}

// Trips says how many round trips calls may take at most. Describe is an opening that describes a
// schema.
type Trips struct{ Commit, Child, Renew, Put, Many, Open, Load, Describe int }

// RoundTrips counts what calls cost on the wire, when their connection has made them before.
func RoundTrips(t *testing.T, b *Backend, most Trips) {
	t.Helper()
	s, proxy := b.through(t, 1)
	ctx := t.Context()
	r := opening(t, s, "t", checkpoint.ID{})
	calls := []struct {
		name string
		most int
		call func() error
	}{
		{"a commit", most.Commit, func() error { return r.commit(ctx, "") }},
		{"a commit of a child", most.Child, func() error { return r.commit(ctx, "child") }},
		{"a renewal", most.Renew, func() error {
			_, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: r.fence, Lease: time.Hour})
			return err
		}},
		{"a put", most.Put, func() error { return r.put(ctx, fmt.Sprint(rand.Int())) }},
		{"a put of a hundred", most.Many, func() error {
			w := checkpoint.PutWrites{Thread: "t", Fence: r.fence, Lease: time.Hour}
			for n := range 100 {
				w.Writes = append(w.Writes, checkpoint.Write{Base: r.heads[""], Task: fmt.Sprint(n), Kind: checkpoint.Result})
			}
			_, err := s.PutWrites(ctx, w)
			return err
		}},
		{"an opening", most.Open, func() (err error) {
			child := r.heads["child"]
			r, err = tryOpening(ctx, s, "t", r.heads[""])
			r.heads["child"] = child
			return err
		}},
		{"an opening that describes a schema", most.Describe, func() (err error) {
			schema := checkpoint.SchemaWrite(rand.Uint64(), make([]byte, 1000))
			r, err = tryOpening(ctx, s, "t", r.heads[""], schema)
			return err
		}},
		{"a load of the head", most.Load, func() error {
			_, err := s.Load(ctx, checkpoint.Ref{Thread: "t"})
			return err
		}},
		{"a load of a checkpoint of a child", most.Load, func() error {
			_, err := s.Load(ctx, checkpoint.Ref{Thread: "t", Version: 1, Namespace: "child", At: r.heads["child"]})
			return err
		}},
		{"a load of what is not there", most.Load, func() error {
			_, err := s.Load(ctx, checkpoint.Ref{Thread: "t", Namespace: "none"})
			return err
		}},
	}
	for range 3 {
		for _, c := range calls[:4] {
			if err := c.call(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
	}
	for _, c := range calls {
		var got int
		for range 2 { // the first may prepare
			before := proxy.RoundTrips()
			if err := c.call(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			got = proxy.RoundTrips() - before
		}
		if t.Logf("%s: %d round trips", c.name, got); got > c.most {
			t.Errorf("%s: %d round trips, want at most %d", c.name, got, c.most)
		}
	}
}

// LoadPacked makes a run of 1,000 steps, and loads records of it. No load may take more than most
// round trips.
func LoadPacked(t *testing.T, b *Backend, most int) {
	t.Helper()
	const steps = 1000
	dsn := b.Database(t)
	s, ctx := b.open(t, dsn, 1), t.Context()
	r := opening(t, s, "t", checkpoint.ID{})
	for range steps {
		if err := r.commit(ctx, ""); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: r.fence, End: true, Status: checkpoint.Done})
	if err == nil {
		err = s.Close() // waits for the packs
	}
	if err != nil {
		t.Fatal(err)
	}
	proxy := testenv.NewProxy(t, b.Address(t, dsn))
	s = b.open(t, b.At(t, dsn, proxy.Addr), 1)
	all := ids(t, s, "t")
	if len(all) != steps+1 || all[0] != r.fence || all[steps] != r.heads[""] {
		t.Fatalf("the history has %d records, want %d", len(all), steps+1)
	}
	for _, at := range []int{steps, steps, 500} { // the first may prepare; the last is in a pack
		before, bytes := proxy.RoundTrips(), 0
		c, err := s.Load(ctx, checkpoint.Ref{Thread: "t", At: all[at]})
		for _, delta := range c.Deltas {
			bytes += len(delta)
		}
		trips := proxy.RoundTrips() - before
		t.Logf("%d round trips, %d deltas", trips, len(c.Deltas))
		if err != nil || c.Last.ID != all[at] || c.Chained != at || bytes != at*200 || trips > most {
			t.Errorf("got %d bytes of %d records in %d round trips, %v; want %d of %d in at most %d",
				bytes, c.Chained, trips, err, at*200, at, most)
		}
	}
}

// BrokenConnections cuts connections in the middle of requests and of answers. Every call must
// succeed, and store its data once.
func BrokenConnections(t *testing.T, b *Backend) {
	t.Helper()
	s, proxy := b.through(t, 2)
	ctx := t.Context()
	r := opening(t, s, "t", checkpoint.ID{})
	want := []checkpoint.ID{r.fence}
	for round := range 60 {
		if n := rand.N(120); round%2 == 0 {
			proxy.CutReply(n * (round % 4) / 2) // every other one is the whole answer
		} else {
			proxy.CutRequest(n)
		}
		var err error
		switch round % 5 {
		case 3:
			err = r.put(ctx, fmt.Sprint(round))
		case 4:
			if r, err = tryOpening(ctx, s, "t", want[len(want)-1]); err == nil {
				want = append(want, r.fence)
			}
		default:
			if err = r.commit(ctx, ""); err == nil {
				want = append(want, r.heads[""])
			}
		}
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		proxy.Disarm()
	}
	if got := ids(t, s, "t"); !slices.Equal(got, want) {
		t.Errorf("the log has %d records, want the %d that were acknowledged, in order", len(got), len(want))
	}
	if proxy.Cuts() < 20 {
		t.Errorf("%d connections were cut, want most of 60", proxy.Cuts())
	}
	t.Logf("%d connections cut, %d records acknowledged, all there once", proxy.Cuts(), len(want))
}

// KilledServer kills the server while runs commit, and starts it again. Runs must continue. No
// acknowledged record may be lost or stored twice.
func KilledServer(t *testing.T, b *Backend) {
	t.Helper()
	server, dsn := b.Start(t)
	s := closing(t, b.Patient, dsn, 8) // a busy machine starts the server slowly
	survive(t, s, 3, func() error {
		if err := server.Kill(); err != nil {
			return err
		}
		return server.Restart()
	})
}

// survive calls strike several times while runs commit. All that the runs have acknowledged must
// be there at the end, once.
func survive(t *testing.T, s checkpoint.Saver, strikes int, strike func() error) {
	t.Helper()
	const threads = 4
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	acknowledged := make([][]checkpoint.ID, threads)
	tick := make(chan struct{}, 1)
	var all sync.WaitGroup
	for n := range threads {
		r := opening(t, s, fmt.Sprint(n), checkpoint.ID{})
		acknowledged[n] = append(acknowledged[n], r.fence)
		all.Go(func() {
			for ctx.Err() == nil {
				if err := r.commit(context.WithoutCancel(ctx), ""); err != nil {
					t.Errorf("thread %d: %v", n, err)
					stop()
					return
				}
				acknowledged[n] = append(acknowledged[n], r.heads[""])
				select {
				case tick <- struct{}{}:
				default:
				}
			}
		})
	}
	for range strikes {
		for range 50 + rand.N(50) {
			select {
			case <-tick:
			case <-ctx.Done():
			}
		}
		if err := strike(); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		select {
		case <-tick:
		case <-ctx.Done():
		}
	}
	stop()
	all.Wait()
	total := 0
	for n, want := range acknowledged {
		if got := ids(t, s, fmt.Sprint(n)); !slices.Equal(got, want) {
			t.Errorf("thread %d has %d records, want the %d that were acknowledged, in order", n, len(got), len(want))
		}
		total += len(want)
	}
	t.Logf("%d kills, %d records acknowledged, all there once", strikes, total)
}

// ManyThreads lets many runs on threads of their own open, put, commit and end at the same time:
// none may get in another's way.
func ManyThreads(t *testing.T, b *Backend) {
	t.Helper()
	s := b.open(t, b.Database(t), 16)
	ctx := t.Context()
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			head := checkpoint.ID{}
			for turn := range 5 {
				r, err := tryOpening(ctx, s, fmt.Sprint("thread ", n), head)
				for step := 0; err == nil && step < 5; step++ {
					if err = r.put(ctx, fmt.Sprint(step)); err == nil {
						err = r.commit(ctx, "")
					}
					if err == nil {
						err = r.commit(ctx, fmt.Sprint("child ", turn, step))
					}
				}
				if err == nil {
					_, err = s.PutWrites(ctx, checkpoint.PutWrites{Thread: r.thread, Fence: r.fence, End: true, Status: checkpoint.Done})
				}
				if err != nil {
					t.Errorf("thread %d, turn %d: %v", n, turn, err)
					return
				}
				head = r.heads[""]
			}
		})
	}
	all.Wait()
	count := 0
	for thread, err := range s.Threads(ctx, checkpoint.ThreadQuery{Status: checkpoint.Done}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := len(ids(t, s, thread.ID)); got != 30 {
			t.Errorf("%s: %d records, want 30", thread.ID, got)
		}
		count++
	}
	if count != 16 {
		t.Errorf("%d threads are done, want 16", count)
	}
}

// Exercise makes one call of each kind.
func Exercise(t *testing.T, s checkpoint.Saver) {
	t.Helper()
	ctx := t.Context()
	for range 3 {
		r := opening(t, s, "t", checkpoint.ID{})
		for _, namespace := range []string{"", "child", ""} {
			if err := r.commit(ctx, namespace); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.put(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		if got := len(ids(t, s, "t")); got != 3 {
			t.Errorf("%d records, want 3", got)
		}
		if _, err := s.Load(ctx, checkpoint.Ref{Thread: "t"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: r.fence, End: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prune(ctx, "t", checkpoint.Retention{Released: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Release(ctx, "t", checkpoint.ID{}); err != nil {
			t.Fatal(err)
		}
	}
	if versions, err := s.Versions(ctx, "t"); err != nil || len(versions) != 2 {
		t.Errorf("%d versions, %v; want 2", len(versions), err)
	}
	if err := s.Delete(ctx, "t"); err != nil {
		t.Error(err)
	}
}

// OneStep returns the calls of a new thread of one step. They are an opening with two records, and
// a commit of 200 bytes that ends the run.
func OneStep(tb testing.TB, thread string, labels map[string]string) [2]checkpoint.Append {
	tb.Helper()
	var ids [3]checkpoint.ID
	for i := range ids {
		var err error
		if ids[i], err = checkpoint.NewID(); err != nil {
			tb.Fatal(err)
		}
	}
	record := func(i int, source checkpoint.Source, size int) checkpoint.Record {
		r := checkpoint.Record{
			ID: ids[i], Base: ids[i], Line: ids[0], Source: source, Step: i, Graph: "orders", Fingerprint: 7_777_777_777,
			Snapshot: i == 0, Payload: make([]byte, size), Created: ids[i].Time(),
		}
		if i > 0 {
			r.Parent, r.Commits = ids[i-1], ids[i-1]
		}
		if i < 2 {
			r.Due = []checkpoint.Task{{Node: "first"}}
		}
		return r
	}
	return [2]checkpoint.Append{
		{
			Thread: thread, Open: &checkpoint.Opening{Holder: "host 1234", Labels: labels}, Status: checkpoint.Running,
			Records: []checkpoint.Record{record(0, checkpoint.Input, 20), record(1, checkpoint.Input, 200)},
		},
		{
			Thread: thread, After: ids[1], Fence: ids[0], End: true, Status: checkpoint.Done,
			Records: []checkpoint.Record{record(2, checkpoint.Loop, 200)},
		},
	}
}
