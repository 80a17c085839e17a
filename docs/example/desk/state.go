// Package desk contains the graphs of the pages on sends, questions, streams, subgraphs and time
// travel.
package desk

//go:generate go tool graphgen -type=State,Letter,Doc,Refund,Approval

// State is the state of the graphs.
type State struct {
	Order string
	Names []string          `graph:"append"` // of documents to read
	Found map[string]string `graph:"merge"`
	Log   []string          `graph:"append"`
}

// Doc is the payload of a send to the node that reads documents.
type Doc struct {
	Name string
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
