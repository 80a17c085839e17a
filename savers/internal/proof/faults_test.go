//go:build unix

package proof_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// lanes is how many threads run concurrently.
const lanes = 3

func laneThread(lane, n int) string { return fmt.Sprintf("lane-%d-%d", lane, n) }

// travellers run threads in lanes, one after another in each. After stop they finish the threads
// that they have begun.
type travellers struct {
	dir     string
	stop    chan struct{}
	done    sync.WaitGroup
	mu      sync.Mutex
	ids     []string
	errs    []error
	stopped atomic.Int64 // attempts that did not reach the end
}

// again is how an attempt at a thread is made.
type again func(try int) (context.Context, context.CancelFunc, *app, error)

// set starts the travellers; kind names their threads.
func set(tb testing.TB, kind string, try again, dir string) *travellers {
	tb.Helper()
	t := &travellers{dir: dir, stop: make(chan struct{})}
	for lane := range lanes {
		t.done.Go(func() {
			for n := 0; ; n++ {
				thread := kind + laneThread(lane, n)
				err := arrive(tb.Context(), thread, try, &t.stopped)
				t.mu.Lock()
				t.ids = append(t.ids, thread)
				t.errs = append(t.errs, err)
				t.mu.Unlock()
				select {
				case <-t.stop:
					return
				default:
				}
				if err != nil {
					return
				}
			}
		})
	}
	return t
}

// finish waits for the threads in progress, and checks all threads.
func (t *travellers) finish(tb testing.TB, s checkpoint.Saver, c *count) {
	tb.Helper()
	close(t.stop)
	t.done.Wait()
	if err := errors.Join(t.errs...); err != nil {
		tb.Fatal(err)
	}
	for _, thread := range t.ids {
		check(tb, s, t.dir, thread, c)
	}
	c.stopped += int(t.stopped.Load())
}

// steady makes attempts without a limit of their own.
func steady(tb testing.TB, s checkpoint.Saver, dir string) again {
	tb.Helper()
	g, err := build(s, dir)
	return func(int) (context.Context, context.CancelFunc, *app, error) {
		return context.Background(), func() {}, g, err
	}
}

func randomly(limit time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(limit))) }

// proveDeadlines lets contexts end in the middle of everything: those of saver calls, and those of
// callers.
func proveDeadlines(t *testing.T, b *bench, c *count) {
	t.Helper()
	s, dir := b.open(t), t.TempDir()
	try := func(n int) (context.Context, context.CancelFunc, *app, error) {
		limit := []time.Duration{100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}[rand.IntN(4)]
		switch {
		case n%6 == 5: // one reaches the end
			g, err := build(s, dir)
			return context.Background(), func() {}, g, err
		case n%2 == 0:
			g, err := build(s, dir, graph.SaverTimeout(1+randomly(limit)))
			return context.Background(), func() {}, g, err
		}
		g, err := build(s, dir)
		ctx, cancel := context.WithTimeout(context.Background(), randomly(10*limit))
		return ctx, cancel, g, err
	}
	all := set(t, "deadline-", try, dir)
	for n := 0; b.more(&n, 12); {
		rest(50 * time.Millisecond)
	}
	all.finish(t, s, c)
	c.deadlines += int(all.stopped.Load()) // those that came too late for a run are none
}

// proveRestarts kills the server while runs and writes of the store are in progress, and starts it
// again. It alternates with the pooler, if there is one.
func proveRestarts(t *testing.T, b *bench, c *count) {
	t.Helper()
	s, dir := b.open(t), t.TempDir()
	all := set(t, "restart-", steady(t, s, dir), dir)
	items := b.openStore(t, b.url)
	writers := writeLanes(t, items, "restart ")
	stop := b.serve(t, s)
	for b.more(&c.restarts, 4) {
		b.begin(t, s)
		rest(randomly(300 * time.Millisecond))
		victim := b.server
		if c.restarts%2 == 0 {
			victim = b.front
		}
		err := victim.Kill()
		if err == nil {
			err = victim.Restart()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	writers.finish(t, items, c)
	all.finish(t, s, c)
	stop()
}

// proveCuts cuts and slows connections while runs are in progress.
func proveCuts(t *testing.T, b *bench, c *count) {
	t.Helper()
	proxy, dir := testenv.NewProxy(t, b.front.Addr), t.TempDir()
	s, direct := openURL(t, b.via(proxy.Addr)), b.open(t)
	all := set(t, "cut-", steady(t, s, dir), dir)
	stop := b.serve(t, s)
	for n := 0; b.more(&n, 40); {
		if n%10 == 0 {
			b.begin(t, s)
		}
		rest(randomly(40 * time.Millisecond))
		switch rand.IntN(6) {
		case 0:
			proxy.Cut()
			c.cuts++
		case 1, 2:
			proxy.CutRequest(rand.IntN(1500))
		case 3, 4:
			proxy.CutReply(rand.IntN(300))
		default:
			proxy.Delay(randomly(5 * time.Millisecond))
			rest(randomly(30 * time.Millisecond))
			proxy.Delay(0)
			c.cuts++
		}
	}
	proxy.Disarm()
	c.cuts += proxy.Cuts() // a second request to cut replaces one that has not cut yet
	all.finish(t, direct, c)
	stop()
}

// work runs threads in lanes until it is killed, or asked to finish the first of each. It reports
// the finished ones.
func (j *job) work(s checkpoint.Saver) error {
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, "nobody is there any more", err)
		os.Exit(1) //nolint:forbidigo // the test is gone
	}()
	g, err := build(s, j.Dir, graph.SaverTimeout(patience))
	if err != nil {
		return err
	}
	if j.Waits != "" {
		go func() { _ = serveWaits(context.Background(), s, j.Waits) }() // it is killed
	}
	var all sync.WaitGroup
	errs := make([]error, len(j.First))
	fmt.Fprintln(os.Stdout, "ready")
	for lane, n := range j.First {
		all.Go(func() {
			for ; errs[lane] == nil; n++ {
				var res result
				if res, errs[lane] = travel(context.Background(), g, laneThread(lane, n)); errs[lane] != nil || res.Status != graph.Done {
					break
				}
				fmt.Fprintf(os.Stdout, "finished %d %d\n", lane, n)
				if j.Finish {
					return
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); j.Limit == 0 || err == nil {
		return err
	}
	for _, err := range errs {
		var saver *graph.SaverError
		if err != nil && (!errors.As(err, &saver) || errors.Is(err, checkpoint.ErrDamaged) || errors.Is(err, checkpoint.ErrConflict)) {
			return fmt.Errorf("without room: want the saver's error, none of the contract's: %w", err)
		}
	}
	os.Exit(refused) //nolint:forbidigo // this is the main of another process
	return nil
}

// refused is how a worker ends whose saver had no room.
const refused = 3

// workers are processes that work on the same threads, one after another.
type workers struct {
	job
	bound time.Duration // a worker lives at most so long
}

// kill lets a worker work for a while and kills it.
func (w *workers) kill(tb testing.TB) {
	tb.Helper()
	p := start(tb, w.job)
	if line, err := p.lines.ReadString('\n'); err != nil || line != "ready\n" {
		tb.Fatalf("the worker says %q, %v; want it ready", line, err)
	}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		rest(randomly(w.bound))
		_ = p.cmd.Process.Kill() // it is waited for below
	}()
	w.listen(tb, p.lines)
	<-killed
	p.kill()
}

// listen takes note of what a worker says it finished, until it ends.
func (w *workers) listen(tb testing.TB, lines *bufio.Reader) {
	tb.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // the end of the worker; a line that it did not write whole says nothing
		}
		if line == "ready\n" {
			continue
		}
		var lane, n int
		if _, err := fmt.Sscanf(line, "finished %d %d\n", &lane, &n); err != nil {
			tb.Fatalf("the worker says %q: %v", line, err)
		}
		w.First[lane] = n + 1
	}
}

// finish has one more worker finish the threads in progress, and checks all threads of the
// workers.
func (w *workers) finish(tb testing.TB, s checkpoint.Saver, c *count) {
	tb.Helper()
	w.Finish = true
	last := slices.Clone(w.First)
	p := start(tb, w.job)
	w.listen(tb, p.lines)
	for lane, n := range w.First {
		if n != last[lane]+1 {
			tb.Errorf("lane %d: the last worker finished up to %d, want %d", lane, n, last[lane]+1)
		}
	}
	p.end(tb)
	for lane, n := range w.First {
		for i := range n {
			check(tb, s, w.Dir, laneThread(lane, i), c)
		}
	}
}

// proveKills kills processes while runs are in progress.
func proveKills(t *testing.T, b *bench, c *count) {
	t.Helper()
	w := workers{job: job{Role: "work", URL: b.url, Dir: t.TempDir(), First: make([]int, lanes)}, bound: 150 * time.Millisecond}
	s := b.open(t)
	for b.more(&c.kills, 8) {
		b.begin(t, s)
		w.Waits = b.waiters.dir
		w.kill(t)
	}
	w.Waits = ""
	w.finish(t, s, c)
	b.stopOne(t, s)
}

// proveFull lets the room for files run out: by a limit on their size, and on a small disk where
// the test may have one.
func proveFull(t *testing.T, b *bench, c *count) {
	t.Helper()
	t.Run("limited files", func(t *testing.T) { proveLimit(t, b, c) })
	t.Run("small disk", func(t *testing.T) { proveDisk(t, b, c) })
}

// proveLimit lets workers run into a limit, each a bit higher than the one before.
func proveLimit(t *testing.T, b *bench, c *count) {
	t.Helper()
	dir := t.TempDir()
	url := strings.Replace(map[string]string{"file": "file://DIR", "sqlite": "sqlite://DIR/threads.db"}[b.name], "DIR", dir, 1)
	w := workers{job: job{Role: "work", URL: url, Dir: t.TempDir(), First: make([]int, lanes)}}
	least := map[string]uint64{"file": 600, "sqlite": 200 << 10}[b.name]
	for n := range 6 {
		w.Limit = least + uint64(n)*least/5
		p := start(t, w.job)
		w.listen(t, p.lines)
		if code := p.wait(); code != refused {
			t.Errorf("a worker with files of at most %d bytes ended with %d, want %d: an error of its saver", w.Limit, code, refused)
		}
		c.full++
	}
	w.Limit = 0
	w.finish(t, openURL(t, url), c)
}

// proveDisk fills a disk under runs, and makes room again.
func proveDisk(t *testing.T, b *bench, c *count) {
	t.Helper()
	disk, mounted := testenv.SmallDisk(t)
	if !mounted {
		t.Log("this process may not mount a file system: limited files stand for a small disk")
		return
	}
	url := strings.Replace(map[string]string{"file": "file://DIR/threads", "sqlite": "sqlite://DIR/threads.db"}[b.name], "DIR", disk, 1)
	s, dir := openURL(t, url), t.TempDir()
	all := set(t, "full-", steady(t, s, dir), dir)
	for range 4 {
		before := all.stopped.Load()
		rest(randomly(100 * time.Millisecond))
		if err := fill(disk + "/ballast"); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); all.stopped.Load() == before; rest(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("no run has met the full disk")
			}
		}
		if err := os.Remove(disk + "/ballast"); err != nil {
			t.Fatal(err)
		}
		c.full++
	}
	all.finish(t, s, c)
}

// fill writes until there is no room.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 4
		}
	}
	return f.Close()
}
