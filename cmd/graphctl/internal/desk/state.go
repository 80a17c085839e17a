// Package desk is the graph of the tests of graphctl.
package desk

//go:generate go tool graphgen -type=State,Refund,Approval,Receipt

// State is one order.
type State struct {
	Order   string
	Cents   int64
	Tags    map[string]string `graph:"merge"`
	Log     []string          `graph:"append"`
	Vote    *Approval
	Receipt Receipt
}

// Refund is a question to a person.
type Refund struct {
	Order string
	Cents int64
}

// Approval is the answer to a Refund.
type Approval struct {
	OK bool
	By string
}

// Receipt is the payload of a signal.
type Receipt struct {
	Number string
}
