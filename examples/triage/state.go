package main

//go:generate go tool graphgen -type=State

// State is the state of one ticket. The tag of each field defines how updates are merged. A field
// without a tag is replaced.
type State struct {
	Raw    []byte // the ticket as it came in
	Ticket Ticket
	Lang   string `graph:"first"` // the customer's own setting wins over detection

	Category   Category
	Labels     []Category `graph:"union"` // all categories of the ticket
	Amounts    []Money    // the amounts in the ticket
	Urgent     bool       `graph:"or"`   // true if any node sets it
	Priority   int        `graph:"max"`  // the highest of the rules, the customer's plan and the policy
	ReplyHours int        `graph:"min"`  // the shortest time that was promised
	Desk       string     `graph:"last"` // the policy names one, but a guide's adviser wins

	Customer   Customer
	Order      Order // the order in the ticket, if it belongs to the sender
	Policy     Policy
	Facts      map[string]string `graph:"merge"` // facts of each source, for people
	Refundable bool              `graph:"and"`   // true if every source agrees
	Handover   string            `graph:"first"` // the first reason for a person to take over; empty for none
	Refund     Money             // paid after approval
	Decision   Decision

	Brief    *Brief    `graph:"untracked"`        // the facts for a reply: kept in memory during a run, collected again after a resume
	Reply    *Reply    `graph:"reduce=editReply"` // drafted, then edited
	Tries    int       `graph:"sum"`              // number of checks
	Problems []Problem `graph:"ephemeral"`        // problems of the newest draft, until the next one
	Checks   []Check   `graph:"upsert,key=Kind"`  // the history of each kind of problem
	Outcome  Outcome   // the outcome of the ticket
	Log      []string  `graph:"append"`
}

// Decision is a person's decision about a refund.
type Decision string

// The decisions. Empty means undecided.
const (
	Approved Decision = "approved"
	Denied   Decision = "denied"
)

// Outcome is the outcome of a ticket. Empty means unfinished.
type Outcome string

// The outcomes.
const (
	Replied    Outcome = "replied"
	Refunded   Outcome = "refunded"
	Declined   Outcome = "declined"
	HandedOver Outcome = "handed over"
	Discarded  Outcome = "discarded"
)

// Check is the history of one kind of problem in the drafts.
type Check struct {
	Kind   string
	Found  int // the number of the draft with the problem, from 1
	Mended int // the number of the draft without it; 0 while it remains
}

// brief returns the brief of an earlier node in this run, or a new one.
func (s *State) brief() *Brief {
	if s.Brief != nil {
		return s.Brief
	}
	return &Brief{
		Ticket: s.Ticket, Lang: s.Lang, Name: s.Customer.Name, Account: s.Customer.Lang,
		Labels: s.Labels, Refund: s.Refund, Policy: s.Policy,
	}
}
