package lock

import (
	"slices"
	"strconv"
	"strings"
)

// removed returns the entry of a name that the sources do not have any more.
func (c *comparer) removed(was *Entry) *Entry {
	e := c.carried(was)
	e.Removed, e.Migrated = true, false
	return e
}

// carried returns a copy of an entry of the old lock for the next one. Its types get their names
// in next later, when all types are compared.
func (c *comparer) carried(was *Entry) *Entry {
	e := *was
	e.Was = slices.Clone(was.Was)
	c.old2next = append(c.old2next, &e)
	return &e
}

// keep returns a copy of a group of the old lock for the next one.
func (c *comparer) keep(was *Group) *Group {
	g := NewGroup(was.At)
	for name, e := range was.Entries {
		g.Entries[name] = c.carried(e)
	}
	return g
}

// carry adds the types of all carried entries to next.
func (c *comparer) carry() {
	for len(c.old2next) > 0 {
		e := c.old2next[0]
		c.old2next = c.old2next[1:]
		for _, text := range []*string{&e.Type, &e.Answer, &e.Input} {
			*text = c.carryType(*text)
		}
	}
}

// carryType returns a type of old as one of next.
func (c *comparer) carryType(text string) string {
	var layers strings.Builder
	for !c.old.Has(text) {
		at := peel(text)
		if at.elem == "" {
			return layers.String() + text
		}
		layers.WriteString(strings.TrimSuffix(text, at.elem))
		text = at.elem
	}
	return layers.String() + c.carryLabel(text)
}

// carryLabel returns the label in next of a type of old. If no type of the sources reads it, its
// lines are added, under another label if a new type has taken its own.
func (c *comparer) carryLabel(label string) string {
	if known := c.labels[label]; known != "" {
		return known
	}
	if c.now.Has(label) && c.fits(label, label) {
		c.labels[label] = label
		return label
	}
	free := label
	for n := 2; c.next.Has(free); n++ {
		base, _, _ := strings.Cut(label, "~")
		free = base + "~" + strconv.Itoa(n)
	}
	c.labels[label] = free
	switch {
	case c.old.Structs[label] != nil:
		c.next.Structs[free] = c.keep(c.old.Structs[label])
	case c.old.Unions[label] != nil:
		c.next.Unions[free] = c.keep(c.old.Unions[label])
	case c.old.Codecs[label] != "":
		c.next.Codecs[free] = c.old.Codecs[label]
	default:
		c.next.Named[free] = c.old.Named[label] // holds the label until the type is known
		c.next.Named[free] = c.carryType(c.old.Named[label])
	}
	return free
}
