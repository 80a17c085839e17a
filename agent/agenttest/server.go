package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/agent"
)

// Faults of a Server, for steps made by Broken. The server sends about half of the reply first.
var (
	// ErrBreakOff closes the connection.
	ErrBreakOff = errors.New("agenttest: the connection breaks off")
	// ErrMalformed sends an event that is not JSON.
	ErrMalformed = errors.New("agenttest: an event is not JSON")
	// ErrMidway sends an event with an error of the provider.
	ErrMidway = errors.New("agenttest: the provider fails in the middle of a reply")
)

// Broken returns a Step that begins to reply parts, and then fails with fault: ErrBreakOff,
// ErrMalformed or ErrMidway.
func Broken(fault error, parts ...agent.Content) Step {
	return func(agent.Request) (agent.Reply, error) { return agent.Reply{Parts: parts, Usage: usage}, fault }
}

// NewServer returns an HTTP server that speaks the protocols of providers, until tb ends:
//
//	POST /v1/chat/completions   chat completions of OpenAI
//	POST /v1/responses          responses of OpenAI
//	POST /v1/messages           messages of Anthropic
//	POST /v1beta/models/...     generateContent of Gemini
//
// It passes each request to m, usually a Script, and streams the reply in small pieces. The pieces
// of several calls arrive interleaved where the protocol allows that. Usage arrives in an event of
// its own. OpenAI and Gemini send none for a reply without Usage. Errors of m become those of the
// provider: agent.ErrRateLimited with the delay of graph.RetryAfter, agent.ErrUnavailable,
// agent.ErrContextTooLarge, *agent.RefusalError and the faults of this package.
//
// A request that breaks a rule of its provider fails tb, and gets status 400. The server does not
// serve requests without a stream.
func NewServer(tb testing.TB, m agent.Model) *httptest.Server {
	tb.Helper()
	return listen(tb, handler(tb, m))
}

// listen serves h until tb ends.
func listen(tb testing.TB, h http.Handler) *httptest.Server {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s
}

// handler returns the handler of all protocols.
func handler(tb testing.TB, m agent.Model) http.Handler {
	tb.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", serve(tb, m, decodeOpenAI, streamOpenAI, failOpenAI))
	mux.HandleFunc("POST /v1/responses", serve(tb, m, decodeResponses, streamResponses, failOpenAI))
	mux.HandleFunc("POST /v1/messages", serve(tb, m, decodeAnthropic, streamAnthropic, failAnthropic))
	mux.HandleFunc("POST /v1beta/models/{call}", serve(tb, m, decodeGemini, streamGemini, failGemini))
	return mux
}

// serve returns the handler of one protocol.
func serve(
	tb testing.TB, m agent.Model,
	decode func(r *http.Request) (agent.Request, error),
	stream func(e *events, r agent.Reply, err error),
	fail func(err error) (status int, body any),
) http.HandlerFunc {
	tb.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := decode(r)
		if err != nil {
			tb.Errorf("agenttest: %s: %v", r.URL.Path, err)
			respond(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"type": "invalid_request_error", "message": err.Error()}})
			return
		}
		reply, err := m.Generate(r.Context(), q, func(agent.Delta) {})
		refusal := (*agent.RefusalError)(nil)
		if broken := errors.Is(err, ErrBreakOff) || errors.Is(err, ErrMalformed) || errors.Is(err, ErrMidway); err == nil || broken || errors.As(err, &refusal) {
			w.Header().Set("Content-Type", "text/event-stream")
			e := &events{w: w}
			if broken {
				e.fault, e.left = err, 4
			}
			stream(e, reply, err)
			return
		}
		var delay interface{ RetryAfter() time.Duration }
		if errors.As(err, &delay) {
			w.Header().Set("Retry-After", strconv.Itoa(int(delay.RetryAfter().Seconds())))
		}
		status, body := fail(err)
		respond(w, status, body)
	}
}

// respond writes a JSON response.
func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		return // the client has gone
	}
}

// events writes server-sent events.
type events struct {
	w       http.ResponseWriter
	fault   error // that replaces the event after the next left ones; nil for none
	left    int
	midway  []any // the event of ErrMidway: its name, or "", and its body
	stopped bool  // the fault has happened
}

// send writes an event with a JSON body. An empty name is left out.
func (e *events) send(name string, body any) {
	if e.stopped {
		return
	}
	text, err := json.Marshal(body)
	if e.fault != nil && e.left == 0 {
		e.stopped = true
		switch {
		case errors.Is(e.fault, ErrBreakOff):
			panic(http.ErrAbortHandler) //nolint:forbidigo // package http asks for it to break a connection
		case errors.Is(e.fault, ErrMalformed):
			text = []byte(`{"broken`)
		default:
			name = e.midway[0].(string)
			text, err = json.Marshal(e.midway[1])
		}
	}
	e.left--
	if err != nil {
		return // only bodies of this package: they can be encoded
	}
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", text)
	_ = http.NewResponseController(e.w).Flush() // the client has gone
}

// pieces cuts text after every n characters.
func pieces(text string, n int) []string {
	var all []string
	for r := []rune(text); len(r) > 0; r = r[min(n, len(r)):] {
		all = append(all, string(r[:min(n, len(r))]))
	}
	return all
}
