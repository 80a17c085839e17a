package lock

import (
	"slices"
	"strings"
)

// reader returns the name of the field that reads what is stored under name, or "".
func (g *Group) reader(name string) string {
	if g.Entries[name] != nil {
		return name
	}
	for _, wire := range sorted(g.Entries) {
		if slices.Contains(g.Entries[wire].Was, name) {
			return wire
		}
	}
	return ""
}

// fields compares the fields of a state or struct. The removed ones are added to next.
func (c *comparer) fields(old, now, next *Group, isState, migrates bool) {
	var gone []string
	readers := make(map[string][]string) // by field of now: the fields of old that it reads
	for _, name := range sorted(old.Entries) {
		was, by := old.Entries[name], now.reader(name)
		if by == "" {
			if !was.Removed {
				gone = append(gone, name)
			}
			next.Entries[name] = c.removed(was)
			c.reused(was, old, now)
			continue
		}
		readers[by] = append(readers[by], name)
		c.field(name, was, by, now.Entries[by], next.Entries[by], isState, migrates)
		c.formerNames(name, was, now, next)
	}
	for _, by := range sorted(readers) {
		if all := readers[by]; len(all) > 1 {
			c.refuse(now.Entries[by].At, "reads the stored names %s, and a thread may have stored more than one of them; read one of them",
				strings.Join(all, " and "))
		}
	}
	c.unread(old, now, gone, readers, isState)
}

// field compares a field with the one that reads it.
func (c *comparer) field(name string, was *Entry, by string, e, next *Entry, isState, migrates bool) {
	migrates = migrates || e.Migrates
	if isState {
		c.migrated = false
		if e.Migrates {
			clear(c.seen) // each field notes for itself whether it needs Migrate
		}
	}
	reason := c.read(was.Type, e.Type, migrates)
	switch {
	case reason != "":
		c.differs(e, was.Removed, migrates, isState, reason)
	case name != by:
		c.report(e.At, Allowed, "reads what is stored as %s", quote(name))
	case was.Removed:
		c.report(e.At, Noted, "%s", usedAgain)
	}
	if !isState {
		return
	}
	if was.Migrated && !e.Migrates {
		c.refuse(e.At, "threads may have stored it with a former type, and no method Migrate reads that; restore the method")
	}
	next.Migrated = e.Migrates && (was.Migrated || c.migrated)
	if !was.Removed {
		c.reducers(was, e)
	}
}

// reused reports fields with a former name of a missing field.
func (c *comparer) reused(was *Entry, old, now *Group) {
	for _, former := range was.Was {
		e := now.Entries[former]
		if e == nil {
			continue
		}
		if reason := c.read(was.Type, e.Type, e.Migrates); reason != "" {
			c.differs(e, true, e.Migrates, true, reason)
		} else if was.Removed && old.Entries[former] == nil {
			c.report(e.At, Noted, "%s", usedAgain)
		}
	}
}

const usedAgain = "has the stored name of a removed field; threads that stored that field still have its value"

// differs reports that the field e cannot read what threads have stored of it. reason says why.
func (c *comparer) differs(e *Entry, reused, migrates, isState bool, reason string) {
	remedy := "keep the type, and add a field of another name"
	switch {
	case migrates:
		c.migrated = true
		c.report(e.At, Noted, "%s; Migrate must read it, and %s", reason, pending)
		return
	case reused:
		reason = "has the stored name of a removed field: " + reason
		remedy = "choose another name for the field, or another stored name by name="
	case isState:
		remedy = "keep the type and add a field of another name, or read the stored type in a method Migrate of the state"
	}
	c.refuse(e.At, "%s; %s", reason, remedy)
}

// pending is the effect of a change on operations that no state contains yet.
const pending = "stored results and inputs that set it, and are not merged yet, return ErrGraphChanged"

// formerNames reports names of was= that the sources do not read any more.
func (c *comparer) formerNames(name string, was *Entry, now, next *Group) {
	if was.Removed {
		return
	}
	by := now.reader(name)
	for _, former := range was.Was {
		if now.reader(former) != "" {
			continue
		}
		c.refuse(now.Entries[by].At, "threads may have stored it as %s, and the tag does not have was=%s any more; restore it", quote(former), former)
		next.Entries[former] = c.removed(&Entry{Type: was.Type, Reducer: was.Reducer, Input: was.Input})
	}
}

// reducers notes a change of the reducer. It affects only operations that are stored but not
// merged yet.
func (c *comparer) reducers(was, e *Entry) {
	const effect = "no checkpoint is affected, but " + pending
	switch {
	case was.Reducer != e.Reducer:
		c.report(e.At, Noted, "the reducer changes from %s to %s; %s", was.Reducer, e.Reducer, effect)
	case was.Input != "" && e.Input != "" && !c.fits(was.Input, e.Input):
		c.report(e.At, Noted, "the reducer takes %s and not %s; %s", e.Input, was.Input, effect)
	}
	if was.Input != "" && e.Input != "" {
		c.match(was.Input, e.Input)
	}
}

// unread reports the fields of old that no field reads, and the new fields. A new field that could
// read a missing one looks like a rename.
func (c *comparer) unread(old, now *Group, gone []string, readers map[string][]string, isState bool) {
	renamed := make(map[string]bool)
	for _, name := range gone {
		was := old.Entries[name]
		to := ""
		untracked := slices.Contains(now.Untracked, name)
		if !c.probing && !untracked {
			to = c.renameOf(was, now, func(wire string) bool { return len(readers[wire]) == 0 && !renamed[wire] })
		}
		switch {
		case to != "":
			renamed[to] = true
			fix := "if " + quote(to) + " is a new field, remove " + quote(name) + " first, in a run of its own"
			if !isState {
				fix = "keep " + quote(name) + ", too"
			}
			c.refuse(now.Entries[to].At, "is new, and %s is gone; if this is a rename, add was=%s to the tag; %s", quote(name), name, fix)
		case untracked:
			c.report(now.At, Noted, "field %s is untracked now, and zero in threads that have stored it; %s", quote(name), pending)
		case isState && !c.probing:
			c.report(now.At, Noted, "field %s is removed; programs without it keep its stored value, but %s", quote(name), pending)
		default:
			c.refuse(now.At, "field %s is gone, and stored values that have it return ErrGraphChanged; restore it", quote(name))
		}
	}
	for _, wire := range sorted(now.Entries) {
		if len(readers[wire]) == 0 && !renamed[wire] {
			c.report(now.Entries[wire].At, Allowed, "is a new field")
		}
	}
}

// renameOf returns the new field that a missing one may have become, or "". A field of the same
// type comes first.
func (c *comparer) renameOf(was *Entry, now *Group, isNew func(wire string) bool) string {
	var fitting string
	for _, wire := range sorted(now.Entries) {
		switch e := now.Entries[wire]; {
		case !isNew(wire) || !c.fits(was.Type, e.Type):
		case e.Type == was.Type && e.Reducer == was.Reducer:
			return wire
		case fitting == "":
			fitting = wire
		}
	}
	return fitting
}

// members compares the members of two unions. The removed ones are added to next.
func (c *comparer) members(old, now, next *Group, migrates bool) {
	for _, tag := range sorted(old.Entries) {
		was, e := old.Entries[tag], now.Entries[tag]
		if e == nil {
			if !was.Removed {
				c.refuse(now.At, "member %s is gone, and stored values of it return ErrGraphChanged; restore it: "+
					"a member is stored under the name of its type, so that the type must keep its name", quote(tag))
			}
			next.Entries[tag] = c.removed(was)
			continue
		}
		reason := c.read(was.Type, e.Type, migrates)
		switch {
		case reason == "":
		case migrates:
			c.migrated = true
			c.report(e.At, Noted, "member %s: %s; Migrate must read it", quote(tag), reason)
		case was.Removed:
			c.refuse(e.At, "member %s has the stored name of a removed one: %s; give its type another name", quote(tag), reason)
		default:
			c.refuse(e.At, "member %s: %s; keep the type, and add a member whose type has another name", quote(tag), reason)
		}
	}
	for _, tag := range sorted(now.Entries) {
		if old.Entries[tag] == nil {
			c.report(now.Entries[tag].At, Allowed, "member %s is new", quote(tag))
		}
	}
}
