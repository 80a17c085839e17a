// Orders is a service that takes orders by HTTP and carries them out: it reserves goods, waits for
// the payment, and ships. Start as many replicas as you like on one database. Each replica serves
// requests and works on the orders of all. Kill any of them at any time: the others continue.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/graphgen-go/graphgen/examples/orders/partners"
	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/open"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the flags.
type settings struct {
	addr, store, partners string
	payWithin, lease      time.Duration
	pool                  int
	poolOnly              bool
}

// command runs a replica until ctx ends. It returns the exit code: 0 when stopped, 1 for an error,
// 2 for invalid usage.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	f := flag.NewFlagSet("orders", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.addr, "addr", "127.0.0.1:8080", "the `address` to listen on; port 0 takes a free one")
	f.StringVar(&s.store, "store", "sqlite:orders.db", "the `URL` of the database, such as postgres://user:password@host/database")
	f.StringVar(&s.partners, "partners", "", "the `URL` of the warehouse, the bank and the carrier (default: stand-ins in this process)")
	f.DurationVar(&s.payWithin, "pay-within", 24*time.Hour, "how long an order waits for its payment")
	f.DurationVar(&s.lease, "lease", checkpoint.DefaultLease, "how long the orders of a killed replica wait for another one")
	f.IntVar(&s.pool, "pool", 4, "how many parcels this process packs at the same time, for the orders of all replicas")
	f.BoolVar(&s.poolOnly, "pool-only", false, "pack parcels, and leave the orders to the other replicas")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if f.NArg() > 0 || s.pool < 0 || s.poolOnly && s.pool == 0 {
		fmt.Fprintln(stderr, "orders: want no arguments, and a pool of 0 or more; of 1 or more with -pool-only")
		return 2
	}
	if err := run(ctx, s, stdout, slog.New(slog.NewTextHandler(stderr, nil))); err != nil {
		fmt.Fprintf(stderr, "orders: %v\n", err)
		return 1
	}
	return 0
}

// run opens the database, and serves until ctx ends.
func run(ctx context.Context, s settings, stdout io.Writer, log *slog.Logger) (err error) {
	saver, err := open.Saver(ctx, s.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	root := http.NewServeMux()
	if s.partners == "" {
		s.partners = "http://" + l.Addr().String() + "/partners"
		root.Handle("/partners/", http.StripPrefix("/partners", new(partners.Partners)))
	}
	shop := shop{partners: client{s.partners, http.DefaultClient}, payWithin: s.payWithin}
	shop.shipments, err = newShipments(shop.partners, saver, graph.Lease(s.lease))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	app, err := newFlow(shop, saver, graph.Lease(s.lease))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	opt := worker.Options{QueuesOnly: s.poolOnly, OnEvent: func(e worker.Event) {
		log.Info(e.Kind.String(), "order", e.Thread, "status", e.Status, "attempts", e.Attempts, "err", e.Err)
	}}
	if s.pool > 0 {
		opt.Queues = map[string]int{carriers: s.pool}
	}
	w := worker.New(saver, opt, app, shop.shipments)
	root.Handle("/", server{app: app, saver: saver, worker: w, log: log}.handler())
	pages, err := inspect.New(saver, inspect.Options{Title: "orders"}, app, shop.shipments) // read-only
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer pages.Close()
	root.Handle("/inspect/", http.StripPrefix("/inspect", pages))
	fmt.Fprintf(stdout, "orders: http://%s\n", l.Addr())
	return serve(ctx, &http.Server{Handler: root, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}, l, w)
}

// serve answers requests and works on orders until ctx ends or one of the two fails. Then it
// finishes the requests in progress and the current step of each order.
func serve(ctx context.Context, web *http.Server, l net.Listener, w *worker.Worker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	worked, stopped := make(chan error, 1), make(chan error, 1)
	go func() {
		worked <- w.Run(ctx)
		cancel()
	}()
	context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		stopped <- web.Shutdown(grace)
	})
	err := web.Serve(l)
	cancel()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-stopped, <-worked)
}
