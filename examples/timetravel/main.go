// Timetravel plans a trip within a budget and keeps every step. It lists, shows and compares the
// steps. It can run again from any step, and continue from any step with a changed state.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"

	"github.com/graphgen-go/graphgen/examples/internal/pages"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
)

const usage = `Timetravel plans a trip, and travels in what it planned.

	timetravel run [-dir DIR] TRIP city=CITY days=N budget=EUROS
	timetravel history [-dir DIR] TRIP
	timetravel show [-dir DIR] TRIP [AT]
	timetravel diff [-dir DIR] TRIP AT OTHER
	timetravel replay [-dir DIR] TRIP AT
	timetravel fork [-dir DIR] [-as NODE] TRIP AT FIELD=VALUE...
	timetravel resume [-dir DIR] TRIP [AT]
	timetravel two [-dir DIR]
	timetravel inspect [-dir DIR] [-addr ADDR]

AT and OTHER are checkpoints: the number or the id in the history. fork edits and stops; resume goes on.
inspect serves pages of all trips, which also compare, replay and fork.
Fields: city, days, budget, hotel=NAME:EUROS, tag, log.
`

// errUsage reports an invalid command line. The reason has been printed.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// action is the implementation of one command.
type action struct {
	min, max int // number of arguments after the trip
	do       func(ctx context.Context, t thread, args []string, out io.Writer) error
	all      func(ctx context.Context, saver checkpoint.Saver, out io.Writer) error // instead of do: takes no trip
}

// command runs one command and returns the exit code: 0 for success, 1 for an error, 2 for invalid
// usage.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	f := flag.NewFlagSet("timetravel "+name, flag.ContinueOnError)
	f.SetOutput(stderr)
	dir := f.String("dir", "timetravel.data", "the `folder` that stores the trips")
	as := ""
	if name == "fork" {
		f.StringVar(&as, "as", "", "edit as if this `node` had written the change; its successors become due")
	}
	addr := "127.0.0.1:0"
	if name == "inspect" {
		f.StringVar(&addr, "addr", addr, "the `address` of the pages, on this machine")
	}
	const many = 1 << 10
	actions := map[string]action{
		"run":     {min: 1, max: many, do: run},
		"history": {do: history},
		"show":    {max: 1, do: show},
		"diff":    {min: 2, max: 2, do: diff},
		"replay":  {min: 1, max: 1, do: resume},
		"fork":    {min: 1, max: many, do: fork(&as)},
		"resume":  {max: 1, do: resume},
		"two":     {all: two},
		"inspect": {all: serve(&addr)},
	}
	a, ok := actions[name]
	if !ok {
		fmt.Fprint(stderr, usage)
		return 2
	}
	if err := f.Parse(args); err != nil {
		return 2 // Parse has printed the error
	}
	err := open(ctx, *dir, a, f.Args(), stdout)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprint(stderr, usage)
		return 2
	}
	fmt.Fprintf(stderr, "timetravel %s: %v\n", name, err)
	return 1
}

// open opens the folder and runs a.
func open(ctx context.Context, dir string, a action, args []string, out io.Writer) (err error) {
	if a.all != nil && len(args) != 0 || a.do != nil && (len(args) < 1+a.min || len(args) > 1+a.max) {
		return errUsage
	}
	saver, err := file.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	if a.all != nil {
		return a.all(ctx, saver, out)
	}
	trip, err := newTrip(saver)
	if err != nil {
		return err
	}
	return a.do(ctx, trip.Thread(args[0]), args[1:], out)
}

func run(ctx context.Context, t thread, args []string, out io.Writer) error {
	in, err := parseEdit(args)
	if err != nil {
		return err
	}
	res, err := t.Invoke(ctx, in)
	if err != nil {
		return err
	}
	return writeState(out, res.State, res.Next)
}

func history(ctx context.Context, t thread, _ []string, out io.Writer) error {
	number, err := numbers(ctx, t)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tFROM\tSTEP\tBY\tNEXT\tTOTAL\tCHECKPOINT")
	for snap, err := range t.History(ctx, checkpoint.Query{}) {
		if err != nil {
			return err
		}
		from := "-"
		if n := number[snap.Parent]; n > 0 {
			from = fmt.Sprint(n)
		}
		by := snap.Source.String()
		if snap.Source == checkpoint.Fork && len(snap.Ran) > 0 {
			by += " as " + names(snap.Ran)
		}
		fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\t%d\t%s\n", number[snap.Checkpoint], from, snap.Step, by, names(snap.Next), snap.State.total(), snap.Checkpoint)
	}
	return w.Flush()
}

func show(ctx context.Context, t thread, args []string, out io.Writer) error {
	t, err := at(ctx, t, args)
	if err != nil {
		return err
	}
	snap, err := t.State(ctx)
	if err != nil {
		return err
	}
	return writeState(out, snap.State, snap.Next)
}

func diff(ctx context.Context, t thread, args []string, out io.Writer) error {
	var states [2]State
	for i := range states {
		from, err := at(ctx, t, args[i:i+1])
		if err != nil {
			return err
		}
		snap, err := from.State(ctx)
		if err != nil {
			return err
		}
		states[i] = snap.State
	}
	d := StateDiffOf(states[0], states[1])
	if d.IsZero() {
		return nil
	}
	// The difference is typed: d.Booked.Changed has the replaced items, before and after.
	if _, err := fmt.Fprintln(out, d); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "total %d -> %d\n", states[0].total(), states[1].total())
	return err
}

// fork edits a checkpoint on behalf of the node that as names when fork runs. The original
// checkpoint is kept.
func fork(as *string) func(context.Context, thread, []string, io.Writer) error {
	return func(ctx context.Context, t thread, args []string, out io.Writer) error {
		edit, err := parseEdit(args[1:])
		if err != nil {
			return err
		}
		from, err := at(ctx, t, args[:1])
		if err != nil {
			return err
		}
		var opts []graph.UpdateOption
		if *as != "" {
			opts = append(opts, graph.AsNode(graph.ID(*as)))
		}
		id, err := from.UpdateState(ctx, edit, opts...)
		if err != nil {
			return err
		}
		snap, err := t.At(id).State(ctx)
		if err != nil {
			return err
		}
		return writeState(out, snap.State, snap.Next)
	}
}

// resume runs the pending tasks of the newest checkpoint or of another one. At another checkpoint
// it continues an abandoned branch, or runs tasks again that later checkpoints follow.
func resume(ctx context.Context, t thread, args []string, out io.Writer) error {
	t, err := at(ctx, t, args)
	if err != nil {
		return err
	}
	res, err := t.Resume(ctx)
	if err != nil {
		return err
	}
	return writeState(out, res.State, res.Next)
}

// at returns the thread, at the checkpoint in args if there is one.
func at(ctx context.Context, t thread, args []string) (thread, error) {
	if len(args) == 0 {
		return t, nil
	}
	id, err := find(ctx, t, args[0])
	if err != nil {
		return t, err
	}
	return t.At(id), nil
}

func writeState(out io.Writer, s State, next []graph.ID) error {
	for _, f := range fields {
		if _, err := fmt.Fprintf(out, "%s: %s\n", f, value(s, f)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "total %d, next %s\n", s.total(), names(next))
	return err
}

func names(ids []graph.ID) string {
	if len(ids) == 0 {
		return "none"
	}
	var s []string
	for _, id := range ids {
		s = append(s, id.String())
	}
	return strings.Join(s, ",")
}

// two runs the graph of two nodes on its own thread and prints its history.
func two(ctx context.Context, saver checkpoint.Saver, out io.Writer) error {
	g, err := newTwo(saver)
	if err != nil {
		return err
	}
	var in TwoUpdate
	in.Foo.Set("")
	t := g.Thread("two")
	if _, err := t.Invoke(ctx, in); err != nil {
		return err
	}
	for snap, err := range t.History(ctx, checkpoint.Query{}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "foo %q bar %v next %s\n", snap.State.Foo, snap.State.Bar, names(snap.Next))
	}
	return nil
}

// serve serves pages of the threads of both graphs at the address that addr has when serve runs.
func serve(addr *string) func(context.Context, checkpoint.Saver, io.Writer) error {
	return func(ctx context.Context, saver checkpoint.Saver, out io.Writer) error {
		trip, err := newTrip(saver)
		if err != nil {
			return err
		}
		g, err := newTwo(saver)
		if err != nil {
			return err
		}
		return pages.Serve(ctx, *addr, "timetravel", saver, out, trip, g)
	}
}
