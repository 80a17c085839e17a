package lock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Verdict says whether stored threads survive a change.
type Verdict int

// The verdicts.
const (
	Allowed Verdict = iota // all stored data can be read
	Noted                  // it can be read on a condition, which the text names
	Refused                // the new sources cannot read some data that threads may have stored
)

// Change is a difference between the file and the sources.
type Change struct {
	At      Place
	Verdict Verdict
	Text    string // the change; after a semicolon, the remedy
}

// Compare returns the changes from the file to the sources, and the file that records all of them,
// also the refused ones. declared reports whether the package declares a state, payload, question
// or signal that now does not describe. Compare keeps its entries. So a run for some types of a
// package does not affect the others. Compare does not modify old and now.
func Compare(old, now *Lock, declared func(kind, name string) bool) (*Lock, []Change) {
	c := &comparer{old: old, now: now, next: now.clone(), labels: make(map[string]string), seen: make(map[pair]bool)}
	c.states(declared)
	c.payloads(declared)
	c.messages("question", old.Questions, now.Questions, c.next.Questions, declared)
	c.messages("signal", old.Signals, now.Signals, c.next.Signals, declared)
	c.carry()
	slices.SortStableFunc(c.changes, func(a, b Change) int {
		return cmp.Or(
			strings.Compare(a.At.Pos.Filename, b.At.Pos.Filename),
			cmp.Compare(a.At.Pos.Line, b.At.Pos.Line),
			cmp.Compare(a.At.Pos.Column, b.At.Pos.Column),
			strings.Compare(a.At.Subject, b.At.Subject),
			strings.Compare(a.Text, b.Text),
		)
	})
	return c.next, slices.Compact(c.changes)
}

// clone returns a copy of a lock that shares only texts with it.
func (l *Lock) clone() *Lock {
	return &Lock{
		States: cloneGroups(l.States), Payloads: cloneEntries(l.Payloads),
		Questions: cloneEntries(l.Questions), Signals: cloneEntries(l.Signals),
		Structs: cloneGroups(l.Structs), Unions: cloneGroups(l.Unions),
		Named: maps.Clone(l.Named), Codecs: maps.Clone(l.Codecs),
	}
}

// cloneGroups returns a deep copy of groups.
func cloneGroups(groups map[string]*Group) map[string]*Group {
	res := make(map[string]*Group, len(groups))
	for name, g := range groups {
		res[name] = &Group{Entries: cloneEntries(g.Entries), At: g.At}
	}
	return res
}

// cloneEntries returns a deep copy of entries.
func cloneEntries(entries map[string]*Entry) map[string]*Entry {
	res := make(map[string]*Entry, len(entries))
	for name, e := range entries {
		copied := *e
		res[name] = &copied
	}
	return res
}

// comparer compares a file with sources.
type comparer struct {
	old, now, next *Lock
	changes        []Change
	labels         map[string]string // by label in old: the label in now of the type that reads it
	seen           map[pair]bool     // the types that are compared already
	migrated       bool              // a type that only Migrate reads was found
	probing        bool              // the caller asks only whether types fit
	old2next       []*Entry          // entries of next whose types still have labels of old
}

// pair is a stored type and the type that reads it.
type pair struct {
	from, to string
	migrates bool // within a field that Migrate gets
}

// accept ends the text of refused changes.
const accept = "if no thread can have stored it, run graphgen lock -accept"

// report adds a change to the result.
func (c *comparer) report(at Place, v Verdict, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if at.Path != "" {
		text = "in " + at.Path + ": " + text
	}
	c.changes = append(c.changes, Change{At: at, Verdict: v, Text: text})
}

// refuse reports a change that stored threads do not survive.
func (c *comparer) refuse(at Place, format string, args ...any) {
	c.report(at, Refused, format+"; or, "+accept, args...)
}

// states compares the states. declared reports whether the program still declares a type.
func (c *comparer) states(declared func(kind, name string) bool) {
	fits := func(from, to string) bool {
		return c.probe(func(p *comparer) string {
			p.fields(c.old.States[from], c.now.States[to], p.next.States[to], true, false)
			return ""
		})
	}
	gone := func(name string) bool { return !declared("state", name) }
	heirs := successors(c.old.States, c.now.States, gone, fits)
	for _, name := range sorted(c.old.States) {
		was, heir := c.old.States[name], heirs[name]
		switch {
		case heir != "":
			c.fields(was, c.now.States[heir], c.next.States[heir], true, false)
			c.renamedType(name, heir, c.now.States[heir].At)
		case !gone(name):
			c.next.States[name] = c.keep(was)
		default:
			c.refuse(was.At, "state %s is gone, and its threads with it; restore it", name)
		}
	}
	inherits := slices.Collect(maps.Values(heirs))
	for _, name := range sorted(c.now.States) {
		if !slices.Contains(inherits, name) {
			c.report(c.now.States[name].At, Allowed, "state %s is new", name)
		}
	}
}

// successors returns the type of now for each type of old: the one of the same name. For a type
// that is gone it is a new one that reads everything that threads have stored.
func successors[V any](old, now map[string]*V, gone func(name string) bool, fits func(from, to string) bool) map[string]string {
	heirs := make(map[string]string)
	taken := make(map[string]bool)
	for _, name := range sorted(old) {
		if now[name] != nil {
			heirs[name] = name
			continue
		}
		if !gone(name) {
			continue
		}
		i := slices.IndexFunc(sorted(now), func(other string) bool { return old[other] == nil && !taken[other] && fits(name, other) })
		if i >= 0 {
			heirs[name] = sorted(now)[i]
			taken[heirs[name]] = true
		}
	}
	return heirs
}

// renamedType reports that a type has another name.
func (c *comparer) renamedType(from, to string, at Place) {
	if from != to {
		c.report(at, Allowed, "the type has the name %s in %s; the names of types are not stored", from, Name)
	}
}

// probe reports whether compare finds nothing that must be refused.
func (c *comparer) probe(compare func(p *comparer) (reason string)) bool {
	p := &comparer{old: c.old, now: c.now, next: c.now.clone(), labels: make(map[string]string), seen: make(map[pair]bool), probing: true}
	return compare(p) == "" && !slices.ContainsFunc(p.changes, func(ch Change) bool { return ch.Verdict == Refused })
}

// fits reports whether the type to reads all that was stored as the type from.
func (c *comparer) fits(from, to string) bool {
	return c.probe(func(p *comparer) string { return p.read(from, to, false) })
}

// payloads compares the payloads of sends. declared is that of states.
func (c *comparer) payloads(declared func(kind, name string) bool) {
	fits := func(from, to string) bool { return c.fits(c.old.Payloads[from].Type, c.now.Payloads[to].Type) }
	gone := func(name string) bool { return !declared("payload", name) }
	heirs := successors(c.old.Payloads, c.now.Payloads, gone, fits)
	for _, name := range sorted(c.old.Payloads) {
		was, heir := c.old.Payloads[name], heirs[name]
		switch {
		case heir != "":
			e := c.now.Payloads[heir]
			if reason := c.read(was.Type, e.Type, false); reason != "" {
				c.refuse(e.At, "%s; declare another payload for the new type", reason)
			}
			c.renamedType(name, heir, e.At)
		case !gone(name):
			c.next.Payloads[name] = c.carried(was)
		default:
			c.refuse(was.At, "payload %s is gone, and stored values of it cannot be read; restore it", name)
		}
	}
	inherits := slices.Collect(maps.Values(heirs))
	for _, name := range sorted(c.now.Payloads) {
		if !slices.Contains(inherits, name) {
			c.report(c.now.Payloads[name].At, Allowed, "payload %s is new", name)
		}
	}
}

// messages compares questions or signals. kind is the word for one.
func (c *comparer) messages(kind string, old, now, next map[string]*Entry, declared func(kind, name string) bool) {
	for _, name := range sorted(old) {
		was, e := old[name], now[name]
		switch {
		case e == nil && (was.Removed || declared(kind, name)):
			next[name] = c.carried(was)
		case e == nil:
			c.refuse(was.At, "%s %q is gone, and threads may wait for it; restore it", kind, name)
			next[name] = c.carried(was)
			next[name].Removed = true
		default:
			fits := c.message(kind, was, e)
			for _, other := range e.Others {
				fits = c.message(kind, was, other) && fits
			}
			switch {
			case len(e.Others) == 0:
			case fits: // the file keeps what all declarations read
				next[name] = c.carried(was)
				next[name].Removed = false
			default:
				delete(next, name)
			}
		}
	}
	for _, name := range sorted(now) {
		switch {
		case old[name] != nil:
		case len(now[name].Others) > 0:
			delete(next, name) // nothing says which of them a thread has stored
		default:
			c.report(now[name].At, Allowed, "%s %q is new", kind, name)
		}
	}
}

// message compares a question or signal with one of its declarations. It reports whether the
// declaration reads the types in the file.
func (c *comparer) message(kind string, was, e *Entry) (fits bool) {
	fits = true
	for _, part := range [][2]string{{was.Type, e.Type}, {was.Answer, e.Answer}} {
		if part[0] == "" {
			continue
		}
		if reason := c.read(part[0], part[1], false); reason != "" {
			c.refuse(e.At, "%s; declare a %s of another name for the new type", reason, kind)
			fits = false
		}
	}
	return fits
}
