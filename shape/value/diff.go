package value

import "strconv"

// Change is one difference between two values.
type Change struct {
	Path   string // such as Plan.Steps[2].Text, or Facts["a key"]; empty for the values themselves
	Before *Value // nil if only the second value has something here
	After  *Value // nil if only the first value has something here
}

// Diff returns the changes that turn before into after, in the order of their fields. It compares
// the elements of lists by index, except that equal elements at the start and at the end of both
// lists are not changes. The result shares memory with both values.
func Diff(before, after *Value) []Change {
	var d differ
	d.compare("", before, after)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(path string, before, after *Value) {
	d.changes = append(d.changes, Change{Path: path, Before: before, After: after})
}

func (d *differ) compare(path string, a, b *Value) {
	switch {
	case a.Kind != b.Kind || a.Kind == Union && !sameMember(a, b):
		d.add(path, a, b)
	case a.Kind == List:
		d.lists(path, a.Items, b.Items)
	case a.Kind == Struct || a.Kind == Map || a.Kind == Union:
		d.fields(path, a, b)
	case a.Text != b.Text:
		d.add(path, a, b)
	}
}

// sameMember reports whether two unions hold the same member.
func sameMember(a, b *Value) bool {
	return len(a.Fields) == 1 && len(b.Fields) == 1 && a.Fields[0].Name == b.Fields[0].Name
}

func (d *differ) fields(path string, a, b *Value) {
	inB := byName(b.Fields)
	for i := range a.Fields {
		f := &a.Fields[i]
		to := within(path, a.Kind, f.Name)
		if other := inB[f.Name]; other == nil {
			d.add(to, &f.Value, nil)
		} else {
			d.compare(to, &f.Value, other)
		}
	}
	inA := byName(a.Fields)
	for i := range b.Fields {
		if f := &b.Fields[i]; inA[f.Name] == nil {
			d.add(within(path, b.Kind, f.Name), nil, &f.Value)
		}
	}
}

func byName(fields []Field) map[string]*Value {
	all := make(map[string]*Value, len(fields))
	for i := range fields {
		all[fields[i].Name] = &fields[i].Value
	}
	return all
}

// within returns the path of a field.
func within(path string, kind Kind, name string) string {
	switch {
	case kind == Map:
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// lists compares two lists. An element that was inserted or removed is one change, if nothing else
// changed.
func (d *differ) lists(path string, a, b []Value) {
	start := 0
	for start < len(a) && start < len(b) && Equal(&a[start], &b[start]) {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && Equal(&a[endA-1], &b[endB-1]) {
		endA--
		endB--
	}
	for i := start; i < max(endA, endB); i++ {
		to := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= endA:
			d.add(to, nil, &b[i])
		case i >= endB:
			d.add(to, &a[i], nil)
		default:
			d.compare(to, &a[i], &b[i])
		}
	}
}

// Equal reports whether two values are equal. The order of the entries of maps and structs does
// not count, and neither do the types.
func Equal(a, b *Value) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Fields) != len(b.Fields) || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if !Equal(&a.Items[i], &b.Items[i]) {
			return false
		}
	}
	var others map[string]*Value
	for i := range a.Fields {
		f, other := &a.Fields[i], &b.Fields[i].Value
		if b.Fields[i].Name != f.Name {
			if others == nil {
				others = byName(b.Fields)
			}
			if other = others[f.Name]; other == nil {
				return false
			}
		}
		if !Equal(&f.Value, other) {
			return false
		}
	}
	return true
}
