package graphmodel

import (
	"maps"
	"slices"
)

// merged is a state as the model keeps it, with what travels beside it. A merged is a value: nothing in it is written to
// once another may have it.
type merged struct {
	State
	first, best, low bool // were ever written
}

// superstep is the merge of one superstep.
type superstep struct {
	drafted bool
	text    int // the task that set Text, from 1
}

// conflict says that a task cannot be merged: with the task at other, or because its reducer breaks when that is negative.
type conflict struct{ other int }

// mergeAll applies several updates of one task.
func (m *merged) mergeAll(step *superstep, task int, updates [][]change) *conflict {
	for _, changes := range updates {
		if c := m.merge(step, task, changes); c != nil {
			return c
		}
	}
	return nil
}

// merge applies what the task at the given place of the superstep changes.
func (m *merged) merge(step *superstep, task int, changes []change) *conflict {
	last := -1 // of several Sets of one field in an update the last counts
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
			if step.text != 0 && step.text != task+1 {
				return &conflict{step.text - 1}
			}
			m.Text, step.text = c.text, task+1
		case setDraft:
			m.Draft, step.drafted = c.text, true
		}
	}
	for _, c := range changes {
		if c.what == pushStack && c.text == boom {
			return &conflict{-1}
		}
		m.apply(c)
	}
	return nil
}

// end ends a superstep: what is ephemeral lives for one.
func (m *merged) end(step *superstep) {
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
	case putFact:
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
