package testenv

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy copies bytes between clients and a server, and simulates network failures. It is safe for
// concurrent use.
type Proxy struct {
	Addr string // host:port to connect to

	listener net.Listener
	done     chan struct{}
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	links  map[*link]bool
	armed  bool
	toCut  direction
	left   int
	delay  time.Duration
	refuse bool
	trips  int
	cuts   int
}

// direction is the direction of bytes.
type direction int

const (
	request direction = iota
	answer
)

// link is the connection of a client, with its connection to the server.
type link struct {
	client, server net.Conn
	last           direction // the direction of the newest bytes
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

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// CutRequest closes, once, the connection that sends byte n to the server. n counts the bytes of
// all connections from this call on, and begins with 0. The server gets the bytes before n.
func (p *Proxy) CutRequest(n int) { p.arm(request, n) }

// CutReply closes, once, the connection that receives byte n from the server. n counts as for
// CutRequest. The client gets the bytes before n. If n is 0, the server has executed the request,
// but the client gets no reply.
func (p *Proxy) CutReply(n int) { p.arm(answer, n) }

func (p *Proxy) arm(d direction, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.toCut, p.left = true, d, n
}

// Disarm cancels a CutRequest or CutReply that has not closed a connection.
func (p *Proxy) Disarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
}

// Cuts returns the number of connections that CutRequest and CutReply have closed.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// Delay delays bytes by d in both directions. The default is 0.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Refuse rejects new connections if yes is true, and accepts them otherwise.
func (p *Proxy) Refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = yes
}

// Lead makes new connections lead to another server. Those that are open stay as they are.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// RoundTrips returns how often a client sent a request and had to wait for the reply. It counts
// bytes to the server that follow bytes from the server or begin a connection. Bytes that are sent
// together count once, whatever their length.
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
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		server, err := net.Dial("tcp", target)
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

// add adds a link, unless the proxy rejects connections.
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

// pump copies bytes in one direction until either connection is closed.
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

// decide returns how many of n bytes to copy, after which delay, and whether to close the link
// afterwards.
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

// wait waits for the delay. It reports whether the proxy is still open.
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

// close closes both connections. Calling it again has no effect.
func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}
