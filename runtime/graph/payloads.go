package graph

import "github.com/graphgen-go/graphgen/shape"

// NodePayloads describes the types of the payloads that threads store for a node. It must not be
// modified.
type NodePayloads struct {
	Graph     string // the graph of the node: the described one, or a subgraph
	Node      ID
	Input     shape.Payload // of a send to the node; empty if nothing is sent to it
	Questions []shape.Question
	Signals   []shape.Signal
}

// Payloads describes the payloads of the nodes of the graph and of its subgraphs. Nodes without
// payloads are left out. The same graph always has the same payloads in the same order.
func (g *Graph[S, U]) Payloads() []NodePayloads { return g.core.payloads() }

// payloads is Graph.Payloads.
func (g *core) payloads() (all []NodePayloads) {
	for _, g := range g.within() {
		for i := range g.nodes {
			n := &g.nodes[i]
			p := NodePayloads{Graph: g.name, Node: n.id}
			if n.input != nil {
				p.Input = n.input()
			}
			for _, q := range n.questions {
				p.Questions = append(p.Questions, q.shape())
			}
			for _, s := range n.signals {
				p.Signals = append(p.Signals, s.shape())
			}
			if n.input != nil || len(p.Questions)+len(p.Signals) > 0 {
				all = append(all, p)
			}
		}
	}
	return all
}
