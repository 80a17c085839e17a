// Package desk has the graphs of the manual's pages on sends, questions, streams and time travel.
package desk

//go:generate go tool graphgen -type=State,Letter,Doc,Refund,Approval

// State is what the graphs work on.
type State struct {
	Order string
	Names []string          `graph:"append"` // of documents to read
	Found map[string]string `graph:"merge"`
	Log   []string          `graph:"append"`
}

// Doc is what is sent to the node that reads documents.
type Doc struct {
	Name string
}

// Refund is what a person is asked.
type Refund struct {
	Order string
	Cents int64
}

// Approval is the answer.
type Approval struct {
	OK bool
	By string
}
