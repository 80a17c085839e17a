// Package howto contains the programs of the how-to pages.
package howto

//go:generate go tool graphgen -type=State,Doc,Chunk,Refund,Approval,Receipt

// State is the state of the graphs.
type State struct {
	Order    string
	Cents    int64
	Paid     bool
	Names    []string          `graph:"append"` // of documents to read
	Found    map[string]string `graph:"merge"`  // the text of each document
	Failed   []Failure         `graph:"append"` // the documents that could not be read
	Total    int               // the number of items to process
	Cursor   int               // the first item that no chunk contains yet
	Accepted int               `graph:"sum"`
	Rejected []int             `graph:"append"` // the items that failed
	Log      []string          `graph:"append"`
}

// Doc names a document to read.
type Doc struct {
	Name string
}

// Failure says why a document could not be read.
type Failure struct {
	Doc      string
	Error    string
	Attempts int
	TimedOut bool
}

// Chunk is a range of items: the first, and the one after the last.
type Chunk struct {
	From, To int
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

// Receipt is the answer of a bank.
type Receipt struct {
	Number string
}
