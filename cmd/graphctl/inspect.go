package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// inspectFlags are the flags of inspect.
type inspectFlags struct {
	listen string
	write  bool
}

func (a *app) inspectCommand() *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use:     "inspect",
		Aliases: []string{"serve"},
		Short:   "Serve web pages of the threads",
		Long: `Serve web pages of the threads, and print their address. The pages show threads of all graphs, with the names that threads
store. With --write they also submit inputs, answer questions, send signals, and wake, cancel and delete threads. They never edit
a state or run a node, because the command does not have the graphs. Package inspect serves such pages in a program that has them.

The pages have no login. Everybody who reaches the address sees all threads, and with --write changes them. The address must
therefore be of this machine if --write is set. Other users of the machine reach it, too.

With the keys of an encrypted saver, the pages show its data to everybody who reaches them. Without the keys, they show what is not
encrypted. Threads then take no answers, signals and inputs.

The command ends by an interrupt or by --timeout.`,
		Example: `  graphctl inspect --saver sqlite:///var/lib/app/threads.db
  graphctl inspect --listen localhost:8080 --write
  graphctl inspect --key-file keys`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.inspect(ctx, s, &f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "the `address` of the pages; port 0 is any free port")
	flags.BoolVar(&f.write, "write", false, "offer actions that change threads")
	return cmd
}

// servedJSON is the result of inspect.
type servedJSON struct {
	URL   string `json:"url"`
	Write bool   `json:"write,omitempty"`
}

// stopTime is how long requests in progress may take when the command ends.
const stopTime = 3 * time.Second

func (a *app) inspect(ctx context.Context, s checkpoint.Saver, f *inspectFlags) (err error) {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", f.listen)
	if err != nil {
		return &usageError{fmt.Sprintf("the pages cannot be served: %v; pass another address by --listen", err)}
	}
	defer func() { err = errors.Join(err, closed(l.Close())) }()
	o := inspect.Options{Title: "graphctl", Explain: sealed}
	if f.write {
		if addr, ok := l.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
			return &usageError{fmt.Sprintf("--write with --listen %s would let other machines change threads; listen on localhost", cell(f.listen))}
		}
		o.Allow = []inspect.Action{inspect.Answer, inspect.Signal, inspect.Submit, inspect.Wake, inspect.Cancel, inspect.Delete, inspect.Pause, inspect.Trigger}
	}
	pages, err := inspect.New(s, o)
	if err != nil {
		return err
	}
	defer pages.Close()
	j := servedJSON{"http://" + l.Addr().String() + "/", f.write}
	if err := a.one(j, func() error {
		_, err := fmt.Fprintln(a.out, j.URL)
		return err
	}); err != nil {
		return err
	}
	return serve(ctx, l, pages)
}

// serve serves pages until ctx ends.
func serve(ctx context.Context, l net.Listener, pages http.Handler) error {
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if server.Shutdown(late) != nil {
		return server.Close() // ends the requests in progress
	}
	return nil
}

// closed returns the error of closing a listener. The server closes it, too.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
