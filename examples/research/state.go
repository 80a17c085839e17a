package main

//go:generate go tool graphgen -type=State,Paper,Plan,Step,Verdict

// State is one piece of research on its way.
type State struct {
	Question     string
	Plan         Plan
	Verdict      Verdict
	Messages     []Message     `graph:"append"`
	Observations []Observation `graph:"upsert,key=Doc"` // a document found twice is one
	Asked        []string      `graph:"union"`          // the queries that were searched for
	Rounds       int           `graph:"sum"`
	Searches     int           `graph:"sum"`
	Report       string
}

// Plan is what is going to be searched for. People are asked about it.
type Plan struct {
	Title string
	Steps []Step
}

// Step is one search.
type Step struct {
	Query  string
	Engine Engine
}

// Engine is where a search looks.
type Engine string

// The engines.
const (
	Titles   Engine = "titles"
	FullText Engine = "fulltext"
)

// Verdict is what a person says about a plan.
type Verdict struct {
	OK  bool
	Add string // one more query; empty for none
}

// Observation is a document that was found.
type Observation struct {
	Doc   string // its title
	Query string // that found it
	Text  string
}

// Message is one thing that was said.
//
//graphgen:union Message = *User | *Assistant | *Tool
type Message interface{ isMessage() }

// User is what the person said.
type User struct{ Text string }

// Assistant is what the program said.
type Assistant struct{ Text string }

// Tool is what a search came to.
type Tool struct {
	Step  Step
	Found []string
}

func (*User) isMessage()      {}
func (*Assistant) isMessage() {}
func (*Tool) isMessage()      {}

// Paper is the state of the writing, a graph of its own.
type Paper struct {
	Title        string
	Observations []Observation
	Sections     map[string]string `graph:"merge"` // by query
	Text         string
}
