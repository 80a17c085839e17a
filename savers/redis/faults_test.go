package redis_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// run is a run on a thread that commits one superstep after the other.
type run struct {
	tb     testing.TB
	saver  checkpoint.Saver
	thread string
	fence  checkpoint.ID
	head   checkpoint.ID
	steps  int
}

func newID(tb testing.TB) checkpoint.ID {
	tb.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// opening is an opening Append of one empty state.
func opening(tb testing.TB, thread string, after checkpoint.ID) checkpoint.Append {
	tb.Helper()
	id := newID(tb)
	return checkpoint.Append{
		Thread: thread, After: after, Open: &checkpoint.Opening{Holder: "holder of " + id.String()}, Lease: time.Hour,
		Records: []checkpoint.Record{{ID: id, Parent: after, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: state("input")}},
	}
}

func begin(tb testing.TB, s checkpoint.Saver, thread string) *run {
	tb.Helper()
	a := opening(tb, thread, checkpoint.ID{})
	if _, err := s.Append(context.Background(), a); err != nil {
		tb.Fatal(err)
	}
	return &run{tb: tb, saver: s, thread: thread, fence: a.Records[0].ID, head: a.Records[0].ID}
}

// next is the Append of the next superstep.
func (r *run) next() checkpoint.Append {
	r.tb.Helper()
	id := newID(r.tb)
	r.steps++
	return checkpoint.Append{
		Thread: r.thread, After: r.head, Fence: r.fence, Lease: time.Hour,
		Records: []checkpoint.Record{{
			ID: id, Parent: r.head, Base: id, Line: r.fence, Commits: r.head, Step: r.steps, Source: checkpoint.Loop, Payload: change(fmt.Sprint(r.steps)),
		}},
	}
}

// commit appends a superstep.
func (r *run) commit() {
	r.tb.Helper()
	a := r.next()
	if _, err := r.saver.Append(context.Background(), a); err != nil {
		r.tb.Fatalf("superstep %d: %v", r.steps, err)
	}
	r.head = a.Records[0].ID
}

func (r *run) end(status checkpoint.Status) {
	r.tb.Helper()
	_, err := r.saver.PutWrites(context.Background(), checkpoint.PutWrites{Thread: r.thread, Fence: r.fence, End: true, Status: status})
	if err != nil {
		r.tb.Fatal(err)
	}
}

// logIDs returns the ids of a thread's log, oldest first. It fails unless their seqs count up from
// 1.
func logIDs(tb testing.TB, s checkpoint.Saver, thread string) []checkpoint.ID {
	tb.Helper()
	var records []checkpoint.Record
	all := checkpoint.Query{Sources: []checkpoint.Source{1, 2, 3, 4, 5}}
	for r, err := range s.History(context.Background(), checkpoint.Ref{Thread: thread}, all) {
		if err != nil {
			tb.Fatal(err)
		}
		records = append(records, r)
	}
	var ids []checkpoint.ID
	for i, r := range slices.Backward(records) {
		if want := uint64(len(records) - i); r.Seq != want {
			tb.Fatalf("record %d has seq %d", want, r.Seq)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

func wantIDs(tb testing.TB, what string, got, want []checkpoint.ID) {
	tb.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		tb.Errorf("%s: got %d records\n%v\nwant %d\n%v", what, len(got), got, len(want), want)
	}
}

func TestScriptsThatTheServerForgetsAreSentAgain(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	s, ctx := openOn(t, client, redis.Prefix(prefix)), t.Context()
	flush := func() {
		t.Helper()
		if err := client.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	r := begin(t, s, "a")
	for range 20 {
		flush()
		r.commit()
	}
	flush()
	r.end(checkpoint.Waiting)
	for _, c := range []struct {
		what string
		f    func() error
	}{
		{"threads", func() error {
			n := 0
			for _, err := range s.Threads(ctx, checkpoint.ThreadQuery{Status: checkpoint.Waiting}) {
				if err != nil {
					return err
				}
				n++
			}
			if n != 1 {
				return fmt.Errorf("%d threads, want 1", n)
			}
			return nil
		}},
		{"history", func() error {
			n := 0
			for _, err := range s.History(ctx, checkpoint.Ref{Thread: "a"}, checkpoint.Query{}) {
				if err != nil {
					return err
				}
				n++
			}
			if n != 21 {
				return fmt.Errorf("%d records, want 21", n)
			}
			return nil
		}},
		{"copy", func() error { return checkpoint.Copy(ctx, s, "a", 0, s, "b") }},
		{"prune", func() error { _, err := s.Prune(ctx, "b", checkpoint.Retention{Last: 2}); return err }},
		{"release", func() error { _, err := s.Release(ctx, "b", checkpoint.ID{}); return err }},
		{"delete", func() error { return s.Delete(ctx, "b") }},
	} {
		flush()
		if err := c.f(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	flush()
	if got := len(logIDs(t, s, "a")); got != 21 {
		t.Errorf("the log has %d records, want 21", got)
	}
}

func TestNothingAcknowledgedIsLostWhenTheServerIsKilled(t *testing.T) {
	server := testenv.StartRedis(t, true)
	// Without AllowUnsafeSettings: a server like this is what New asks for.
	s, err := redis.New(goredis.NewClient(&goredis.Options{Addr: server.Addr, MaxRetries: -1}), redis.CloseClient())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const kills = 5
	r := begin(t, s, "a")
	want := []checkpoint.ID{r.head}
	pending, unknown, happened := (*checkpoint.Append)(nil), 0, 0
	for kill := range kills {
		down := make(chan error, 1)
		go func() {
			// The server goes down while the run appends; when is up to the machine.
			answered := time.NewTimer(time.Duration(rand.IntN(20_000)) * time.Microsecond)
			<-answered.C
			down <- server.Kill()
		}()
		for {
			a := r.next()
			if pending != nil {
				a, pending = *pending, nil
			}
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			_, err := s.Append(ctx, a)
			cancel()
			if err != nil {
				if errors.Is(err, checkpoint.ErrConflict) {
					t.Fatalf("kill %d: a run that is alone was refused: %v", kill, err)
				}
				pending = &a
				break
			}
			r.head = a.Records[0].ID
			want = append(want, r.head)
		}
		if err := errors.Join(<-down, server.Restart()); err != nil {
			t.Fatal(err)
		}
		unknown++
		got := logIDs(t, s, "a")
		if len(got) == len(want)+1 && got[len(want)] == pending.Records[0].ID {
			happened++
			got = got[:len(want)]
		}
		wantIDs(t, fmt.Sprintf("after kill %d", kill), got, want)
	}
	if pending != nil {
		if _, err := s.Append(t.Context(), *pending); err != nil {
			t.Fatalf("the append of which nothing was known, again: %v", err)
		}
		want = append(want, pending.Records[0].ID)
	}
	wantIDs(t, "at the end", logIDs(t, s, "a"), want)
	t.Logf("%d kills, %d appends acknowledged, 0 lost, %d unknown of which %d had happened", kills, len(want), unknown, happened)
}

func TestARunContinuesAfterAFailover(t *testing.T) {
	place := testenv.StartRedisSentinel(t)
	client := goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: place.Name, SentinelAddrs: []string{place.Addr}})
	s, err := redis.New(client, redis.CloseClient())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := begin(t, s, "a")
	want := []checkpoint.ID{r.head}
	for range 20 {
		r.commit()
		want = append(want, r.head)
	}
	// A failover loses no commit that the replica has acknowledged. It may lose others.
	if n, err := client.Wait(t.Context(), 1, 10*time.Second).Result(); err != nil || n != 1 {
		t.Fatalf("the replica is not in step: %d, %v", n, err)
	}
	if err := place.Primary.Kill(); err != nil {
		t.Fatal(err)
	}
	failed, end := 0, time.Now().Add(5*time.Minute)
	for range 20 {
		a := r.next()
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := s.Append(ctx, a)
			cancel()
			if err == nil {
				break
			}
			if failed++; errors.Is(err, checkpoint.ErrConflict) || time.Now().After(end) {
				t.Fatalf("after %d failures: %v", failed, err)
			}
		}
		r.head = a.Records[0].ID
		want = append(want, r.head)
	}
	wantIDs(t, "after the failover", logIDs(t, s, "a"), want)
	t.Logf("%d appends before and after a failover, 0 lost, %d calls failed meanwhile", len(want), failed)
}

func TestAnAppendThatIsCutHappensOnce(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	proxy := testenv.NewProxy(t, addr)
	for _, retries := range []int{-1, 3} { // of the client
		t.Run(fmt.Sprint("client retries ", retries), func(t *testing.T) {
			s := openOn(t, goredis.NewClient(&goredis.Options{Addr: proxy.Addr, MaxRetries: retries}), redis.Prefix(prefix+t.Name()))
			r := begin(t, s, "a")
			want, before := []checkpoint.ID{r.head}, proxy.Cuts()
			for i := range 40 {
				if i%2 == 0 {
					proxy.CutReply(i % 4 * 3)
				} else {
					proxy.CutRequest(i * 20)
				}
				r.commit()
				want = append(want, r.head)
				proxy.Disarm()
			}
			wantIDs(t, "after cuts", logIDs(t, s, "a"), want)
			t.Logf("%d cuts, %d appends, each once", proxy.Cuts()-before, len(want))
		})
	}
}

func TestAnAppendWhoseAnswerIsLostMayBeSentAgainMuchLater(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	proxy := testenv.NewProxy(t, addr)
	direct := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
	s := openOn(t, goredis.NewClient(&goredis.Options{Addr: proxy.Addr, MaxRetries: -1}), redis.Prefix(prefix))
	for _, c := range []struct {
		name     string
		cut      func()
		happened bool
	}{
		{"request cut", func() { proxy.CutRequest(100) }, false},
		{"answer cut", func() { proxy.CutReply(0) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := begin(t, s, c.name)
			a := r.next()
			proxy.Refuse(true) // what is connected stays so
			c.cut()
			if _, err := s.Append(t.Context(), a); err == nil {
				t.Fatal("an append without an answer succeeded")
			}
			proxy.Refuse(false)
			if got := len(logIDs(t, direct, c.name)) == 2; got != c.happened {
				t.Errorf("it happened: %t, want %t", got, c.happened)
			}
			done, err := s.Append(t.Context(), a)
			if err != nil || done.Head != 2 {
				t.Errorf("the same again: head %d, %v, want 2", done.Head, err)
			}
			wantIDs(t, "then", logIDs(t, direct, c.name), []checkpoint.ID{r.head, a.Records[0].ID})
		})
	}
}

func TestWhatIsNotAnAppendHappensOnceToo(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	proxy := testenv.NewProxy(t, addr)
	s, ctx := openOn(t, goredis.NewClient(&goredis.Options{Addr: proxy.Addr, MaxRetries: -1}), redis.Prefix(prefix)), t.Context()
	warm := func(n int) *run {
		r := begin(t, s, fmt.Sprint("a", n))
		for range 4 {
			r.commit()
		}
		return r
	}
	for n, cut := range []func(){func() { proxy.CutReply(0) }, func() { proxy.CutReply(5) }, func() { proxy.CutRequest(90) }} {
		r := warm(n)
		cut()
		w := checkpoint.Write{Base: r.head, Task: "t", Kind: checkpoint.Question, Payload: []byte("?")}
		if _, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: r.thread, Fence: r.fence, Writes: []checkpoint.Write{w}, End: true}); err != nil {
			t.Errorf("put: %v", err)
		}
		chain, err := s.Load(ctx, checkpoint.Ref{Thread: r.thread})
		if err != nil || len(chain.Writes) != 1 {
			t.Errorf("after a cut put: %d writes, %v, want 1", len(chain.Writes), err)
		}
		cut()
		pruned, err := s.Prune(ctx, r.thread, checkpoint.Retention{Last: 2})
		if err != nil || pruned.Records != 3 {
			t.Errorf("prune: %+v, %v, want 3 records", pruned, err)
		}
		cut()
		if err := checkpoint.Copy(ctx, s, r.thread, 0, s, r.thread+" copy"); err != nil {
			t.Errorf("copy: %v", err)
		}
		cut()
		released, err := s.Release(ctx, r.thread, r.head)
		if err != nil || released.Number != 1 || released.Head != r.head {
			t.Errorf("release: %+v, %v, want version 1", released, err)
		}
		cut()
		if err := s.Delete(ctx, r.thread); err != nil {
			t.Errorf("delete: %v", err)
		}
		proxy.Disarm()
	}
	t.Logf("%d cuts", proxy.Cuts())
}

func TestACallEndsWithItsContextAlthoughTheServerDoesNotAnswer(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	for _, c := range []struct {
		name    string
		options goredis.Options
		timeout time.Duration // of the context; 0 cancels it
	}{
		{"deadline before the client's timeout", goredis.Options{ReadTimeout: time.Hour}, 20 * time.Millisecond},
		{"deadline after the client's timeout", goredis.Options{ReadTimeout: time.Second}, 1500 * time.Millisecond},
		{"the client looks at deadlines", goredis.Options{ReadTimeout: time.Hour, ContextTimeoutEnabled: true}, 20 * time.Millisecond},
		{"no timeout of the client", goredis.Options{ReadTimeout: -1}, 20 * time.Millisecond},
		{"cancelled", goredis.Options{ReadTimeout: time.Hour}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy := testenv.NewProxy(t, addr)
			c.options.Addr = proxy.Addr
			s := openOn(t, goredis.NewClient(&c.options), redis.Prefix(prefix+c.name))
			r := begin(t, s, "a")
			a := r.next()
			proxy.Delay(time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			want := context.Canceled
			if c.timeout > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), c.timeout)
				want = context.DeadlineExceeded
			} else {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			defer cancel()
			if _, err := s.Append(ctx, a); !errors.Is(err, want) && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %v, want the context's error, or the connection's timeout", err)
			}
			proxy.Delay(0)
			proxy.Cut() // what hangs, hangs no longer
			if _, err := s.Append(t.Context(), a); err != nil {
				t.Errorf("the same append again: %v", err)
			}
			wantIDs(t, "then", logIDs(t, s, "a"), []checkpoint.ID{r.head, a.Records[0].ID})
		})
	}
}

func TestACommitIsOneRoundTrip(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	proxy := testenv.NewProxy(t, addr)
	s, ctx := openOn(t, goredis.NewClient(&goredis.Options{Addr: proxy.Addr}), redis.Prefix(prefix)), t.Context()
	// The first of each kind also brings the script.
	warm := begin(t, s, "warm")
	warm.commit()
	warm.end(checkpoint.Done)
	load := func(thread string) {
		if _, err := s.Load(ctx, checkpoint.Ref{Thread: thread}); err != nil {
			t.Fatal(err)
		}
	}
	load("warm")

	count := func(what string, want int, f func()) {
		t.Helper()
		before := proxy.RoundTrips()
		f()
		got := proxy.RoundTrips() - before
		if got != want {
			t.Errorf("%s: %d round trips, want %d", what, got, want)
		}
		t.Logf("%s: %d", what, got)
	}
	var r *run
	count("opening", 1, func() { r = begin(t, s, "a") })
	count("100 commits", 100, func() {
		for range 100 {
			r.commit()
		}
	})
	count("commit with writes of its base", 1, func() {
		a := r.next()
		a.Writes = []checkpoint.Write{{Base: a.Records[0].ID, Task: "t", Kind: checkpoint.Result, Payload: []byte("x")}}
		if _, err := s.Append(ctx, a); err != nil {
			t.Fatal(err)
		}
		r.head = a.Records[0].ID
	})
	count("end", 1, func() { r.end(checkpoint.Waiting) })
	count("load of 102 records", 1,
		func() { load("a") })
	count("opening that describes a schema", 2, func() {
		a := r.next()
		a.Open, a.Writes = &checkpoint.Opening{Holder: "test"}, []checkpoint.Write{checkpoint.SchemaWrite(1, []byte("x"))}
		if _, err := s.Append(ctx, a); err != nil {
			t.Fatal(err)
		}
	})
	count("load of its head", 1, func() { load("warm") })
}

func TestOneOfTwoProcessesHoldsAThread(t *testing.T) {
	if os.Getenv("GRAPHGEN_REDIS_CHILD") != "" {
		resumeWhatIsAsked(t)
		return
	}
	addr, prefix := testenv.Redis(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type child struct {
		in  io.WriteCloser
		out *bufio.Reader
	}
	var children []child
	for range 2 {
		cmd := exec.Command(exe, "-test.run=^TestOneOfTwoProcessesHoldsAThread$")
		cmd.Env = append(os.Environ(), "GRAPHGEN_REDIS_CHILD="+addr+" "+prefix)
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
		children = append(children, child{in, bufio.NewReader(out)})
	}
	s := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
	const rounds = 300
	won := [2]int{}
	for round := range rounds {
		r := begin(t, s, fmt.Sprint("thread", round))
		r.end(checkpoint.Waiting)
		for _, c := range children {
			if _, err := fmt.Fprintln(c.in, r.thread, r.head); err != nil {
				t.Fatal(err)
			}
		}
		var said []string
		for i, c := range children {
			line, err := c.out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if said = append(said, strings.TrimSpace(line)); said[i] == "holds" {
				won[i]++
			}
		}
		if both := strings.Join(said, " "); both != "holds refused" && both != "refused holds" {
			t.Fatalf("round %d: the processes said %q, want that one holds the thread and one is refused", round, both)
		}
		versions, err := s.Versions(t.Context(), r.thread)
		if err != nil || len(versions) != 1 || versions[0].Records != 2 {
			t.Fatalf("round %d: versions %+v, %v, want one with 2 records", round, versions, err)
		}
	}
	t.Logf("%d threads resumed by two processes at once: each held by one, %d by the first and %d by the second", rounds, won[0], won[1])
}

// resumeWhatIsAsked is the other process: it opens a run on each thread that its input names.
func resumeWhatIsAsked(t *testing.T) {
	t.Helper()
	addr, prefix, _ := strings.Cut(os.Getenv("GRAPHGEN_REDIS_CHILD"), " ")
	s, err := redis.New(goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix), redis.AllowUnsafeSettings(nil))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		thread, head, _ := strings.Cut(lines.Text(), " ")
		after, err := checkpoint.ParseID(head)
		if err != nil {
			t.Fatal(err)
		}
		said := "holds"
		if _, err := s.Append(t.Context(), opening(t, thread, after)); errors.Is(err, checkpoint.ErrConflict) {
			said = "refused"
		} else if err != nil {
			said = err.Error()
		}
		fmt.Fprintln(os.Stdout, said)
	}
}

// losing is a hook that loses the reply of the script after which stored reports true.
type losing struct {
	stored func() bool
	lost   bool
}

func (h *losing) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h *losing) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (h *losing) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "evalsha" && !h.lost && h.stored() {
			h.lost = true
			return io.EOF
		}
		return err
	}
}

// TestAReleaseWhoseReplyIsLostIsNotMadeTwice loses the reply of a Release. Before the client sends
// the script again, others open the next version and end it. The Release must not close that one.
func TestAReleaseWhoseReplyIsLostIsNotMadeTwice(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	addrs, onCluster := testenv.RedisCluster(t)
	for name, c := range map[string]struct {
		follows bool
		prefix  string
		connect func() goredis.UniversalClient
	}{
		"others follow":   {true, prefix, func() goredis.UniversalClient { return goredis.NewClient(&goredis.Options{Addr: addr}) }},
		"nobody follows":  {false, prefix, func() goredis.UniversalClient { return goredis.NewClient(&goredis.Options{Addr: addr}) }},
		"others, cluster": {true, onCluster, func() goredis.UniversalClient { return goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs}) }},
		"nobody, cluster": {false, onCluster, func() goredis.UniversalClient { return goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs}) }},
	} {
		t.Run(name, func(t *testing.T) {
			other := openOn(t, c.connect(), redis.Prefix(c.prefix))
			released := func() (n int) {
				t.Helper()
				all, err := other.Versions(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range all {
					if !v.Released.IsZero() {
						n++
					}
				}
				return n
			}
			begin(t, other, name).end(checkpoint.Done)
			hook := &losing{stored: func() bool {
				stored := released() > 0
				if stored && c.follows {
					begin(t, other, name).end(checkpoint.Done)
				}
				return stored
			}}
			client := c.connect()
			client.AddHook(hook)
			_, err := openOn(t, client, redis.Prefix(c.prefix)).Release(t.Context(), name, checkpoint.ID{})
			if c.follows != errors.Is(err, checkpoint.ErrUnavailable) || !c.follows && err != nil {
				t.Errorf("got error %v", err)
			}
			if n := released(); n != 1 || !hook.lost {
				t.Errorf("got %d released versions, want 1", n)
			}
		})
	}
}
