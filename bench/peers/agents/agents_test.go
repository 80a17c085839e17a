// Package agents runs one conversation against the same chat in several frameworks:
//
//	go -C bench/peers/agents test -v -bench . .
package agents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentopenai "github.com/graphgen-go/graphgen/agent/openai"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// calls counts the calls of tools: their ids are unique, as those of providers.
var calls atomic.Int64

// rules is a model of a few rules, which splits its answers into pieces.
func rules(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Reply, error) {
	var said string
	var results []string
	for _, m := range r.Messages {
		switch m.Role {
		case agent.RoleUser:
			said, results = m.Text(), nil
		case agent.RoleTool:
			results = append(results, agent.TextOf(m.Parts[0].(*agent.Result).Parts))
		}
	}
	call := func(tool, args string) (agent.Reply, error) {
		return agent.Reply{Parts: []agent.Content{&agent.Call{ID: fmt.Sprint("call_", calls.Add(1)), Tool: tool, Args: args}}, Usage: agent.Usage{Input: 1, Output: 1}}, nil
	}
	fact, remember := strings.CutPrefix(said, "remember ")
	number, isRefund := strings.CutPrefix(said, "refund ")
	order, isOrder := strings.CutPrefix(said, "find ")
	switch {
	case said == "ten" && len(results) < 10:
		return call("find_order", `{"order":"7"}`)
	case len(results) == 0 && remember:
		return call("remember", fmt.Sprintf(`{"text":%q}`, fact))
	case len(results) == 0 && said == "what do I like?":
		return call("recall", `{"words":""}`)
	case len(results) == 0 && isOrder:
		return call("find_order", fmt.Sprintf(`{"order":%q}`, order))
	case len(results) == 0 && isRefund:
		return call("find_order", fmt.Sprintf(`{"order":%q}`, number))
	case len(results) == 1 && isRefund:
		return call("refund", fmt.Sprintf(`{"order":%q,"cents":4000}`, number))
	}
	text := "I have this: " + strings.Join(results, "; ")
	return agent.Reply{Parts: []agent.Content{&agent.Text{Text: text}}, Usage: agent.Usage{Input: 1, Output: 1}}, nil
}

// peer is a framework.
type peer struct {
	name string
	dir  string
	file string                                         // the program
	run  func(t testing.TB, dir string) (args []string) // the command without the address
}

var peers = []peer{
	{"graphgen", "graphgen", "main.go", build},
	{"eino 0.9", "eino", "main.go", build},
	{"LangChain 1", "langchain", "main.py", python},
}

// build compiles a program in Go.
func build(t testing.TB, dir string) []string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "chat")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return []string{bin}
}

// python returns the command of a program in Python, whose packages must be there.
func python(t testing.TB, dir string) []string {
	t.Helper()
	if text, err := exec.CommandContext(t.Context(), "python3", "-c", "import langchain, langchain_openai, langgraph.checkpoint.sqlite, fastapi, uvicorn").CombinedOutput(); err != nil {
		t.Skipf("pip install -r %s/requirements.txt: %s", dir, text)
	}
	program, err := filepath.Abs(filepath.Join(dir, "main.py"))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"python3", program}
}

// chats is the program of a framework, and what a client does with it.
type chats struct {
	t      testing.TB
	args   []string
	env    []string
	dir    string
	addr   string
	cmd    *exec.Cmd
	number int // of messages
}

// start starts the program, and waits until it listens.
func (c *chats) start() {
	c.t.Helper()
	l, err := new(net.ListenConfig).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.addr = l.Addr().String()
	if err := l.Close(); err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), c.args[0], append(c.args[1:], c.addr)...)
	cmd.Dir, cmd.Env = c.dir, c.env
	stdout, err := os.OpenFile(filepath.Join(c.dir, "out"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); _ = stdout.Close(); close(ended) }()
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if c.t.Failed() {
			c.t.Logf("%s", out.Bytes())
		}
	})
	c.cmd = cmd
	for {
		select {
		case <-ended:
			c.t.Fatalf("the program has ended: %s", out.Bytes())
		default:
		}
		if conn, err := new(net.Dialer).DialContext(c.t.Context(), "tcp", c.addr); err == nil {
			_ = conn.Close()
			return
		}
	}
}

// reply is what the events of a response have.
type reply struct {
	pieces                int
	text, answer, failure string
	question              struct{ ID, Tool, Args string }
}

// post sends a request, and reads its events to the end.
func (c *chats) post(path string, fields url.Values) (reply, error) {
	var r reply
	fields.Set("user", "ada")
	q, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "http://"+c.addr+"/chats/"+path+"?"+fields.Encode(), nil)
	if err != nil {
		return r, err
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return r, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= 300 {
		return r, fmt.Errorf("status %d", res.StatusCode)
	}
	name := ""
	for s := bufio.NewScanner(res.Body); s.Scan(); {
		if kind, ok := strings.CutPrefix(s.Text(), "event: "); ok {
			name = kind
		}
		data, ok := strings.CutPrefix(s.Text(), "data: ")
		if !ok {
			continue
		}
		var text string
		switch name {
		case "text":
			err = json.Unmarshal([]byte(data), &text)
			r.pieces++
			r.text += text
		case "question":
			err = json.Unmarshal([]byte(data), &r.question)
		case "answer":
			err = json.Unmarshal([]byte(data), &r.answer)
		case "error":
			r.failure = data
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// must is post without an error.
func (c *chats) must(path string, fields url.Values) reply {
	c.t.Helper()
	r, err := c.post(path, fields)
	if err != nil || r.failure != "" {
		c.t.Fatalf("%s %v: %v, %s", path, fields, err, r.failure)
	}
	return r
}

// say sends a message.
func (c *chats) say(chat, text string) reply {
	c.t.Helper()
	c.number++
	return c.must(chat, url.Values{"message": {fmt.Sprint("m", c.number)}, "text": {text}})
}

// ledger is what the tools have printed.
func (c *chats) ledger() (lines []string) {
	text, err := os.ReadFile(filepath.Join(c.dir, "out"))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "found ") || strings.HasPrefix(line, "paid ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// open starts the program of p.
func open(t testing.TB, p peer) *chats {
	t.Helper()
	model := agenttest.NewServer(t, agent.ModelFunc(rules))
	c := &chats{t: t, args: p.run(t, p.dir), dir: t.TempDir(), env: append(os.Environ(),
		"OPENAI_BASE_URL="+model.URL+"/v1/", "OPENAI_API_KEY=none")}
	c.start()
	return c
}

// BenchmarkTurn has a turn of ten calls of a tool, one after another, each in a new chat on
// SQLite. The sub-benchmark bare makes the same eleven requests to the model in a loop, and stores
// nothing.
func BenchmarkTurn(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		m := agentopenai.New(openai.NewClient(option.WithBaseURL(agenttest.NewServer(b, agent.ModelFunc(rules)).URL+"/v1/"), option.WithAPIKey("none")), "gpt-5")
		for b.Loop() {
			r := agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Parts: []agent.Content{&agent.Text{Text: "ten"}}}}}
			for range 11 {
				reply, err := m.Generate(b.Context(), r, func(agent.Delta) {})
				if err != nil {
					b.Fatal(err)
				}
				said := agent.Message{Role: agent.RoleAssistant, Parts: reply.Parts}
				r.Messages = append(r.Messages, said)
				for _, c := range said.Calls() {
					found := &agent.Result{ID: c.ID, Tool: c.Tool, Parts: []agent.Content{&agent.Text{Text: "order 7: a lamp for 4000 cents"}}}
					r.Messages = append(r.Messages, agent.Message{Role: agent.RoleTool, Parts: []agent.Content{found}})
				}
			}
		}
	})
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			c := open(b, p)
			for b.Loop() {
				c.number++
				if r := c.say(fmt.Sprint("turn", c.number), "ten"); strings.Count(r.answer, "lamp") != 10 {
					b.Fatalf("turn: %+v", r)
				}
			}
		})
	}
}

// TestConversation runs the conversation, and counts the lines of the programs.
func TestConversation(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			c := open(t, p)

			// The answer streams, after a tool.
			if r := c.say("c1", "find 7"); r.pieces < 3 || r.answer != r.text || !strings.Contains(r.answer, "a lamp for 4000 cents") {
				t.Errorf("find: %+v", r)
			}
			// A person changes the arguments of a call.
			r := c.say("c1", "refund 7")
			if r.question.Tool != "refund" || r.answer != "" {
				t.Fatalf("refund: %+v", r)
			}
			if r = c.must("c1/answer", url.Values{"question": {r.question.ID}, "args": {`{"order":"7","cents":500}`}}); !strings.Contains(r.answer, "paid 500 cents") {
				t.Errorf("edit: %+v", r)
			}
			// A turn is stopped at its question. The next request to the model must be valid.
			if r := c.say("c1", "refund 8"); r.question.Tool != "refund" {
				t.Errorf("refund: %+v", r)
			}
			c.must("c1/stop", url.Values{})
			if r := c.say("c1", "find 9"); !strings.Contains(r.answer, "order 9") {
				t.Errorf("after the stop: %+v", r)
			}
			// The process is killed in a payment. The next one continues, and finds no order
			// again.
			r = c.say("c2", "refund 10")
			failed := make(chan error, 1)
			go func() {
				_, err := c.post("c2/answer", url.Values{"question": {r.question.ID}, "args": {r.question.Args}})
				failed <- err
			}()
			select {
			case <-failed:
				t.Fatal("the payment has ended already")
			case <-after(t):
			}
			if err := c.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-failed
			c.start()
			if r := c.must("c2/resume", url.Values{}); !strings.Contains(r.answer, "paid 4000 cents") {
				t.Errorf("after the kill: %+v", r)
			}
			// A fact of one chat is known in another.
			c.say("c2", "remember Ada likes tea")
			if r := c.say("c3", "what do I like?"); !strings.Contains(r.answer, "Ada likes tea") {
				t.Errorf("recall: %+v", r)
			}
			want := []string{"found 7", "found 7", "paid 500 for 7", "found 8", "found 9", "found 10", "paid 4000 for 10"}
			if got := c.ledger(); !slices.Equal(got, want) {
				t.Errorf("the tools did %q; want %q", got, want)
			}
			source, err := os.ReadFile(filepath.Join(p.dir, p.file))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range strings.Lines(string(source)) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#") {
					n++
				}
			}
			t.Logf("%s: %d lines", p.name, n)
		})
	}
}

// after returns a channel that is closed in the middle of a payment of a second.
func after(t *testing.T) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	t.Cleanup(cancel)
	return ctx.Done()
}
