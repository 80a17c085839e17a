package gen

import (
	"fmt"
	"go/token"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tag is a parsed graph tag. Whether it fits the field is checked later.
type tag struct {
	present bool     // the field has a graph tag
	skip    bool     // "-"
	reducer string   // "" for none
	fn      string   // the value of reduce=
	key     string   // the value of key=
	name    string   // the value of name=
	was     []string // the values of was=, in order
	hasKey  bool
	run     bool // the option run
	form    kind // kindJSON or kindText: the option json or text
}

// forms are the options that say how the types of a field store themselves.
var forms = map[string]kind{"json": kindJSON, "text": kindText}

// merges reports whether the tag says something about the merging of a field. Such a tag is for
// fields of states.
func (t *tag) merges() bool { return t.reducer != "" || t.run }

// reducers lists the words for reducers in a tag, in the order for messages.
var reducers = []string{
	"replace", "append", "upsert", "last", "first", "sum", "min", "max", "and", "or", "merge", "union", "reduce",
	"ephemeral", "untracked",
}

// parseTag parses the tag of a struct field, without quotes. It returns all faults.
func parseTag(raw string) (tag, []string) {
	value, found, fault := lookupTag(raw, "graph")
	if fault != "" {
		return tag{}, []string{fault}
	}
	if !found {
		return tag{}, nil
	}
	t := tag{present: true}
	if value == "-" {
		t.skip = true
		return t, nil
	}
	var faults []string
	for i, part := range strings.Split(value, ",") {
		if part == "" && i == 0 {
			continue // `graph:",name=x"` and `graph:""` name no reducer
		}
		if fault := t.set(part); fault != "" {
			faults = append(faults, fault)
		}
	}
	return t, faults
}

// set parses one comma-separated part of a tag and returns its fault, or "".
func (t *tag) set(part string) string {
	word, value, hasValue := strings.Cut(part, "=")
	switch word {
	case "":
		return fmt.Sprintf("tag has an empty option %q; remove the comma", part)
	case "key":
		if t.hasKey {
			return "tag has two key= options; keep one"
		}
		t.hasKey, t.key = true, value
		return needName(part, hasValue, value, "an element's field or method, as in key=ID")
	case "name":
		if t.name != "" {
			return "tag has two name= options; keep one"
		}
		t.name = value
		return needWire(part, value)
	case "run":
		if t.run || hasValue {
			return fmt.Sprintf(`option %q: "run" takes no value and stands once`, part)
		}
		t.run = true
		return ""
	case "json", "text":
		if t.form != kindInvalid || hasValue {
			return fmt.Sprintf(`option %q: "json" and "text" take no value, and only one of them stands, once`, part)
		}
		t.form = forms[word]
		return ""
	case "was":
		t.was = append(t.was, value)
		return needWire(part, value)
	}
	return t.setReducer(part, word, value, hasValue)
}

// setReducer parses a part that is not an option.
func (t *tag) setReducer(part, word, value string, hasValue bool) string {
	if !isReducer(word) {
		what := "reducer"
		if hasValue {
			what = "option"
		}
		return fmt.Sprintf("unknown %s %q; %s", what, part, suggest(word))
	}
	if t.reducer != "" {
		return fmt.Sprintf("tag names two reducers, %q and %q; keep one", t.reducer, word)
	}
	t.reducer = word
	if word == "reduce" {
		t.fn = value
		return needName(part, hasValue, value, "a function of this package, as in reduce=merge")
	}
	if hasValue {
		return fmt.Sprintf("reducer %q takes no value, got %q; remove %q", word, value, "="+value)
	}
	return ""
}

// isReducer reports whether a word of a tag names a reducer.
func isReducer(word string) bool {
	for _, r := range reducers {
		if r == word {
			return true
		}
	}
	return false
}

// suggest returns the remedy for an unknown word: the most similar word, or all words.
func suggest(word string) string {
	words := append(append([]string(nil), reducers...), "key", "name", "was", "run", "json", "text")
	for _, w := range words {
		if strings.EqualFold(w, word) || edits(w, strings.ToLower(word)) == 1 {
			return fmt.Sprintf("did you mean %q?", w)
		}
	}
	return "the reducers are " + strings.Join(reducers[:len(reducers)-3], ", ") +
		", reduce=func, ephemeral and untracked, the options key=, name=, was=, run, json and text"
}

// needName returns the fault of an option whose value must be a Go name.
func needName(part string, hasValue bool, value, want string) string {
	switch {
	case !hasValue || value == "":
		return fmt.Sprintf("%q needs the name of %s", strings.TrimSuffix(part, "="), want)
	case !isIdent(value):
		return fmt.Sprintf("%q: %q is not a Go name; give the name of %s", part, value, want)
	}
	return ""
}

// needWire returns the fault of a wire name.
func needWire(part, value string) string {
	switch {
	case value == "":
		return fmt.Sprintf("%q needs a name in stored data, as in name=msgs", strings.TrimSuffix(part, "="))
	case !utf8.ValidString(value):
		return fmt.Sprintf("%q is not valid UTF-8", part)
	case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("%q has a character that does not print; use letters, digits, _ - . /", part)
	}
	return ""
}

// isIdent reports whether s can be the name of a declaration in Go.
func isIdent(s string) bool { return token.IsIdentifier(s) && s != "_" }

// lookupTag finds key in a struct tag like reflect.StructTag. In addition it reports a malformed
// tag or a duplicate key, which reflect ignores.
func lookupTag(raw, key string) (value string, found bool, fault string) {
	rest := raw
	for {
		rest = strings.TrimLeft(rest, " ")
		if rest == "" {
			return value, found, ""
		}
		name, after, ok := strings.Cut(rest, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \"") || after == "" || after[0] != '"' {
			if !strings.Contains(raw, key) {
				return "", false, "" // not a graph tag; go vet reports it
			}
			return "", false, fmt.Sprintf("malformed struct tag at %q; want `%s:\"...\"`", clip(rest), key)
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return "", false, fmt.Sprintf("malformed struct tag at %q: the quote is not closed", clip(rest))
		}
		rest = after[len(quoted):]
		if name != key {
			continue
		}
		if found {
			return "", false, fmt.Sprintf("struct tag has two %s: parts; keep one", key)
		}
		value, err = strconv.Unquote(quoted)
		if err != nil {
			return "", false, fmt.Sprintf("malformed struct tag at %q", clip(after))
		}
		found = true
	}
}

// clip shortens text for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
