// Fleet runs several replicas of the order service and its pool on one database, and kills them at
// random under load. It checks that each order ended exactly once. It can also replace the service
// by newer releases meanwhile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the flags.
type settings struct {
	orders, replicas, pool, kills int
	store                         string
	rollout                       bool
	lease, payWithin              time.Duration
	seed                          uint64
}

// command runs a fleet. It returns the exit code: 0 if each order ended once, 1 if not or for an
// error, 2 for invalid usage.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	f := flag.NewFlagSet("fleet", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.orders, "orders", 1000, "how many orders are sent")
	f.IntVar(&s.replicas, "replicas", 3, "how many replicas run at a time")
	f.IntVar(&s.pool, "pool", 2, "how many processes pack parcels for the replicas, which then pack none; 0 lets each replica pack")
	f.IntVar(&s.kills, "kills", 30, "how many processes are killed, each at a random request to a partner")
	f.BoolVar(&s.rollout, "rollout", false, "begin with the first release of the service, and replace it twice under load by the next")
	f.StringVar(&s.store, "store", "", "the `URL` of the database (default: SQLite in a temporary folder)")
	f.DurationVar(&s.lease, "lease", 2*time.Second, "the lease of the replicas")
	f.DurationVar(&s.payWithin, "pay-within", 10*time.Second, "how long an order waits for its payment")
	f.Uint64Var(&s.seed, "seed", rand.Uint64N(1_000_000), "decides what the customers do")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if f.NArg() > 0 || s.orders < 1 || s.replicas < 1 || s.pool < 0 || s.kills < 0 {
		fmt.Fprintln(stderr, "fleet: want no arguments, at least one order and one replica")
		return 2
	}
	ok, err := run(ctx, s, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "fleet: %v\n", err)
	}
	if err != nil || !ok {
		return 1
	}
	return 0
}

// run builds the service, runs a fleet, and reports whether each order ended once.
func run(ctx context.Context, s settings, stdout, stderr io.Writer) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return false, err
	}
	defer func() {
		if err == nil && !ok {
			fmt.Fprintf(stdout, "fleet: the orders are kept in %s; read them with graphctl, or with the pages of inspect\n", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if s.store == "" {
		s.store = "sqlite://" + filepath.ToSlash(dir) + "/orders.db"
	}
	var programs []string
	if s.rollout {
		programs, err = buildReleases(ctx, dir, stderr)
	} else {
		programs, err = build(ctx, dir, stderr)
	}
	if err != nil {
		return false, err
	}
	fmt.Fprintf(stdout, "fleet: %d replicas and a pool of %d, %d orders, %d kills, seed %d\n", s.replicas, s.pool, s.orders, s.kills, s.seed)
	began := time.Now()
	f, err := startFleet(ctx, s, programs)
	if err != nil {
		return false, err
	}
	customers, err := f.serve(ctx)
	if err = errors.Join(err, f.stop()); err != nil {
		return false, err
	}
	r := f.report(customers)
	r.write(stdout, time.Since(began))
	return len(r.faults) == 0, nil
}
