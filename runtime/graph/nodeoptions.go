package graph

import "time"

// NodeOption is an option of Node and TaskNode. Every NodeOption is a RoutingNodeOption, too.
//
// An option that holds one value must be given at most once: Compile reports the second as a fault. FormerIDs, Targets and
// questions add to the values given before.
type NodeOption interface {
	RoutingNodeOption
	node(*nodeOptions)
}

// RoutingNodeOption is an option of RoutingNode and RoutingTaskNode.
type RoutingNodeOption interface{ routingNode(*nodeOptions) }

// SubgraphOption is an option of Builder.Subgraph. Every SubgraphOption is a MapSubgraphOption, too.
type SubgraphOption interface {
	MapSubgraphOption
	subgraph(*nodeOptions)
}

// MapSubgraphOption is an option of MapSubgraph.
type MapSubgraphOption interface{ mapSubgraph(*nodeOptions) }

// AnyNodeOption is an option of every kind of node.
type AnyNodeOption interface {
	NodeOption
	SubgraphOption
}

// TargetsOption is an option of every kind of node that can choose the nodes after it.
type TargetsOption interface {
	RoutingNodeOption
	SubgraphOption
}

type nodeOptions struct {
	given     given
	retry     RetryPolicy
	timeout   time.Duration
	defers    bool
	questions []askable
	was       []ID
	targets   []ID
	remembers bool
	writes    []string // nil when it does not say
}

// nodeOption sets options of a node. The interface that an option's function returns limits the kinds of nodes.
type nodeOption func(*nodeOptions)

func (f nodeOption) node(o *nodeOptions)        { f(o) }
func (f nodeOption) routingNode(o *nodeOptions) { f(o) }
func (f nodeOption) subgraph(o *nodeOptions)    { f(o) }
func (f nodeOption) mapSubgraph(o *nodeOptions) { f(o) }

// singleNodeOption is an option of a node that can be given once.
func singleNodeOption(name string, set func(*nodeOptions)) nodeOption {
	return nodeOption(func(o *nodeOptions) {
		o.given.set(name)
		set(o)
	})
}

// Timeout cancels the context of an attempt of the node after d, and waits for the node to return: Go cannot
// stop a goroutine, and nothing else of the thread runs beside one that has not returned. The attempt then
// failed, unless it returned a result all the same. d must be more than 0.
func Timeout(d time.Duration) AnyNodeOption {
	return singleNodeOption("Timeout", func(o *nodeOptions) { o.timeout = d })
}

// Deferred lets the node wait, once it is due, until nothing but deferred nodes is: it runs after all branches have
// come to their end, however long they are.
func Deferred() AnyNodeOption {
	return singleNodeOption("Deferred", func(o *nodeOptions) { o.defers = true })
}

// Targets lists the nodes that a node may choose to run next, and End if it may end the branch. A RoutingNode and a
// RoutingTaskNode choose by the Next that they return. A subgraph chooses by ToParent. Compile reports a routing node
// without targets.
func Targets(ids ...ID) TargetsOption {
	return nodeOption(func(o *nodeOptions) { o.targets = append(o.targets, ids...) })
}

// FormerIDs names ids that the node had: threads that wait at one of them continue at this node, with the results, questions and keys that
// their tasks have. Keep a former id listed as long as such threads may exist.
// Snapshots name nodes as they were stored.
func FormerIDs(ids ...ID) AnyNodeOption {
	return nodeOption(func(o *nodeOptions) { o.was = append(o.was, ids...) })
}

// Retry runs a failed node again. Panics are not retried, nor is a node whose run was cancelled.
func Retry(b RetryPolicy) AnyNodeOption {
	return singleNodeOption("Retry", func(o *nodeOptions) { o.retry = b })
}

// RetryPolicy says how often and after what pause a node is run again.
type RetryPolicy struct {
	// Attempts is how often the node runs at most, the first time included. 0 and 1 are no retry.
	Attempts int
	// Base is the pause before the second attempt; each later pause is twice the one before. The default is
	// 100 ms.
	Base time.Duration
	// Max bounds a pause. The default is 30 s.
	Max time.Duration
	// Unless reports errors that no retry can mend; nil is none.
	Unless func(error) bool
}
