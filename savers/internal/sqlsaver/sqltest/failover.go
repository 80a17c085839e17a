package sqltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
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
	front := testenv.NewProxy(t, b.Address(t, f.First))
	b.open(t, f.Second, 1) // makes the tables
	s := closing(t, b.Patient, b.At(t, f.First, front.Addr), conns)
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
	front.Lead(b.Address(t, f.Second))
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

// PromotedStandby kills a server while runs commit, promotes its standby, and makes the address of
// the saver lead there. Runs must continue. No acknowledged record may be lost or stored twice.
func PromotedStandby(t *testing.T, b *Backend, dsn string, p *testenv.Pair) {
	t.Helper()
	front := testenv.NewProxy(t, b.Address(t, dsn))
	s := closing(t, b.Patient, b.At(t, dsn, front.Addr), 8)
	survive(t, s, 1, func() error {
		if err := p.Primary.Kill(); err != nil {
			return err
		}
		if err := p.Promote(); err != nil {
			return err
		}
		front.Lead(p.Standby.Addr) // not before: it had perhaps not applied what it had got
		return nil
	})
}
