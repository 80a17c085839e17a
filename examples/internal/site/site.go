// Package site has the parts that examples with pages of their own share.
package site

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
)

// Hub is a graphhttp.Hub of any graph.
type Hub interface {
	Resume(ctx context.Context, thread string, opts ...graph.ResumeOption) error
	Close()
}

// Guard serves h for pages of the same site only. Bodies have at most 64 KiB.
func Guard(h http.Handler) http.Handler {
	guarded := http.NewCrossOriginProtection().Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; form-action 'self'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		guarded.ServeHTTP(w, r)
	})
}

// Resume continues the runs that a stopped or killed server has left, in the background: a killed
// server holds its threads until their leases end. A thread that waits for a person needs no run
// until the answer arrives.
func Resume(ctx context.Context, saver checkpoint.Saver, hub Hub, log *slog.Logger) error {
	for _, status := range []checkpoint.Status{checkpoint.Running, checkpoint.Ready} {
		for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Status: status}) {
			if errors.Is(err, checkpoint.ErrDamaged) {
				log.Error("resume", "thread", t.ID, "err", err)
				continue
			}
			if err != nil {
				return err
			}
			go func() {
				err := hub.Resume(context.WithoutCancel(ctx), t.ID, graph.Wait())
				if err != nil && !errors.Is(err, graph.ErrDraining) {
					log.Error("resume", "thread", t.ID, "err", err)
				}
			}()
		}
	}
	return nil
}

// Render answers with a page that must not be cached.
func Render(w http.ResponseWriter, r *http.Request, status int, pages *template.Template, name string, page any, log *slog.Logger) {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, name, page); err != nil {
		Fail(w, r, err, log)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write([]byte(b.String())); err != nil {
		log.Info("a page request was rejected", "path", r.URL.Path, "err", err)
	}
}

// Fail answers with the status of err. It logs the cause of a fault of the server and does not
// show it.
func Fail(w http.ResponseWriter, r *http.Request, err error, log *slog.Logger) {
	status := graphhttp.Status(err)
	if status == http.StatusInternalServerError {
		log.Error("request", "path", r.URL.Path, "err", err)
	}
	http.Error(w, http.StatusText(status), status)
}

// Serve serves h on l until ctx ends. Then it stops the runs of app between two steps, ends the
// streams of hub, and finishes the requests in progress.
func Serve(ctx context.Context, l net.Listener, h http.Handler, app interface{ Drain(context.Context) error }, hub Hub) error {
	web := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	err := app.Drain(stop)
	hub.Close()
	return errors.Join(err, web.Shutdown(stop))
}
