package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// maxTries is how often a reply is drafted before a person takes over.
const maxTries = 3

// desk has what the nodes work with. Its methods are the nodes: each gets the state and returns what it changes.
type desk struct {
	rules   Rules
	phrases Phrases
	sources Sources
	latency time.Duration // that a source takes to answer
	outbox  outbox
}

// newDesk reads the rules, the phrases and the sources; what is sent goes to out.
func newDesk(out outbox, latency time.Duration) (*desk, error) {
	rules, err := loadRules()
	if err != nil {
		return nil, err
	}
	phrases, err := loadPhrases()
	if err != nil {
		return nil, err
	}
	sources, err := loadSources()
	if err != nil {
		return nil, err
	}
	return &desk{rules: rules, phrases: phrases, sources: sources, latency: latency, outbox: out}, nil
}

// parse makes a ticket of the line.
func (d *desk) parse(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	t, err := parseTicket(s.Raw)
	if err != nil {
		return u, err
	}
	u.Ticket.Set(t)
	if t.Lang != "" {
		u.Lang.Set(t.Lang)
	}
	u.Log.Append("parsed")
	return u, nil
}

// classify says what the ticket is about.
func (d *desk) classify(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	v := d.rules.classify(s.Ticket.Subject, s.Ticket.Body, s.Lang)
	u.Lang.Set(v.Lang)
	u.Category.Set(v.Category)
	u.Labels.Add(v.Labels...)
	u.Amounts.Set(v.Amounts)
	u.Urgent.Or(v.Urgent)
	u.Log.Append(fmt.Sprintf("classified as %s, in %s", v.Category, v.Lang))
	return u, nil
}

// askPolicy adds what the house has decided for the ticket's category, and for all that it is about.
func (d *desk) askPolicy(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	if err := d.wait(ctx); err != nil {
		return u, err
	}
	policy := d.sources.policies[s.Category]
	order, own := d.sources.order(s.Ticket)
	refundable := false
	for _, label := range s.Labels {
		p := d.sources.policies[label]
		u.Priority.Offer(p.Priority)
		u.ReplyHours.Offer(p.ReplyHours)
		refundable = refundable || p.Refundable && own && within(p, order, s.Ticket.Received)
	}
	u.Policy.Set(policy)
	u.Desk.Set(policy.Desk)
	u.Refundable.And(refundable)
	u.Facts.Put("desk", policy.Desk)
	u.Log.Append("policy of the " + policy.Desk + " desk")
	return u, nil
}

// askCustomer adds what the shop knows about the sender. Nobody in particular is an answer too.
func (d *desk) askCustomer(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	if err := d.wait(ctx); err != nil {
		return u, err
	}
	c, known := d.sources.customers[strings.ToLower(s.Ticket.From)]
	order, own := d.sources.order(s.Ticket)
	u.Customer.Set(c)
	u.Refundable.And(own && c.Refunds < tooManyRefunds)
	if own {
		u.Order.Set(order)
		u.Facts.Put("order", order.Status+" "+order.Date.Format("2006-01-02")+", "+order.Total.String())
	}
	if !known {
		u.Log.Append("customer unknown")
		return u, nil
	}
	u.Facts.Put("customer", c.Name+", "+c.Plan)
	if c.Plan == "guide" { // they lead groups: somebody waits beside them
		u.Priority.Offer(4)
		u.ReplyHours.Offer(4)
		u.Urgent.Or(true)
		u.Desk.Set("advisers")
	}
	if c.Refunds >= tooManyRefunds {
		u.Handover.Set(fmt.Sprintf("%d refunds in a year", c.Refunds))
	}
	u.Log.Append("customer " + c.Name)
	return u, nil
}

// wait waits as long as a source takes to answer.
func (d *desk) wait(ctx context.Context) error {
	if d.latency <= 0 {
		return nil
	}
	t := time.NewTimer(d.latency)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// assess decides, with both answers at hand, what would be given back.
func (d *desk) assess(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	if s.Refundable {
		refund := owed(s.Order, s.Amounts)
		u.Refund.Set(refund)
		u.Log.Append("a refund of " + refund.String() + " is due, if somebody approves")
	}
	return u, nil
}

// draft writes a reply, or mends the one that did not pass.
func (d *desk) draft(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	b := s.brief()
	u.Brief.Set(b)
	if s.Reply == nil {
		u.Reply.Reduce(d.phrases.draft(*b))
	} else {
		u.Reply.Reduce(d.phrases.repair(*b, s.Problems))
	}
	return u, nil
}

// check says what is wrong with the reply, and what no longer is.
func (d *desk) check(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	b := s.brief()
	try := s.Tries + 1
	problems := d.phrases.check(*b, s.Reply)
	u.Tries.Add(1)
	u.Problems.Set(problems)
	open := make([]string, len(problems))
	for i, p := range problems {
		open[i] = p.String()
	}
	for _, c := range s.Checks {
		if c.Mended == 0 && !slices.Contains(open, c.Kind) {
			c.Mended = try
			u.Checks.Upsert(c)
		}
	}
	for _, kind := range open {
		if !slices.ContainsFunc(s.Checks, func(c Check) bool { return c.Kind == kind && c.Mended == 0 }) {
			u.Checks.Upsert(Check{Kind: kind, Found: try})
		}
	}
	if len(problems) == 0 {
		u.Log.Append(fmt.Sprintf("try %d passed", try))
	} else {
		u.Log.Append(fmt.Sprintf("try %d did not pass: %s", try, strings.Join(open, ", ")))
	}
	return u, nil
}

// afterClassify drops what nobody wants, and asks both sources about the rest.
func (d *desk) afterClassify(_ context.Context, s State) (graph.Next, error) {
	if s.Category == Spam {
		return graph.To(NodeDiscard), nil
	}
	return graph.To(NodePolicy, NodeCustomer), nil
}

// afterCheck sends what is right, has the rest mended, and gives up in the end.
func (d *desk) afterCheck(_ context.Context, s State) (graph.Next, error) {
	switch {
	case len(s.Problems) > 0 && s.Tries < maxTries:
		return graph.To(NodeDraft), nil
	case len(s.Problems) > 0 || s.Handover != "":
		return graph.To(NodeHandover), nil
	case s.Refund.Minor > 0:
		return graph.To(NodeRefund), nil
	}
	return graph.To(NodeSend), nil
}

// discard answers nothing.
func (d *desk) discard(context.Context, State) (StateUpdate, error) {
	var u StateUpdate
	u.Outcome.Set(Discarded)
	u.Log.Append("discarded")
	return u, nil
}

// handOver leaves the ticket to a person, with the draft as it is.
func (d *desk) handOver(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	reason := s.Handover
	if reason == "" {
		reason = fmt.Sprintf("no reply passed in %d tries", s.Tries)
		u.Handover.Set(reason)
	}
	u.Outcome.Set(HandedOver)
	u.Log.Append("handed over: " + reason)
	return u, nil
}

// errUndecided: the refund node ran before anybody had decided.
var errUndecided = errors.New("nobody has decided on the refund; triage approve or triage deny the ticket")

// refund pays, or says no. The graph stops before it, so that a person decides.
func (d *desk) refund(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	switch s.Decision {
	case Approved:
		if err := d.outbox.pay(s.Ticket.ID, s.Refund, graph.CurrentTask(ctx).Key); err != nil {
			return u, err
		}
		u.Outcome.Set(Refunded)
		u.Log.Append("paid " + s.Refund.String())
	case Denied:
		u.Outcome.Set(Declined)
		u.Reply.Reduce(d.phrases.decline(*s.brief()))
		u.Log.Append("refund denied")
	default:
		return u, errUndecided
	}
	return u, nil
}

// send puts what the ticket came to in the outbox.
func (d *desk) send(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	if s.Outcome == "" {
		s.Outcome = Replied
		u.Outcome.Set(Replied)
	}
	if err := d.outbox.send(newLetter(&s, graph.CurrentTask(ctx).Key)); err != nil {
		return u, err
	}
	u.Log.Append("sent")
	return u, nil
}
