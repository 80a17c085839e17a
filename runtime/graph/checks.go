package graph

import (
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

// checkOptions reports options that were set twice, have no effect, or contradict each other.
func (c *compiler) checkOptions() {
	o := &c.g.opt
	for _, name := range o.given.twice {
		c.fault("%s is set twice; set it once", name)
	}
	if o.stops.beforeRoute && len(o.stops.after) == 0 {
		c.fault("BeforeRoute without InterruptAfter has nothing to stop")
	}
	switch saved := slices.Contains(o.given.once, "Saver"); {
	case saved && value.IsNil(o.saver):
		c.fault("Saver is nil (%T); pass a saver that was opened, or leave the option out", o.saver)
	case !saved && !o.nested && !o.stops.nodeless():
		c.fault("a graph that stops for people needs a Saver: without one nothing can be resumed")
	}
	if c.g.name == "" {
		c.fault("the graph has no name; pass one to graph.New, since it tells the graph's threads from those of others")
	}
	if n := len(c.g.name); n > checkpoint.MaxGraph {
		c.fault("the graph's name has %d bytes, more than the %d that savers store", n, checkpoint.MaxGraph)
	}
	for i, name := range o.formerNames {
		if name == "" || name == c.g.name || slices.Contains(o.formerNames[:i], name) {
			c.fault("FormerNames lists %q; want other names than the graph's own, each once", name)
		}
	}
	for _, observer := range o.observers {
		if l, ok := observer.(*logged); ok && l == nil {
			c.fault("Log is given nil; pass a logger, or leave the option out")
		} else if value.IsNil(observer) {
			c.fault("Observe is given nil (%T); pass an Observer, or leave the option out", observer)
		}
	}
	c.checkInterceptors()
	c.checkPropagators()
	if o.redact == nil && slices.Contains(o.given.once, "RedactErrors") {
		c.fault("RedactErrors is given nil; pass a function, or leave the option out")
	}
	if o.holder == "" {
		c.fault("Holder is empty; name who runs, or leave the option out")
	}
	c.faults = append(c.faults, o.limits.check()...)
	if o.lease < 0 {
		c.fault("Lease is %s; want more than 0, or 0 for the default", o.lease)
	}
	if o.lease == 0 {
		o.lease = checkpoint.DefaultLease
	}
	if o.saverTimeout <= 0 {
		c.fault("SaverTimeout is %s; want more than 0", o.saverTimeout)
	}
	if o.keep < 1 && slices.Contains(o.given.once, "KeepCheckpoints") {
		c.fault("KeepCheckpoints is %d; want at least 1, or leave the option out to keep all", o.keep)
	}
	if o.hot < 0 {
		c.fault("HotThreads is %d; want a number of bytes, or 0 for none", o.hot)
	}
	if o.hot == 0 && o.sharedState {
		c.fault("SharedState without HotThreads has nothing to share")
	}
	for i := range c.nodes {
		c.checkNodeOptions(&c.nodes[i])
	}
	c.checkQueues()
}

// checkNodeOptions does the same for the options of one node.
func (c *compiler) checkNodeOptions(n *nodeDecl) {
	id, o := string(n.id), &n.opts
	for _, name := range o.given.twice {
		c.fault("node %q: its %s is set twice; set it once", id, name)
	}
	if o.timeout < 0 || o.timeout == 0 && slices.Contains(o.given.once, "Timeout") {
		c.fault("node %q: its Timeout is %s; want more than 0", id, o.timeout)
	}
	if o.idle < 0 || o.idle == 0 && slices.Contains(o.given.once, "IdleTimeout") {
		c.fault("node %q: its IdleTimeout is %s; want more than 0", id, o.idle)
	}
	if o.start < 0 || o.start == 0 && slices.Contains(o.given.once, "StartTimeout") {
		c.fault("node %q: its StartTimeout is %s; want more than 0", id, o.start)
	}
	if len(o.questions) > 0 && !slices.Contains(c.g.opt.given.once, "Saver") && !c.g.opt.nested {
		c.fault("node %q asks questions, which needs a Saver: without one nothing can be resumed", id)
	}
	if len(o.signals) > 0 && !slices.Contains(c.g.opt.given.once, "Saver") && !c.g.opt.nested {
		c.fault("node %q receives signals, which needs a Saver: without one a thread has no messages", id)
	}
	if !n.empty {
		c.checkKind(n)
	}
	c.checkQuestions(n.id, o.questions)
	c.checkSignals(n.id, o.signals)
	c.checkQueue(n)
	c.checkSubgraph(n)
	c.checkUnstored(n)
	c.checkRetry(id, o.retry)
	c.checkLimits(id, o.limits, n.kind.sub)
}

// checkKind reports options that have no effect on the kind of the node.
func (c *compiler) checkKind(n *nodeDecl) {
	o, kind := &n.opts, n.kind.name()
	sub := n.kind.sub != nil
	for _, option := range []struct {
		name  string
		wrong bool
		fits  string
	}{
		{"Targets", len(o.targets) > 0 && !n.kind.routes && !sub, "routing nodes and subgraphs"},
		{"KeepUpdateOnError", o.keeps && sub, "nodes with a function"},
		{"Queue", slices.Contains(o.given.once, "Queue") && sub, "nodes with a function"},
		{"Question", len(o.questions) > 0 && kind == KindSubgraph, "nodes with a function, MapSubgraph and TaskSubgraph"},
		{"Signal", len(o.signals) > 0 && kind == KindSubgraph, "nodes with a function, MapSubgraph and TaskSubgraph"},
		{"Unstored", o.unstored && !sub, "subgraphs"},
		{"Stateful", o.remembers && kind != KindMapSubgraph, "MapSubgraph"},
	} {
		if option.wrong {
			c.fault("node %q has the option %s, which is for %s; leave it out", string(n.id), option.name, option.fits)
		}
	}
}

func (c *compiler) checkRetry(id string, policies []RetryPolicy) {
	for i := range policies {
		switch b := &policies[i]; {
		case b.Attempts < 0:
			c.fault("node %q: its Retry has %d attempts; want at least 1", id, b.Attempts)
		case b.Base < 0:
			c.fault("node %q: its Retry has a Base of %s; want more than 0, or 0 for the default", id, b.Base)
		case b.Max < 0:
			c.fault("node %q: its Retry has a Max of %s; want more than 0, or 0 for the default", id, b.Max)
		case b.If == nil && slices.ContainsFunc(policies[:i], func(p RetryPolicy) bool { return p.If == nil }):
			c.fault("node %q: its Retry has two policies without an If, of which the second never applies; give it an If, or leave it out", id)
		}
	}
}

// checkSubgraph checks the Targets of a subgraph.
func (c *compiler) checkSubgraph(n *nodeDecl) {
	up := n.kind.sub != nil && n.kind.sub.leadsUp
	switch {
	case n.kind.sub == nil || n.empty:
	case len(n.opts.targets) > 0 && !up:
		c.fault("subgraph %q: nothing in it leads to Parent, so it never chooses among its Targets", string(n.id))
	case up && len(n.opts.targets) == 0:
		c.fault("subgraph %q leads to Parent; list what it may choose by graph.Targets", string(n.id))
	}
}

func (c *compiler) checkSignals(id ID, signals []receivable) {
	for i, s := range signals {
		if s.name == "" || strings.ContainsAny(s.name, ":#/") || len(s.name) > checkpoint.MaxMessageID {
			c.fault("node %q: signal %q: a name has 1 to %d bytes and none of : # and /", string(id), s.name, checkpoint.MaxMessageID)
		}
		if slices.ContainsFunc(signals[:i], func(p receivable) bool { return p.name == s.name }) {
			c.fault("node %q lists signal %q twice", string(id), s.name)
		}
	}
}

func (c *compiler) checkQuestions(id ID, questions []askable) {
	for i, q := range questions {
		if q.name == "" || strings.ContainsAny(q.name, ":#/") {
			c.fault("node %q: question %q: a name is not empty and has none of : # and /", string(id), q.name)
		}
		if slices.ContainsFunc(questions[:i], func(p askable) bool { return p.name == q.name }) {
			c.fault("node %q lists question %q twice", string(id), q.name)
		}
	}
}
