package graphmodel

import (
	"maps"
	"slices"
)

// merged is a state with what merging needs to know of it. A merged is a value: nothing in it is
// written once another merged may have it.
type merged struct {
	State
	first, best, low, peak bool // were ever written (rule 3.5)
}

// merging is the merge of one superstep.
type merging struct {
	drafted bool
	text    int // the task that set Text, from 1
}

// conflict says why a task cannot be merged: because of the task at other or, if that is negative,
// because a reducer panics.
type conflict struct{ other int }

// mergeAll applies the updates of one task, in order (rules 2.3 and 18.4).
func (m *merged) mergeAll(step *merging, task int, updates [][]change) *conflict {
	for _, changes := range updates {
		if c := m.merge(step, task, changes); c != nil {
			return c
		}
	}
	return nil
}

// merge applies an update of the task at the given place of the superstep (rule 3.1).
func (m *merged) merge(step *merging, task int, changes []change) *conflict {
	last := -1 // the Set of First that counts
	for i, c := range changes {
		if c.what == setFirst {
			last = i
		}
	}
	for i, c := range changes {
		switch c.what {
		case setFirst:
			if i == last && !m.first {
				m.First, m.first = c.text, true
			}
		case setText:
			if step.text != 0 && step.text != task+1 { // rule 3.2
				return &conflict{step.text - 1}
			}
			m.Text, step.text = c.text, task+1
		case setDraft:
			m.Draft, step.drafted = c.text, true
		}
	}
	for _, c := range changes {
		if c.what == pushStack && c.text == boom { // rule 3.6
			return &conflict{-1}
		}
		m.apply(c)
	}
	return nil
}

// newInput clears the fields that last until the next input (rule 4.4).
func (m *merged) newInput() { m.Turn, m.Peak, m.peak = nil, 0, false }

// endSuperstep clears the ephemeral field, unless the superstep set it (rule 4.1).
func (m *merged) endSuperstep(step *merging) {
	if !step.drafted {
		m.Draft = ""
	}
}

func (m *merged) apply(c change) {
	switch c.what {
	case addLog:
		m.Log = with(m.Log, c.text)
	case addCount:
		m.Count += c.number
	case setLast:
		m.Last = c.text
	case offerBest:
		if !m.best || c.number > m.Best {
			m.Best, m.best = c.number, true
		}
	case offerLow:
		if !m.low || c.number < m.Low {
			m.Low, m.low = c.number, true
		}
	case offerPeak:
		if !m.peak || c.number > m.Peak {
			m.Peak, m.peak = c.number, true
		}
	case addTurn:
		m.Turn = with(m.Turn, c.text)
	case clearLow:
		m.Low, m.low = 0, false
	case setAny:
		m.Any = m.Any || c.number > 0
	case pushStack:
		m.Stack = with(m.Stack, c.text)
	default:
		m.applyToList(c)
	}
}

func (m *merged) applyToList(c change) {
	switch c.what {
	case putFact: // rule 3.4, as for putItem
		m.Facts = maps.Clone(m.Facts)
		if m.Facts == nil {
			m.Facts = map[string]string{}
		}
		m.Facts[c.key] = c.text
	case dropFact:
		m.Facts = maps.Clone(m.Facts)
		delete(m.Facts, c.key)
	case addTag:
		if !slices.Contains(m.Tags, c.text) {
			m.Tags = with(m.Tags, c.text)
		}
	case dropTag:
		m.Tags = without(m.Tags, func(s string) bool { return s == c.text })
	case putItem:
		if i := slices.IndexFunc(m.Items, func(it Item) bool { return it.ID == c.key }); i >= 0 {
			m.Items = slices.Clone(m.Items)
			m.Items[i].Value = c.number
			return
		}
		m.Items = with(m.Items, Item{c.key, c.number})
	case dropItem:
		m.Items = without(m.Items, func(it Item) bool { return it.ID == c.key })
	case addNote:
		m.Notes = with(m.Notes, c.text)
	case dropNote:
		m.Notes = without(m.Notes, func(s string) bool { return s == c.text })
	case replaceNotes:
		m.Notes = []string{c.text, "kept"}
	case clearNotes:
		m.Notes = nil
	}
}

func with[T any](list []T, v T) []T { return append(slices.Clip(list), v) }

func without[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}
