package main

//go:generate go tool graphgen -type=State,Paper,Plan,Step,Verdict

// State is the state of a piece of research.
type State struct {
	Question     string
	Plan         Plan
	Verdict      Verdict
	Messages     []Message     `graph:"append"`
	Observations []Observation `graph:"upsert,key=Doc"` // a document found twice is stored once
	Asked        []string      `graph:"union"`          // the queries of all searches
	Rounds       int           `graph:"sum"`
	Searches     int           `graph:"sum"`
	Report       string
}

// Plan lists the planned searches. A person approves it.
type Plan struct {
	Title string
	Steps []Step
}

// Step is one search.
type Step struct {
	Query  string
	Engine Engine
}

// Engine selects the text in which a search looks.
type Engine string

// The engines.
const (
	Titles   Engine = "titles"
	FullText Engine = "fulltext"
)

// Verdict is a person's answer about a plan.
type Verdict struct {
	OK  bool
	Add string // an additional query; empty for none
}

// Observation is a document that a search found.
type Observation struct {
	Doc   string // the title
	Query string // the query that found it
	Text  string
}

// Message is one thing that was said.
//
//graphgen:union Message = *User | *Assistant | *Tool
type Message interface{ isMessage() }

// User is a message of the person.
type User struct{ Text string }

// Assistant is a message of the program.
type Assistant struct{ Text string }

// Tool is the result of a search.
type Tool struct {
	Step  Step
	Found []string
}

func (*User) isMessage()      {}
func (*Assistant) isMessage() {}
func (*Tool) isMessage()      {}

// Paper is the state of the graph that writes the report.
type Paper struct {
	Title        string
	Observations []Observation
	Sections     map[string]string `graph:"merge"` // by query
	Text         string
}
