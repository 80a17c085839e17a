package main

//go:generate go tool graphgen -type=State

// State is one ticket on its way through the house. Each field's tag says what becomes of it when a node writes; a
// field without one is replaced.
type State struct {
	Raw    []byte // the ticket as it came in
	Ticket Ticket
	Lang   string `graph:"first"` // what the customer says comes before what the text sounds like

	Category   Category
	Labels     []Category `graph:"union"` // everything the ticket is about
	Amounts    []Money    // that it names
	Urgent     bool       `graph:"or"`   // when anybody finds so
	Priority   int        `graph:"max"`  // of those that the rules, the customer's plan and the policy give
	ReplyHours int        `graph:"min"`  // the shortest time that anybody promises
	Desk       string     `graph:"last"` // the policy names one, but a guide's own adviser goes before it

	Customer   Customer
	Order      Order // the one that the ticket names, if it is the sender's own
	Policy     Policy
	Facts      map[string]string `graph:"merge"` // what each source adds, for people to read
	Refundable bool              `graph:"and"`   // when every source agrees
	Handover   string            `graph:"first"` // the first reason for a person to take over; empty for none
	Refund     Money             // to be given back once approved
	Decision   Decision

	Brief    *Brief    `graph:"untracked"`        // what a reply has to go by: kept for the loop, gathered anew after a resume
	Reply    *Reply    `graph:"reduce=editReply"` // drafted, then edited
	Tries    int       `graph:"sum"`              // how often it was checked
	Problems []Problem `graph:"ephemeral"`        // of the newest draft: gone once the next one is made
	Checks   []Check   `graph:"upsert,key=Kind"`  // how each kind of problem stands
	Outcome  Outcome   // how the ticket ended
	Log      []string  `graph:"append"`
}

// Decision is what a person says about a refund.
type Decision string

// The decisions. Empty is none yet.
const (
	Approved Decision = "approved"
	Denied   Decision = "denied"
)

// Outcome is how a ticket ended. Empty is not yet.
type Outcome string

// The outcomes.
const (
	Replied    Outcome = "replied"
	Refunded   Outcome = "refunded"
	Declined   Outcome = "declined"
	HandedOver Outcome = "handed over"
	Discarded  Outcome = "discarded"
)

// Check is what became of one kind of problem that a draft had.
type Check struct {
	Kind   string
	Found  int // in which try, from 1
	Mended int // in which try it was gone; 0 while it is not
}

// brief returns what a reply has to go by: what an earlier node of this run gathered, if any.
func (s *State) brief() *Brief {
	if s.Brief != nil {
		return s.Brief
	}
	return &Brief{
		Ticket: s.Ticket, Lang: s.Lang, Name: s.Customer.Name, Account: s.Customer.Lang,
		Labels: s.Labels, Refund: s.Refund, Policy: s.Policy,
	}
}
