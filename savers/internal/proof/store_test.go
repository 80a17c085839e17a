//go:build unix

package proof_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/open"
)

// A writer of the store writes batches, each under keys of Once. A batch gives a number to all
// items of the writer, so that a batch that is stored in part shows.

// storeItems is how many items each batch of a writer puts.
const storeItems = 5

// storeIndex is the index of the numbers.
const storeIndex = "number"

// storeBatch returns batch n of a writer: it puts items in two namespaces, and one more, which
// the next batch deletes. The index entry, the vector and the words of an item are those of the
// number, and items of odd batches expire.
func storeBatch(writer string, n int) []store.Op {
	var ops []store.Op
	for i := range storeItems + 1 {
		op := store.Op{
			Kind: store.OpPut, Namespace: store.Namespace{writer, strconv.Itoa(i % 2)}, Key: fmt.Sprint("item ", i), Value: strconv.AppendInt(nil, int64(n), 10),
			Index: []store.Entry{{Index: storeIndex, Value: strconv.AppendInt(nil, int64(n), 10)}}, Once: fmt.Sprint("batch ", n),
			Vectors: storeVectors(n), Texts: storeTexts(n), TTL: storeLife(n),
		}
		if i == storeItems && n%2 == 1 {
			op = store.Op{Kind: store.OpDelete, Namespace: op.Namespace, Key: op.Key, Once: op.Once}
		}
		ops = append(ops, op)
	}
	return ops
}

// writeStore writes batches until it is killed. It prints "try" and the number of the batch before
// each, and "did" and the number after its acknowledgement.
func (j *job) writeStore() error {
	b, err := open.Store(context.Background(), j.URL)
	if err != nil {
		return err
	}
	if _, err := b.Declare(context.Background(), storeSpec()); err != nil {
		return errors.Join(err, b.Close())
	}
	for n := j.First[0]; ; n++ {
		fmt.Fprintln(os.Stdout, "try", n)
		if err := doUntilKnown(context.Background(), b, storeBatch("killed", n), nil); err != nil {
			return errors.Join(err, b.Close())
		}
		fmt.Fprintln(os.Stdout, "did", n)
	}
}

// doUntilKnown repeats a batch until it is acknowledged. Every other error must say that the
// outcome is unknown.
func doUntilKnown(ctx context.Context, b store.Backend, ops []store.Op, failed func()) error {
	for begun := time.Now(); ; rest(time.Millisecond + randomly(10*time.Millisecond)) {
		_, err := b.Do(ctx, ops)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, store.ErrUnavailable):
			return fmt.Errorf("a batch of the store: got %w, want success or an ErrUnavailable", err)
		case time.Since(begun) > patience:
			return fmt.Errorf("a batch of the store: after %v: %w", patience, err)
		}
		if failed != nil {
			failed()
		}
	}
}

// proveStoreKills kills a writer of the store at random moments.
func proveStoreKills(t *testing.T, b *bench, c *count) {
	t.Helper()
	least := 12
	switch {
	case b.soak > 0:
		least = 300
	case testing.Short():
		least = 2
	}
	s := b.openStore(t, b.url)
	next, kills := 1, 0
	for b.more(&kills, least) {
		if next = b.killWriter(t, s, next, c); t.Failed() {
			return
		}
	}
	c.kills += kills
}

// killWriter starts a writer with the batch first, kills it, and checks the store. It returns the
// number of a batch that was never tried.
func (b *bench) killWriter(t *testing.T, s store.Backend, first int, c *count) int {
	t.Helper()
	p := start(t, job{Role: "store", URL: b.url, First: []int{first}})
	said := make(chan []string, 1)
	begun := make(chan struct{})
	go func() {
		var lines []string
		for {
			line, err := p.lines.ReadString('\n')
			if err != nil {
				said <- lines
				return
			}
			if lines = append(lines, strings.TrimSpace(line)); len(lines) == 3 {
				close(begun)
			}
		}
	}()
	<-begun
	rest(randomly(30 * time.Millisecond))
	p.kill()
	tried, did := first-1, first-1
	for _, line := range <-said {
		kind, text, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(text)
		if err != nil { // the last line may be cut
			continue
		}
		if kind == "try" {
			tried = n
		} else {
			did = n
			c.acknowledged++
		}
	}
	if n := storedBatch(t, s, "killed"); n < did || n > tried {
		t.Errorf("after a kill the items are of batch %d, want %d, the last acknowledged, or %d, the last tried", n, did, tried)
	}
	again := func(n int) (repeated int) {
		results, err := s.Do(t.Context(), storeBatch("killed", n))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Repeated {
				repeated++
			}
		}
		return repeated
	}
	// A server may still run the last batch of the killed writer. The repeated one waits for it.
	if got := again(tried); got != 0 && got != storeItems+1 {
		t.Errorf("batch %d again: %d of its writes are repeated, want all or none", tried, got)
	}
	checkStore(t, s, "killed", tried)
	for _, n := range []int{did, tried} {
		if n < first {
			continue
		}
		if got := again(n); got != storeItems+1 {
			t.Errorf("batch %d a second time: %d of its writes are repeated, want all", n, got)
		}
	}
	checkStore(t, s, "killed", tried)
	return tried + 1
}

// storedBatch returns the number of the batch that all items of a writer have, and fails the test
// if they have several.
func storedBatch(t *testing.T, s store.Backend, writer string) (n int) {
	t.Helper()
	page, err := s.Find(t.Context(), store.Query{Namespace: store.Namespace{writer}, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range page {
		if string(r.Value) != string(page[0].Value) {
			t.Errorf("item %d is of batch %s, and the first of batch %s", i, r.Value, page[0].Value)
		}
	}
	if len(page) == 0 {
		return 0
	}
	if n, err = strconv.Atoi(string(page[0].Value)); err != nil {
		t.Fatal(err)
	}
	if want := storeItems + 1 - n%2; len(page) != want {
		t.Errorf("of batch %d there are %d items, want %d", n, len(page), want)
	}
	return n
}

// checkStore fails unless all items of a writer are as batch n has left them, and the index and
// both searches agree.
func checkStore(t *testing.T, s store.Backend, writer string, n int) {
	t.Helper()
	want := storeItems + 1 - n%2
	value := strconv.Itoa(n)
	for name, where := range map[string][]store.Condition{
		"all items":                nil,
		"the items with a number":  {{Index: storeIndex, Ranges: []store.Range{{}}}},
		"the items of this number": {{Index: storeIndex, Ranges: []store.Range{{From: []byte(value), To: []byte(value + "\x00")}}}},
	} {
		page, err := s.Find(t.Context(), store.Query{Namespace: store.Namespace{writer}, Where: where, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) != want {
			t.Errorf("batch %d: %s: got %d, want %d", n, name, len(page), want)
		}
		for _, r := range page {
			if string(r.Value) != value {
				t.Errorf("batch %d: %s: %s has the value of batch %s", n, name, r.Key, r.Value)
			}
			if got := life(&r); got != storeLife(n) {
				t.Errorf("batch %d: %s: %s lives for %v, want %v", n, name, r.Key, got, storeLife(n))
			}
		}
	}
	checkVectors(t, s, writer, n)
	checkSearches(t, s, writer, n)
}

// openStore opens the store at a URL. It closes with the test.
func (b *bench) openStore(tb testing.TB, url string) store.Backend {
	tb.Helper()
	s, err := open.Store(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

// proveStoreCuts cuts connections of writers, who repeat each batch until it is acknowledged.
func proveStoreCuts(t *testing.T, b *bench, c *count) {
	t.Helper()
	proxy := testenv.NewProxy(t, b.front.Addr)
	s, direct := b.openStore(t, b.via(proxy.Addr)), b.openStore(t, b.url)
	all := writeLanes(t, s, "cut ")
	least := 40
	if testing.Short() {
		least = 10
	}
	for n := 0; b.more(&n, least); {
		rest(randomly(40 * time.Millisecond))
		switch rand.IntN(3) {
		case 0:
			proxy.Cut()
			c.cuts++
		case 1:
			proxy.CutRequest(rand.IntN(1500))
		default:
			proxy.CutReply(rand.IntN(300))
		}
	}
	proxy.Disarm()
	c.cuts += proxy.Cuts()
	all.finish(t, direct, c)
}

// storeWriters writes batches in lanes, each by a writer of its own.
type storeWriters struct {
	name string
	stop chan struct{}
	all  sync.WaitGroup
	last [lanes]int
	errs [lanes]error
}

// writeLanes starts writers that repeat each batch until it is acknowledged.
func writeLanes(t *testing.T, s store.Backend, name string) *storeWriters {
	t.Helper()
	w := &storeWriters{name: name, stop: make(chan struct{})}
	for lane := range lanes {
		w.all.Go(func() {
			for n := 1; w.errs[lane] == nil; n++ {
				select {
				case <-w.stop:
					return
				default:
				}
				w.errs[lane] = doUntilKnown(t.Context(), s, storeBatch(fmt.Sprint(name, lane), n), nil)
				w.last[lane] = n
			}
		})
	}
	return w
}

// finish stops the writers, and checks what they have stored. The version of an item counts its
// writes, so it shows a repeated write.
func (w *storeWriters) finish(t *testing.T, s store.Backend, c *count) {
	t.Helper()
	close(w.stop)
	w.all.Wait()
	for lane, n := range w.last {
		writer := fmt.Sprint(w.name, lane)
		if w.errs[lane] != nil {
			t.Fatal(w.errs[lane])
		}
		if n == 0 {
			continue
		}
		c.acknowledged += n
		checkStore(t, s, writer, n)
		first, err := s.Do(t.Context(), storeBatch(writer, 1)) // repeated: it has the first version
		if err != nil {
			t.Fatal(err)
		}
		now, err := s.Do(t.Context(), []store.Op{{Kind: store.OpGet, Namespace: store.Namespace{writer, "0"}, Key: "item 0"}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := now[0].Record.Version, first[0].Record.Version+int64(n)-1; !first[0].Repeated || got != want {
			t.Errorf("%s: after %d batches the version is %d, want %d: each write happens once", writer, n, got, want)
		}
	}
}

// The output of a process can be read after it was killed.
func TestAKilledProcessIsHeard(t *testing.T) {
	b := &bench{url: "sqlite://" + t.TempDir() + "/items.db"}
	s := b.openStore(t, b.url)
	p := start(t, job{Role: "store", URL: b.url, First: []int{1}})
	for storedBatch(t, s, "killed") < 2 {
		rest(time.Millisecond)
	}
	p.kill()
	for _, want := range []string{"try 1\n", "did 1\n"} {
		if line, err := p.lines.ReadString('\n'); line != want {
			t.Fatalf("a killed process said %q, %v; want %q", line, err, want)
		}
	}
}
