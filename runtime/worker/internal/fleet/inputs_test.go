//go:build unix

package fleet_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/open"
)

// perThread is the number of inputs of each thread in this file.
const perThread = 3

// inputs submits inputs while workers are killed, each of them twice.
type inputs struct {
	*crowd
	s     checkpoint.Saver
	g     *app
	all   []string
	next  int // of the inputs of all threads, in turns
	known int // inputs that the saver had
}

// submit submits the next input, and the one before it again.
func (in *inputs) submit() {
	in.t.Helper()
	for n := max(in.next-1, 0); n <= in.next && n < perThread*len(in.all); n++ {
		id, request := in.all[n%len(in.all)], fmt.Sprint("in", n/len(in.all))
		done, err := in.g.Thread(id).Submit(context.Background(), said(request), graph.RequestID(request))
		if err != nil {
			in.t.Fatal(err)
		}
		if done.Known {
			in.known++
		}
	}
	in.next++
}

// done reports whether every input has run.
func (in *inputs) done() bool {
	in.t.Helper()
	n := 0
	for th, err := range in.s.Threads(context.Background(), checkpoint.ThreadQuery{Status: graph.Done}) {
		if err != nil {
			in.t.Fatal(err)
		}
		if th.Inputs == 0 && th.Wake.IsZero() {
			n++
		}
	}
	return in.next > perThread*len(in.all) && n == len(in.all)
}

// run submits inputs and makes faults until every input has run, and checks the threads.
func (in *inputs) run(faults int, disturb func()) {
	in.t.Helper()
	for range in.all {
		in.submit()
	}
	in.begin()
	in.begin()
	every := max(len(in.all)*perThread*steps/faults, 1)
	for heard, made := 0, 0; ; {
		select {
		case l := <-in.lines:
			if l.over && slices.Contains(in.alive, l.from) {
				in.t.Fatal("a worker has ended by itself")
			}
			in.hear(l.text)
			if heard++; heard%every == 0 && made < faults {
				made++
				disturb()
			}
			if heard%2 == 0 {
				in.submit()
			}
			continue
		case <-time.After(500 * time.Millisecond):
		}
		if in.submit(); in.done() {
			break
		}
	}
	var want []string
	for n := range perThread {
		want = append(want, fmt.Sprint("in", n))
		for i := range steps {
			want = append(want, fmt.Sprint("n", i))
		}
	}
	for _, id := range in.all {
		snap, err := in.g.Thread(id).State(in.t.Context())
		if err != nil || snap.Status != graph.Done || !slices.Equal(snap.State.Log, want) {
			in.t.Errorf("thread %s: got %s with the log %q, %v; want it done with %q", id, snap.Status, snap.State.Log, err, want)
		}
		if got := in.crowd.done.Of(id); got > perThread {
			in.t.Errorf("%d runs of thread %s ended, want at most %d", got, id, perThread)
		}
	}
	if in.known == 0 {
		in.t.Error("no input was submitted twice")
	}
	in.t.Logf("%v; %d inputs, %d of them submitted again", in.crowd, perThread*len(in.all), in.known)
}

// TestInputsForWorkersThatAreKilled submits inputs while workers and servers are killed, workers
// are stopped, and connections are cut. Each input runs once, in its order.
func TestInputsForWorkersThatAreKilled(t *testing.T) {
	n, faults := 20, 12
	if testing.Short() {
		n, faults = 6, 4
	}
	if soak, _ := time.ParseDuration(os.Getenv("GRAPHGEN_SOAK")); soak > 0 {
		n, faults = 1000, 400
	}
	run := func(t *testing.T, direct, url string, faulty func(c *crowd) func()) {
		t.Helper()
		s, err := open.Saver(t.Context(), direct)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		g, err := walk(s, url)
		if err != nil {
			t.Fatal(err)
		}
		c := &crowd{t: t, url: url, lines: make(chan spoken, 1000), over: make(map[string]bool)}
		in := &inputs{crowd: c, s: s, g: g, all: ids("t", n)}
		in.run(faults, faulty(c))
	}
	for _, kind := range kinds("sqlite", "file") {
		t.Run(kind, func(t *testing.T) {
			url := "sqlite://" + t.TempDir() + "/a.db"
			if kind == "file" {
				url = "file://" + t.TempDir() + "/a"
			}
			run(t, url, url, func(c *crowd) func() { return c.disturb })
		})
	}
	for kind, begin := range servers {
		t.Run(kind, func(t *testing.T) {
			server, url := begin(t)
			proxy := testenv.NewProxy(t, server.Addr)
			run(t, url(server.Addr), url(proxy.Addr), func(c *crowd) func() {
				return (&network{crowd: c, server: server, proxy: proxy}).disturb
			})
		})
	}
}
