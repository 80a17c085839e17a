// Package fact has types of values for tests and examples of the store.
package fact

import "time"

//go:generate go tool graphgen

// Fact is a value with a field of each kind that tests index.
//
//graphgen:payload
type Fact struct {
	Kind  string
	Text  string
	Score float64
	Count int
	At    time.Time
	Tags  []string
	Data  []byte
	From  *Source
}

// Source is a nested value.
type Source struct{ Name string }

// NewerFact is a Fact of a later release: with a new field, a renamed one, and without others.
//
//graphgen:payload
type NewerFact struct {
	Kind  string
	Body  string `graph:"was=Text"`
	Score float64
	Shade string
	From  *NewerSource
}

// NewerSource is a Source with a new field.
type NewerSource struct {
	Name string
	Page int
}

// OtherFact is a Fact whose Count has another type.
//
//graphgen:payload
type OtherFact struct {
	Kind  string
	Count string
}
