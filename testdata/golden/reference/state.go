// Package reference has the state that graphgen's speed is measured on, and one with a field for
// every reducer.
package reference

import (
	"fmt"
	"strconv"
	"time"

	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=State,Everything,Doc

// State is a conversation in which tools are called: 12 fields, and about 15 kB with 50 messages.
type State struct {
	ID       [16]byte
	Messages []Message `graph:"upsert,key=ID"`
	Query    string
	Status   Status           `graph:"last"`
	Step     int              `graph:"max"`
	Tokens   int64            `graph:"sum"`
	Done     bool             `graph:"or"`
	Started  time.Time        `graph:"first"`
	Facts    map[string]Fact  `graph:"merge"`
	Counts   map[string]int64 `graph:"merge"`
	Vector   []float64
	Plan     *Plan
}

// Status says how far a conversation is.
type Status string

// Message is what one side said.
type Message struct {
	ID    string
	Role  Status
	Text  string
	At    time.Time
	Calls []ToolCall
}

// ToolCall is what a model asked a tool to do.
type ToolCall struct {
	ID   string
	Tool string
	Args []byte
}

// Fact is something that was found out.
type Fact struct {
	Source string
	Text   string
	Score  float64
}

// Plan is a goal with its steps, in order, and a following plan.
type Plan struct {
	Goal  string
	Steps []string
	Next  *Plan
}

// Doc is what a send carries.
type Doc struct {
	Title string
	Pages []string
}

// Everything has a field for every reducer.
type Everything struct {
	Set      string
	Vector   []float64
	Labels   map[string]string
	Last     Status          `graph:"last"`
	First    string          `graph:"first"`
	Sum      int64           `graph:"sum"`
	Ratio    float32         `graph:"sum"`
	Min      int             `graph:"min"`
	Max      string          `graph:"max"`
	And      bool            `graph:"and"`
	Or       bool            `graph:"or"`
	Log      []string        `graph:"append"`
	Docs     []Doc           `graph:"append,name=docs,was=old_docs,was=papers"`
	Messages []Message       `graph:"upsert,key=ID"`
	Tags     []Status        `graph:"union"`
	Facts    map[string]Fact `graph:"merge"`
	Votes    map[bool]int    `graph:"merge"`
	Ranks    map[int8]string `graph:"merge"`
	Plan     *Plan           `graph:"reduce=editPlan"`
	Draft    string          `graph:"ephemeral"`
	Cache    *Cache          `graph:"untracked"`
}

// Cache is no part of what is stored.
type Cache struct{ Hits int }

// PlanEdit changes a plan.
type PlanEdit struct {
	Goal string // empty to keep the old one
	Step string // to add; empty for none
}

// editPlan returns a copy of old with in done to it.
func editPlan(old *Plan, in PlanEdit) *Plan {
	plan := new(Plan)
	if old != nil {
		*plan = *old
	}
	if in.Goal != "" {
		plan.Goal = in.Goal
	}
	if in.Step != "" {
		plan.Steps = append(plan.Steps[:len(plan.Steps):len(plan.Steps)], in.Step)
	}
	return plan
}

// Migrate reads what version 1 stored, in which Sum was a string of digits.
func (s *Everything) Migrate(old *state.OldFields) error {
	v, ok := old.String("Sum")
	if !ok {
		return fmt.Errorf("reference: no idea how to read %v", old.Names())
	}
	sum, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return fmt.Errorf("reference: Sum of version 1: %w", err)
	}
	s.Sum = sum
	return nil
}
