package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
)

// submitFlags are the flags of submit.
type submitFlags struct {
	graph, like, request, title, priority, cancel string
	labels, metadata                              []string
	idle, discard, wait                           bool
	execution                                     time.Duration
}

func (a *app) submitCommand() *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use:   "submit THREAD JSON",
		Short: "Submit an input",
		Long: `Submit an input to a thread. The JSON is an object with fields of the state, with the names in Go. A value is what
the reducer of the field takes: the elements to append, the entries to merge, the number to add, and otherwise the new value.
null clears a field.

A new thread has no description yet. Pass --graph: then the description is that of another thread of the graph, which
--like names.

` + jsonHelp + "\n\n" + laterHelp,
		Example: `  graphctl submit order-7 '{"Order": "order-7", "Cents": 500}' --graph orders --request order-7
  graphctl submit order-7 @input.json --if-idle
  graphctl submit order-7 @input.json --wait --timeout 1m -o json | jq .state`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error {
				return a.submit(ctx, s, args, &f, cmd.Flags().Changed("cancel-pending"))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.graph, "graph", "g", "", "the `name` of the graph; needed for a new thread")
	flags.StringVar(&f.like, "like", "", "a `thread` of the same graph, whose description is used")
	flags.StringVar(&f.request, "request", "", "the request `id`: an input with the same id is stored once; the default is a new id")
	flags.StringVar(&f.title, "title", "", "the new `title` of the thread")
	flags.StringArrayVarP(&f.labels, "label", "l", nil, "a label `name=value` of the thread; an empty value removes the label")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "metadata `name=value` of the checkpoints of the run")
	flags.StringVar(&f.priority, "priority", "", "the new `priority` of the thread: urgent, high, normal or low")
	flags.BoolVar(&f.idle, "if-idle", false, "only if the thread has no work to do; otherwise the exit code is 4")
	flags.StringVar(&f.cancel, "cancel-pending", "", "first cancel the run and the earlier inputs of the thread, with this `reason`")
	flags.DurationVar(&f.execution, "execution-timeout", 0, "cancel the input if it is not done after this `duration`, such as 1h; 0 is no limit")
	flags.BoolVar(&f.discard, "discard-pending", false, "discard due tasks and questions when the input begins")
	flags.BoolVarP(&f.wait, "wait", "w", false, "wait until the input is done, failed or cancelled, and show the result; --timeout limits it")
	return cmd
}

func (a *app) submit(ctx context.Context, s checkpoint.Saver, args []string, f *submitFlags, cancels bool) error {
	id, err := parseID(args[0])
	if err != nil {
		return err
	}
	t, err := ops(s).Find(ctx, id)
	switch {
	case err != nil && !errors.Is(err, checkpoint.ErrNotFound):
		return err
	case t.Graph != "" && f.graph != "" && f.graph != t.Graph:
		return &usageError{fmt.Sprintf("--graph %s, but thread %s is of graph %s", cell(f.graph), quoteID(id), cell(t.Graph))}
	}
	name, d, err := f.describe(ctx, s, id, cmp.Or(f.graph, t.Graph))
	if err != nil {
		return err
	}
	opts, err := f.options(cancels)
	if err != nil {
		return err
	}
	text, err := a.jsonArg(args[1])
	if err != nil {
		return err
	}
	p, err := ops(s).Submit(ctx, id, name, d, text, opts...)
	switch {
	case err != nil:
		return err
	case f.wait:
		return a.result(ctx, s, id, p.ID)
	}
	return a.posted(id, p)
}

// result waits for the result of an input, and shows its checkpoint.
func (a *app) result(ctx context.Context, s checkpoint.Saver, thread, request string) error {
	snap, failed := graph.Stored{Saver: s, Ref: checkpoint.Ref{Thread: thread}}.Result(ctx, graph.RequestID(request))
	if snap.Checkpoint.IsZero() {
		return failed
	}
	last, err := readPage(ctx, s, checkpoint.Ref{Thread: thread, Version: snap.Version}, &showFlags{at: snap.Checkpoint.String()})
	if last != nil {
		err = errors.Join(a.one(last, func() error { return a.showText(last, false) }), err)
	}
	return errors.Join(err, failed)
}

// describe returns the graph of the input and its description. It is that of the thread --like, of
// the thread itself, or of another thread of the graph.
func (f *submitFlags) describe(ctx context.Context, s checkpoint.Saver, id, name string) (string, *shape.Graph, error) {
	if f.like == "" {
		if name == "" {
			return "", nil, &usageError{fmt.Sprintf("thread %s does not exist; pass --graph with the name of its graph", quoteID(id))}
		}
		d, err := ops(s).Describe(ctx, name, id)
		if err == nil && d == nil {
			err = &missingError{fmt.Sprintf("no open thread of graph %s describes the state; name a thread by --like", cell(name))}
		}
		return name, d, err
	}
	like, err := parseID(f.like)
	if err != nil {
		return "", nil, err
	}
	other, err := findThread(ctx, s, like)
	if err != nil {
		return "", nil, err
	}
	_, d, err := ops(s).Described(ctx, &other)
	switch {
	case err == nil && d == nil:
		err = fmt.Errorf("thread %s stores no description of its state; name another one by --like", quoteID(like))
	case err == nil && name != "" && other.Graph != name:
		err = &usageError{fmt.Sprintf("--like %s is of graph %s, not %s", quoteID(like), cell(other.Graph), cell(name))}
	}
	return other.Graph, d, err
}

// options returns the options of the input.
func (f *submitFlags) options(cancels bool) ([]graph.SubmitOption, error) {
	var opts []graph.SubmitOption
	if f.request != "" {
		opts = append(opts, graph.RequestID(f.request))
	}
	if f.title != "" {
		opts = append(opts, graph.Title(f.title))
	}
	if f.idle {
		opts = append(opts, graph.IfIdle())
	}
	if cancels {
		opts = append(opts, graph.CancelPending(f.cancel))
	}
	if f.discard {
		opts = append(opts, graph.DiscardPending())
	}
	if f.execution != 0 {
		opts = append(opts, graph.ExecutionTimeout(f.execution))
	}
	labels, err := operate.Pairs("label", f.labels)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		opts = append(opts, graph.Label(name, labels[name]))
	}
	metadata, err := operate.Pairs("metadata", f.metadata)
	if err != nil {
		return nil, err
	}
	if len(metadata) > 0 {
		opts = append(opts, graph.Metadata(metadata))
	}
	if f.priority != "" {
		p, err := operate.Choose("priority", f.priority, checkpoint.Urgent, checkpoint.High, checkpoint.Normal, checkpoint.Low)
		if err != nil {
			return nil, err
		}
		opts = append(opts, graph.Priority(p))
	}
	return opts, nil
}

// signalFlags are the flags of signal.
type signalFlags struct {
	key, request    string
	unchecked, wait bool
	many            many
}

func (a *app) signalCommand() *cobra.Command {
	f := signalFlags{many: many{done: "signalled", would: "would signal"}}
	cmd := &cobra.Command{
		Use:   "signal [THREAD] NAME JSON",
		Short: "Send a signal",
		Long: `Send a signal to a thread, or to all threads that flags select. The threads need not wait for it yet. With flags the
command only prints the selected threads, unless --yes is given. With --request, a repeated command signals each thread once.

` + jsonHelp + "\n\n" + laterHelp,
		Example: `  graphctl signal order-7 paid '{"Number": "r-12"}' --request r-12
  graphctl signal order-7 "change address" '"Main Street 1"' --request f-9 --wait --timeout 1m
  graphctl signal "bank is open" null --status waiting --graph orders --request 2026-03-01 --yes`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.wait && len(args) == 2 {
				return &usageError{"--wait is for one thread; name it"}
			}
			if err := f.many.sel.explicit(args[:len(args)-2]); err != nil {
				return err
			}
			if len(args) == 2 {
				return f.many.do(cmd, a, nil, operate.Operation{Action: operate.Signal, Signal: args[0], JSON: f.payload(a, args), Options: f.options()})
			}
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.signal(ctx, s, args, &f) })
		},
	}
	f.many.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "the `key`: only a task that waits for this key receives the signal")
	flags.StringVar(&f.request, "request", "", "the request `id`: a signal with the same id is stored once; the default is a new id")
	flags.BoolVarP(&f.wait, "wait", "w", false, "wait for the reply of the node that receives the signal; --timeout limits it")
	uncheckedFlag(cmd, &f.unchecked)
	return cmd
}

// payload returns the JSON of the last argument, for the signal that the argument before names.
func (f *signalFlags) payload(a *app, args []string) operate.Source {
	name, text := args[len(args)-2], args[len(args)-1]
	return a.payload("signal "+cell(name), text, f.unchecked)
}

// options returns the options of the signal.
func (f *signalFlags) options() (opts []graph.SignalOption) {
	if f.key != "" {
		opts = append(opts, graph.For(f.key))
	}
	if f.request != "" {
		opts = append(opts, graph.RequestID(f.request))
	}
	return opts
}

func (a *app) signal(ctx context.Context, s checkpoint.Saver, args []string, f *signalFlags) error {
	id, err := parseID(args[0])
	if err != nil {
		return err
	}
	t, err := findThread(ctx, s, id)
	if err != nil {
		return err
	}
	p, err := ops(s).Signal(ctx, &t, args[1], f.payload(a, args), f.options()...)
	if err != nil {
		return err
	}
	if !f.wait {
		return a.posted(id, p)
	}
	v, err := ops(s).Reply(ctx, &t, args[1], p.ID)
	if err != nil {
		return err
	}
	return a.one(repliedJSON{newPosted(id, p), v}, func() error {
		text, err := v.MarshalJSON()
		if err == nil {
			_, err = fmt.Fprintln(a.out, safeText(string(text)))
		}
		return err
	})
}

// repliedJSON is a signal with its reply.
type repliedJSON struct {
	postedJSON
	Reply value.Value `json:"reply"`
}
