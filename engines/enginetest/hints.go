package enginetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func testBegins(tb testing.TB, place Place) {
	tb.Helper()
	e := place.Open(tb)
	listen(tb, place, e, "orders")
	listen(tb, place, e, "orders", "mails")
}

func testReaches(tb testing.TB, place Place) {
	tb.Helper()
	a, b := place.Open(tb), place.Open(tb)
	listeners := []*listener{listen(tb, place, a, "orders"), listen(tb, place, a, "orders"), listen(tb, place, b, "orders")}
	wake(tb, place, a, "orders", "from a")
	wake(tb, place, b, "orders", "from b")
	for _, l := range listeners {
		l.await(`the hint of "from a"`, hint{"orders", "from a"})
		l.await(`the hint of "from b"`, hint{"orders", "from b"})
	}
}

func testApart(tb testing.TB, place Place) {
	tb.Helper()
	a, b := place.Open(tb), place.Open(tb)
	orders, mails := listen(tb, place, a, "orders"), listen(tb, place, a, "mails")
	for i := range 20 {
		wake(tb, place, b, "orders", fmt.Sprint(i))
		wake(tb, place, b, "mails", fmt.Sprint(i))
	}
	orders.await("its last hint", hint{"orders", "19"})
	mails.await("its last hint", hint{"mails", "19"})
	if got := orders.graphs(); !slices.Equal(got, []string{"orders"}) {
		tb.Errorf("got hints of the graphs %q, want orders alone", got)
	}
	if got := mails.graphs(); !slices.Equal(got, []string{"mails"}) {
		tb.Errorf("got hints of the graphs %q, want mails alone", got)
	}
}

func testSeveralGraphs(tb testing.TB, place Place) {
	tb.Helper()
	e, names := place.Open(tb), []string{}
	for i := range 20 {
		names = append(names, fmt.Sprint("graph", i))
	}
	l := listen(tb, place, e, names...)
	for _, name := range names {
		wake(tb, place, e, name, "t")
	}
	for _, name := range names {
		l.await("the hint of "+name, hint{name, "t"})
	}
}

// hostile are names that differ little, or that a server could take for something else.
func hostile() []string {
	return []string{
		"a", "A", "a.b", "a.b.c", "a.*", "a.>", "*", ">", "a*", "a?", "[a]", "{a}", "a:b", "a/b", `a\b`, "a;b", "a,b", "a|b",
		" ", "a ", " a", "a b", "a\tb", "a\r\nb", "a\nb", "a\x00", "a\x00b", "\x00", "\xff", "\xc3\x28", "ä", "a\u0308", "日本語", "🙂",
		"$SYS", "$SYS.>", "_INBOX", "$JS.API", "'", `"`, `a"; DROP TABLE graph_thread; --`, "' OR ''='", "%", "%s", "%00", "_", "__end__",
		"--", "", "null", "0", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("ü", 200),
	}
}

func testNames(tb testing.TB, place Place) {
	tb.Helper()
	a, b := place.Open(tb), place.Open(tb)
	var listeners []*listener
	names := slices.DeleteFunc(hostile(), func(name string) bool { return name == "" })
	for _, name := range names {
		listeners = append(listeners, listen(tb, place, a, name))
	}
	for _, name := range names {
		wake(tb, place, b, name, name)
	}
	for i, l := range listeners {
		l.await(fmt.Sprintf("that of %.70q", names[i]), hint{names[i], names[i]})
		if got := l.graphs(); !slices.Equal(got, names[i:i+1]) {
			tb.Errorf("the listener of %.70q got hints of the graphs %.70q", names[i], got)
		}
	}
	for _, size := range []int{1 << 10, 8000, 64 << 10} {
		long := strings.Repeat("t", size-1)
		wake(tb, place, b, "a", long+"1")
		listeners[0].await(fmt.Sprintf("that of a thread id of %d bytes, or one without a thread", size), hint{"a", long + "1"}, hint{"a", ""})
	}
}

func testNobody(tb testing.TB, place Place) {
	tb.Helper()
	e := place.Open(tb)
	for i := range 100 {
		wake(tb, place, e, "orders", fmt.Sprint(i))
	}
}

func testWakeEnds(tb testing.TB, place Place) {
	tb.Helper()
	e := place.Open(tb)
	l := listen(tb, place, e, "orders")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		_ = e.Wake(ctx, "orders", "cancelled") // its hint may be lost
	}()
	select {
	case <-returned:
	case <-time.After(place.patience()):
		tb.Fatalf("Wake has not returned %s after the end of its context", place.patience())
	}
	wake(tb, place, e, "orders", "next")
	l.await("the hint of the next Wake", hint{"orders", "next"})
}

func testListenEnds(tb testing.TB, place Place) {
	tb.Helper()
	e := place.Open(tb)
	other := listen(tb, place, e, "orders")
	for round := range 5 {
		l := listen(tb, place, e, "orders")
		l.end()
		id := fmt.Sprint(round)
		wake(tb, place, e, "orders", id)
		other.await("the hint for a listener that still listens", hint{"orders", id})
		l.mu.Lock()
		if slices.Contains(l.errs, nil) {
			tb.Error("Listen returned nil at the end of its context, want an error")
		}
		if l.late > 0 {
			tb.Errorf("got %d hints after Listen had returned, want none", l.late)
		}
		l.mu.Unlock()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	returned := make(chan error, 1)
	go func() { returned <- e.Listen(ctx, []string{"orders"}, func(string, string) {}) }()
	select {
	case err := <-returned:
		if err == nil {
			tb.Error("Listen with a context that has ended returned nil, want an error")
		}
	case <-time.After(place.patience()):
		tb.Fatalf("Listen with a context that has ended has not returned after %s", place.patience())
	}
}

func testConcurrent(tb testing.TB, place Place) {
	tb.Helper()
	engines := []*listener{}
	a, b := place.Open(tb), place.Open(tb)
	engines = append(engines, listen(tb, place, a, "orders", "mails"), listen(tb, place, b, "orders"))
	ctx, cancel := context.WithTimeout(context.Background(), place.patience())
	defer cancel()
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 50 {
				if err := a.Wake(ctx, "orders", fmt.Sprint(n, " ", i)); err != nil {
					tb.Errorf("Wake: %v", err)
				}
			}
		})
		all.Go(func() {
			for range 5 {
				own, leave := context.WithCancel(ctx)
				_ = b.Listen(own, []string{"orders"}, func(string, string) { leave() }) // the error is that of own
				leave()
			}
		})
	}
	all.Wait()
	wake(tb, place, b, "orders", "last")
	for _, l := range engines {
		l.await("the last hint", hint{"orders", "last"})
	}
}

func testMemory(tb testing.TB, place Place) {
	tb.Helper()
	e := place.Open(tb)
	const warm, sent, size = 200, 1500, 1 << 10
	name := strings.Repeat("t", size)
	l := listen(tb, place, e, "mails")
	for i := range warm { // buffers of connections grow to their size
		wake(tb, place, e, "orders", fmt.Sprint(name, i))
	}
	before := heap()
	for i := range sent {
		wake(tb, place, e, "orders", fmt.Sprint(name, i))
	}
	wake(tb, place, e, "mails", "last")
	l.await("the last hint", hint{"mails", "last"})
	for deadline := time.Now().Add(place.patience()); ; runtime.Gosched() {
		grown := heap() - before // a client can hold buffers for a moment
		if grown <= sent*size/2 {
			break
		}
		if time.Now().After(deadline) {
			tb.Errorf("the heap has grown by %d bytes after %d hints of %d bytes that nobody heard", grown, sent, size)
			break
		}
	}
	goroutines := runtime.NumGoroutine()
	const listeners = 20
	for range listeners {
		listen(tb, place, e, "orders").end()
	}
	for deadline := time.Now().Add(place.patience()); runtime.NumGoroutine() > goroutines+listeners/2; runtime.Gosched() {
		if time.Now().After(deadline) {
			tb.Fatalf("got %d goroutines after %d listeners have ended, want about %d as before", runtime.NumGoroutine(), listeners, goroutines)
		}
	}
}

// heap returns the size of all reachable objects.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func testInterrupt(tb testing.TB, place Place) {
	tb.Helper()
	if place.Interrupt == nil {
		return
	}
	a, b := place.Open(tb), place.Open(tb)
	listeners := []*listener{listen(tb, place, a, "orders"), listen(tb, place, b, "orders", "mails")}
	for round := range 3 {
		var before []int
		for _, l := range listeners {
			before = append(before, l.count())
		}
		place.Interrupt(tb)
		for i, l := range listeners {
			l.awaitSince(before[i], "an empty hint after the interruption", hint{})
			wakeUntil(tb, place, a, l, hint{"orders", fmt.Sprint("after ", round, i)})
		}
	}
}
