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
	quick      = time.Second      // the least time between two greetings, except those of a full worker
	mostGraphs = 50               // in a greeting; a worker of more sends none
)

// peers decides which worker polls for a hint. Workers greet each other over the Engine. Each
// thread has an order of the workers that serve its graph, and only the first one polls for its
// hints. If that one has died, the thread waits for the next poll of any worker.
//
// Workers need not agree. If two of them are first, both poll. A worker that is first and cannot
// run a thread says so. It is no peer until its next greeting. Worker.mu guards the fields.
type peers struct {
	own    uint64
	graphs []uint64        // those that the worker serves
	all    map[uint64]peer // the others

	listens bool            // hints arrive
	yields  bool            // the worker cannot run a thread
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
	p := &peers{own: rand.Uint64(), all: make(map[uint64]peer), passed: make(map[string]bool), changed: make(chan struct{}, 1)}
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

// yield leaves the hints of this worker to the others, until it can run a thread again.
func (p *peers) yield() {
	if len(p.all) > 0 {
		p.yields = true
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

// text returns a greeting: the worker, and the graphs for whose hints it polls. A worker that
// yields or leaves polls for none.
func (p *peers) text(leaves bool) string {
	b := binary.BigEndian.AppendUint64(nil, p.own)
	if !leaves && !p.yields {
		for _, g := range p.graphs {
			b = binary.BigEndian.AppendUint64(b, g)
		}
	}
	return string(b)
}

// hear notes a greeting. It reports whether this worker must poll, because it may be first for
// hints that the other worker no longer polls for.
func (p *peers) hear(text string) (polls bool) {
	var numbers []uint64
	for b := []byte(text); len(b) >= 8; b = b[8:] {
		numbers = append(numbers, binary.BigEndian.Uint64(b))
	}
	if len(numbers) == 0 || numbers[0] == p.own {
		return false
	}
	id, graphs := numbers[0], numbers[1:]
	before, known := p.all[id]
	if len(graphs) == 0 {
		delete(p.all, id)
		return slices.ContainsFunc(before.graphs, func(g uint64) bool { return slices.Contains(p.graphs, g) && p.first(g, id) })
	}
	for other, peer := range p.all {
		if time.Since(peer.heard) >= silence {
			delete(p.all, other)
		}
	}
	p.all[id] = peer{graphs, time.Now()}
	if !known {
		p.soon()
	}
	return false
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

// greet sends a greeting, if the worker hears those of others.
func (w *Worker) greet(ctx context.Context, leaves bool, limit time.Duration) {
	p := w.peers
	w.mu.Lock()
	text, sends := p.text(leaves), p.listens && len(p.graphs) <= mostGraphs
	p.sent, p.next = time.Now(), time.Now().Add(jittered(greeting))
	w.mu.Unlock()
	if sends {
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
