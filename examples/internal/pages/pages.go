// Package pages serves the pages of package inspect for examples that are commands.
package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// App is a compiled graph.
type App interface {
	inspect.App
	Drain(ctx context.Context) error
}

// Serve serves the pages of the threads of saver at /inspect/, with all actions, until ctx ends.
// It prints their address to out. addr must be an address of this machine, because the pages have
// no login; port 0 is any free port. At the end, runs that the pages started stop at their next
// checkpoint.
func Serve(ctx context.Context, addr, title string, saver checkpoint.Saver, out io.Writer, apps ...App) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s is not an address of this machine alone; the pages have no login", addr), l.Close())
	}
	graphs := make([]inspect.App, len(apps))
	for i, app := range apps {
		graphs[i] = app
	}
	pages, err := inspect.New(saver, inspect.Options{Title: title, Allow: inspect.AllActions()}, graphs...)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.RedirectHandler("/inspect/", http.StatusFound))
	mux.Handle("/inspect/", http.StripPrefix("/inspect", pages))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Fprintf(out, "http://%s/inspect/\n", l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	pages.Close()
	for _, app := range apps {
		err = errors.Join(err, app.Drain(context.WithoutCancel(ctx)))
	}
	return err
}
