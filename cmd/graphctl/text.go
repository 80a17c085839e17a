package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Ids, titles and payloads come from others. Written to a terminal as they are, they could move
// its cursor, or look like another line.

// plain reports whether s is safe on a terminal, and is not taken for a quoted text.
func plain(s string) bool {
	if s == "" || s[0] == '"' || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// quoteID returns a thread id as parseID accepts it.
func quoteID(id string) string {
	if plain(id) && !strings.Contains(id, " ") {
		return id
	}
	return strconv.Quote(id)
}

// parseID returns the thread id that the user wrote, possibly in Go syntax.
func parseID(arg string) (string, error) {
	if !strings.HasPrefix(arg, `"`) {
		return arg, nil
	}
	id, err := strconv.Unquote(arg)
	if err != nil {
		return "", &usageError{fmt.Sprintf("the thread id %s begins with a quote, but it is not text in Go syntax", arg)}
	}
	return id, nil
}

// cell returns text for one cell of a table.
func cell(s string) string {
	if s == "" || plain(s) {
		return s
	}
	return strconv.Quote(s)
}

// safeText returns text of several lines with escapes in place of control characters.
func safeText(s string) string {
	safe := func(r rune) bool { return r == '\n' || r != utf8.RuneError && unicode.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if safe(r) {
			b.WriteString(s[:size])
		} else {
			b.WriteString(strings.Trim(strconv.Quote(s[:size]), `"`))
		}
		s = s[size:]
	}
	return b.String()
}

// safeJSON returns JSON with escapes in place of the control characters that encoding/json leaves
// as they are. They can only be in strings.
func safeJSON(b []byte) []byte {
	unsafe := func(r rune) bool { return r > unicode.MaxASCII && !unicode.IsPrint(r) || r == 0x7f }
	if bytes.IndexFunc(b, unsafe) < 0 {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		switch {
		case !unsafe(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// age returns how long ago at is, such as 3m; "-" for the zero time.
func (a *app) age(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	d := a.since(at)
	if d < 0 {
		return "in " + short(-d)
	}
	return short(d)
}

// ageOf is age of a time that may be missing.
func (a *app) ageOf(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return a.age(*at)
}

// short returns a duration by its largest unit.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// moment returns a time and its age for a page about one thread.
func (a *app) moment(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	text := at.UTC().Format(time.RFC3339)
	age := a.age(at)
	if !strings.HasPrefix(age, "in ") {
		age += " ago"
	}
	return text + " (" + age + ")"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
