package shape

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
)

// Fingerprint returns a hash of how a state reads stored data. Two states with the same
// fingerprint read stored data in the same way. The hash covers wire names, types, reducers and
// keys. It does not cover names in Go, except of types with their own codec. It does not cover the
// order of fields, former wire names or untracked fields.
func (s *State) Fingerprint() uint64 {
	h := fnv.New64a()
	p := &printer{w: h, types: s.Types, seen: make(map[string]int), open: make(map[string]int)}
	for _, f := range byWire(s.Fields) {
		if !f.Stored() {
			continue
		}
		p.text(f.Wire)
		p.text(f.Reducer)
		p.shape(f.Type)
		p.text(f.Key)
		if f.Input != "" {
			p.shape(f.Input)
		}
	}
	return h.Sum64()
}

func byWire(fields []Field) []Field {
	fields = slices.Clone(fields)
	slices.SortFunc(fields, func(a, b Field) int { return cmp.Compare(a.Wire, b.Wire) })
	return fields
}

// printer writes the form of types in stored data.
type printer struct {
	w     io.Writer // a hash, which does not fail
	types Types
	seen  map[string]int // the numbers of the types of the table that are written or in progress
	open  map[string]int // the depths of the Defined types in progress
}

func (p *printer) text(s string) { _, _ = fmt.Fprintf(p.w, "%d:%s", len(s), s) }

// shape writes a type. It writes a struct or union that is written already, or in progress, as its
// number.
func (p *printer) shape(text string) {
	if t := p.types.Find(text); t != nil && t.Kind == Defined {
		if depth, ok := p.open[text]; ok {
			p.text("^" + strconv.Itoa(depth))
			return
		}
		p.open[text] = len(p.open)
		p.shape(t.Of)
		delete(p.open, text)
		return
	}
	layer := p.types.Outer(text)
	if layer.Type != nil {
		p.entry(layer.Type)
		return
	}
	p.text(layer.Kind + layer.Len)
	if layer.Key != "" {
		p.shape(layer.Key)
	}
	if layer.Elem != "" {
		p.shape(layer.Elem)
	}
	p.text(".")
}

// entry writes a type of the table.
func (p *printer) entry(t *Type) {
	if n, ok := p.seen[t.Name]; ok {
		p.text("#" + strconv.Itoa(n))
		return
	}
	p.seen[t.Name] = len(p.seen)
	p.text(string(t.Kind))
	switch t.Kind {
	case Wire, Binary, Text, JSON:
		p.text(t.Name)
	}
	for _, f := range byWire(t.Fields) {
		p.text(f.Wire)
		p.shape(f.Type)
	}
	for _, m := range t.Members {
		p.text(m.Tag)
		p.shape(m.Type)
	}
	p.text(".")
}
