package main

//go:generate go tool graphgen -type=State,Purchase,Vote
//go:generate go run picture.go flow.go state.go state_graphgen.go README.md

// State is one request on its way.
type State struct {
	Purchase Purchase
	Votes    []Vote   `graph:"append"` // those that count
	Log      []string `graph:"append"` // what happened, for people
	Outcome  Outcome
}

// Purchase is what somebody wants to buy. It is also what approvers are asked about.
type Purchase struct {
	Item     string
	Cents    int64
	By       string
	Approved []string // by whom it is already, when it is asked about
}

// Vote is an approver's answer.
type Vote struct {
	OK   bool
	By   string
	Note string
}

// Outcome is how a request ended. Empty is not yet.
type Outcome string

// The outcomes.
const (
	Ordered Outcome = "ordered"
	Denied  Outcome = "denied"
)
