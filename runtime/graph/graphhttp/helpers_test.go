package graphhttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

type (
	work   = teststate.Work
	update = teststate.WorkUpdate
	app    = graph.Graph[work, update]
	hub    = graphhttp.Hub[work, update]
	call   = graphhttp.Request[update]
)

var consent = graph.NewQuestion[wire.String, wire.Bool]("consent")

func logged(lines ...string) update {
	var u update
	u.Log.Append(lines...)
	return u
}

// node is a named node of a chain.
type node struct {
	id graph.ID
	f  func(context.Context, work) (update, error)
}

// say returns a node that logs its name.
func say(id graph.ID) node {
	return node{id, func(context.Context, work) (update, error) { return logged(string(id)), nil }}
}

// gated returns a node that announces its start and waits until it may pass.
func gated(id graph.ID, entered chan<- struct{}, pass <-chan struct{}) node {
	return node{id, func(ctx context.Context, _ work) (update, error) {
		entered <- struct{}{}
		select {
		case <-pass:
			return logged(string(id)), nil
		case <-ctx.Done():
			return update{}, ctx.Err()
		}
	}}
}

// asking returns a node that asks for consent.
func asking(id graph.ID) node {
	return node{id, func(ctx context.Context, _ work) (update, error) {
		ok, err := consent.Ask(ctx, "may I?")
		if err != nil {
			return update{}, err
		}
		return logged(fmt.Sprint(id, ":", ok)), nil
	}}
}

// errBroken is the failure of a node, an encoder or a connection.
var errBroken = errors.New("it broke")

func failing(id graph.ID) node {
	return node{id, func(context.Context, work) (update, error) { return update{}, errBroken }}
}

// chain compiles Start -> nodes... -> End.
func chain(tb testing.TB, saver checkpoint.Saver, nodes ...node) *app {
	tb.Helper()
	b := graph.New("work", teststate.WorkSchema)
	from := graph.Start
	for _, n := range nodes {
		b.Node(n.id, n.f, consent)
		b.Edge(from, n.id)
		from = n.id
	}
	b.Edge(from, graph.End)
	g, err := b.Compile(graph.Saver(saver))
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// encode encodes events as one or two words.
func encode(e graph.Event[work, update], err error) (graphhttp.Message, error) {
	text := func(name, format string, args ...any) (graphhttp.Message, error) {
		return graphhttp.Message{Name: name, Data: fmt.Appendf(nil, format, args...)}, nil
	}
	switch e.Kind {
	case graph.EventCheckpoint:
		if e.Path != nil {
			return text("inner", "%v", e.Path)
		}
		return text("checkpoint", "%d %s next %v", e.Step, strings.Join(e.State.Log, "+"), e.Next)
	case graph.EventUpdate:
		return text("update", "%s", e.Node)
	case graph.EventCustom:
		return text("custom", "%v", e.Custom)
	case graph.EventQuestion:
		return text("question", "%s", e.Question.Question)
	case graph.EventRunEnded:
		if err != nil {
			return text("end", "%s: %v", e.Result.Status, err)
		}
		return text("end", "%s", e.Result.Status)
	}
	return graphhttp.Message{}, nil
}

// read takes the thread from the path, the input from ?in=, the answer to a pending question from
// ?answer=, and the starting point from ?after=.
func read(a *app) func(r *http.Request) (call, error) {
	return func(r *http.Request) (call, error) {
		c := call{Thread: strings.TrimPrefix(r.URL.Path, "/")}
		q := r.URL.Query()
		if q.Has("teapot") {
			return c, &graphhttp.StatusError{Status: http.StatusTeapot, Text: "short and stout"}
		}
		if q.Has("bad") {
			return c, errors.New("no such thing")
		}
		if q.Has("foreign") {
			return c, fmt.Errorf("the thread is ada's: %w", checkpoint.ErrNotFound)
		}
		if q.Has("in") {
			in := logged(q.Get("in"))
			c.Input = &in
		}
		if q.Has("answer") {
			w := graph.OpenQuestion{ID: q.Get("answer"), Question: "consent"}
			c.Resume = append(c.Resume, consent.Answer(w, true))
		}
		return c, nil
	}
}

func newHub(a *app, opts ...graphhttp.Option) *hub {
	return graphhttp.New(a, encode, append([]graphhttp.Option{graphhttp.Events(told)}, opts...)...)
}

// The events that the tests check.
const told = graph.EventState | graph.EventUpdate | graph.EventCustom | graph.EventQuestion | graph.EventRunEnded

// serve serves h and returns the address.
func serve(t *testing.T, a *app, h *hub) string {
	t.Helper()
	s := httptest.NewServer(h.Handler(read(a)))
	t.Cleanup(func() {
		h.Close()
		s.Close()
	})
	return s.URL
}

// event is a server-sent event as a client reads it.
type event struct{ ID, Name, Data string }

// client reads a stream.
type client struct {
	t     *testing.T
	close func()
	lines *bufio.Scanner
	last  string // the newest id received
}

// open sends a request and fails the test unless the response is a stream.
func open(t *testing.T, method, url, last string) *client {
	t.Helper()
	res := request(t, method, url, last)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("%s %s: got status %d, %q, want a stream", method, url, res.StatusCode, body)
	}
	return &client{t: t, close: func() { res.Body.Close() }, lines: bufio.NewScanner(res.Body), last: last}
}

func request(t *testing.T, method, url, last string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// next returns the next event with data, as EventSource does. It returns false at the end.
func (c *client) next() (event, bool) {
	c.t.Helper()
	e, data := event{}, []string(nil)
	for c.lines.Scan() {
		field, value, _ := strings.Cut(c.lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			e.ID, c.last = value, value
		case "event":
			e.Name = value
		case "data":
			data = append(data, value)
		case "":
			if c.lines.Text() == "" && data != nil {
				e.Data = strings.Join(data, "\n")
				return e, true
			}
		}
	}
	return e, false
}

// until reads events up to the one with that name and data, and returns them as words.
func (c *client) until(name, data string) []string {
	c.t.Helper()
	var words []string
	for {
		e, ok := c.next()
		if !ok {
			c.t.Fatalf("the stream ended after %q, want %q %q", words, name, data)
		}
		words = append(words, e.Name+" "+e.Data)
		if e.Name == name && e.Data == data {
			return words
		}
	}
}

// rest reads a stream to its end.
func (c *client) rest() []string {
	c.t.Helper()
	var words []string
	for {
		e, ok := c.next()
		if !ok {
			return words
		}
		words = append(words, e.Name+" "+e.Data)
	}
}

func same(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
