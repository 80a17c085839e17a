//go:build unix

package proof_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/open"
)

// bench is where one saver is proved.
type bench struct {
	name   string
	url    string                   // of its storage; "" for memory, which no other process can open
	via    func(addr string) string // the URL through an address; nil without a server
	server *testenv.Server          // nil without one
	front  *testenv.Server          // that clients talk to: the server, or a pooler
	seed   uint64
	again  bool          // another bench proves the same saver, and this one what stands before its server
	soak   time.Duration // for all parts together; 0 for the short form
	// follows waits until lists follow the threads of all calls that have ended; nil where they
	// always do.
	follows func(tb testing.TB)
	until   time.Time // of the part in progress

	waiters waiters
}

// count is what was done and found.
type count struct {
	rounds, calls   int // histories, and the calls in them
	kills, restarts int // of workers and of the server
	cuts, deadlines int
	full            int // times that there was no room
	stopped         int // attempts at a run, in the test's own process, that a fault ended
	runs            int // runs that were checked from beginning to end
	races, busy     int // threads that two resumed concurrently; those where one got a BusyError
	acknowledged    int // checkpoints and results that had to be there, and were
	stops, kept     int // of workers, and how often one had to continue before its thread could be taken over
	graphs          int // random graphs with the right result
}

func (c *count) String() string {
	faults := c.kills + c.restarts + c.stops + c.cuts + c.deadlines + c.full
	return fmt.Sprintf("%d faults injected (%d workers killed, %d stopped, of which %d kept a lock, %d server restarts, %d connections cut or delayed, %d deadlines, %d times no room), "+
		"%d attempts ended by them, %d runs and %d acknowledgements checked, %d histories of %d calls linearizable, %d threads resumed by two at once (one found it busy %d times, else finished), "+
		"%d runs of random graphs came to what they had to",
		faults, c.kills, c.stops, c.kept, c.restarts, c.cuts, c.deadlines, c.full, c.stopped, c.runs, c.acknowledged, c.rounds, c.calls, c.races, c.busy, c.graphs)
}

// part begins a part that takes its share of a soak.
func (b *bench) part(share float64) {
	b.until = time.Now().Add(time.Duration(share * float64(b.soak)))
}

// more increments n, and reports whether the part continues: least times or more, and in a soak
// for its share of the time.
func (b *bench) more(n *int, least int) bool {
	if *n >= least && !time.Now().Before(b.until) {
		return false
	}
	*n++
	return true
}

// threads names the threads of a round.
func (b *bench) threads(kind string, n int) []string {
	return []string{fmt.Sprintf("%s %d a", kind, n), fmt.Sprintf("%s %d b", kind, n), fmt.Sprintf("%s %d c", kind, n)}
}

// open opens the saver on its storage. It closes with the test.
func (b *bench) open(tb testing.TB) checkpoint.Saver {
	tb.Helper()
	return openURL(tb, b.url)
}

func openURL(tb testing.TB, url string) checkpoint.Saver {
	tb.Helper()
	var s checkpoint.Saver = memory.New()
	if url != "" {
		var err error
		if s, err = open.Saver(tb.Context(), url); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

// benches returns what furnishes the bench of each saver.
func benches() map[string]func(t *testing.T, b *bench) {
	return map[string]func(t *testing.T, b *bench){
		"memory": func(*testing.T, *bench) {},
		"file": func(t *testing.T, b *bench) {
			t.Helper()
			b.url = "file://" + t.TempDir()
		},
		"sqlite": func(t *testing.T, b *bench) {
			t.Helper()
			b.url = "sqlite://" + filepath.Join(t.TempDir(), "threads.db") + "?busy_timeout=" + patience.String()
		},
		"redis": func(t *testing.T, b *bench) {
			t.Helper()
			b.server = testenv.StartRedis(t, true)
			b.via = func(addr string) string { return "redis://" + addr }
		},
		"redis cluster": func(t *testing.T, b *bench) { // whose nodes are not killed: they keep nothing
			t.Helper()
			addrs, prefix := testenv.RedisCluster(t)
			q := url.Values{"cluster": {"true"}, "allow_unsafe_settings": {"true"}, "prefix": {prefix}, "addr": addrs[1:]}
			b.url = "redis://" + addrs[0] + "?" + q.Encode()
			b.follows = followsOn(t, addrs, prefix)
		},
		"mysql":                    furnishMySQL,
		"postgres":                 furnishPostgres,
		"postgres behind a pooler": furnishPooled,
	}
}

// followsOn returns what waits until readers of the index of a Redis cluster place all threads of
// calls that ended in between. Such a call leaves a note, which readers heed when it is a second
// old.
func followsOn(t *testing.T, addrs []string, prefix string) func(testing.TB) {
	t.Helper()
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { _ = c.Close() }) // it is of the test
	return func(tb testing.TB) {
		tb.Helper()
		ctx, cancel := context.WithTimeout(tb.Context(), patience)
		defer cancel()
		for check := time.NewTicker(20 * time.Millisecond); ; <-check.C {
			notes, err := c.ZRangeWithScores(ctx, prefix+"{%}notes", 0, -1).Result()
			if err != nil {
				tb.Fatal(err)
			}
			fresh := slices.ContainsFunc(notes, func(z goredis.Z) bool {
				name, _ := z.Member.(string)
				return strings.HasPrefix(name, "n") && time.Since(time.UnixMicro(int64(z.Score))) <= time.Second
			})
			if !fresh {
				return
			}
		}
	}
}

func furnishMySQL(t *testing.T, b *bench) {
	t.Helper()
	b.server = testenv.StartMySQL(t, true)
	b.via = func(addr string) string { return "mysql://root@" + addr + "/proof" }
	db, err := sql.Open("mysql", b.server.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE DATABASE proof"); err != nil {
		t.Fatal(err)
	}
}

func furnishPostgres(t *testing.T, b *bench) {
	t.Helper()
	b.server = testenv.StartPostgres(t, true)
	b.via = func(addr string) string { return strings.Replace(b.server.DSN, b.server.Addr, addr, 1) }
}

// furnishPooled puts a pooler in front of the server.
func furnishPooled(t *testing.T, b *bench) {
	t.Helper()
	b.server = testenv.StartPostgres(t, true)
	b.front = testenv.StartPooler(t, b.server)
	b.again = b.soak == 0
	b.via = func(addr string) string { return strings.Replace(b.front.DSN, b.front.Addr, addr, 1) }
}

// prove proves every saver.
func prove(t *testing.T, soak time.Duration) {
	t.Helper()
	for name, furnish := range benches() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bench{name: name, seed: rand.Uint64() >> 16, soak: soak}
			furnish(t, b)
			if b.front == nil {
				b.front = b.server
			}
			if b.front != nil {
				b.url = b.via(b.front.Addr)
			}
			var c count
			b.all(t, &c)
			if !t.Failed() {
				t.Logf("%s: %s; losses: 0", name, &c)
			}
		})
	}
}

// all proves all that can happen to the saver.
func (b *bench) all(t *testing.T, c *count) {
	t.Helper()
	b.waiters = waiters{all: t, dir: t.TempDir()}
	for _, p := range []struct {
		name  string
		share float64 // of a soak's time
		with  bool
		prove func(*testing.T, *bench, *count)
	}{
		{"calls from many processes", 0.3, true, proveLinear},
		{"two resume one thread", 0, true, proveResume},
		{"random graphs", 0, !b.again, proveGraphs},
		{"threads that move", 0, b.url != "" && !b.again, proveMoves},
		{"deadlines", 0.15, true, proveDeadlines},
		{"killed workers", 0.2, b.url != "" && !b.again, proveKills},
		{"stopped workers", 0, b.url != "" && !b.again, proveStops},
		{"no room", 0, b.name == "file" || b.name == "sqlite", proveFull},
		{"killed server", 0.2, b.server != nil, proveRestarts},
		{"cut and slow connections", 0.15, b.server != nil, proveCuts},
		{"killed writers of the store", 0.05, b.url != "" && !b.again, proveStoreKills},
		{"cut connections of the store", 0.05, b.server != nil && !b.again, proveStoreCuts},
		{"cut connections of a watch", 0, b.server != nil && !b.again, proveWatchCuts},
		{"threads that wait", 0, b.waiting(), proveWaits},
	} {
		if !p.with {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			b.part(p.share)
			begun := time.Now()
			p.prove(t, b, c)
			if b.soak > 0 {
				t.Logf("after %v: %s", time.Since(begun).Round(time.Millisecond), c)
			}
		})
	}
}

func TestSaversKeepWhatTheyAcknowledge(t *testing.T) { prove(t, 0) }

// TestSoak does the same for as long as GRAPHGEN_SOAK says, and with many more threads resumed by
// two. Savers take turns by twos where there are two processors, so each gets two shares of the
// time.
func TestSoak(t *testing.T) {
	text, set := os.LookupEnv("GRAPHGEN_SOAK")
	if !set {
		t.Log("GRAPHGEN_SOAK is not set: TestSaversKeepWhatTheyAcknowledge was all")
		return
	}
	soak, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("GRAPHGEN_SOAK: %v; want a duration such as 10m", err)
	}
	prove(t, 2*soak/time.Duration(len(benches())))
}
