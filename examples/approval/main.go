// Approval is a small web service. People request purchases, and others approve or deny them in a
// browser. Requests are stored in a folder and wait for answers. Stop or kill the service and
// start it again: the requests are still pending.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/graphgen-go/graphgen/examples/internal/site"
	"github.com/graphgen-go/graphgen/savers/file"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command runs the service until ctx ends. It returns the exit code: 0 when stopped, 1 for an
// error, 2 for invalid usage.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("approval", flag.ContinueOnError)
	f.SetOutput(stderr)
	addr := f.String("addr", "127.0.0.1:8080", "the `address` to listen on; port 0 takes a free one")
	dir := f.String("dir", "approval.data", "the `folder` that stores the requests")
	slow := f.Duration("latency", 300*time.Millisecond, "how long each step of an order takes, for demonstrations")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if f.NArg() > 0 {
		fmt.Fprintf(stderr, "approval: unexpected argument %q\n", f.Arg(0))
		return 2
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err == nil {
		fmt.Fprintf(stdout, "approval: http://%s\n", l.Addr())
		err = serve(ctx, l, *dir, office{pause: latency(*slow)}, slog.New(slog.NewTextHandler(stderr, nil)))
	}
	if err != nil {
		fmt.Fprintf(stderr, "approval: %v\n", err)
		return 1
	}
	return 0
}

// serve serves l until ctx ends, with the requests in dir. Then it stops runs between two steps,
// ends streams, and finishes the HTTP requests in progress.
func serve(ctx context.Context, l net.Listener, dir string, o office, log *slog.Logger) (err error) {
	defer l.Close() //nolint:errcheck // the http.Server has closed it, unless serve returned early
	saver, err := file.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	app, err := newFlow(o, saver)
	if err != nil {
		return err
	}
	s, err := newServer(app, saver, log)
	if err != nil {
		return err
	}
	defer s.all.Close()
	if err := site.Resume(ctx, saver, s.hub, log); err != nil && ctx.Err() == nil {
		return errors.Join(err, app.Drain(ctx))
	}
	return site.Serve(ctx, l, s.handler(), app, s.hub)
}
