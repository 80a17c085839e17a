// Research answers a question from documents that are part of the program. It plans searches, asks
// a person to approve the plan, and runs all searches concurrently. It searches again while it has
// too few documents, and then writes a report. Kill it at any time: resume continues from the last
// checkpoint.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"time"

	"github.com/graphgen-go/graphgen/examples/internal/pages"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
)

const usage = `Research answers a question from its documents.

	research run [-dir DIR] [-name NAME] QUESTION
	research answer [-dir DIR] [-name NAME] [-no] [-add QUERY]
	research resume [-dir DIR] [-name NAME]
	research watch [-dir DIR] [-name NAME]
	research show [-dir DIR] [-name NAME]
	research inspect [-dir DIR] [-addr ADDR]

run plans the searches and asks; answer approves or rejects the plan and continues; resume continues after a kill;
watch does the same and prints the progress; inspect serves pages of all pieces of research, where plans can be
approved, too.
`

// errUsage reports an invalid command line.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// call is one command of the user.
type call struct {
	name, dir, thread, add, addr string
	no                           bool
	latency                      time.Duration
	args                         []string
}

// command runs one command and returns the exit code: 0 for success, 1 for an error, 2 for invalid
// usage.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := call{}
	if len(args) > 0 {
		c.name, args = args[0], args[1:]
	}
	f := flag.NewFlagSet("research "+c.name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&c.dir, "dir", "research.data", "the `folder` that stores the research")
	f.StringVar(&c.thread, "name", "paper", "the `name` of this piece of research")
	f.DurationVar(&c.latency, "latency", 0, "how long a search takes, for demonstrations")
	f.BoolVar(&c.no, "no", false, "answer no")
	f.StringVar(&c.add, "add", "", "one more `query` for the plan")
	f.StringVar(&c.addr, "addr", "127.0.0.1:0", "the `address` of the pages, on this machine")
	if err := f.Parse(args); err != nil {
		return 2 // Parse has printed the error
	}
	c.args = f.Args()
	err := c.run(ctx, stdout)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprint(stderr, usage)
		return 2
	}
	fmt.Fprintf(stderr, "research %s: %v\n", c.name, err)
	return 1
}

func (c call) run(ctx context.Context, out io.Writer) (err error) {
	want := 0
	if c.name == "run" {
		want = 1
	}
	if len(c.args) != want {
		return errUsage
	}
	saver, err := file.Open(c.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	flow, err := newFlow(desk{corpus: readCorpus(corpusText), latency: c.latency}, saver)
	if err != nil {
		return err
	}
	t := flow.Thread(c.thread)
	events := graph.Events(graph.EventCustom | graph.EventUpdate)
	switch c.name {
	case "run":
		if err := makeRoom(ctx, t); err != nil {
			return err
		}
		var in StateUpdate
		in.Question.Set(c.args[0])
		return follow(t.Stream(ctx, in, events), out, false)
	case "resume":
		return follow(t.ResumeStream(ctx, events, graph.Wait()), out, false)
	case "watch":
		return follow(t.ResumeStream(ctx, events, graph.Wait()), out, true)
	case "inspect":
		return pages.Serve(ctx, c.addr, "research", saver, out, flow)
	case "answer":
		return c.answer(ctx, t, out)
	case "show":
		snap, err := t.State(ctx)
		if err != nil {
			return err
		}
		writeMessages(out, snap.State.Messages)
		return writeEnd(out, snap.State, snap.Questions, snap.Next)
	}
	return errUsage
}

// makeRoom closes a finished thread of that name, so that the next piece of research starts with
// an empty state.
func makeRoom(ctx context.Context, t graph.Thread[State, StateUpdate]) error {
	snap, err := t.State(ctx)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return nil
	case err != nil:
		return err
	case len(snap.Next) > 0:
		return nil // Stream returns an error that helps more
	}
	_, err = t.Release(ctx, graph.IfHead(snap.Checkpoint))
	return err
}

func (c call) answer(ctx context.Context, t graph.Thread[State, StateUpdate], out io.Writer) error {
	snap, err := t.State(ctx)
	if err != nil {
		return err
	}
	if len(snap.Questions) == 0 {
		return fmt.Errorf("%s asks nothing", c.thread)
	}
	v := Verdict{OK: !c.no, Add: c.add}
	events := graph.Events(graph.EventCustom | graph.EventUpdate)
	return follow(t.ResumeStream(ctx, approve.Answer(snap.Questions[0], v), events), out, true)
}

// follow follows a run to its end. It prints the events if tell is true.
func follow(run iter.Seq2[graph.Event[State, StateUpdate], error], out io.Writer, tell bool) error {
	for e, err := range run {
		if err != nil {
			return err
		}
		switch {
		case e.Kind == graph.EventRunEnded:
			return writeEnd(out, e.Result.State, e.Result.Questions, e.Result.Next)
		case tell && e.Kind == graph.EventCustom:
			fmt.Fprintln(out, "...", e.Custom)
		case tell && e.Kind == graph.EventUpdate && len(e.Path) == 0:
			fmt.Fprintln(out, "stored:", e.Node)
		}
	}
	return nil
}

func writeMessages(out io.Writer, messages []Message) {
	for _, m := range messages {
		switch m := m.(type) {
		case *User:
			fmt.Fprintln(out, "you:", m.Text)
		case *Assistant:
			fmt.Fprintln(out, "research:", m.Text)
		case *Tool:
			fmt.Fprintf(out, "search: %q in %s found %q\n", m.Step.Query, m.Step.Engine, m.Found)
		}
	}
}

// writeEnd writes the result of a run: questions, pending nodes, or the report.
func writeEnd(out io.Writer, s State, waiting []graph.OpenQuestion, next []graph.ID) error {
	for _, w := range waiting {
		plan, err := approve.Decode(w)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "May I search for this? (research answer, or answer -no)\n")
		for _, step := range plan.Steps {
			fmt.Fprintf(out, "  %s in %s\n", step.Query, step.Engine)
		}
	}
	if len(waiting) == 0 && len(next) > 0 {
		fmt.Fprintln(out, "due:", next)
	}
	_, err := io.WriteString(out, s.Report)
	return err
}
