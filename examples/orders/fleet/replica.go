package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/graphgen-go/graphgen/examples/orders/partners"
)

// fleet is the replicas of the service, and the partners that they call.
type fleet struct {
	settings
	programs []string // the releases of the service, oldest first
	world    *partners.Partners
	web      *http.Server // of the partners
	url      string       // of the partners
	broken   context.CancelCauseFunc

	mu        sync.Mutex
	alive     []*replica
	asked     int // requests to the partners
	killed    int
	takeOvers int // runs that continued an order after its replica was killed
	left      int // times a worker left an order or a parcel to a newer release
	sent      int // orders that customers have sent
}

// replica is a process of the service. One of the pool works on no orders, but takes requests.
type replica struct {
	pool    bool
	release int // an index of programs
	cmd     *exec.Cmd
	url     string
	ended   chan struct{} // closed when the process has ended
	err     error         // of the process; set when ended is closed
}

// latency is the time that a partner takes, so that a kill hits requests in progress.
const latency = 20 * time.Millisecond

// startFleet starts the partners and the replicas.
func startFleet(ctx context.Context, s settings, programs []string) (*fleet, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &fleet{settings: s, programs: programs, world: &partners.Partners{Latency: latency}, url: "http://" + l.Addr().String()}
	f.web = &http.Server{Handler: http.HandlerFunc(f.partners), ReadHeaderTimeout: time.Minute}
	go func() { _ = f.web.Serve(l) }()
	for i := range s.replicas + s.pool {
		if err := f.add(ctx, i >= s.replicas, 0); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// partners serves a request to a partner. Some requests cost a replica its life, so that the kills
// are spread over the whole work.
func (f *fleet) partners(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked++
	// An order takes three requests at least; most take more.
	due := f.killed < f.kills && f.asked*f.kills > f.killed*f.orders*3 && rand.IntN(10) == 0
	var victim *replica
	if due && len(f.alive) == f.replicas+f.pool {
		f.killed++
		i := rand.IntN(len(f.alive))
		victim = f.alive[i]
		f.alive = slices.Delete(f.alive, i, i+1)
	}
	f.mu.Unlock()
	if victim != nil {
		go f.revive(victim)
	}
	f.world.ServeHTTP(w, r)
}

// revive kills a replica with SIGKILL, and starts another.
func (f *fleet) revive(victim *replica) {
	_ = victim.cmd.Process.Kill() // it may have ended
	<-victim.ended
	if err := f.add(context.Background(), victim.pool, victim.release); err != nil {
		f.broken(err)
	}
}

// add starts a replica, or a process of the pool.
func (f *fleet) add(ctx context.Context, pool bool, release int) error {
	args := []string{"-addr", "127.0.0.1:0", "-store", f.store, "-partners", f.url, "-lease", f.lease.String(), "-pay-within", f.payWithin.String()}
	switch {
	case pool:
		args = append(args, "-pool-only")
	case f.pool > 0:
		args = append(args, "-pool", "0")
	}
	cmd := exec.Command(f.programs[release], args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := &replica{pool: pool, release: release, cmd: cmd, ended: make(chan struct{})}
	go f.follow(r, log)
	first, err := bufio.NewReader(out).ReadString('\n')
	r.url = strings.TrimSpace(strings.TrimPrefix(first, "orders: "))
	if err != nil {
		<-r.ended
		return fmt.Errorf("a replica did not start: %w", r.err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.alive = append(f.alive, r)
	return ctx.Err()
}

// follow reads the log of a replica until it ends.
func (f *fleet) follow(r *replica, log io.Reader) {
	var last string
	for lines := bufio.NewScanner(log); lines.Scan(); {
		last = lines.Text()
		f.mu.Lock()
		switch {
		case strings.Contains(last, "msg=claimed") && strings.Contains(last, "status=running"):
			f.takeOvers++
		case strings.Contains(last, "msg=left"):
			f.left++
		}
		f.mu.Unlock()
	}
	if err := r.cmd.Wait(); err != nil {
		r.err = fmt.Errorf("%w; its last line was: %s", err, last)
	}
	close(r.ended)
}

// any returns the address of a replica.
func (f *fleet) any() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.alive) == 0 {
		return ""
	}
	return f.alive[rand.IntN(len(f.alive))].url
}

// stop stops all replicas with SIGTERM. Each must end without an error.
func (f *fleet) stop() error {
	f.mu.Lock()
	alive := slices.Clone(f.alive)
	f.mu.Unlock()
	for _, r := range alive {
		_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	for _, r := range alive {
		<-r.ended
		if r.err != nil {
			return fmt.Errorf("a replica that was stopped: %w", r.err)
		}
	}
	return f.web.Close()
}
