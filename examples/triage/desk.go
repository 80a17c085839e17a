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

// maxTries is the number of drafts before a person takes over.
const maxTries = 3

// desk contains the data of the nodes. Its methods are the nodes: each gets the state and returns
// an update.
type desk struct {
	rules   Rules
	phrases Phrases
	sources Sources
	latency time.Duration // the response time of a source
	outbox  outbox
}

// newDesk reads the rules, the phrases and the sources. Letters and payments go to out.
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

// parse parses the line as a ticket.
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

// classify determines the category of the ticket.
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

// askPolicy adds the policies for the ticket's category and labels.
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

// askCustomer adds the shop's data about the sender. An unknown sender is valid.
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
	if c.Plan == "guide" { // guides lead groups, who are waiting with them
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

// wait waits for the response time of a source.
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

// assess computes the refund from the answers of both sources.
func (d *desk) assess(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	if s.Refundable {
		refund := owed(s.Order, s.Amounts)
		u.Refund.Set(refund)
		u.Log.Append("a refund of " + refund.String() + " is due, if somebody approves")
	}
	return u, nil
}

// draft writes a reply, or repairs the one that failed the check.
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

// check finds the problems of the reply, and records the problems that are solved.
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

// afterClassify discards spam, and asks both sources about all other tickets.
func (d *desk) afterClassify(_ context.Context, s State) (graph.Next, error) {
	if s.Category == Spam {
		return graph.To(NodeDiscard), nil
	}
	return graph.To(NodePolicy, NodeCustomer), nil
}

// afterCheck sends a correct reply, repairs a faulty one, and hands it over after maxTries.
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

// discard closes the ticket without a reply.
func (d *desk) discard(context.Context, State) (StateUpdate, error) {
	var u StateUpdate
	u.Outcome.Set(Discarded)
	u.Log.Append("discarded")
	return u, nil
}

// handOver leaves the ticket and the current draft to a person.
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

// errUndecided is the error of the refund node before a person has decided.
var errUndecided = errors.New("nobody has decided on the refund; triage approve or triage deny the ticket")

// refund pays the refund or declines it. The graph stops before this node, so that a person
// decides.
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

// send puts the outcome of the ticket in the outbox.
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
