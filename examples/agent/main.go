// Command agent is a chat with an agent that has tools, approvals and a memory on disk. It runs in
// the terminal, or serves pages with the flag -http. Without settings it talks to a model of a few
// rules, which is part of the program.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/agent"
	agentopenai "github.com/graphgen-go/graphgen/agent/openai"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/sqlite"
	"github.com/openai/openai-go/v3"
)

func main() {
	dir := flag.String("dir", "chat.data", "folder of the conversations")
	thread := flag.String("chat", "chat-1", "id of the conversation in the terminal")
	delay := flag.Duration("delay", 3*time.Second, "how long a payment takes")
	word := flag.Duration("word", 50*time.Millisecond, "how long the model of this program takes for a word")
	addr := flag.String("http", "", "serve the chats as pages on this address, such as 127.0.0.1:8080")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	d := desk{delay: *delay, word: *word}
	var err error
	if *addr != "" {
		err = pages(ctx, *dir, *addr, d)
	} else {
		err = run(ctx, *dir, *thread, d, os.Stdin, os.Stdout)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// newModel returns the model of OPENAI_MODEL, on the server of OPENAI_BASE_URL with the key
// OPENAI_API_KEY. Without OPENAI_MODEL, it returns the model of this program.
func (d desk) newModel() agent.Model {
	if name := os.Getenv("OPENAI_MODEL"); name != "" {
		return agentopenai.New(openai.NewClient(), name) // the client reads the other variables
	}
	return rules{pause: func(ctx context.Context) {
		select {
		case <-time.After(d.word):
		case <-ctx.Done():
		}
	}}
}

// open opens the agent on a folder, with the memories in a file next to it. The caller must call
// end.
func open(dir string, m agent.Model, d desk) (a *app, saver checkpoint.Saver, end func() error, err error) {
	chats, err := file.Open(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	db, err := sqlite.Open(filepath.Clean(dir) + ".memories")
	if err != nil {
		return nil, nil, nil, errors.Join(err, chats.Close())
	}
	end = func() error { return errors.Join(chats.Close(), db.Close()) }
	memories, err := agent.Memories(db.Store())
	if err == nil {
		a, err = d.newAgent(m, memories, graph.Saver(chats))
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, end())
	}
	return a, chats, end, nil
}

// pages serves the chats as pages until ctx ends.
func pages(ctx context.Context, dir, addr string, d desk) error {
	app, saver, end, err := open(dir, d.newModel(), d)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err == nil {
		fmt.Printf("http://%s\n", l.Addr())
		err = serve(ctx, l, app, saver, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	}
	return errors.Join(err, end())
}

// run chats on a thread until in ends.
func run(ctx context.Context, dir, id string, d desk, in io.Reader, out io.Writer) (err error) {
	app, _, end, err := open(dir, d.newModel(), d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	c := chat{thread: app.Thread(id), in: bufio.NewScanner(in), out: out}
	snap, err := c.thread.State(ctx)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	if err == nil && snap.Status != graph.Done && snap.Status != graph.Cancelled { // an earlier process has died
		fmt.Fprintln(out, "(continued)")
		res, err := c.show(c.thread.ResumeStream(ctx, graph.Wait(), graph.Events(graph.EventCustom)))
		if err := c.finish(ctx, res, err); err != nil {
			return err
		}
	}
	for n := len(snap.State.Messages); ; n++ {
		text, ok := c.ask("> ")
		if !ok {
			return nil
		}
		res, err := c.show(agent.Turn(ctx, c.thread, agent.Say(fmt.Sprintf("user-%d", n), text)))
		if err := c.finish(ctx, res, err); err != nil {
			return err
		}
	}
}

// chat is a conversation in a terminal.
type chat struct {
	thread graph.Thread[agent.Chat, agent.ChatUpdate]
	in     *bufio.Scanner
	out    io.Writer
}

// ask prints a prompt and returns the next line; false at the end.
func (c chat) ask(prompt string) (string, bool) {
	fmt.Fprint(c.out, prompt)
	ok := c.in.Scan()
	return c.in.Text(), ok
}

// show prints the pieces of replies, and returns the result.
func (c chat) show(events func(func(graph.Event[agent.Chat, agent.ChatUpdate], error) bool)) (res graph.Result[agent.Chat], err error) {
	for e, err := range events {
		if err != nil {
			return res, err
		}
		if d, ok := e.Custom.(agent.Delta); ok && d.Tool != "" {
			fmt.Fprintf(c.out, "(%s) ", d.Tool)
		} else if ok {
			fmt.Fprint(c.out, d.Text)
		}
		if e.Result != nil {
			res = *e.Result
		}
	}
	fmt.Fprintln(c.out)
	return res, nil
}

// finish asks for the decisions that a turn needs, until the turn is done.
func (c chat) finish(ctx context.Context, res graph.Result[agent.Chat], err error) error {
	for err == nil && res.Status == graph.Waiting {
		var answers []graph.ResumeOption
		for _, q := range res.Questions {
			a, err := agent.Approve.Decode(q)
			if err != nil {
				return err
			}
			text, ok := c.ask(fmt.Sprintf("%s %s? %sy, n, s to stop, or other arguments: ", a.Call.Tool, a.Call.Args, a.Problem))
			switch {
			case !ok: // the end of the input: the question stays open
				return nil
			case text == "s":
				return agent.Stop(ctx, c.thread, "stopped by the user")
			}
			d := agent.Decision{Allow: text != "n"}
			if strings.HasPrefix(text, "{") {
				d.Args = text
			}
			answers = append(answers, agent.Approve.Answer(q, d))
		}
		res, err = c.show(agent.Turn(ctx, c.thread, agent.ChatUpdate{}, answers...))
	}
	return err
}
