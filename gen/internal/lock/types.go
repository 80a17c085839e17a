package lock

import "fmt"

// read returns the reason why values of the type from in the file cannot be read as the type to in
// the sources, or "". It reports differences within structs and unions at their fields. migrates
// says that the types are within a field of a state that its method Migrate gets.
func (c *comparer) read(from, to string, migrates bool) string {
	key := pair{from, to, migrates}
	if c.seen[key] {
		return "" // reported, or in progress
	}
	o, n := c.old.outer(from), c.now.outer(to)
	if o.kind == n.kind {
		c.match(from, to)
	}
	switch {
	case o.kind == pointer && n.kind == pointer:
		return c.read(o.elem, n.elem, migrates)
	case n.kind == pointer:
		return c.read(from, n.elem, migrates)
	case o.kind == pointer:
		return fmt.Sprintf("the stored type is %s, which may be nil, and %s is never nil", from, to)
	case !n.shape().Reads(o.shape()):
		if o.kind == codec || n.kind == codec {
			return unknown(from, to)
		}
		return changed(from, to)
	}
	switch n.kind {
	case structure:
		c.seen[key] = true
		c.fields(c.old.Structs[o.name], c.now.Structs[n.name], c.next.Structs[n.name], false, migrates)
	case union:
		c.seen[key] = true
		c.members(c.old.Unions[o.name], c.now.Unions[n.name], c.next.Unions[n.name], migrates)
	case dict, list:
		return c.elements(key, o, n)
	}
	return ""
}

// elements compares the elements of two lists or maps, which may contain themselves.
func (c *comparer) elements(key pair, o, n layer) string {
	c.seen[key] = true
	defer delete(c.seen, key)
	if c.read(o.elem, n.elem, key.migrates) != "" {
		return changed(key.from, key.to)
	}
	return ""
}

// changed returns the reason why a stored type cannot be read as another.
func changed(from, to string) string {
	return fmt.Sprintf("the stored type is %s, which %s cannot read", from, to)
}

// unknown is the reason for a type that stores itself.
func unknown(from, to string) string {
	return fmt.Sprintf("the stored type is %s and now %s; graphgen cannot see whether their methods store the same bytes", from, to)
}

// match notes which type of the sources reads a type of the file.
func (c *comparer) match(from, to string) {
	if c.old.Has(from) && c.now.Has(to) && c.labels[from] == "" {
		c.labels[from] = to
	}
}
