package graphhttp_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// metered is a saver that counts calls.
type metered struct {
	checkpoint.Saver
	mu             sync.Mutex
	calls, records int
	loading, most  int           // loads of a state in progress, and their maximum
	hold           chan struct{} // loads wait for it; nil for no wait
}

func (m *metered) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := m.Saver.Load(ctx, p)
	m.mu.Lock()
	m.calls++
	hold := m.hold
	if !c.Empty() {
		m.records += c.Chained + 1
		m.loading++
		m.most = max(m.most, m.loading)
	}
	m.mu.Unlock()
	if !c.Empty() {
		if hold != nil {
			<-hold
		}
		m.mu.Lock()
		m.loading--
		m.mu.Unlock()
	}
	return c, err
}

func (m *metered) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		m.count(1, 0)
		for rec, err := range m.Saver.History(ctx, p, q) {
			m.count(0, 1)
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (m *metered) count(calls, records int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls += calls
	m.records += records
}

// read returns the counts since the last call.
func (m *metered) read() (calls, records int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls, records = m.calls, m.records
	m.calls, m.records = 0, 0
	return calls, records
}

// walked returns an app whose thread has n supersteps that each add a fact.
func walked(t *testing.T, s checkpoint.Saver, n int) *app {
	t.Helper()
	b := graph.New("walk", teststate.WorkSchema)
	b.Node("add", func(_ context.Context, s work) (update, error) {
		var u update
		u.Count.Add(1)
		u.Facts.Put(fmt.Sprintf("fact %06d", s.Count), "known")
		return u, nil
	})
	b.Edge(graph.Start, "add")
	b.Route("add", func(_ context.Context, s work) (graph.Next, error) {
		if s.Count < n {
			return graph.To("add"), nil
		}
		return graph.To(graph.End), nil
	}, "add", graph.End)
	a, err := b.Compile(graph.Saver(s), graph.MaxSteps(n+1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Thread("t").Invoke(t.Context(), update{}); err != nil {
		t.Fatal(err)
	}
	return a
}

// behind returns the checkpoint n before the newest.
func behind(t *testing.T, a *app, n int) checkpoint.ID {
	t.Helper()
	var id checkpoint.ID
	for snap, err := range a.Thread("t").History(t.Context(), checkpoint.Query{Limit: n + 1, Headers: true}) {
		if err != nil {
			t.Fatal(err)
		}
		id = snap.Checkpoint
	}
	return id
}

// get follows t from a checkpoint to the end and returns the events.
func get(t *testing.T, a *app, h *hub, after checkpoint.ID) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/t", nil)
	if !after.IsZero() {
		r.Header.Set("Last-Event-ID", after.String())
	}
	w := httptest.NewRecorder()
	h.Handler(read(a)).ServeHTTP(w, r)
	return w.Body.String()
}

func TestAClientFarBehindIsGivenTheHistoryInOnePass(t *testing.T) {
	const steps = 1200
	for _, buffer := range []int{1 << 20, 1 << 10} { // in one piece, or in several
		s := &metered{Saver: memory.New()}
		a := walked(t, s, steps)
		work := func(missed int) (records int, bytes uint64) {
			h, after := newHub(a, graphhttp.BufferSize(buffer)), behind(t, a, missed)
			s.read()
			var before, now runtime.MemStats
			runtime.ReadMemStats(&before)
			body := get(t, a, h, after)
			runtime.ReadMemStats(&now)
			_, records = s.read()
			if got := strings.Count(body, "event: checkpoint\n"); got != missed || !strings.HasSuffix(body, "event: end\ndata: done\n\n") {
				t.Fatalf("a client %d behind: got %d checkpoints, and at the end %q", missed, got, body[max(0, len(body)-80):])
			}
			return records, now.TotalAlloc - before.TotalAlloc
		}
		work(10)
		few, least := work(450)
		many, most := work(900)
		// Missed records are read once or twice. The state before them and the state at the end
		// are read once.
		if limit := 2*900 + 2*(steps+10); many > limit {
			t.Errorf("buffer %d: a client 900 behind: got %d records read, want %d at most", buffer, many, limit)
		}
		if many > few+2*450+10 {
			t.Errorf("buffer %d: got %d records read for 450 missed and %d for 900, want the difference twice at most", buffer, few, many)
		}
		if 10*most > 25*least {
			t.Errorf("buffer %d: got %d bytes allocated for 450 missed and %d for 900, want about twice as many", buffer, least, most)
		}
	}
}

func TestAClientThatHasAllIsReadNoStateBeforeTheEnd(t *testing.T) {
	s := &metered{Saver: memory.New()}
	const steps = 300
	a := walked(t, s, steps)
	h, after := newHub(a), behind(t, a, 0)
	s.read()
	if body := get(t, a, h, after); strings.Contains(body, "event: checkpoint") || !strings.Contains(body, "event: end") {
		t.Errorf("got %q, want the end alone", body)
	}
	if _, records := s.read(); records > steps+10 {
		t.Errorf("got %d records read, want the %d of one state and little more", records, steps+2)
	}
}

func TestClientsAreGivenStatesAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &metered{Saver: memory.New()}
		a := walked(t, s, 10)
		h := newHub(a, graphhttp.CatchUpConcurrency(3), graphhttp.Heartbeat(time.Hour))
		s.hold = make(chan struct{})
		var clients []*pipe
		var ended []<-chan struct{}
		for range 50 {
			p := &pipe{}
			clients = append(clients, p)
			ended = append(ended, p.request(t.Context(), h.Handler(read(a)), http.MethodGet, "/t"))
		}
		synctest.Wait()
		same(t, "states loaded at once", s.loading, 3)
		close(s.hold)
		for i := range ended {
			<-ended[i]
			same(t, "checkpoints", len(clients[i].data("checkpoint")), 1)
			same(t, "ends", clients[i].data("end"), []string{"done"})
		}
		if s.most > 3 {
			t.Errorf("got %d states loaded at once, want 3 at most", s.most)
		}
	})
}

func TestASlowClientKeepsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := walked(t, memory.New(), 10)
		h := newHub(a, graphhttp.CatchUpConcurrency(1), graphhttp.BufferSize(1))
		after := behind(t, a, 5).String()
		late := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Last-Event-ID", after)
			h.Handler(read(a)).ServeHTTP(w, r)
		})
		slow, fast := &pipe{hold: make(chan struct{})}, &pipe{}
		held := slow.request(t.Context(), late, http.MethodGet, "/t")
		synctest.Wait()
		<-fast.request(t.Context(), late, http.MethodGet, "/t")
		same(t, "checkpoints of the fast client", len(fast.data("checkpoint")), 5)
		close(slow.hold)
		<-held
		same(t, "events of the slow client", slow.data("checkpoint"), fast.data("checkpoint"))
	})
}

func TestOnePollServesAllFollowersOfAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &metered{Saver: memory.New()}
		entered, pass := make(chan struct{}), make(chan struct{})
		other := chain(t, s, say("a"), gated("b", entered, pass), say("c")) // in another process
		go func() {
			_, _ = other.Thread("t").Invoke(t.Context(), logged("x"))
		}()
		<-entered
		a := chain(t, s, say("a"), say("b"), say("c"))
		h := newHub(a, graphhttp.PollInterval(time.Second), graphhttp.Heartbeat(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var clients []*pipe
		var ended []<-chan struct{}
		for range 10 {
			p := &pipe{}
			clients = append(clients, p)
			ended = append(ended, p.request(ctx, h.Handler(read(a)), http.MethodGet, "/t"))
		}
		time.Sleep(2500 * time.Millisecond) // all have read again after a poll found a change
		synctest.Wait()
		s.read()
		time.Sleep(60 * time.Second)
		synctest.Wait()
		if calls, records := s.read(); calls > 61 || calls < 59 || records > 0 {
			t.Errorf("got %d calls and %d records read for ten followers in a minute without changes, want 60 calls and no record", calls, records)
		}
		close(pass)
		for i := range ended {
			<-ended[i]
			same(t, "ends", clients[i].data("end"), []string{"done"})
		}
		cancel()
		synctest.Wait()
		s.read()
		time.Sleep(time.Minute)
		if calls, _ := s.read(); calls > 0 {
			t.Errorf("got %d calls in a minute in which nobody followed, want none", calls)
		}
	})
}
