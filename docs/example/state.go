// Package example contains the code in the manual, which is compiled and tested.
package example

//go:generate go tool graphgen -type=State

type State struct {
	Status   string          // replace: two parallel writers in one superstep are an error
	Picked   string          `graph:"last"`
	Owner    string          `graph:"first"`
	Log      []string        `graph:"append"`
	Messages []Message       `graph:"upsert,key=ID"`
	Tags     []string        `graph:"union"`
	Facts    map[string]Fact `graph:"merge"`
	Tokens   int64           `graph:"sum"`
	Cheapest float64         `graph:"min"`
	Plan     *Plan           `graph:"reduce=editPlan"`
	Draft    string          `graph:"ephemeral"`
	Cache    *Cache          `graph:"untracked"`
	History  []Message       `graph:"append,name=hist,was=old_hist"`
}

// Message is a message of a conversation.
type Message struct {
	ID    string
	Parts []Part
}

//graphgen:union Part = *Text | *Image

type Part interface{ isPart() }

// Text is a part of a message.
type Text struct{ Text string }

// Image is a part of a message.
type Image struct{ Name string }

func (*Text) isPart()  {}
func (*Image) isPart() {}

// Fact is a fact with its source.
type Fact struct {
	Source, Text string
}

// Plan is a list of steps.
type Plan struct {
	Steps []string
}

// PlanEdit adds a step to a plan.
type PlanEdit struct {
	Step string
}

func editPlan(old *Plan, in PlanEdit) *Plan {
	next := new(Plan)
	if old != nil {
		next.Steps = append(next.Steps, old.Steps...)
	}
	next.Steps = append(next.Steps, in.Step)
	return next
}

// Cache is data that a run keeps in memory.
type Cache struct{ Hits int }
