// Package mcp (experimental) makes tools of an agent from the tools of an MCP server, on the
// official SDK.
//
//	client := agentmcp.NewClient(agentmcp.Config{ // this package
//		Transport: func() mcp.Transport { // github.com/modelcontextprotocol/go-sdk/mcp
//			return &mcp.CommandTransport{Command: exec.Command("files-server", "/srv/files")}
//		},
//		Prefix: "files_",
//	})
//	defer client.Close()
//	tools, err := client.Tools(ctx)
//	app, err := agent.New(agent.Config{Name: "desk", Model: model, Tools: tools})
//
// A server over HTTP needs a &mcp.StreamableClientTransport{Endpoint: url} instead.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrClosed is returned by the methods and tools of a Client after its Close.
var ErrClosed = errors.New("mcp: the client is closed; make another with NewClient")

// KeyMeta is the field of _meta that has the idempotency key of a call. The key is that of
// graph.CurrentTask. A server that reads it can ignore a call that it has already made.
const KeyMeta = "graphgen/idempotencyKey"

// ConnectionError is returned if a connection to the server could not begin, or broke in a call.
// The next attempt begins another connection.
type ConnectionError struct {
	// Sent reports whether the server may have run the tool. It is false if no connection could
	// begin, and if the server reports that it does not know the connection.
	Sent bool
	Err  error // of the SDK
}

// Error returns the text of Err, and what to do.
func (e *ConnectionError) Error() string {
	return "mcp: no connection to the server: " + e.Err.Error() + "; check that it runs"
}

// Unwrap returns Err.
func (e *ConnectionError) Unwrap() error { return e.Err }

// ToolError is returned for a result whose IsError is true. The node of the tool makes it the
// result of the call, so the model sees Text.
type ToolError struct{ Tool, Text string }

// Error returns the text of the server.
func (e *ToolError) Error() string { return "mcp: the server reports: " + e.Text }

// Config configures a Client.
type Config struct {
	// Transport returns a new transport for each connection. It is called again after a connection
	// has broken. Transport is called concurrently with calls of tools, but not with itself. It is
	// required.
	Transport func() mcp.Transport
	// Client begins the connections. The default is one that announces no capabilities.
	Client *mcp.Client
	// Prefix begins the names of tools, so that tools of several servers can differ.
	Prefix string
	// Use reports whether the agent gets a tool. The default is all tools.
	Use func(*mcp.Tool) bool
	// Options returns the options of a tool. The default is DefaultOptions. The annotations of
	// a tool are the word of its server: do not rely on those of a server that you do not trust.
	Options func(*mcp.Tool) []agent.ToolOption
}

// DefaultOptions returns the options of t in a Config without Options. A tool that is not
// annotated as read-only needs approval. A *ConnectionError is retried up to three attempts in
// total. If the server may have run the tool, only a read-only or idempotent tool is retried.
func DefaultOptions(t *mcp.Tool) []agent.ToolOption {
	a := t.Annotations
	readOnly := a != nil && a.ReadOnlyHint
	repeatable := readOnly || a != nil && a.IdempotentHint
	options := []agent.ToolOption{agent.NodeOptions(graph.Retry(graph.RetryPolicy{
		If: func(err error) bool {
			var broken *ConnectionError
			return errors.As(err, &broken) && (repeatable || !broken.Sent)
		},
		Attempts: 3,
	}))}
	if !readOnly {
		options = append(options, agent.NeedsApproval())
	}
	return options
}

// Client calls the tools of one server over one connection. The first call begins the connection.
// After it has broken, the next call begins another one. A Client is safe for concurrent use.
type Client struct {
	config Config
	turn   chan struct{} // has one element, taken while the fields below are used
	// conn is nil before the first call, and after a connection has broken.
	conn   *mcp.ClientSession
	closed bool
	ending sync.WaitGroup // connections that are being closed
}

// NewClient returns a client of the server that c.Transport leads to. It begins no connection.
func NewClient(c Config) *Client {
	if c.Client == nil {
		c.Client = mcp.NewClient(&mcp.Implementation{Name: "graphgen", Version: "v0"},
			&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	}
	if c.Options == nil {
		c.Options = DefaultOptions
	}
	return &Client{config: c, turn: make(chan struct{}, 1)}
}

// Close ends the connection, and waits until its calls have returned. After Close the tools of the
// client return ErrClosed.
func (c *Client) Close() error {
	c.turn <- struct{}{}
	s := c.conn
	c.conn, c.closed = nil, true
	<-c.turn
	var err error
	if s != nil {
		err = s.Close()
	}
	c.ending.Wait()
	return err
}

// foreign is a run of bytes that the name of a tool of an agent cannot have.
var foreign = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// Tools returns the tools that the server lists now. The name of each is Prefix and its name on
// the server, with _ in place of bytes that agent.NewTool does not allow. If the server adds or
// changes tools, call Tools again and make another agent.
//
// A call of a tool returns a *ToolError, a *ConnectionError, or another error of the SDK. In
// results, text, embedded text and a link become an agent.Text. An image becomes an agent.Image,
// and another resource an agent.File. Other content returns agent.ErrUnsupported.
func (c *Client) Tools(ctx context.Context) ([]agent.Tool, error) {
	var tools []agent.Tool
	err := c.use(ctx, func(s *mcp.ClientSession) error {
		tools = nil
		for t, err := range s.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			if c.config.Use != nil && !c.config.Use(t) {
				continue
			}
			schema, err := json.Marshal(t.InputSchema)
			if err != nil {
				return err
			}
			tools = append(tools, agent.NewDynamicTool(agent.ToolSpec{
				Name:        foreign.ReplaceAllString(c.config.Prefix+t.Name, "_"),
				Description: t.Description,
				Schema:      schema,
			}, func(ctx context.Context, args string) ([]agent.Content, error) {
				return c.call(ctx, t.Name, args)
			}, c.config.Options(t)...))
		}
		return nil
	})
	return tools, err
}

// call calls a tool of the server.
func (c *Client) call(ctx context.Context, name, args string) ([]agent.Content, error) {
	p := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)}
	if key := graph.CurrentTask(ctx).Key; key != "" {
		p.Meta = mcp.Meta{KeyMeta: key}
	}
	var res *mcp.CallToolResult
	err := c.use(ctx, func(s *mcp.ClientSession) (err error) {
		res, err = s.CallTool(ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	parts, err := convert(res)
	if res.IsError {
		return nil, &ToolError{Tool: name, Text: agent.TextOf(parts)}
	}
	if err != nil {
		return nil, fmt.Errorf("mcp: the server ran tool %s, but %w", name, err)
	}
	return parts, nil
}

// use calls f with the connection, and begins one before if there is none. If the connection
// breaks in f, use closes it.
func (c *Client) use(ctx context.Context, f func(*mcp.ClientSession) error) error {
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	err = f(s)
	var answer *jsonrpc.Error
	missing := errors.Is(err, mcp.ErrSessionMissing)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case !missing && !errors.Is(err, mcp.ErrConnectionClosed) && errors.As(err, &answer):
		return fmt.Errorf("mcp: the server refuses: %w", err) // and the connection is intact
	}
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.conn == s {
		c.conn = nil
		c.ending.Go(func() { _ = s.Close() }) // waits for other calls
	}
	return &ConnectionError{Sent: !missing, Err: err}
}

// begin returns the connection, and begins one if there is none.
func (c *Client) begin(ctx context.Context) (*mcp.ClientSession, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.closed {
		return nil, ErrClosed
	}
	if c.conn == nil {
		s, err := c.config.Client.Connect(ctx, c.config.Transport(), nil)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil:
			return nil, &ConnectionError{Err: err}
		}
		c.conn = s
	}
	return c.conn, nil
}

// convert returns the content of a result that can be converted, and an error if some cannot.
func convert(res *mcp.CallToolResult) (parts []agent.Content, err error) {
	for _, p := range res.Content {
		switch p := p.(type) {
		case *mcp.TextContent:
			parts = append(parts, &agent.Text{Text: p.Text})
		case *mcp.ImageContent:
			parts = append(parts, &agent.Image{MIME: p.MIMEType, Data: p.Data})
		case *mcp.ResourceLink:
			parts = append(parts, &agent.Text{Text: strings.TrimSpace(p.Name + " " + p.URI)})
		case *mcp.EmbeddedResource:
			switch r := p.Resource; {
			case r.Blob == nil:
				parts = append(parts, &agent.Text{Text: r.Text})
			case strings.HasPrefix(r.MIMEType, "image/"):
				parts = append(parts, &agent.Image{MIME: r.MIMEType, Data: r.Blob})
			default:
				parts = append(parts, &agent.File{Name: r.URI, MIME: r.MIMEType, Data: r.Blob})
			}
		default:
			err = fmt.Errorf("its result has a %T: %w", p, agent.ErrUnsupported)
		}
	}
	if len(res.Content) == 0 && res.StructuredContent != nil {
		text, err := json.Marshal(res.StructuredContent)
		return []agent.Content{&agent.Text{Text: string(text)}}, err
	}
	return parts, err
}
