package lock

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError is a fault in the file.
type SyntaxError struct {
	Line    int
	Message string // the fault; after a semicolon, the remedy
}

// Error returns the fault with its line.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", Name, e.Line, e.Message) }

// Parse reads a file. The order of its lines does not matter, and equal lines count once, so the
// lines of two branches can be merged. Two lines of a name that differ only in their options count
// as one line with the options of both. Parse returns a *SyntaxError.
func Parse(data []byte) (*Lock, error) {
	p := &parser{lock: New()}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		var err error
		if i == 0 {
			err = parseHeader(line)
		} else {
			err = p.read(line)
		}
		if err != nil {
			return nil, &SyntaxError{Line: p.line, Message: err.Error()}
		}
	}
	if err := p.check(); err != nil {
		return nil, &SyntaxError{Line: p.line, Message: err.Error()}
	}
	return p.lock, nil
}

// parseHeader checks the first line of a lock.
func parseHeader(line string) error {
	if isMergeMark(line) {
		return errMergeMark
	}
	digits, ok := strings.CutPrefix(line, header)
	n, err := strconv.Atoi(digits)
	switch {
	case !ok || err != nil || n < 1:
		return fmt.Errorf("does not begin with %q; restore the file, or delete it and run graphgen lock", header+strconv.Itoa(Format))
	case n > Format:
		return fmt.Errorf("has format %d, and this version of graphgen reads format %d; use a newer graphgen", n, Format)
	}
	return nil
}

var errMergeMark = errors.New("has the marks of a merge conflict; keep the lines of both sides, remove the marks and run graphgen")

// isMergeMark reports whether git wrote the line for a conflict.
func isMergeMark(line string) bool {
	return slices.ContainsFunc([]string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"}, func(mark string) bool {
		return line == mark || strings.HasPrefix(line, mark+" ")
	})
}

// parser reads the lines after the first.
type parser struct {
	lock *Lock
	line int // the number of the current line
	uses []use
}

// use is a type on a line, which is checked after all lines are read.
type use struct {
	line int
	text string
}

// read reads one line after the header.
func (p *parser) read(line string) error {
	if isMergeMark(line) {
		return errMergeMark
	}
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	words, err := split(line)
	if err != nil {
		return err
	}
	kind, rest := words[0], words[1:]
	if len(rest) == 0 {
		return fmt.Errorf("%q needs a name; restore the line", kind)
	}
	switch kind {
	case "state":
		return p.group(kind, p.lock.States, rest)
	case "struct":
		return p.group(kind, p.lock.Structs, rest)
	case "union":
		return p.group(kind, p.lock.Unions, rest)
	case "payload":
		return p.entry(kind, p.lock.Payloads, rest)
	case "question":
		return p.entry(kind, p.lock.Questions, rest)
	case "signal":
		return p.entry(kind, p.lock.Signals, rest)
	case "type":
		return p.pair(p.lock.Named, rest, "")
	case "codec":
		return p.pair(p.lock.Codecs, rest, "wire binary text json")
	}
	return fmt.Errorf("begins with the unknown word %q; restore the line, or use a newer graphgen", kind)
}

// split returns the words of a line.
func split(line string) ([]string, error) {
	var words []string
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		word, after, _ := strings.Cut(rest, " ")
		if rest[0] == '"' {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, errors.New("has a quote that is not closed; restore the line")
			}
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, errors.New("has a quote that cannot be read; restore the line")
			}
			after = rest[len(quoted):]
		}
		if !utf8.ValidString(word) {
			return nil, errors.New("is not valid UTF-8; restore the line")
		}
		words, rest = append(words, word), after
	}
	return words, nil
}

// group reads a line of a state, struct or union.
func (p *parser) group(kind string, groups map[string]*Group, words []string) error {
	owner := words[0]
	if kind != "state" {
		if err := checkLabel(owner); err != nil {
			return err
		}
	}
	if groups[owner] == nil {
		groups[owner] = NewGroup(p.place(owner))
	}
	if len(words) == 1 {
		return nil
	}
	return p.entry(kind+" "+quote(owner), groups[owner].Entries, words[1:])
}

// checkLabel reports why a type cannot have the label, or returns nil.
func checkLabel(label string) error {
	if at := peel(label); at.kind != invalid || label == "" || strings.ContainsAny(label[:1], "[]") {
		return fmt.Errorf("%q cannot be the name of a type; restore the line", label)
	}
	return nil
}

// entry reads the line of an entry. start is the start of the line, up to the name.
func (p *parser) entry(start string, entries map[string]*Entry, words []string) error {
	name := words[0]
	e := &Entry{At: p.place(name)}
	if err := p.fill(e, start, words[1:]); err != nil {
		return err
	}
	if other := entries[name]; other != nil {
		if other.Type != e.Type || other.Answer != e.Answer || other.Reducer != e.Reducer || other.Input != e.Input {
			return fmt.Errorf("%s %s is listed differently on line %d; keep the line that fits the sources", start, quote(name), other.At.Pos.Line)
		}
		e.Was = slices.Compact(slices.Sorted(slices.Values(append(e.Was, other.Was...))))
		e.Migrated, e.Removed = e.Migrated || other.Migrated, e.Removed || other.Removed
	}
	entries[name] = e
	return nil
}

// fill reads the words of an entry after its name.
func (p *parser) fill(e *Entry, start string, words []string) error {
	kind, _, _ := strings.Cut(start, " ")
	for _, slot := range []struct {
		what  string
		value *string
		has   bool
	}{
		{"type", &e.Type, true},
		{"answer type", &e.Answer, kind == "question"},
		{"reducer", &e.Reducer, kind == "state"},
	} {
		if !slot.has {
			continue
		}
		if len(words) == 0 || words[0] == "" {
			return fmt.Errorf("has no %s; restore the line", slot.what)
		}
		*slot.value, words = words[0], words[1:]
	}
	for _, word := range words {
		if !e.option(kind, word) {
			return fmt.Errorf("has the unknown option %q; restore the line, or use a newer graphgen", word)
		}
	}
	for _, text := range []string{e.Type, e.Answer, e.Input} {
		if text != "" {
			p.uses = append(p.uses, use{p.line, text})
		}
	}
	return nil
}

// option sets an option of an entry. It reports false for a word that lines of this kind do not
// have.
func (e *Entry) option(kind, word string) bool {
	option, value, _ := strings.Cut(word, "=")
	field := kind == "state" || kind == "struct"
	switch {
	case word == "removed" && kind != "payload":
		e.Removed = true
	case word == "migrated" && kind == "state":
		e.Migrated = true
	case option == "was" && value != "" && field:
		if !slices.Contains(e.Was, value) {
			e.Was = append(e.Was, value)
		}
	case option == "in" && value != "" && kind == "state":
		e.Input = value
	default:
		return false
	}
	return true
}

// pair reads a line with a label and one word. allowed lists the words, or is empty for a type.
func (p *parser) pair(pairs map[string]string, words []string, allowed string) error {
	if len(words) != 2 {
		return errors.New("does not have three words; restore the line")
	}
	label, value := words[0], words[1]
	if err := checkLabel(label); err != nil {
		return err
	}
	if other, twice := pairs[label]; twice && other != value {
		return fmt.Errorf("%s is listed differently on another line; keep one of the lines", quote(label))
	}
	switch {
	case allowed == "":
		p.uses = append(p.uses, use{p.line, value})
	case value == "" || !slices.Contains(strings.Fields(allowed), value):
		return fmt.Errorf("has the unknown form %q; restore the line, or use a newer graphgen", value)
	}
	pairs[label] = value
	return nil
}

// place returns the present line as the place of subject.
func (p *parser) place(subject string) Place {
	return Place{Pos: token.Position{Filename: Name, Line: p.line, Column: 1}, Subject: subject}
}

// check reports types that refer to nothing, and labels of several types.
func (p *parser) check() error {
	for _, u := range p.uses {
		p.line = u.line
		if err := p.lock.check(u.text); err != nil {
			return err
		}
	}
	p.line = 1
	seen := make(map[string]bool)
	for _, labels := range [][]string{
		sorted(p.lock.Structs), sorted(p.lock.Unions), slices.Sorted(maps.Keys(p.lock.Named)), slices.Sorted(maps.Keys(p.lock.Codecs)),
	} {
		for _, label := range labels {
			if seen[label] {
				return fmt.Errorf("%s has lines of two kinds; keep one kind", quote(label))
			}
			seen[label] = true
		}
	}
	for label := range p.lock.Named {
		if p.lock.outer(label).kind == invalid {
			return fmt.Errorf("type %s is described by itself alone; restore its line", quote(label))
		}
	}
	return nil
}
