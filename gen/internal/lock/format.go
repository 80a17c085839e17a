package lock

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// header is the first line of the file, without the number of its format.
const header = "graphgen.lock "

// note is the comment at the top of the file.
const note = "# Names and types that threads may have stored. graphgen keeps this file; graphgen lock shows changes."

// Text returns the file. Equal locks have equal text.
func (l *Lock) Text() []byte {
	f := new(formatter)
	fmt.Fprintf(&f.b, "%s%d\n%s\n", header, Format, note)
	f.groups("state", l.States)
	f.entries("payload", "", l.Payloads)
	f.entries("question", "", l.Questions)
	f.entries("signal", "", l.Signals)
	f.groups("struct", l.Structs)
	f.groups("union", l.Unions)
	f.pairs("type", l.Named)
	f.pairs("codec", l.Codecs)
	return []byte(f.b.String())
}

// formatter writes lines. A blank line separates the lines of each type.
type formatter struct{ b strings.Builder }

// line writes one line of words, quoted where necessary.
func (f *formatter) line(words ...string) {
	for i, word := range words {
		if i > 0 {
			f.b.WriteByte(' ')
		}
		f.b.WriteString(quote(word))
	}
	f.b.WriteByte('\n')
}

// groups writes groups of entries, sorted by name.
func (f *formatter) groups(kind string, groups map[string]*Group) {
	for _, name := range sorted(groups) {
		if entries := groups[name].Entries; len(entries) > 0 {
			f.entries(kind, name, entries)
			continue
		}
		f.b.WriteByte('\n')
		f.line(kind, name)
	}
}

// entries writes the entries of one group, or those without a group if owner is empty.
func (f *formatter) entries(kind, owner string, entries map[string]*Entry) {
	if len(entries) > 0 {
		f.b.WriteByte('\n')
	}
	for _, name := range sorted(entries) {
		words := []string{kind}
		if owner != "" {
			words = append(words, owner)
		}
		f.line(append(append(words, name), entries[name].words()...)...)
	}
}

// words returns the words of an entry after its name.
func (e *Entry) words() []string {
	words := []string{e.Type}
	for _, word := range []string{e.Answer, e.Reducer} {
		if word != "" {
			words = append(words, word)
		}
	}
	if e.Input != "" {
		words = append(words, "in="+e.Input)
	}
	for _, was := range slices.Sorted(slices.Values(e.Was)) {
		words = append(words, "was="+was)
	}
	if e.Migrated {
		words = append(words, "migrated")
	}
	if e.Removed {
		words = append(words, "removed")
	}
	return words
}

// pairs writes a line for each name with its value, sorted by name.
func (f *formatter) pairs(kind string, pairs map[string]string) {
	if len(pairs) > 0 {
		f.b.WriteByte('\n')
	}
	for _, name := range sorted(pairs) {
		f.line(kind, name, pairs[name])
	}
}

// quote returns a word as it stands in the file.
func quote(word string) string {
	plain := !strings.ContainsFunc(word, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' || r == '\\' || r == unicode.ReplacementChar
	})
	if plain && word != "" {
		return word
	}
	return strconv.Quote(word)
}

// sorted returns the keys of m in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
