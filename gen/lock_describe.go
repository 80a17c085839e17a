package gen

import (
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/graphgen-go/graphgen/gen/internal/lock"
)

// locker describes the types of a package for its lock file.
type locker struct {
	src    *source
	lock   *lock.Lock
	labels map[kind]*typeutil.Map // types.Type -> the label
}

// describeLock returns everything that threads may store with the types of a package. r resolves
// the types of questions and signals.
func (src *source) describeLock(models []*model, r *resolver) *lock.Lock {
	l := &locker{src: src, lock: lock.New(), labels: make(map[kind]*typeutil.Map)}
	for _, m := range models {
		for _, t := range m.targets {
			l.target(t)
		}
	}
	l.messages(r)
	return l.lock
}

// target adds a state or a payload.
func (l *locker) target(t *target) {
	at := lock.Place{Pos: l.src.pkg.Fset.Position(t.named.Obj().Pos()), Subject: t.name}
	if t.role != roleState {
		l.lock.Payloads[t.name] = &lock.Entry{Type: l.text(t.typ, t.name), At: at}
		return
	}
	g := lock.NewGroup(at)
	l.lock.States[t.name] = g
	for _, f := range t.fields {
		if !f.stored() {
			g.Untracked = append(g.Untracked, f.wire)
			continue
		}
		hint := t.name + "." + f.wire
		e := &lock.Entry{Type: l.text(f.typ, hint), Reducer: f.reducer, Was: f.was, Migrates: t.migrates(f.wire), At: lockPlace(f.at)}
		if f.in != nil {
			e.Input = l.text(f.in, hint+".input")
		}
		g.Entries[f.wire] = e
	}
}

// lockPlace returns a place as the lock names it.
func lockPlace(at place) lock.Place {
	return lock.Place{Pos: at.pos, Subject: at.subject, Path: strings.TrimPrefix(at.path, ".")}
}

// migrates reports whether a method Migrate gets a field.
func (t *target) migrates(wire string) bool {
	return slices.ContainsFunc(t.migrations, func(m migration) bool { return m.wires == nil || slices.Contains(m.wires, wire) })
}

// messages adds the questions and signals. Those of one name and different types belong to
// different graphs.
func (l *locker) messages(r *resolver) {
	for _, m := range l.src.messages() {
		faults := len(r.diags.list)
		at := place{pos: m.pos, subject: m.verb + " " + strconv.Quote(m.name)}
		var args []*typ
		for _, t := range m.args {
			args = append(args, r.resolve(t, at))
		}
		if len(r.diags.list) > faults {
			continue // the type has no codec; the compiler reports it
		}
		settle(r.all)
		e := &lock.Entry{At: lockPlace(at), Type: l.text(args[0], m.name)}
		entries := l.lock.Signals
		if m.verb == "question" {
			e.Answer, entries = l.text(args[1], m.name+".answer"), l.lock.Questions
		}
		switch first := entries[m.name]; {
		case first == nil:
			entries[m.name] = e
		case first.Type != e.Type || first.Answer != e.Answer:
			first.Others = append(first.Others, e)
		}
	}
}

// text returns a type as it is stored. hint is the label of a struct that has no name.
func (l *locker) text(t *typ, hint string) string {
	switch t.kind {
	case kindBasic:
		return types.Typ[t.basic.Kind()].Name()
	case kindTime:
		return "time.Time"
	case kindBytes:
		return "[]byte"
	case kindByteArray:
		return "[" + strconv.FormatInt(t.length, 10) + "]byte"
	case kindPointer, kindSlice, kindArray, kindMap:
		if t.named && t.recursive {
			return l.recursive(t, hint)
		}
		return l.layer(t, hint)
	case kindWire:
		if basic := wireBasic(t.typ); basic != "" {
			return basic
		}
	}
	return l.label(t, hint)
}

// wireBasic returns the basic type that a type of package wire stores, or "".
func wireBasic(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != wirePath {
		return ""
	}
	return map[string]string{"String": "string", "Bool": "bool", "Int": "int64"}[named.Obj().Name()]
}

// layer returns the text of a pointer, an array, a map or a slice, without regard to its name.
func (l *locker) layer(t *typ, hint string) string {
	switch t.kind {
	case kindPointer:
		return "*" + l.text(t.elem, hint)
	case kindArray:
		return "[" + strconv.FormatInt(t.length, 10) + "]" + l.text(t.elem, hint)
	case kindMap:
		return "map[" + l.text(t.key, hint+".key") + "]" + l.text(t.elem, hint)
	}
	return "[]" + l.text(t.elem, hint)
}

// recursive returns the label of a list, map or pointer that contains itself.
func (l *locker) recursive(t *typ, hint string) string {
	label, known := l.newLabel(t, hint)
	if !known {
		l.lock.Named[label] = "[]" + label // taken until the type is known
		l.lock.Named[label] = l.layer(t, hint)
	}
	return label
}

// label returns the label of a struct, a union or a type that stores itself. It adds a new one to
// the file, with what is stored of its type.
func (l *locker) label(t *typ, hint string) string {
	label, known := l.newLabel(t, hint)
	if known {
		return label
	}
	switch t.kind {
	case kindUnion:
		if t.home != nil {
			l.lock.Codecs[label] = "wire"
			break
		}
		l.union(t, label)
	case kindWire:
		l.lock.Codecs[label] = "wire"
	case kindBinary:
		l.lock.Codecs[label] = "binary"
	case kindText:
		l.lock.Codecs[label] = "text"
	case kindJSON:
		l.lock.Codecs[label] = "json"
	default:
		g := lock.NewGroup(l.placeOf(t, label))
		l.lock.Structs[label] = g
		for _, m := range t.stored() {
			g.Entries[m.wire] = &lock.Entry{Type: l.text(m.typ, label+"."+m.wire), Was: m.was, At: lockPlace(m.at)}
		}
	}
	return label
}

// union adds the members of a union to the lock.
func (l *locker) union(t *typ, label string) {
	g := lock.NewGroup(l.placeOf(t, label))
	l.lock.Unions[label] = g
	for _, a := range t.alts {
		g.Entries[a.tag] = &lock.Entry{Type: l.text(a.elem, label+"."+a.tag), At: lockPlace(a.at)}
		g.At = lockPlace(a.at)
	}
}

// placeOf returns the declaration of a type of this package. Otherwise the position is empty.
func (l *locker) placeOf(t *typ, label string) lock.Place {
	named, ok := types.Unalias(t.typ).(*types.Named)
	if !ok || t.foreign {
		return lock.Place{Subject: label}
	}
	return lock.Place{Pos: l.src.pkg.Fset.Position(named.Obj().Pos()), Subject: label}
}

// newLabel returns the label of a type, and whether the type has it already. Types of two packages
// with one name get numbers.
func (l *locker) newLabel(t *typ, hint string) (label string, known bool) {
	if l.labels[t.kind] == nil {
		l.labels[t.kind] = new(typeutil.Map)
	}
	if label, ok := l.labels[t.kind].At(t.typ).(string); ok {
		return label, true
	}
	base := hint
	if _, named := types.Unalias(t.typ).(*types.Named); named {
		base = types.TypeString(types.Unalias(t.typ), func(p *types.Package) string {
			if p == l.src.pkg.Types {
				return ""
			}
			return p.Name()
		})
	}
	base = plainLabel(base)
	label = base
	for n := 2; l.lock.Has(label) || lock.IsBasic(label); n++ {
		label = base + "~" + strconv.Itoa(n)
	}
	l.labels[t.kind].Set(t.typ, label)
	return label, false
}

// plainLabel returns a name without characters that separate words in the file. It does not begin
// like a pointer, a list or a map.
func plainLabel(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return -1
		case strings.ContainsRune("\"\\~{};", r) || !unicode.IsPrint(r):
			return '_'
		}
		return r
	}, name)
	if name == "" || strings.ContainsAny(name[:1], "*[]") || strings.HasPrefix(name, "map[") {
		return "_" + name
	}
	return name
}
