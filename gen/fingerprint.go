package gen

import (
	"fmt"
	"go/types"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"
)

// fingerprint hashes what stored data means to a state: wire names, what values are made of, reducers and keys. Names
// of types do not count, so that renaming or moving one changes nothing; neither do the order of fields in the
// source and comments.
func fingerprint(t *target) uint64 {
	h := fnv.New64a()
	p := &printer{w: h, seen: make(map[*typ]int)}
	fields := slices.Clone(t.fields)
	slices.SortFunc(fields, func(a, b *field) int { return strings.Compare(a.wire, b.wire) })
	for _, f := range fields {
		if !f.stored() {
			continue
		}
		p.text(f.wire)
		p.text(f.reducer)
		p.shape(f.typ)
		if f.key != nil {
			p.text(f.key.selector)
		}
		if f.in != nil {
			p.text(f.fn)
			p.shape(f.in)
		}
	}
	return h.Sum64()
}

// printer writes what a type looks like in stored data.
type printer struct {
	w    io.Writer // a hash: does not fail
	seen map[*typ]int
}

func (p *printer) text(s string) { _, _ = fmt.Fprintf(p.w, "%d:%s", len(s), s) }

// shape writes a type. One that was written before, or is being written, is written as its number.
func (p *printer) shape(t *typ) {
	if n, ok := p.seen[t]; ok {
		p.text("#" + strconv.Itoa(n))
		return
	}
	if t.kind != kindBasic {
		p.seen[t] = len(p.seen)
	}
	p.text(t.shapeName())
	members := slices.Clone(t.fields)
	slices.SortFunc(members, func(a, b *member) int { return strings.Compare(a.wire, b.wire) })
	for _, m := range members {
		if !m.skip {
			p.text(m.wire)
			p.shape(m.typ)
		}
	}
	for _, a := range t.alts {
		p.text(a.tag)
		p.shape(a.elem)
	}
	if t.key != nil {
		p.shape(t.key)
	}
	if t.elem != nil {
		p.shape(t.elem)
	}
	p.text(".")
}

// shapeName names the outermost layer of a type in stored data.
func (t *typ) shapeName() string {
	switch t.kind {
	case kindBasic:
		return types.Typ[t.basic.Kind()].Name() // not byte or rune, which are other words for the same
	case kindBytes:
		return "bytes"
	case kindByteArray:
		return "bytes" + strconv.FormatInt(t.length, 10)
	case kindTime:
		return "time"
	case kindPointer:
		return "pointer"
	case kindSlice:
		return "list"
	case kindArray:
		return "list" + strconv.FormatInt(t.length, 10)
	case kindMap:
		return "map"
	case kindStruct:
		return "struct"
	case kindUnion:
		return "union"
	case kindWire, kindBinary, kindText:
		return "codec:" + t.ident
	}
	return "none"
}
