package testenv

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy passes bytes between clients and a server, until it is told to do worse. Its methods may be called at any
// time.
type Proxy struct {
	Addr string // host:port to connect to

	target   string
	listener net.Listener
	done     chan struct{}
	running  sync.WaitGroup

	mu     sync.Mutex
	links  map[*link]bool
	armed  bool
	toCut  direction
	left   int
	delay  time.Duration
	refuse bool
	trips  int
	cuts   int
}

// direction is which way bytes go.
type direction int

const (
	request direction = iota
	answer
)

// link is one client's connection with its own to the server.
type link struct {
	client, server net.Conn
	last           direction // of the newest bytes
}

// NewProxy returns a proxy to the server at target, host:port. It ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("testenv: proxy: %v", err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, listener: l, done: make(chan struct{}), links: make(map[*link]bool)}
	p.running.Go(p.accept)
	tb.Cleanup(func() {
		close(p.done)
		_ = l.Close()
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Cut closes every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// CutRequest cuts, once, the connection that sends byte n, counted from 0 and from now over all of them: the bytes
// before it reach the server.
func (p *Proxy) CutRequest(n int) { p.arm(request, n) }

// CutReply cuts, once, the connection on which byte n of an answer comes, counted like that: the bytes before it reach
// the client. With 0 the server has done what it was asked, and nobody hears of it.
func (p *Proxy) CutReply(n int) { p.arm(answer, n) }

func (p *Proxy) arm(d direction, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.toCut, p.left = true, d, n
}

// Disarm takes back a CutRequest or CutReply that has not cut yet.
func (p *Proxy) Disarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
}

// Cuts returns how many connections CutRequest and CutReply have cut.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// Delay holds bytes back for so long, in both directions; 0 passes them at once.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Refuse turns new connections away, or lets them in again.
func (p *Proxy) Refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = yes
}

// RoundTrips returns how often a client asked and had to wait: bytes to the server after bytes from it, or as the
// first of a connection. What is sent together, however long, is one.
func (p *Proxy) RoundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client: client, server: server, last: answer}
		if !p.add(l) {
			l.close()
			continue
		}
		p.running.Go(func() { p.pump(l, request, server, client) })
		p.running.Go(func() { p.pump(l, answer, client, server) })
	}
}

// add takes a link in, unless there are to be none.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return false
	default:
	}
	if p.refuse {
		return false
	}
	p.links[l] = true
	return true
}

// pump passes bytes in one direction until either end is closed.
func (p *Proxy) pump(l *link, d direction, to, from net.Conn) {
	defer p.drop(l)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			pass, delay, cut := p.decide(l, d, n)
			if !p.wait(delay) {
				return
			}
			if _, err := to.Write(buffer[:pass]); err != nil || cut {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// decide says how many of n bytes to pass, after what delay, and whether to cut the link then.
func (p *Proxy) decide(l *link, d direction, n int) (pass int, delay time.Duration, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d == request && l.last == answer {
		p.trips++
	}
	l.last = d
	if !p.armed || p.toCut != d {
		return n, p.delay, false
	}
	if n <= p.left {
		p.left -= n
		return n, p.delay, false
	}
	p.armed = false
	p.cuts++
	return p.left, p.delay, true
}

// wait reports whether the proxy still runs after the delay.
func (p *Proxy) wait(delay time.Duration) bool {
	if delay == 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.done:
		return false
	}
}

func (p *Proxy) drop(l *link) {
	l.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// close ends both connections; closing twice does no harm.
func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}
