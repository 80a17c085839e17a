package gen

import (
	"go/types"
	"slices"
)

// kind is the way in which a type is written, read, cloned and compared.
type kind int

const (
	kindInvalid   kind = iota // already reported
	kindBasic                 // bool, numbers, strings
	kindBytes                 // []byte, written as binary
	kindByteArray             // [N]byte, written as binary
	kindTime                  // time.Time
	kindPointer
	kindSlice
	kindArray
	kindMap
	kindStruct // field by field
	kindUnion  // closed interface
	kindWire   // AppendWire and DecodeWire
	kindBinary // encoding.BinaryMarshaler and BinaryUnmarshaler
	kindText   // encoding.TextMarshaler and TextUnmarshaler
	kindJSON   // json.Marshaler and json.Unmarshaler, where the tag of a field asks for it
	kindOpaque // the type of an untracked field, which is never inspected
)

// own reports whether values are stored by methods of their type.
func (k kind) own() bool {
	return k == kindWire || k == kindBinary || k == kindText || k == kindJSON
}

// typ is the emitters' view of a type. Identical types share one typ.
type typ struct {
	kind  kind
	typ   types.Type // in its first written form
	named bool       // has a declared name, so that conversions are needed
	ident string     // the identifier in the names of its helpers: Message, SliceOfMessage

	basic  *types.Basic // kindBasic: the underlying type
	elem   *typ         // of pointers, slices, arrays, maps
	key    *typ         // of maps
	length int64        // of arrays
	fields []*member    // of structs, in order
	alts   []*alternative
	home   *types.TypeName // kindUnion: the interface, if its package exports the codec; nil for a codec of this file

	traits
	foreign   bool // declared in another package
	recursive bool // may contain itself
	clones    bool // types that store themselves: has a method Clone with a result of its own type
	equals    bool // the same types: has a method Equal
	chosen    bool // the same types: the tag of a field asks for these methods
}

// traits are the properties that a type inherits from its parts.
type traits struct {
	pointless bool // contains no reference to shared memory: assignment clones it
	strict    bool // == is equivalent to Equal
	byValue   bool // == compares the stored value: like strict, except for NaN
	fallible  bool // encoding can fail
	shifts    bool // the decoded form of a value can differ from the value
}

// member is one field of a struct that is stored field by field.
type member struct {
	name string
	wire string
	was  []string
	typ  *typ
	skip bool // graph:"-": not stored
	at   place
}

// alternative is one member type of a closed interface.
type alternative struct {
	tag     string
	pointer bool // the interface contains *elem
	elem    *typ // the stored type
	typ     types.Type
	at      place
}

// children returns the types of the parts of t.
func (t *typ) children() []*typ {
	var list []*typ
	if t.key != nil {
		list = append(list, t.key)
	}
	if t.elem != nil {
		list = append(list, t.elem)
	}
	for _, m := range t.fields {
		list = append(list, m.typ)
	}
	for _, a := range t.alts {
		list = append(list, a.elem)
	}
	return list
}

// settle computes recursive and the traits of all types. all is in the order in
// which the types were first seen.
func settle(all []*typ) {
	markRecursive(all)
	for _, t := range all {
		t.strict, t.byValue = true, true
		if !t.kind.own() {
			t.pointless = true // assumed at first
		}
	}
	// The loop ends because pointless and strict only change to false, and fallible and shifts
	// only to true. Recursive types need more than one pass.
	for changed := true; changed; {
		changed = false
		for i := len(all) - 1; i >= 0; i-- {
			t := all[i]
			if now := t.judge(); now != t.traits {
				t.traits = now
				changed = true
			}
		}
	}
}

// judge computes the traits of t from the current traits of its parts.
func (t *typ) judge() traits {
	now := traits{pointless: true, strict: true, byValue: true, fallible: t.recursive}
	switch t.kind {
	case kindBasic:
		now.strict = t.basic.Info()&(types.IsFloat|types.IsComplex) == 0 // in a state NaN equals itself
	case kindBytes:
		now = traits{fallible: now.fallible}
	case kindTime:
		now = traits{pointless: true, fallible: now.fallible, shifts: true} // equal instants may differ in zone and monotonic reading
	case kindUnion:
		// Members of a union of another package are unknown here: nothing can be assumed of them.
		now = traits{fallible: true, shifts: t.home != nil || slices.ContainsFunc(t.alts, func(a *alternative) bool { return a.pointer })}
	case kindPointer, kindSlice, kindMap:
		now = traits{fallible: now.fallible}
	case kindWire, kindBinary, kindText, kindJSON:
		return traits{pointless: t.pointless, fallible: true, shifts: true}
	case kindOpaque:
		return traits{pointless: true}
	}
	for _, m := range t.fields {
		if m.skip {
			now.strict, now.byValue = false, false // fields that are not stored do not count
			continue
		}
		now.join(m.typ.traits)
	}
	for _, c := range []*typ{t.key, t.elem} {
		if c != nil {
			now.join(c.traits)
		}
	}
	for _, a := range t.alts {
		now.join(a.elem.traits)
	}
	return now
}

// join combines the traits of a part into those of the whole.
func (now *traits) join(part traits) {
	now.pointless = now.pointless && part.pointless
	now.strict = now.strict && part.strict
	now.byValue = now.byValue && part.byValue
	now.fallible = now.fallible || part.fallible
	now.shifts = now.shifts || part.shifts
}

// markRecursive marks every type that can reach itself.
func markRecursive(all []*typ) {
	const (
		unseen = iota
		open
		done
	)
	// Tarjan's algorithm: the types of a component are recursive if it has several types, or one
	// that contains itself.
	index := make(map[*typ]int)
	low := make(map[*typ]int)
	state := make(map[*typ]int)
	var stack []*typ
	var visit func(t *typ)
	visit = func(t *typ) {
		index[t] = len(index)
		low[t] = index[t]
		state[t] = open
		stack = append(stack, t)
		for _, c := range t.children() {
			switch state[c] {
			case unseen:
				visit(c)
				low[t] = min(low[t], low[c])
			case open:
				low[t] = min(low[t], index[c])
				c.recursive = c.recursive || c == t
			}
		}
		if low[t] != index[t] {
			return
		}
		for i := len(stack) - 1; ; i-- {
			member := stack[i]
			state[member] = done
			if stack[i] == t {
				alone := i == len(stack)-1
				for _, m := range stack[i:] {
					m.recursive = m.recursive || !alone
				}
				stack = stack[:i]
				return
			}
		}
	}
	for _, t := range all {
		if state[t] == unseen {
			visit(t)
		}
	}
}
