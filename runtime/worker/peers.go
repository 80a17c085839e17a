package worker

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// peersGraph is the graph of the hints by which the workers of an Engine know each other.
const peersGraph = graph.ReservedPrefix + "peers"

const (
	greeting   = 15 * time.Second // the mean time between two greetings
	silence    = 40 * time.Second // after which a peer counts as dead
	quick      = time.Second      // the least mean time between two greetings, except the first one without graphs
	mostGraphs = 50               // in a greeting; a worker of more sends none
)

// peers decides which worker polls for a hint. Workers greet each other over the Engine. Each
// thread has an order of the workers that serve its graph, and only the first one polls for its
// hints. If that one has died, the thread waits for the next poll of any worker.
//
// Workers need not agree. If two of them are first, both poll. A worker that is first and cannot
// run a thread, or that hears no hints, greets without graphs. Others then poll for its hints
// until its next greeting. Worker.mu guards the fields.
type peers struct {
	own    uint64
	graphs []uint64        // those that the worker serves
	all    map[uint64]peer // the others

	listens bool            // hints arrive
	yields  bool            // the next greeting is without graphs
	away    bool            // the newest greeting was without graphs, or there was none
	passed  map[string]bool // graphs with hints that all other workers must get
	sent    time.Time       // the newest greeting
	next    time.Time       // the next one
	changed chan struct{}   // passed has another graph, or next is earlier
}

// peer is another worker.
type peer struct {
	graphs []uint64
	heard  time.Time
}

// newPeers returns the peers of a worker that serves graphs. It knows no other worker.
func newPeers(graphs []string) *peers {
	p := &peers{own: rand.Uint64(), away: true, all: make(map[uint64]peer), passed: make(map[string]bool), changed: make(chan struct{}, 1)}
	for _, name := range graphs {
		p.graphs = append(p.graphs, hash(name))
	}
	return p
}

// hash returns a number that is the same in all processes.
func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return h.Sum64()
}

// rank returns where a worker is in the order of a thread: the highest one is first.
func rank(id, thread uint64) uint64 {
	x := id ^ thread // and the end of SplitMix64, so that each bit changes all others
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// first reports whether no peer is before this worker in the order of a thread.
func (p *peers) first(graph, thread uint64) bool {
	own := rank(p.own, thread)
	for id, other := range p.all {
		if rank(id, thread) > own && time.Since(other.heard) < silence && slices.Contains(other.graphs, graph) {
			return false
		}
	}
	return true
}

// greet makes the next greeting due after d, or earlier if it is already.
func (p *peers) greet(d time.Duration) {
	if at := time.Now().Add(d); at.Before(p.next) {
		p.next = at
		p.wake()
	}
}

// soon makes the next greeting due soon after the newest one.
func (p *peers) soon() { p.greet(max(time.Until(p.sent.Add(jittered(quick))), 0)) }

// yield leaves the hints of this worker to the others, unless it knows none. If they know that it
// is away, its next greeting says so again.
func (p *peers) yield() {
	if p.yields = len(p.all) > 0; p.yields && !p.away {
		p.greet(0)
	}
}

// pass makes all workers poll for a graph.
func (p *peers) pass(graph string) {
	p.passed[graph] = true
	p.wake()
}

func (p *peers) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// text returns the greeting that is due: the worker, and the graphs for whose hints it polls. It
// is empty if no worker needs it.
func (p *peers) text(leaves bool) string {
	needed := p.listens || !p.away
	p.away, p.yields = leaves || p.yields || !p.listens, false
	p.sent, p.next = time.Now(), time.Now().Add(jittered(greeting))
	if !needed || len(p.graphs) > mostGraphs {
		return ""
	}
	b := binary.BigEndian.AppendUint64(nil, p.own)
	if p.away {
		p.soon()
		return string(b)
	}
	for _, g := range p.graphs {
		b = binary.BigEndian.AppendUint64(b, g)
	}
	return string(b)
}

// hear notes a greeting. It returns the graphs for whose hints the other worker no longer polls,
// and this worker may be first.
func (p *peers) hear(text string) (lost []uint64) {
	var numbers []uint64
	for b := []byte(text); len(b) >= 8; b = b[8:] {
		numbers = append(numbers, binary.BigEndian.Uint64(b))
	}
	if len(numbers) == 0 || numbers[0] == p.own {
		return nil
	}
	id, graphs := numbers[0], numbers[1:]
	before, known := p.all[id]
	for other, peer := range p.all {
		if time.Since(peer.heard) >= silence {
			delete(p.all, other)
		}
	}
	p.all[id] = peer{graphs, time.Now()}
	if !known {
		p.soon()
	}
	if len(graphs) > 0 {
		return nil
	}
	return slices.DeleteFunc(before.graphs, func(g uint64) bool { return !slices.Contains(p.graphs, g) || !p.first(g, id) })
}

// greetPeers sends greetings and the hints that are passed on until ctx ends, and then a last
// greeting.
func (w *Worker) greetPeers(ctx context.Context) {
	for {
		w.mu.Lock()
		timer := time.NewTimer(max(time.Until(w.peers.next), 0))
		passed := slices.Collect(maps.Keys(w.peers.passed))
		clear(w.peers.passed)
		w.mu.Unlock()
		for _, name := range passed {
			w.send(ctx, w.opt.SaverTimeout, name, "")
		}
		select {
		case <-timer.C:
			w.greet(ctx, false, w.opt.SaverTimeout)
		case <-w.peers.changed:
		case <-ctx.Done():
			timer.Stop()
			w.greet(context.WithoutCancel(ctx), true, min(farewell, w.opt.SaverTimeout))
			return
		}
		timer.Stop()
	}
}

// greet sends the greeting that is due.
func (w *Worker) greet(ctx context.Context, leaves bool, limit time.Duration) {
	w.mu.Lock()
	text := w.peers.text(leaves)
	w.mu.Unlock()
	if text != "" {
		w.send(ctx, limit, peersGraph, text)
	}
}

// send sends a hint. The Engine may lose it.
func (w *Worker) send(ctx context.Context, limit time.Duration, graph, thread string) {
	call, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := w.opt.Engine.Wake(call, graph, thread); err != nil && ctx.Err() == nil {
		e := Event{Kind: EventEngineFailed, Graph: graph, Thread: thread, Err: err}
		if graph == peersGraph {
			e.Graph, e.Thread = "", ""
		}
		w.emit(e)
	}
}
