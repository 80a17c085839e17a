package sqltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Failover is two servers of one kind. Demote makes the first one refuse writes of the sessions
// that it has, which it keeps, and of new ones.
type Failover struct {
	First, Second string // DSNs
	Demote        func()
}

// DemotedServer opens a saver at an address that leads to the first server, and after a failover
// to the second. Connections stay open, as behind a load balancer: the pool has those to the
// demoted server. Every call after the failover must succeed, on the second server.
func DemotedServer(t *testing.T, b *Backend, f Failover) {
	t.Helper()
	const conns = 4
	front := newFront(t, b.Address(t, f.First))
	b.open(t, f.Second, 1) // makes the tables
	s := closing(t, b.Patient, b.At(t, f.First, front.addr), conns)
	all := func(prefix string) {
		t.Helper()
		var running sync.WaitGroup
		for i := range 2 * conns { // so that each connection has been used
			running.Go(func() {
				err := checkpoint.ErrConflict
				// A session can learn late that it takes no more writes. A run that it opened
				// before is lost.
				for n := 0; errors.Is(err, checkpoint.ErrConflict) && n < 10; n++ {
					err = wholeRun(t.Context(), s, fmt.Sprint(prefix, i, ".", n))
				}
				if err != nil {
					t.Errorf("%s%d: %v", prefix, i, err)
				}
			})
		}
		running.Wait()
	}
	all("before-")
	f.Demote()
	front.lead(b.Address(t, f.Second))
	all("after-")
	second := b.open(t, f.Second, 1)
	found := 0
	for _, err := range second.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: "after-"}) {
		if err != nil {
			t.Fatal(err)
		}
		found++
	}
	if found != 2*conns {
		t.Errorf("the second server has %d threads, want %d", found, 2*conns)
	}
}

// wholeRun opens a run, commits, stores a result and ends.
func wholeRun(ctx context.Context, s checkpoint.Saver, thread string) error {
	r, err := tryOpening(ctx, s, thread, checkpoint.ID{})
	for range 3 {
		if err == nil {
			err = r.commit(ctx, "")
		}
	}
	if err == nil {
		err = r.put(ctx, "a")
	}
	if err == nil {
		_, err = s.PutWrites(ctx, checkpoint.PutWrites{Thread: thread, Fence: r.fence, End: true})
	}
	return err
}

// front passes new connections on to the server that it leads to at that time.
type front struct {
	addr string

	mu     sync.Mutex
	target string
}

func newFront(t *testing.T, target string) *front {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{addr: listener.Addr().String(), target: target}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		_ = listener.Close() // the test is over
	})
	go f.serve(ctx, listener)
	return f
}

// lead makes new connections lead to another server.
func (f *front) lead(target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target = target
}

func (f *front) serve(ctx context.Context, listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return // closed
		}
		f.mu.Lock()
		target := f.target
		f.mu.Unlock()
		server, err := new(net.Dialer).DialContext(ctx, "tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		pass := func(to, from net.Conn) {
			_, _ = io.Copy(to, from) // ends when either side closes
			_, _ = to.Close(), from.Close()
		}
		go pass(server, client)
		go pass(client, server)
	}
}
