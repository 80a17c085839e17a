// Triage handles support tickets. It classifies each ticket, asks two sources about it, and drafts
// a reply. It checks the draft until it is correct, and stops before a refund until a person has
// decided. Kill it at any time: the next run continues from the last checkpoint.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/term"

	"github.com/graphgen-go/graphgen/examples/internal/pages"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

const usage = `Triage works through support tickets.

	triage run [-dir DIR] [-tickets FILE] [-parallel N] [-latency D]
	triage list [-dir DIR]
	triage show [-dir DIR] TICKET
	triage history [-dir DIR] TICKET
	triage approve [-dir DIR] TICKET
	triage deny [-dir DIR] TICKET
	triage inspect [-dir DIR] [-addr ADDR]

run takes every ticket as far as it goes without a person, and goes on where an earlier run was stopped or killed.
What left the house is in DIR/outbox. inspect serves pages of all tickets, which show and change them.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errUsage reports an invalid command line. The reason has been printed.
var errUsage = errors.New("usage")

// command runs one command and returns the exit code: 0 for success, 1 for an error, 2 for invalid
// usage.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	var err error
	switch name {
	case "run":
		err = runCommand(ctx, args, stdout, stderr)
	case "list":
		err = listCommand(ctx, args, stdout, stderr)
	case "show":
		err = showCommand(ctx, args, stdout, stderr)
	case "history":
		err = historyCommand(ctx, args, stdout, stderr)
	case "approve":
		err = decideCommand(ctx, name, Approved, args, stdout, stderr)
	case "deny":
		err = decideCommand(ctx, name, Denied, args, stdout, stderr)
	case "inspect":
		err = inspectCommand(ctx, args, stdout, stderr)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
	default:
		fmt.Fprint(stderr, usage)
		err = errUsage
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		return 2
	}
	fmt.Fprintf(stderr, "triage %s: %v\n", name, err)
	return 1
}

// flags returns a flag set with the flag -dir.
func flags(name string, stderr io.Writer) (*flag.FlagSet, *string) {
	f := flag.NewFlagSet("triage "+name, flag.ContinueOnError)
	f.SetOutput(stderr)
	return f, f.String("dir", "triage.data", "the `folder` that keeps threads and outbox")
}

// parse parses args, which must contain want arguments after the flags.
func parse(f *flag.FlagSet, args []string, want int) error {
	if err := f.Parse(args); err != nil {
		return errUsage // Parse has printed the error
	}
	if f.NArg() != want {
		fmt.Fprintf(f.Output(), "%s: %d arguments; want %d after the flags\n", f.Name(), f.NArg(), want)
		return errUsage
	}
	return nil
}

// inside runs f in the folder of an earlier run.
func inside(dir string, f func(*house) error) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%w; triage run makes the folder, and -dir names another", err)
	}
	return openedInside(dir, 0, f)
}

// openedInside runs f in a folder, which it creates if necessary.
func openedInside(dir string, latency time.Duration, f func(*house) error) (err error) {
	h, err := openHouse(dir, latency)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return f(h)
}

func runCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, dir := flags("run", stderr)
	name := f.String("tickets", "", "a `file` of tickets, one JSON object a line (default: those built in)")
	parallel := f.Int("parallel", 2*runtime.GOMAXPROCS(0), "how many tickets at once")
	latency := f.Duration("latency", 0, "how long a source takes to answer; for watching")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	tickets, err := readTickets(*name)
	if err != nil {
		return err
	}
	return openedInside(*dir, *latency, func(h *house) (err error) {
		unlock, err := h.lock()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }()
		return h.workThrough(ctx, tickets, max(1, *parallel), stdout)
	})
}

// workThrough handles tickets and prints the progress and a summary.
func (h *house) workThrough(ctx context.Context, tickets []Line, parallel int, stdout io.Writer) error {
	p := newProgress(stdout, isTerminal(stdout), len(tickets), time.Now)
	var reports []Report
	h.work(ctx, tickets, parallel, func(r Report) {
		p.tell(r)
		reports = append(reports, r)
	})
	p.end()
	if err := writeSummary(stdout, reports, p); err != nil {
		return err
	}
	if p.count[Waiting] > 0 {
		fmt.Fprintf(stdout, "\nDecide with: %s approve -dir %s TICKET (or deny)\n", os.Args[0], h.dir)
	}
	switch {
	case p.count[Failed] > 0:
		return fmt.Errorf("%d of %d tickets failed", p.count[Failed], p.told)
	case p.count[Stopped] > 0:
		return fmt.Errorf("stopped with %d of %d tickets unfinished", p.count[Stopped], p.told)
	}
	return nil
}

// readTickets reads a file of tickets, or the built-in tickets.
func readTickets(name string) ([]Line, error) {
	if name == "" {
		const builtIn = "testdata/tickets.jsonl"
		raw, err := files.ReadFile(builtIn)
		if err != nil {
			return nil, err
		}
		return readLines(bytes.NewReader(raw), builtIn)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	lines, err := readLines(f, name)
	return lines, errors.Join(err, f.Close())
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func listCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, dir := flags("list", stderr)
	if err := parse(f, args, 0); err != nil {
		return err
	}
	return inside(*dir, func(h *house) error {
		w := table(stdout)
		fmt.Fprintln(w, "TICKET\tSTANDING\tABOUT\tAT\tSUBJECT")
		var damaged []error
		for t, err := range h.saver.Threads(ctx, checkpoint.ThreadQuery{}) {
			if errors.Is(err, checkpoint.ErrDamaged) {
				damaged = append(damaged, err)
				continue
			}
			if err != nil {
				return err
			}
			snap, err := h.flow.Thread(t.ID).State(ctx)
			if err != nil {
				return err
			}
			writeThread(w, t.ID, snap)
		}
		return errors.Join(append(damaged, w.Flush())...)
	})
}

func showCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, dir := flags("show", stderr)
	if err := parse(f, args, 1); err != nil {
		return err
	}
	return inside(*dir, func(h *house) error {
		snap, err := h.flow.Thread(f.Arg(0)).State(ctx)
		if err != nil {
			return noTicket(f.Arg(0), err)
		}
		return writeShow(stdout, f.Arg(0), snap)
	})
}

func historyCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, dir := flags("history", stderr)
	if err := parse(f, args, 1); err != nil {
		return err
	}
	return inside(*dir, func(h *house) error {
		t := h.flow.Thread(f.Arg(0))
		if _, err := t.State(ctx); err != nil {
			return noTicket(f.Arg(0), err)
		}
		w := table(stdout)
		fmt.Fprintln(w, "STEP\tBY\tNEXT\tAT\tCHECKPOINT\tLAST")
		for snap, err := range t.History(ctx, checkpoint.Query{}) {
			if err != nil {
				return err
			}
			writeCheckpoint(w, snap)
		}
		return w.Flush()
	})
}

func decideCommand(ctx context.Context, name string, d Decision, args []string, stdout, stderr io.Writer) error {
	f, dir := flags(name, stderr)
	if err := parse(f, args, 1); err != nil {
		return err
	}
	return inside(*dir, func(h *house) error {
		r, err := h.decide(ctx, f.Arg(0), d)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s %s\n", r.Ticket, r.line())
		return nil
	})
}

func inspectCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, dir := flags("inspect", stderr)
	addr := f.String("addr", "127.0.0.1:0", "the `address` of the pages, on this machine")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	return inside(*dir, func(h *house) error {
		return pages.Serve(ctx, *addr, "triage", h.saver, stdout, h.flow)
	})
}
