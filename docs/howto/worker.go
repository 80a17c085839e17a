package howto

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// NewWorker returns a worker that logs what it does.
func NewWorker(saver checkpoint.Saver, apps ...worker.App) *worker.Worker {
	return worker.New(saver, worker.Options{
		Slots:   32,
		OnEvent: func(e worker.Event) { slog.Info(e.Kind.String(), "thread", e.Thread, "status", e.Status, "err", e.Err) },
	}, apps...)
}

// Serve answers HTTP requests and resumes due threads, until ctx ends or one of the two fails.
func Serve(ctx context.Context, server *http.Server, l net.Listener, w *worker.Worker) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- w.Run(ctx)
		cancel()
	}()
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.WithoutCancel(ctx)) })
	err := server.Serve(l)
	cancel()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-ended)
}

// Keep removes orders 30 days after their end, and all but the newest 20 checkpoints of the
// others.
var Keep = worker.Retention{Graph: "orders", Ended: 30 * 24 * time.Hour, Last: 20}
