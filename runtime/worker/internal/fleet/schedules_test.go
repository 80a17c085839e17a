package fleet_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/open"
)

// TestReplicasFireEachTickOnceOnDatabases runs three workers with connections of their own.
func TestReplicasFireEachTickOnceOnDatabases(t *testing.T) {
	if testing.Short() {
		t.Skip("needs servers and seconds")
	}
	t.Run("sqlite", func(t *testing.T) {
		replicas(t, "sqlite://"+filepath.ToSlash(filepath.Join(t.TempDir(), "threads.db")))
	})
	t.Run("postgres", func(t *testing.T) { replicas(t, testenv.Postgres(t)) })
}

// replicas fires a schedule until it has fired four times.
func replicas(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	runs, enough := new(counter), make(chan struct{})
	var once sync.Once
	var group sync.WaitGroup
	for range 3 {
		s, err := open.Saver(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all, err := schedule.New(s)
		if err != nil {
			t.Fatal(err)
		}
		g := line(t, "report", s, func(ctx context.Context, _ Job) (JobUpdate, error) {
			runs.Add(graph.CurrentTask(ctx).Thread)
			if runs.Names() == 4 {
				once.Do(func() { close(enough) })
			}
			return said("wrote"), nil
		})
		_ = all.Create(ctx, "s", schedule.Spec{Every: time.Second, Overlap: schedule.Allow}, schedule.Submit(g, said("began"))) // the first one
		group.Go(func() {
			if err := worker.New(s, worker.Options{Poll: 100 * time.Millisecond}, all, g).Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	<-enough
	cancel()
	group.Wait()
	s, err := open.Saver(context.WithoutCancel(ctx), url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := schedule.New(s)
	if err != nil {
		t.Fatal(err)
	}
	d, err := all.Describe(context.WithoutCancel(ctx), "s")
	if err != nil {
		t.Fatal(err)
	}
	var threads []string
	for th, err := range s.Threads(context.WithoutCancel(ctx), checkpoint.ThreadQuery{Graph: "report", Labels: map[string]string{schedule.Label: "s"}}) {
		if err != nil {
			t.Fatal(err)
		}
		threads = append(threads, th.ID)
		if n := runs.Of(th.ID); n > 1 {
			t.Errorf("thread %s ran %d times", th.ID, n)
		}
	}
	if int64(len(threads)) < d.Fired || d.Fired < 4 || d.Missed+d.Skipped > 0 {
		t.Errorf("got %+v and the threads %v, want at least 4 firings, each with a thread", d, threads)
	}
	for i := 1; i < len(d.Recent); i++ {
		if gap := d.Recent[i].Tick.Sub(d.Recent[i-1].Tick); gap != time.Second {
			t.Errorf("got the ticks %s and %s, want each second", d.Recent[i-1].Tick, d.Recent[i].Tick)
		}
	}
}
