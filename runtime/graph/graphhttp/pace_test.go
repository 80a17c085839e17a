package graphhttp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// These tests call handlers without a network, in a synctest bubble, which fails if a goroutine
// remains.

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// pipe is a response that a client reads at its own pace.
type pipe struct {
	header http.Header
	mu     sync.Mutex
	buf    bytes.Buffer
	hold   chan struct{} // writes wait until it is closed; nil for no wait
}

func (p *pipe) Header() http.Header { return p.header }
func (p *pipe) WriteHeader(int)     {}
func (p *pipe) Flush()              {}
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	hold := p.hold
	p.mu.Unlock()
	if hold != nil {
		<-hold
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *pipe) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}

// data returns the data of all events with that name, in order.
func (p *pipe) data(name string) []string {
	var found []string
	for _, e := range strings.Split(p.String(), "\n\n") {
		if _, after, ok := strings.Cut(e, "event: "+name+"\ndata: "); ok {
			found = append(found, after)
		}
	}
	return found
}

// request runs a handler until ctx ends or it returns.
func (p *pipe) request(ctx context.Context, h http.Handler, method, url string) <-chan struct{} {
	done := make(chan struct{})
	p.header = http.Header{}
	go func() {
		defer close(done)
		h.ServeHTTP(p, httptest.NewRequest(method, url, nil).WithContext(ctx))
	}()
	return done
}

func TestARunDoesNotWaitForASlowClient(t *testing.T) {
	for _, buffer := range []int{1, 1 << 20} {
		t.Run(fmt.Sprint("buffer ", buffer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const steps = 200
				finished := make(chan struct{})
				nodes := []node{say("first")}
				for i := range steps {
					nodes = append(nodes, say(graph.ID(fmt.Sprint("n", i))))
				}
				nodes = append(nodes, node{"last", func(context.Context, work) (update, error) {
					close(finished)
					return update{}, nil
				}})
				a := chain(t, memory.New(), nodes...)
				p := &pipe{hold: make(chan struct{})}
				done := p.request(t.Context(), newHub(a, graphhttp.BufferSize(buffer)).Handler(read(a)), http.MethodPost, "/t?in=x")
				<-finished
				synctest.Wait() // the run has ended; the client has read no byte
				if got := p.String(); got != "" {
					t.Fatalf("got %q written", got)
				}
				close(p.hold)
				<-done
				got := p.data("checkpoint")
				if len(got) != steps+3 || !strings.HasSuffix(got[len(got)-1], "next []") {
					t.Fatalf("got %d checkpoints, the last %q; want all %d", len(got), got[max(0, len(got)-1):], steps+3)
				}
				same(t, "end", p.data("end"), []string{"done"})
			})
		})
	}
}

// A client that read something before it fell behind misses no checkpoint.
func TestASlowClientMissesNoCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const steps = 100
		entered, pass := make(chan struct{}), make(chan struct{})
		nodes := []node{gated("first", entered, pass)}
		for i := range steps {
			nodes = append(nodes, say(graph.ID(fmt.Sprint("n", i))))
		}
		a := chain(t, memory.New(), nodes...)
		p := &pipe{}
		done := p.request(t.Context(), newHub(a, graphhttp.BufferSize(300)).Handler(read(a)), http.MethodPost, "/t?in=x")
		<-entered
		synctest.Wait()
		same(t, "checkpoints so far", p.data("checkpoint"), []string{"1 x next [first]"})
		p.mu.Lock()
		p.hold = make(chan struct{})
		p.mu.Unlock()
		close(pass)
		synctest.Wait() // the run has ended
		close(p.hold)
		<-done
		var got, want []string
		for i, c := range p.data("checkpoint") {
			step, _, _ := strings.Cut(c, " ")
			got, want = append(got, step), append(want, fmt.Sprint(i+1))
		}
		same(t, "steps", got, want)
		if len(got) != steps+2 {
			t.Errorf("got %d checkpoints, want %d", len(got), steps+2)
		}
		same(t, "end", p.data("end"), []string{"done"})
	})
}

func TestAClientThatLeavesDoesNotEndTheRun(t *testing.T) {
	for _, tc := range []struct {
		name string
		opts []graphhttp.Option
		want checkpoint.Status
	}{
		{"left to itself", nil, checkpoint.Done},
		{"ended with the client", []graphhttp.Option{graphhttp.CancelOnDisconnect()}, checkpoint.Ready},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				entered, pass := make(chan struct{}), make(chan struct{}, 1)
				a := chain(t, memory.New(), gated("a", entered, pass), say("b"))
				ctx, leave := context.WithCancel(t.Context())
				p := &pipe{}
				done := p.request(ctx, newHub(a, tc.opts...).Handler(read(a)), http.MethodPost, "/t?in=x")
				<-entered
				leave()
				<-done
				synctest.Wait()
				pass <- struct{}{}
				synctest.Wait()
				snap, err := a.Thread("t").State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				same(t, "status", snap.Status, tc.want)
			})
		})
	}
}

func TestASilentStreamHasHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered, pass := make(chan struct{}), make(chan struct{})
		a := chain(t, memory.New(), gated("a", entered, pass))
		p := &pipe{}
		done := p.request(t.Context(), newHub(a, graphhttp.Heartbeat(10*time.Second)).Handler(read(a)), http.MethodPost, "/t?in=x")
		<-entered
		synctest.Wait()
		before := strings.Count(p.String(), "\n:\n")
		time.Sleep(35 * time.Second)
		synctest.Wait()
		if got := strings.Count(p.String(), "\n:\n") - before; got != 3 {
			t.Errorf("got %d heartbeats in 35 s, want 3", got)
		}
		close(pass)
		<-done
	})
}

func TestCloseEndsStreamsAndNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered, pass := make(chan struct{}), make(chan struct{})
		a := chain(t, memory.New(), gated("a", entered, pass))
		h := newHub(a)
		p := &pipe{}
		done := p.request(t.Context(), h.Handler(read(a)), http.MethodPost, "/t?in=x")
		<-entered
		h.Close()
		h.Close()
		<-done
		same(t, "end", p.data("end"), []string(nil))
		close(pass)
		synctest.Wait()
		snap, err := a.Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "status", snap.Status, checkpoint.Done)
	})
}

// deaf is a client with a broken connection.
type deaf struct{ pipe }

func (*deaf) Write([]byte) (int, error) { return 0, errBroken }

func TestAConnectionThatBreaksEndsTheStreamOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := chain(t, memory.New(), say("a"))
		h := newHub(a, graphhttp.OnError(func(_ string, err error) { t.Errorf("got report %v; a client that left is not an error", err) }))
		p := &deaf{pipe{header: http.Header{}}}
		h.Handler(read(a)).ServeHTTP(p, httptest.NewRequest(http.MethodPost, "/t?in=x", nil).WithContext(t.Context()))
		synctest.Wait()
		snap, err := a.Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "status", snap.Status, checkpoint.Done)
	})
}

// timed is a pipe with deadlines. It fails the test if a deadline is not d in the future.
type timed struct {
	*pipe
	t *testing.T
	d time.Duration
	n *int
}

func (p timed) SetWriteDeadline(at time.Time) error {
	if got := time.Until(at); got != p.d {
		p.t.Errorf("a write has %v, want %v", got, p.d)
	}
	*p.n++
	return nil
}

func TestAWriteIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for d, opts := range map[time.Duration][]graphhttp.Option{
			30 * time.Second: nil,
			5 * time.Second:  {graphhttp.WriteTimeout(5 * time.Second)},
		} {
			pass := make(chan struct{})
			close(pass)
			a := chain(t, memory.New(), gated("a", make(chan struct{}, 1), pass))
			n := 0
			w := timed{&pipe{header: http.Header{}}, t, d, &n}
			r := httptest.NewRequest(http.MethodPost, "/t?in=x", nil).WithContext(t.Context())
			newHub(a, opts...).Handler(read(a)).ServeHTTP(w, r)
			if n == 0 {
				t.Errorf("timeout %v: no write had a deadline", d)
			}
		}
	})
}

// measured is a pipe that records the sizes of writes.
type measured struct {
	timed
	most *int
}

func (p measured) Write(b []byte) (int, error) {
	*p.most = max(*p.most, len(b))
	return p.timed.Write(b)
}

// A large state is written in pieces, each with its own deadline, so that a slow client gets all
// of it.
func TestALargeEventIsWrittenInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		a := chain(t, memory.New(), node{"a", func(context.Context, work) (update, error) {
			return logged(strings.Repeat("x", size)), nil
		}})
		var writes, most int
		p := &pipe{header: http.Header{}}
		r := httptest.NewRequest(http.MethodPost, "/t?in=x", nil).WithContext(t.Context())
		newHub(a, graphhttp.BufferSize(4*size)).Handler(read(a)).ServeHTTP(measured{timed{p, t, 30 * time.Second, &writes}, &most}, r)
		if got := p.data("checkpoint"); len(got) != 2 || len(got[1]) < size {
			t.Errorf("got %d checkpoints, want 2, the second with the large state", len(got))
		}
		if most > 64<<10 || writes < size/(64<<10) {
			t.Errorf("got writes of up to %d bytes, and %d deadlines; want at most 64 KiB, each with its own", most, writes)
		}
	})
}
