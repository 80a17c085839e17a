package gen

import (
	"fmt"
	"go/types"
	"strings"
)

// fillStruct fills in a struct field by field. It reports faults in fields of this package at the
// field.
func (r *resolver) fillStruct(res *typ, u *types.Struct, t types.Type, at place) {
	res.kind = kindStruct
	at.form = kindInvalid // tags of its fields decide
	named, _ := t.(*types.Named)
	if named != nil && res.foreign {
		for i := range u.NumFields() {
			if f := u.Field(i); !f.Exported() && f.Name() != "_" {
				r.fault(at, t, "type %%T has the unexported field %s, which code of package %s cannot reach; %s, or tag the field untracked",
					f.Name(), r.src.pkg.Name, r.remedy(named))
				res.kind = kindInvalid
				return
			}
		}
	}
	if named != nil && !(!res.foreign && r.states[named.Obj().Name()]) {
		if at.struc == nil {
			at.struc = named
		}
		if at.json == nil && hasForm(named, kindJSON) {
			at.json = named
		}
	}
	names := make(map[string]string)
	isState := named != nil && !res.foreign && (r.states[named.Obj().Name()] || r.isPart(named))
	for i := range u.NumFields() {
		f := u.Field(i)
		if f.Name() == "_" {
			continue
		}
		in := at.into("." + f.Name())
		if named != nil && !res.foreign {
			in = r.placeOf(f, named.Obj().Name())
			in.nested, in.struc, in.json = !isState, at.struc, at.json
		} else if named != nil {
			in.path = "." + r.show(t) + "." + f.Name()
		}
		res.fields = append(res.fields, r.member(f, u.Tag(i), in, names))
		if tag, _ := parseTag(u.Tag(i)); tag.merges() && !isState && !res.foreign {
			what := fmt.Sprintf("reducer %q", tag.reducer)
			if tag.reducer == "" {
				what = `option "run"`
			}
			r.fault(r.tagPlace(f, in), f.Type(), "%s does nothing here, since %s is not a state: only the fields of a state are merged one by one; "+
				"remove it, or name %s with -type", what, r.show(t), r.show(t))
		}
	}
}

// remedy says how a type of another package with unexported fields can be stored. Only in this
// module can the reader change the type.
func (r *resolver) remedy(t *types.Named) string {
	if r.src.inModule(t.Obj().Pkg()) {
		return "mark %T with //graphgen:payload and run graphgen in its package, or give %T the methods MarshalBinary and UnmarshalBinary"
	}
	switch {
	case hasForm(t, kindJSON):
		return `tag the field graph:"json" to store %T by its methods MarshalJSON and UnmarshalJSON`
	case hasForm(t, kindText):
		return `tag the field graph:"text" to store %T by its methods MarshalText and UnmarshalText`
	}
	return fmt.Sprintf("copy what you need of %%T into a type of package %s, or store an asjson.Value[%%T] of runtime/state/asjson if encoding/json "+
		"keeps all that matters", r.src.pkg.Name)
}

// placeOf returns the place of a field that this package declares.
func (r *resolver) placeOf(f *types.Var, owner string) place {
	return place{pos: r.src.pkg.Fset.Position(f.Pos()), subject: owner + "." + f.Name()}
}

// tagPlace returns the place of a field's tag.
func (r *resolver) tagPlace(f *types.Var, at place) place {
	if field := r.syntax[f.Pos()]; field != nil && field.Tag != nil {
		at.pos = r.src.pkg.Fset.Position(field.Tag.Pos())
	}
	return at
}

// member returns one field of a nested struct. names holds the wire names of the earlier fields.
func (r *resolver) member(f *types.Var, raw string, at place, names map[string]string) *member {
	tagAt := r.tagPlace(f, at)
	t, faults := parseTag(raw)
	for _, fault := range faults {
		r.fault(tagAt, f.Type(), "%s", fault)
	}
	r.checkKey(f, raw, tagAt)
	m := &member{name: f.Name(), wire: t.name, was: t.was, skip: t.skip, at: tagAt}
	if m.wire == "" {
		m.wire = f.Name()
	}
	if t.skip {
		m.typ = &typ{kind: kindOpaque, typ: f.Type(), traits: traits{pointless: true}}
		return m
	}
	r.claim(names, m.name, m.wire, m.was, tagAt, f.Type())
	m.typ = r.resolveField(f.Type(), t, at, tagAt)
	return m
}

// resolveField resolves the type of a field. The option json or text applies to the field's own
// type, or to the types that it reaches by pointers, lists and maps. Those that have such methods
// are then stored by them.
func (r *resolver) resolveField(t types.Type, tag tag, at, tagAt place) *typ {
	at.form = tag.form
	faults := len(r.diags.list)
	res := r.resolve(t, at)
	if tag.form == kindInvalid || len(r.diags.list) > faults {
		return res
	}
	part := res
	for part.elem != nil {
		part = part.elem
	}
	if part.kind != tag.form {
		name := map[kind]string{kindJSON: "JSON", kindText: "Text"}[tag.form]
		r.fault(tagAt, t, "type %s has no methods Marshal%s and Unmarshal%s to store it by; remove the option %s",
			r.show(part.typ), name, name, strings.ToLower(name))
	}
	return res
}

// claim records the wire names of a field. It reports names that an earlier field of the struct
// has.
func (r *resolver) claim(names map[string]string, field, wire string, was []string, at place, t types.Type) {
	if other, taken := names[wire]; taken {
		r.fault(at, t, "wire name %q is also that of field %s; give one of the fields another name with name=", wire, other)
	}
	names[wire] = field
	for _, old := range was {
		if other, taken := names[old]; taken {
			r.fault(at, t, "was=%s is also a wire name of field %s; a stored value can only go to one of them", old, other)
		}
		names[old] = field
	}
}
