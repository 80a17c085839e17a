package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrUnknownField reports stored data with a struct field or a union member that the code does not
// know. Test with errors.Is.
var ErrUnknownField = errors.New("stored data has something that the code does not know")

// Kind classifies an [Error].
type Kind uint8

const (
	Mismatch  Kind = iota + 1 // a value of a different kind than expected
	Range                     // a value of the right kind that does not fit
	Truncated                 // the data ends too early
	Trailing                  // more data after the end of the value
	Unknown                   // a struct field or union member that the code does not know
	Depth                     // nested deeper than MaxDepth
	Invalid                   // a value that a method of its type rejected; Cause is its error
	Damaged                   // well-formed data that no version of this module stores; Cause says why
	Memory                    // values that take far more memory than the data has bytes
)

// Error describes an error in data, and its place.
type Error struct {
	Kind   Kind
	Path   string // State.Messages[3].ID
	Offset int    // in bytes
	Want   string // the expected value
	Found  string // the value in the data
	Cause  error  // the error of a method of the type, else nil

	placed  bool // Path and garbled are final
	garbled bool // the input is not MessagePack, or its frame is wrong
}

// Malformed reports whether no program can have written the data: it is not MessagePack, or not in
// the form in which this module stores things. If it returns false, a program with other types may
// have written the data.
func (e *Error) Malformed() bool {
	switch e.Kind {
	case Truncated, Trailing, Depth, Damaged, Memory:
		return true
	}
	var inner *Error
	return e.garbled || errors.As(e.Cause, &inner) && inner.Malformed()
}

// Explain returns err as an error that wraps an [*Error]. The DecodeWire method of the type root
// must have returned err for b.
func Explain(root string, b []byte, err error) error {
	var at *Error
	if err == nil || errors.As(err, &at) {
		return err
	}
	return &Error{Kind: Invalid, Path: root, Cause: err, garbled: !wellFormed(string(b))}
}

// wellFormed reports whether s is exactly one MessagePack value.
func wellFormed(s string) bool {
	r := Reader{s: s}
	r.Skip()
	return r.err == nil && r.i == len(s)
}

func (e *Error) Error() string {
	where := e.Path
	if where == "" {
		where = "value"
	}
	where += ": "
	switch e.Kind {
	case Trailing:
		return fmt.Sprintf("%smore data after the end of the value, at byte %d", where, e.Offset)
	case Unknown:
		if e.Want != "" {
			return fmt.Sprintf("%s%q is no member of %s", where, e.Found, e.Want)
		}
		return fmt.Sprintf("%sthe code has no field %q", where, e.Found)
	case Depth:
		return fmt.Sprintf("%snested more than %d levels deep", where, MaxDepth)
	case Memory:
		return fmt.Sprintf("%sits elements take more memory than data of this size may: %d bytes for each byte, and %d MiB",
			where, memoryFactor, memorySlack>>20)
	case Invalid, Damaged:
		return where + e.Cause.Error()
	}
	return fmt.Sprintf("%swant %s, got %s", where, e.Want, e.Found)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is ErrUnknownField and e is of kind Unknown.
func (e *Error) Is(target error) bool { return target == ErrUnknownField && e.Kind == Unknown }

// describe names the kind of value that starts with c.
func describe(c byte) string {
	switch {
	case IsInt(c):
		return "int"
	case IsMap(c):
		return "map"
	case IsArray(c):
		return "array"
	case IsString(c):
		return "string"
	case c == 0xc0:
		return "nil"
	case c == 0xc2 || c == 0xc3:
		return "bool"
	case IsBytes(c):
		return "bytes"
	case c == 0xca || c == 0xcb:
		return "float"
	case c == 0xc1:
		return "the byte 0xc1, which MessagePack does not use"
	}
	return "extension"
}

func formatNumber(bits uint64, negative bool) string {
	if negative {
		return strconv.FormatInt(int64(bits), 10)
	}
	return strconv.FormatUint(bits, 10)
}

// path returns the path from the value in s to the value at offset, in Go syntax. It reads s
// again, because data without an error must not pay for the path.
func path(s string, offset int) string {
	r := NewStringReader("", s)
	var b strings.Builder
	for r.err == nil && r.i < offset {
		c := r.Peek()
		switch {
		case IsMap(c):
			if !intoMap(&r, &b, offset) {
				return b.String()
			}
		case IsArray(c):
			if !intoArray(&r, &b, offset) {
				return b.String()
			}
		default:
			return b.String()
		}
		if b.Len() > 200 {
			return b.String() + "..."
		}
	}
	return b.String()
}

// intoMap reads up to the map entry that contains offset and writes the entry's key. It reports
// whether a value contains offset.
func intoMap(r *Reader, b *strings.Builder, offset int) bool {
	for range r.MapLen() {
		raw := r.Raw()
		if r.err != nil || r.i > offset {
			return false
		}
		if holds(r, offset) {
			b.WriteString(keyStep(raw))
			return true
		}
	}
	return false
}

func intoArray(r *Reader, b *strings.Builder, offset int) bool {
	for i := range r.ArrayLen() {
		if holds(r, offset) {
			fmt.Fprintf(b, "[%d]", i)
			return true
		}
	}
	return false
}

// holds reports whether the next value contains offset. If not, it skips the value. A truncated
// value contains all bytes that are left.
func holds(r *Reader, offset int) bool {
	from := r.i
	if from >= offset {
		return true
	}
	after := *r
	for todo := 1; todo > 0 && after.err == nil && after.i <= offset; todo-- { // as Skip, but not beyond offset
		todo += after.skipHead()
	}
	if after.err != nil || after.i > offset {
		return true
	}
	r.i = after.i
	return false
}

// keyStep writes a map key as one step of a path.
func keyStep(raw string) string {
	r := NewStringReader("", raw)
	if c := r.Peek(); IsString(c) {
		if key := r.Str(); isName(key) {
			return "." + key
		} else {
			if len(key) > 40 {
				key = key[:40] + "..."
			}
			return "[" + strconv.Quote(key) + "]"
		}
	}
	if v := r.Int64(); r.err == nil {
		return "[" + strconv.FormatInt(v, 10) + "]"
	}
	return "[" + describe(NewStringReader("", raw).s[0]) + "]"
}

// isName reports whether key could be the name of a field.
func isName(key string) bool {
	for i, c := range []byte(key) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return key != "" && len(key) <= 40
}
