// Step 5 of the tutorial: an HTTP service that survives kill -9.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "the `address` to listen on")
	dir := flag.String("dir", "data", "the `folder` for the database and the bank")
	delay := flag.Duration("delay", 0, "the time until the bank confirms a payment")
	lease := flag.Duration("lease", 15*time.Second, "the lease of a run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *dir, *delay, *lease); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr, dir string, delay, lease time.Duration) (err error) {
	paid := filepath.Join(dir, "bank")
	if err := os.MkdirAll(paid, 0o700); err != nil {
		return err
	}
	saver, err := sqlite.Open(filepath.Join(dir, "refunds.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	app, err := newRefund(bank{paid, delay}, saver, graph.Lease(lease))
	if err != nil {
		return err
	}
	s := &service{app: app, saver: saver}
	go s.sweep(ctx, lease)

	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return errors.Join(app.Drain(grace), server.Shutdown(grace))
}
