// Command agent is a chat in the terminal with an agent that has tools, approvals and a memory on
// disk. Without settings it talks to a model of a few rules, which is part of the program.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/agent"
	agentopenai "github.com/graphgen-go/graphgen/agent/openai"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/openai/openai-go/v3"
)

func main() {
	dir := flag.String("dir", "chat.data", "folder of the conversations")
	thread := flag.String("chat", "chat-1", "id of the conversation")
	delay := flag.Duration("delay", 3*time.Second, "how long a payment takes")
	flag.Parse()
	if err := run(context.Background(), *dir, *thread, desk{delay: *delay}, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// newModel returns the model of OPENAI_MODEL, on the server of OPENAI_BASE_URL with the key
// OPENAI_API_KEY. Without OPENAI_MODEL, it returns the model of this program.
func newModel() agent.Model {
	if name := os.Getenv("OPENAI_MODEL"); name != "" {
		return agentopenai.New(openai.NewClient(), name) // the client reads the other variables
	}
	return agent.ModelFunc(reply)
}

// run chats on a thread until in ends.
func run(ctx context.Context, dir, id string, d desk, in io.Reader, out io.Writer) (err error) {
	saver, err := file.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	app, err := d.newAgent(newModel(), graph.Saver(saver))
	if err != nil {
		return err
	}
	c := chat{thread: app.Thread(id), in: bufio.NewScanner(in), out: out}
	snap, err := c.thread.State(ctx)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	if err == nil && snap.Status != graph.Done && snap.Status != graph.Cancelled { // an earlier process has died
		fmt.Fprintln(out, "(continued)")
		res, err := c.show(c.thread.ResumeStream(ctx, graph.Events(graph.EventCustom)))
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
