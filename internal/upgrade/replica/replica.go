// Package replica is the part that both versions of the program share: a worker that is
// driven by lines on its standard input.
package replica

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/open"
)

// Lease is the lease of all runs.
const Lease = time.Second

// Work takes a few milliseconds, as a node does.
func Work(ctx context.Context) error {
	select {
	case <-time.After(5 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Graph is a compiled graph, with the calls that the lines make.
type Graph struct {
	app    worker.App
	submit func(ctx context.Context, id string) error
	show   func(ctx context.Context, id string) (graph.Status, any, error)
}

// Of returns the Graph of app. Each thread gets the same input.
func Of[S, U any](app *graph.Graph[S, U], in U) Graph {
	return Graph{
		app: app,
		submit: func(ctx context.Context, id string) error {
			_, err := app.Thread(id).Submit(ctx, in, graph.RequestID(id))
			return err
		},
		show: func(ctx context.Context, id string) (graph.Status, any, error) {
			snap, err := app.Thread(id).State(ctx)
			return snap.Status, snap.State, err
		},
	}
}

// Main runs a worker for the graphs, by name, until its input ends. It does what the lines of the
// input say, and prints what happens:
//
//	submit GRAPH THREAD   submitted THREAD
//	show GRAPH THREAD     state THREAD STATUS JSON
//	                      done THREAD, when a run of the worker has finished it
//	                      left THREAD ERROR, when the worker leaves it to others
func Main(compile func(checkpoint.Saver) (map[string]Graph, error)) {
	if err := run(os.Args[1], compile, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // it is the main function of both versions
	}
}

func run(url string, compile func(checkpoint.Saver) (map[string]Graph, error), in io.Reader, out io.Writer) error {
	saver, err := open.Saver(context.Background(), url)
	if err != nil {
		return err
	}
	graphs, err := compile(saver)
	if err != nil {
		return err
	}
	var apps []worker.App
	for _, g := range graphs {
		apps = append(apps, g.app)
	}
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		failed <- follow(ctx, graphs, in, out)
		cancel()
	}()
	w := worker.New(saver, worker.Options{Slots: 4, Poll: 50 * time.Millisecond, OnEvent: func(e worker.Event) {
		switch {
		case e.Kind == worker.EventEnded && e.Status == graph.Done:
			fmt.Fprintf(out, "done %s\n", e.Thread)
		case e.Kind == worker.EventLeft:
			fmt.Fprintf(out, "left %s %v\n", e.Thread, e.Err)
		}
	}}, apps...)
	if err := w.Run(ctx); err != nil {
		return err
	}
	if err := <-failed; err != nil {
		return err
	}
	return saver.Close()
}

// follow does what the lines say.
func follow(ctx context.Context, graphs map[string]Graph, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		g, known := graphs[words[1]]
		if !known {
			return fmt.Errorf("there is no graph %q", words[1])
		}
		id := words[2]
		if words[0] == "submit" {
			if err := g.submit(ctx, id); err != nil {
				return err
			}
			fmt.Fprintf(out, "submitted %s\n", id)
			continue
		}
		status, state, err := g.show(ctx, id)
		if err != nil {
			return err
		}
		raw, err := json.Marshal(state)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "state %s %s %s\n", id, status, raw)
	}
	return lines.Err()
}
