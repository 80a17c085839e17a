package main

import (
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// lease is how long a killed process holds its threads.
const lease = 2 * time.Second

// The nodes, by the names that routes, listings and tests use.
const (
	NodeParse    graph.ID = "parse"
	NodeClassify graph.ID = "classify"
	NodePolicy   graph.ID = "policy"
	NodeCustomer graph.ID = "customer"
	NodeAssess   graph.ID = "assess"
	NodeDraft    graph.ID = "draft"
	NodeCheck    graph.ID = "check"
	NodeRefund   graph.ID = "refund"
	NodeDiscard  graph.ID = "discard"
	NodeHandover graph.ID = "handover"
	NodeSend     graph.ID = "send"
)

// flow is the graph of a ticket.
type flow = graph.Graph[State, StateUpdate]

// newFlow wires the nodes of d:
//
//	parse - classify -+- policy ---+- assess - draft - check -+- send
//	                  |            |             ^       |    |
//	                  +- customer -+             +-------+    +- (a person decides) refund - send
//	                  |                                       |
//	                  +- discard - send                       +- handover - send
//
// Updates of one superstep merge in the order in which nodes are declared: the customer's adviser
// comes after the policy's desk.
func newFlow(d *desk, saver checkpoint.Saver, opts ...graph.Option) (*flow, error) {
	g := graph.New("triage", StateSchema)
	g.Node(NodeParse, d.parse)
	g.Node(NodeClassify, d.classify)
	g.Node(NodePolicy, d.askPolicy)
	g.Node(NodeCustomer, d.askCustomer)
	g.Node(NodeAssess, d.assess)
	g.Node(NodeDraft, d.draft)
	g.Node(NodeCheck, d.check)
	g.Node(NodeRefund, d.refund)
	g.Node(NodeDiscard, d.discard)
	g.Node(NodeHandover, d.handOver)
	g.Node(NodeSend, d.send)

	g.Edge(graph.Start, NodeParse)
	g.Edge(NodeParse, NodeClassify)
	g.Route(NodeClassify, d.afterClassify, NodePolicy, NodeCustomer, NodeDiscard)
	g.Join([]graph.ID{NodePolicy, NodeCustomer}, NodeAssess)
	g.Edge(NodeAssess, NodeDraft)
	g.Edge(NodeDraft, NodeCheck)
	g.Route(NodeCheck, d.afterCheck, NodeDraft, NodeRefund, NodeHandover, NodeSend)
	g.Edge(NodeRefund, NodeSend)
	g.Edge(NodeDiscard, NodeSend)
	g.Edge(NodeHandover, NodeSend)
	g.Edge(NodeSend, graph.End)
	return g.Compile(append(opts, graph.Saver(saver), graph.Lease(lease), graph.InterruptBefore(NodeRefund))...)
}
