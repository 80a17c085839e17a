package graphhttp_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// askBeside returns a graph in which one node asks while another waits until it may pass.
func askBeside(tb testing.TB, s *memory.Saver, entered chan<- struct{}, pass <-chan struct{}) *app {
	tb.Helper()
	b := graph.New("work", teststate.WorkSchema)
	for _, n := range []node{asking("ask"), gated("slow", entered, pass)} {
		b.Node(n.id, n.f, consent)
		b.Edge(graph.Start, n.id)
		b.Edge(n.id, graph.End)
	}
	a, err := b.Compile(graph.Saver(s))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func TestAFollowerGetsAQuestionOnceDuringTheRun(t *testing.T) {
	entered, pass := make(chan struct{}), make(chan struct{})
	s := memory.New()
	a := askBeside(t, s, entered, pass)
	url := serve(t, a, newHub(a))
	other := askBeside(t, s, entered, pass) // as in another process
	elsewhere := serve(t, other, newHub(other, graphhttp.PollInterval(time.Millisecond)))

	first := open(t, http.MethodPost, url+"/t?in=x", "")
	<-entered
	early := []string{"checkpoint 1 x next [ask slow]", "question consent"}
	same(t, "the client that started the run", first.until("question", "consent"), early)
	second := open(t, http.MethodGet, url+"/t", "")
	same(t, "a client that joined later", second.until("question", "consent"), early)
	third := open(t, http.MethodGet, elsewhere+"/t", "")
	same(t, "a client of another process", third.until("question", "consent"), early)
	pass <- struct{}{}
	for name, c := range map[string]*client{"first": first, "second": second, "third": third} {
		same(t, name+": the rest", c.rest(), []string{"end waiting"})
	}
}

func TestAnAnswerThatTheCheckRefusesIs422(t *testing.T) {
	careful := consent.Check(func(_ wire.String, ok wire.Bool) error {
		if ok {
			return errors.New("ask your <mother>")
		}
		return nil
	})
	b := graph.New("work", teststate.WorkSchema)
	b.Node("ask", asking("ask").f, careful)
	b.Chain(graph.Start, "ask", graph.End)
	a, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, a, newHub(a))
	open(t, http.MethodPost, url+"/t?in=x", "").rest()
	snap, err := a.Thread("t").State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	res := request(t, http.MethodPost, url+"/t?answer="+snap.Questions[0].ID, "")
	body, err := io.ReadAll(res.Body)
	same(t, "error", err, nil)
	same(t, "status", res.StatusCode, http.StatusUnprocessableEntity)
	same(t, "body", strings.TrimSpace(string(body)), "ask your <mother>")
	same(t, "a follower", open(t, http.MethodGet, url+"/t", "").rest(), []string{"checkpoint 1 x next [ask]", "question consent", "end waiting"})
}
