package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentmcp "github.com/graphgen-go/graphgen/agent/mcp"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// in is the argument of the tools.
type in struct {
	Order string `json:"order"`
}

// shop is an MCP server. Its tool refund can break the connection before it answers.
type shop struct {
	*mcp.Server
	mu     sync.Mutex
	found  int      // calls of find
	keys   []string // of the calls of refund
	cut    func()   // ends the connection
	breaks atomic.Int64
}

// newShop returns a server whose first tools are read-only.
func newShop() *shop {
	s := &shop{Server: mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "v1"}, nil)}
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s.Server, &mcp.Tool{Name: "orders.find", Description: "finds an order", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
			s.mu.Lock()
			s.found++
			s.mu.Unlock()
			if s.breaks.Add(-1) >= 0 {
				s.cut()
			}
			if in.Order == "0" {
				return nil, nil, errors.New("there is no order 0")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "order " + in.Order}}}, nil, nil
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "show", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
			switch in.Order {
			case "sound":
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("a")}}}, nil, nil
			case "struct":
				return nil, in, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: "text"},
				&mcp.ImageContent{MIMEType: "image/png", Data: []byte("png")},
				&mcp.ResourceLink{Name: "bill", URI: "shop://bill"},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "shop://a", Text: "embedded"}},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "shop://b", MIMEType: "image/gif", Blob: []byte("gif")}},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "shop://c", MIMEType: "application/pdf", Blob: []byte("pdf")}},
			}}, nil, nil
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "refund"},
		func(_ context.Context, r *mcp.CallToolRequest, _ in) (*mcp.CallToolResult, any, error) {
			key, _ := r.Params.Meta[agentmcp.KeyMeta].(string)
			s.mu.Lock()
			s.keys = append(s.keys, key)
			s.mu.Unlock()
			if s.breaks.Add(-1) >= 0 {
				s.cut()
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil, nil
		})
	return s
}

// pipe returns a Transport of a Config that leads to s in memory, and counts connections.
func (s *shop) pipe(t *testing.T, connections *int) func() mcp.Transport {
	t.Helper()
	return func() mcp.Transport {
		*connections++
		near, far := mcp.NewInMemoryTransports()
		cut := &cuttable{Transport: near}
		s.cut = func() { _ = cut.conn.Close() }
		connection, err := s.Connect(context.Background(), far, nil)
		if err != nil {
			t.Error(err)
			return near
		}
		t.Cleanup(func() { _ = connection.Close() })
		return cut
	}
}

// cuttable keeps the connection of a transport, so that a test can close it.
type cuttable struct {
	mcp.Transport
	conn mcp.Connection
}

func (c *cuttable) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := c.Transport.Connect(ctx)
	c.conn = conn
	return conn, err
}

// run runs an agent over the tools of a client to its end or to a question.
func run(t *testing.T, c *agentmcp.Client, steps ...agenttest.Step) (*graph.Graph[agent.Chat, agent.ChatUpdate], graph.Result[agent.Chat]) {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	app, err := agent.New(agent.Config{Name: "desk", Model: agenttest.NewScript(t, steps...), Tools: tools}, graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	res, err := app.Thread("a").Invoke(t.Context(), agent.Say("m", "help"))
	if err != nil {
		t.Fatal(err)
	}
	return app, res
}

// results returns the results of tools in a chat.
func results(c agent.Chat) (found []agent.Result) {
	for _, m := range c.Messages {
		if m.Role == agent.RoleTool {
			found = append(found, *m.Parts[0].(*agent.Result))
		}
	}
	return found
}

// TestContent calls tools in memory, and looks at each kind of content, and at errors of the
// server. Both are for the model.
func TestContent(t *testing.T) {
	var connections int
	s := newShop()
	_, res := run(t, agentmcp.NewClient(agentmcp.Config{Transport: s.pipe(t, &connections), Prefix: "shop/", Use: func(t *mcp.Tool) bool { return t.Name != "refund" }}),
		func(r agent.Request) (agent.Reply, error) {
			if len(r.Tools) != 2 {
				t.Errorf("tools %v: want all but refund", r.Tools)
			}
			return agent.Reply{Parts: []agent.Content{&agent.Call{Tool: "shop_show", Args: `{"order":"1"}`}}}, nil
		},
		agenttest.Call("shop_show", `{"order":"struct"}`),
		agenttest.Call("shop_show", `{"order":"sound"}`),
		agenttest.Call("shop_orders_find", `{"order":"0"}`),
		agenttest.Call("shop_orders_find", `{"number":"0"}`),
		agenttest.Text("done"))
	r := results(res.State)
	if len(r) != 5 || connections != 1 || s.found != 1 {
		t.Fatalf("%d results, %d connections, %d calls: want 5, 1, and 1", len(r), connections, s.found)
	}
	want := []agent.Content{
		&agent.Text{Text: "text"}, &agent.Image{MIME: "image/png", Data: []byte("png")}, &agent.Text{Text: "bill shop://bill"},
		&agent.Text{Text: "embedded"}, &agent.Image{MIME: "image/gif", Data: []byte("gif")},
		&agent.File{Name: "shop://c", MIME: "application/pdf", Data: []byte("pdf")},
	}
	if r[0].Failed || !reflect.DeepEqual(r[0].Parts, want) {
		t.Errorf("result %+v", r[0])
	}
	for i, text := range []string{`{"order":"struct"}`, "does not support this content", "there is no order 0", "arguments are wrong"} {
		if got := agent.TextOf(r[i+1].Parts); !strings.Contains(got, text) || r[i+1].Failed != (i > 0) {
			t.Errorf("result %q, failed %v: want %q", got, r[i+1].Failed, text)
		}
	}
}

// TestApproval calls a tool that is not read-only over HTTP. It asks first.
func TestApproval(t *testing.T) {
	s := newShop()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server }, nil))
	t.Cleanup(web.Close)
	c := agentmcp.NewClient(agentmcp.Config{Transport: func() mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: web.URL, DisableStandaloneSSE: true}
	}})
	app, res := run(t, c, agenttest.Call("refund", `{"order":"7"}`), agenttest.Text("done"))
	if len(res.Questions) != 1 || len(s.keys) != 0 {
		t.Fatalf("result %+v, calls %q: want a question", res, s.keys)
	}
	res, err := app.Thread("a").Resume(t.Context(), agent.Approve.Answer(res.Questions[0], agent.Decision{Allow: true}))
	if err != nil || res.State.Output != "done" || len(s.keys) != 1 || s.keys[0] == "" {
		t.Errorf("result %+v, keys %q, error %v: want one call with a key", res, s.keys, err)
	}
}

// TestReconnect breaks connections in calls. A call of a read-only tool is repeated over another
// connection. One that may have taken effect is not, and the next call begins another connection.
func TestReconnect(t *testing.T) {
	var connections int
	s := newShop()
	s.breaks.Store(1)
	c := agentmcp.NewClient(agentmcp.Config{Transport: s.pipe(t, &connections), Options: func(t *mcp.Tool) []agent.ToolOption {
		return agentmcp.DefaultOptions(t)[:1] // without approval
	}})
	_, res := run(t, c,
		agenttest.Call("orders_find", `{"order":"1"}`),
		func(agent.Request) (agent.Reply, error) {
			s.breaks.Store(1)
			return agent.Reply{Parts: []agent.Content{&agent.Call{Tool: "refund", Args: `{"order":"1"}`}}}, nil
		},
		agenttest.Call("orders_find", `{"order":"2"}`),
		agenttest.Text("done"))
	r := results(res.State)
	if len(r) != 3 || r[0].Failed || !r[1].Failed || r[2].Failed {
		t.Fatalf("results %+v: want that the second failed", r)
	}
	if s.found != 3 || len(s.keys) != 1 || connections != 3 {
		t.Errorf("%d and %d calls in %d connections: want 3 and 1 in 3", s.found, len(s.keys), connections)
	}
}

// TestStdio runs a server as a process, which dies in the first call.
func TestStdio(t *testing.T) {
	const variable = "GRAPHGEN_TEST_MCP_BREAKS"
	if breaks := os.Getenv(variable); breaks != "" { // this is the process
		s := newShop()
		s.cut = func() { os.Exit(1) } //nolint:forbidigo // the process dies
		s.breaks.Store(int64(len(breaks) - 1))
		_ = s.Run(t.Context(), &mcp.StdioTransport{})
		return
	}
	breaks := []string{"11", "1"}
	_, res := run(t, agentmcp.NewClient(agentmcp.Config{Transport: func() mcp.Transport {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStdio$")
		c.Env = append(os.Environ(), variable+"="+breaks[0])
		breaks = breaks[1:]
		return &mcp.CommandTransport{Command: c}
	}}), agenttest.Call("orders_find", `{"order":"1"}`), agenttest.Text("done"))
	if r := results(res.State); len(r) != 1 || r[0].Failed || len(breaks) != 0 {
		t.Errorf("results %+v, %d processes left: want a result of the second process", r, len(breaks))
	}
}

// TestErrors has a server that is not there, one that has forgotten the connection, and a client
// that is closed.
func TestErrors(t *testing.T) {
	s := newShop()
	connections := 0
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { connections++; return s.Server }, nil)
	var gone atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	c := agentmcp.NewClient(agentmcp.Config{Transport: func() mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: web.URL, DisableStandaloneSSE: true, MaxRetries: -1}
	}})
	if _, err := c.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone.Store(true)
	var broken *agentmcp.ConnectionError
	for range 2 { // in the connection, and as one begins
		if _, err := c.Tools(t.Context()); !errors.As(err, &broken) || broken.Sent {
			t.Errorf("error %v: want a ConnectionError of a request that was not sent", err)
		}
	}
	gone.Store(false)
	if _, err := c.Tools(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Tools(t.Context()); !errors.Is(err, agentmcp.ErrClosed) {
		t.Errorf("error %v: want ErrClosed", err)
	}
}
