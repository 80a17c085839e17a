package graphhttp_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestPostFollowsTheRunItStarts(t *testing.T) {
	writes := node{"writes", func(ctx context.Context, _ work) (update, error) {
		for _, token := range []string{"Dear", "Ada,\nhow are\r\nyou?"} {
			graph.Emit(ctx, token)
		}
		return logged("writes"), nil
	}}
	a := chain(t, memory.New(), say("a"), writes)
	url := serve(t, a, newHub(a))
	c := open(t, http.MethodPost, url+"/t?in=x", "")
	same(t, "events", c.rest(), []string{
		"checkpoint 1 x next [a]",
		"update a", "checkpoint 2 x+a next [writes]",
		"custom Dear", "custom Ada,\nhow are\nyou?",
		"update writes", "checkpoint 3 x+a+writes next []",
		"end done",
	})
	if _, err := checkpoint.ParseID(c.last); err != nil {
		t.Errorf("the last id: %v", err)
	}
}

func TestGetBeginsWithTheNewestCheckpoint(t *testing.T) {
	a := chain(t, memory.New(), say("a"), asking("b"))
	url := serve(t, a, newHub(a))
	open(t, http.MethodPost, url+"/t?in=x", "").until("end", "waiting")
	same(t, "events", open(t, http.MethodGet, url+"/t", "").rest(),
		[]string{"checkpoint 2 x+a next [b]", "question consent", "end waiting"})
}

func TestAnAnswerByPostResumesTheRun(t *testing.T) {
	a := chain(t, memory.New(), asking("b"))
	url := serve(t, a, newHub(a))
	open(t, http.MethodPost, url+"/t?in=x", "").until("end", "waiting")
	snap, err := a.Thread("t").State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer := url + "/t?answer=" + snap.Questions[0].ID
	same(t, "events", open(t, http.MethodPost, answer, "").rest(),
		[]string{"update b", "checkpoint 2 x+b:true next []", "end done"})
	if res := request(t, http.MethodPost, answer, ""); res.StatusCode != http.StatusConflict {
		t.Errorf("the answer given twice: got status %d, want 409", res.StatusCode)
	}
}

// From any checkpoint, a client gets the later checkpoints exactly as the run sent them.
func TestReplayYieldsTheMessagesOfTheRun(t *testing.T) {
	var nodes []node
	for i := range 40 { // more than one read returns
		nodes = append(nodes, say(graph.ID(fmt.Sprint("n", i))))
	}
	a := chain(t, memory.New(), nodes...)
	url := serve(t, a, newHub(a))
	var told []event
	for c := open(t, http.MethodPost, url+"/t?in=x", ""); ; {
		e, ok := c.next()
		if !ok {
			break
		}
		if e.Name == "checkpoint" {
			told = append(told, e)
		}
	}
	if len(told) != len(nodes)+1 {
		t.Fatalf("got %d checkpoints, want %d", len(told), len(nodes)+1)
	}
	for i := range told {
		var again []event
		c := open(t, http.MethodGet, url+"/t", told[i].ID)
		for {
			e, ok := c.next()
			if !ok || e.Name == "end" {
				break
			}
			again = append(again, e)
		}
		same(t, "checkpoints after "+told[i].Data, append([]event{}, again...), append([]event{}, told[i+1:]...))
	}
}

func TestReconnectInTheMiddleOfARun(t *testing.T) {
	entered, pass := make(chan struct{}), make(chan struct{})
	a := chain(t, memory.New(), say("a"), gated("b", entered, pass), say("c"), gated("d", entered, pass))
	url := serve(t, a, newHub(a))

	c := open(t, http.MethodPost, url+"/t?in=x", "")
	c.until("checkpoint", "2 x+a next [b]")
	<-entered
	c.close()
	pass <- struct{}{}
	<-entered // b and c were committed while no client was connected

	c = open(t, http.MethodGet, url+"/t", c.last)
	same(t, "events up to now", c.until("checkpoint", "4 x+a+b+c next [d]"),
		[]string{"checkpoint 3 x+a+b next [c]", "checkpoint 4 x+a+b+c next [d]"})
	pass <- struct{}{}
	same(t, "events from here on", c.rest(), []string{"update d", "checkpoint 5 x+a+b+c+d next []", "end done"})
}

func TestReconnectAfterARestartOfTheServer(t *testing.T) {
	dir := t.TempDir()
	entered, pass := make(chan struct{}), make(chan struct{})
	first, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	nodes := []node{say("a"), gated("b", entered, pass), say("c")}
	a := chain(t, first, nodes...)
	h := newHub(a)
	url := serve(t, a, h)
	c := open(t, http.MethodPost, url+"/t?in=x", "")
	c.until("checkpoint", "2 x+a next [b]")
	<-entered
	h.Close() // breaks the connection
	c.rest()
	drained := make(chan error)
	go func() { drained <- a.Drain(t.Context()) }()
	pass <- struct{}{}
	if err := <-drained; err != nil {
		t.Fatal(err)
	}
	same(t, "events after Close", open(t, http.MethodGet, url+"/t", c.last).rest(), []string(nil)) // a 503 would stop an EventSource
	if res := request(t, http.MethodPost, url+"/t", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a run after Close: got status %d, want 503", res.StatusCode)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	a = chain(t, second, nodes...)
	h = newHub(a)
	url = serve(t, a, h)
	same(t, "events before it is resumed", open(t, http.MethodGet, url+"/t", c.last).rest()[:1],
		[]string{"checkpoint 3 x+a+b next [c]"})
	if err := h.Resume(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	got := open(t, http.MethodGet, url+"/t", c.last).rest()
	var checkpoints []string
	for _, e := range got {
		if strings.HasPrefix(e, "checkpoint") {
			checkpoints = append(checkpoints, e)
		}
	}
	same(t, "checkpoints", checkpoints, []string{"checkpoint 3 x+a+b next [c]", "checkpoint 4 x+a+b+c next []"})
	same(t, "the last event", got[len(got)-1], "end done")
}

func TestAClientThatMissedTooMuchGetsTheNewest(t *testing.T) {
	var nodes []node
	for i := range 6 {
		nodes = append(nodes, say(graph.ID(fmt.Sprint("n", i))))
	}
	a := chain(t, memory.New(), nodes...)
	url := serve(t, a, newHub(a, graphhttp.CatchUpLimit(3), graphhttp.Events(graph.EventRunEnded)))
	c := open(t, http.MethodPost, url+"/t?in=x", "")
	e, _ := c.next()
	c.rest()
	unknown, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{e.ID, unknown.String()} {
		same(t, "events", open(t, http.MethodGet, url+"/t", id).rest(), []string{"checkpoint 7  next []", "end done"})
	}
}

// Polling finds changes of a thread that another process runs.
func TestFollowARunOfAnotherProcess(t *testing.T) {
	entered, pass := make(chan struct{}), make(chan struct{})
	saver := memory.New()
	nodes := []node{say("a"), gated("b", entered, pass), say("c")}
	theirs, ours := chain(t, saver, nodes...), chain(t, saver, nodes...)
	url := serve(t, ours, newHub(ours, graphhttp.PollInterval(time.Millisecond)))
	done := make(chan error)
	go func() {
		_, err := theirs.Thread("t").Invoke(t.Context(), logged("x"))
		done <- err
	}()
	<-entered
	c := open(t, http.MethodGet, url+"/t", "")
	same(t, "events", c.until("checkpoint", "2 x+a next [b]"), []string{"checkpoint 2 x+a next [b]"})
	if res := request(t, http.MethodPost, url+"/t", ""); res.StatusCode != http.StatusConflict {
		t.Errorf("a second run: got status %d, want 409", res.StatusCode)
	}
	pass <- struct{}{}
	same(t, "events", c.rest(), []string{"checkpoint 3 x+a+b next [c]", "checkpoint 4 x+a+b+c next []", "end done"})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestManyClientsFollowOneRun(t *testing.T) {
	entered, pass := make(chan struct{}), make(chan struct{})
	a := chain(t, memory.New(), gated("a", entered, pass), say("b"))
	h := newHub(a)
	url := serve(t, a, h)
	if err := h.Invoke(t.Context(), "t", logged("x")); err != nil {
		t.Fatal(err)
	}
	<-entered
	var clients []*client
	for range 5 {
		c := open(t, http.MethodGet, url+"/t", "")
		c.until("checkpoint", "1 x next [a]")
		clients = append(clients, c)
	}
	// A rejected second run does not disturb the first.
	if err := h.Resume(t.Context(), "t"); graphhttp.Status(err) != http.StatusConflict {
		t.Errorf("a second run: got %v, want a conflict", err)
	}
	close(pass)
	for _, c := range clients {
		same(t, "events", c.rest(), []string{"update a", "checkpoint 2 x+a next [b]", "update b", "checkpoint 3 x+a+b next []", "end done"})
	}
}

func TestAFollowerThatMissedTheEndGetsTheErrorOfTheRun(t *testing.T) {
	a := chain(t, memory.New(), say("a"), failing("b"))
	url := serve(t, a, newHub(a))
	live := open(t, http.MethodPost, url+"/t?in=x", "").rest()
	if got := live[len(live)-1]; !strings.HasPrefix(got, "end failed: ") || !strings.Contains(got, errBroken.Error()) {
		t.Errorf("the live end: got %q, want the error in it", got)
	}
	later := open(t, http.MethodGet, url+"/t", "").rest()
	want := []string{"checkpoint 2 x+a next [b]", `end failed: graph: work: thread "t": step 3: node "b": ` + errBroken.Error()}
	same(t, "events later", later, want)
}

func TestEventsOfASubgraphHaveNoID(t *testing.T) {
	child := graph.New("child", teststate.WorkSchema)
	child.Node("inside", say("inside").f)
	child.Edge(graph.Start, "inside")
	child.Edge("inside", graph.End)
	inner, err := child.Compile(graph.SubgraphOnly())
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New("work", teststate.WorkSchema)
	graph.MapSubgraph(b, "sub", inner,
		func(context.Context, work) (update, error) { return logged("in"), nil },
		func(_ context.Context, _, c work) (update, error) { return logged(c.Log...), nil })
	b.Edge(graph.Start, "sub")
	b.Edge("sub", graph.End)
	a, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, a, newHub(a, graphhttp.Events(graph.EventCheckpoint|graph.EventState|graph.EventRunEnded)))
	c := open(t, http.MethodPost, url+"/t?in=x", "")
	inside := 0
	for {
		e, ok := c.next()
		if !ok {
			break
		}
		if e.Name == "inner" {
			inside++
		}
		if (e.ID != "") != (e.Name == "checkpoint") {
			t.Errorf("got id %q on %q", e.ID, e.Name)
		}
	}
	if inside == 0 {
		t.Error("got no event of the subgraph")
	}
	same(t, "events", open(t, http.MethodGet, url+"/t", c.last).rest(), []string{"end done"})
}

func TestWhatCannotBeServedIsRefused(t *testing.T) {
	entered, pass := make(chan struct{}), make(chan struct{})
	a := chain(t, memory.New(), asking("a"), gated("b", entered, pass))
	url := serve(t, a, newHub(a))
	open(t, http.MethodPost, url+"/waits?in=x", "").until("end", "waiting")

	for _, tc := range []struct {
		name, method, path, last string
		want                     int
		text                     string
	}{
		{"another method", http.MethodPut, "/waits", "", 405, ""},
		{"the header", http.MethodHead, "/waits", "", 200, ""},
		{"the header of no thread", http.MethodHead, "/none", "", 404, ""},
		{"an invalid id", http.MethodGet, "/waits", "yesterday", 400, "Last-Event-ID"},
		{"no such thread", http.MethodGet, "/none", "", 404, "not found"},
		{"resume of no such thread", http.MethodPost, "/none", "", 404, "not found"},
		{"no thread", http.MethodPost, "/?in=x", "", 400, ""},
		{"a reserved thread", http.MethodPost, "/__tick:nightly@2026-11-23T02:30:00Z?in=x", "", 400, ""},
		{"the reserved thread, which nobody has begun", http.MethodGet, "/__tick:nightly@2026-11-23T02:30:00Z", "", 404, "not found"},
		{"input for a thread that waits", http.MethodPost, "/waits?in=y", "", 409, "not finished"},
		{"an answer to nothing", http.MethodPost, "/waits?answer=nobody", "", 409, "does not ask"},
		{"a request that read rejects", http.MethodPost, "/waits?teapot", "", 418, "short and stout"},
		{"an invalid request", http.MethodPost, "/waits?bad", "", 400, "no such thing"},
	} {
		res := request(t, tc.method, url+tc.path, tc.last)
		if body := readAll(t, res); res.StatusCode != tc.want || !strings.Contains(body, tc.text) {
			t.Errorf("%s: got %d %q, want %d %q", tc.name, res.StatusCode, body, tc.want, tc.text)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead} {
		foreign, none := request(t, method, url+"/waits?foreign", ""), request(t, method, url+"/none", "")
		if got, want := readAll(t, foreign), readAll(t, none); foreign.StatusCode != none.StatusCode || got != want || none.StatusCode != http.StatusNotFound {
			t.Errorf("%s of a thread of another user: got %d %q, want %d %q as for no thread", method, foreign.StatusCode, got, none.StatusCode, want)
		}
	}
	if err := a.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res := request(t, http.MethodPost, url+"/other?in=x", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a graph that drains: got status %d, want 503", res.StatusCode)
	}
}

func TestWhatCannotBeEncodedEndsTheStreamAndNotTheRun(t *testing.T) {
	for name, bad := range map[string]func(e graph.Event[work, update]) (graphhttp.Message, error){
		"an error": func(graph.Event[work, update]) (graphhttp.Message, error) { return graphhttp.Message{}, errBroken },
		"a panic":  func(graph.Event[work, update]) (graphhttp.Message, error) { panic(errBroken) },
	} {
		t.Run(name, func(t *testing.T) {
			finished := make(chan struct{})
			last := node{"b", func(context.Context, work) (update, error) { close(finished); return logged("b"), nil }}
			a := chain(t, memory.New(), say("a"), last)
			reports := make(chan error, 10)
			h := graphhttp.New(a, func(e graph.Event[work, update], err error) (graphhttp.Message, error) {
				if e.Kind == graph.EventCheckpoint && e.Step == 2 {
					return bad(e)
				}
				return encode(e, err)
			}, graphhttp.Events(told), graphhttp.OnError(func(_ string, err error) { reports <- err }))
			url := serve(t, a, h)
			got := open(t, http.MethodPost, url+"/t?in=x", "").rest()
			if e := got[len(got)-1]; !strings.HasPrefix(e, "broken ") {
				t.Errorf("got %q at the end, want broken", e)
			}
			<-finished
			if err := <-reports; !strings.Contains(err.Error(), errBroken.Error()) {
				t.Errorf("got report %v, want the encoder's", err)
			}
			if err := a.Drain(t.Context()); err != nil { // the run has ended
				t.Fatal(err)
			}
			open(t, http.MethodGet, url+"/t", "").until("end", "done")
		})
	}
}

// failingSaver is a saver that cannot be read while it is broken.
type failingSaver struct {
	checkpoint.Saver
	broken atomic.Bool
}

func (s *failingSaver) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if s.broken.Load() {
		return checkpoint.Chain{}, errBroken
	}
	return s.Saver.Load(ctx, p)
}

func (s *failingSaver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	if s.broken.Load() {
		return func(yield func(checkpoint.Record, error) bool) { yield(checkpoint.Record{}, errBroken) }
	}
	return s.Saver.History(ctx, p, q)
}

// A temporary failure of the saver must be reported, must not be shown to clients, and must not
// stop an EventSource.
func TestASaverThatFailsIsNotTheEndOfAPage(t *testing.T) {
	saver := &failingSaver{Saver: memory.New()}
	a := chain(t, saver, asking("a"))
	reports := make(chan error, 10)
	h := newHub(a, graphhttp.OnError(func(_ string, err error) { reports <- err }))
	looks := h.Handler(func(r *http.Request) (call, error) { // its read function reads the thread
		c, err := read(a)(r)
		if err == nil {
			_, err = a.Thread(c.Thread).State(r.Context())
		}
		return c, err
	})
	for name, handler := range map[string]http.Handler{"the stream's own look": h.Handler(read(a)), "a look before": looks} {
		saver.broken.Store(false)
		s := httptest.NewServer(handler)
		defer s.Close()
		first := open(t, http.MethodPost, serve(t, a, h)+"/"+url.PathEscape(name)+"?in=x", "")
		first.until("end", "waiting")
		at := s.URL + "/" + url.PathEscape(name)

		saver.broken.Store(true)
		want := "retry: 1000\n\nretry: 5000\nevent: broken\ndata: the stream broke off; connect again\n\n"
		res := request(t, http.MethodGet, at, first.last)
		if body := readAll(t, res); res.StatusCode != http.StatusOK || body != want {
			t.Errorf("%s: GET: got %d %q, want 200 %q", name, res.StatusCode, body, want)
		}
		if err := <-reports; !errors.Is(err, errBroken) {
			t.Errorf("%s: got report %v, want %v", name, err, errBroken)
		}
		for _, method := range []string{http.MethodHead, http.MethodPost} {
			res := request(t, method, at, "")
			if body := readAll(t, res); res.StatusCode != http.StatusInternalServerError || strings.Contains(body, errBroken.Error()) {
				t.Errorf("%s: %s: got %d %q, want 500 and nothing of the cause", name, method, res.StatusCode, body)
			}
			if err := <-reports; !errors.Is(err, errBroken) {
				t.Errorf("%s: %s: got report %v, want %v", name, method, err, errBroken)
			}
		}

		saver.broken.Store(false)
		open(t, http.MethodGet, at, first.last).until("end", "waiting")
	}
	if res := request(t, http.MethodGet, serve(t, a, h)+"/none", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("no such thread: got status %d, want 404", res.StatusCode)
	}
}

func TestAThreadThatReadDoesNotFind(t *testing.T) {
	a := chain(t, memory.New(), asking("a"))
	s := httptest.NewServer(newHub(a).Handler(func(r *http.Request) (call, error) {
		_, err := a.Thread("none").State(r.Context())
		return call{Thread: "none"}, err
	}))
	defer s.Close()
	if res := request(t, http.MethodGet, s.URL, ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("got status %d, want 404", res.StatusCode)
	}
}

// A client that disconnects during a call of the saver is not an error of the saver.
func TestAClientThatLeftIsNotReported(t *testing.T) {
	saver := memory.New()
	a := chain(t, saver, asking("a"))
	h := newHub(a, graphhttp.OnError(func(_ string, err error) { t.Errorf("got report %v", err) }))
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequest(http.MethodGet, "/t", nil).WithContext(ctx)
	h.Handler(read(a)).ServeHTTP(httptest.NewRecorder(), r)
}

// wrapped hides the optional methods of a ResponseWriter.
type wrapped struct{ http.ResponseWriter }

// unwrapping reveals them again by Unwrap.
type unwrapping struct{ wrapped }

func (w unwrapping) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestAResponseThatCannotBeFlushedIsRefusedBeforeAnythingRuns(t *testing.T) {
	a := chain(t, memory.New(), say("a"))
	reports := make(chan error, 10)
	stream := newHub(a, graphhttp.OnError(func(_ string, err error) { reports <- err })).Handler(read(a))
	for name, tc := range map[string]struct {
		handler http.Handler
		want    int
	}{
		"middleware":           {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { stream.ServeHTTP(wrapped{w}, r) }), 500},
		"a timeout":            {http.TimeoutHandler(stream, time.Hour, ""), 500},
		"middleware with care": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { stream.ServeHTTP(unwrapping{wrapped{w}}, r) }), 200},
	} {
		s := httptest.NewServer(tc.handler)
		defer s.Close()
		thread := url.PathEscape(name)
		res := request(t, http.MethodPost, s.URL+"/"+thread+"?in=x", "")
		body := readAll(t, res)
		if res.StatusCode != tc.want {
			t.Errorf("%s: got %d %q, want %d", name, res.StatusCode, body, tc.want)
		}
		_, err := a.Thread(name).State(t.Context())
		if ran := err == nil; ran != (tc.want == 200) {
			t.Errorf("%s: the run began: %t", name, ran)
		}
		if tc.want == 500 {
			if err := <-reports; !strings.Contains(err.Error(), "Unwrap") {
				t.Errorf("%s: got report %v, want it to say what is missing", name, err)
			}
		}
	}
}

// The timeouts of a server are meant for short requests.
func TestAStreamOutlivesTheServersTimeouts(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		entered, pass := make(chan struct{}), make(chan struct{})
		a := chain(t, memory.New(), gated("a", entered, pass))
		h := newHub(a, graphhttp.Heartbeat(20*time.Millisecond), graphhttp.CancelOnDisconnect())
		s := httptest.NewUnstartedServer(h.Handler(read(a)))
		s.Config.ReadHeaderTimeout = time.Minute // allow for a slow machine
		s.Config.ReadTimeout, s.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
		s.Start()
		defer s.Close()
		var c *client
		if method == http.MethodPost {
			c = open(t, method, s.URL+"/t?in=x", "")
			<-entered
		} else {
			if err := h.Invoke(t.Context(), "t", logged("x")); err != nil {
				t.Fatal(err)
			}
			<-entered
			c = open(t, method, s.URL+"/t", "")
		}
		for beats := 0; beats < 20; { // four times as long as the server allows a request
			if !c.lines.Scan() {
				t.Fatalf("%s: the stream ended after %d heartbeats", method, beats)
			}
			if c.lines.Text() == ":" {
				beats++
			}
		}
		pass <- struct{}{}
		c.until("end", "done")
	}
}

func TestIDsAreOfCheckpointsThatAreStored(t *testing.T) {
	a := chain(t, memory.New(), say("a"), say("b"))
	url := serve(t, a, newHub(a))
	c := open(t, http.MethodPost, url+"/t?in=x", "")
	for {
		e, ok := c.next()
		if !ok {
			return
		}
		if e.ID == "" {
			continue
		}
		id, err := checkpoint.ParseID(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := a.Thread("t").At(id).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Data, strconv.Itoa(snap.Step)+" ") {
			t.Errorf("got %q with the id of step %d", e.Data, snap.Step)
		}
	}
}

// meddling is a saver that calls before ahead of the second read of a history.
type meddling struct {
	checkpoint.Saver
	reads  atomic.Int32
	before func()
}

func (m *meddling) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	if m.reads.Add(1) == 2 {
		m.before()
	}
	return m.Saver.History(ctx, p, q)
}

func TestAMessageDuringTheReadOfTheHistoryIsSentOnce(t *testing.T) {
	entered, pass := make(chan struct{}), make(chan struct{})
	saver := &meddling{Saver: memory.New()}
	saver.before = func() { // b is published and stored after the client joined and before it reads
		pass <- struct{}{}
		<-entered
	}
	a := chain(t, saver, gated("a", entered, pass), say("b"), gated("c", entered, pass))
	h := newHub(a)
	url := serve(t, a, h)
	if err := h.Invoke(t.Context(), "t", logged("x")); err != nil {
		t.Fatal(err)
	}
	<-entered
	c := open(t, http.MethodGet, url+"/t", "")
	got := c.until("checkpoint", "3 x+a+b next [c]")
	pass <- struct{}{}
	same(t, "events", append(got, c.rest()...), []string{
		"checkpoint 1 x next [a]", "checkpoint 2 x+a next [b]", "checkpoint 3 x+a+b next [c]",
		"update c", "checkpoint 4 x+a+b+c next []", "end done",
	})
}
