package store

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Namespace names a group of items by parts, from the outermost to the innermost. A part is any
// string that is not empty. Namespaces are ordered by their parts, bytewise.
type Namespace []string

// Limits on names and values, in bytes. A value above its limit is an [*InvalidError].
const (
	MaxNamespace  = 512 // of Namespace.Append: the parts and 2 for each part
	MaxKey        = 512
	MaxOnce       = 512
	MaxIndexName  = 64
	MaxIndexValue = 256
	MaxValue      = 8 << 20
)

// Limits on numbers. More are an [*InvalidError].
const (
	MaxOps     = 1000 // operations in a batch
	MaxEntries = 64   // index entries of an item
	MaxRanges  = 256  // ranges in all conditions of a query
	MaxPage    = 1000 // items or namespaces in a page
)

// String returns the parts for people. Different namespaces have different strings.
func (n Namespace) String() string {
	if len(n) == 0 {
		return "(root)"
	}
	var b strings.Builder
	for i, part := range n {
		if i > 0 {
			b.WriteByte('/')
		}
		if part == "" || strings.ContainsFunc(part, func(r rune) bool {
			return r == '/' || r == '"' || r == '(' || r == '\ufffd' || !strconv.IsPrint(r)
		}) {
			part = strconv.Quote(part)
		}
		b.WriteString(part)
	}
	return b.String()
}

// Below returns the namespace with more parts. It shares no memory with n.
func (n Namespace) Below(parts ...string) Namespace { return slices.Concat(n, parts) }

// Contains reports whether other is n or a namespace below n.
func (n Namespace) Contains(other Namespace) bool {
	return len(other) >= len(n) && slices.Equal(n, other[:len(n)])
}

// Append appends a form of n for backends to b. The bytes sort as namespaces do, and no two
// namespaces have the same bytes. n contains another namespace if its bytes begin with those of n.
// The form of a part is the part with 00 written as 00 ff, and 00 01 at the end.
func (n Namespace) Append(b []byte) []byte {
	for _, part := range n {
		b = AppendPart(b, part)
	}
	return b
}

// AppendPart appends the form of one part, as [Namespace.Append] does.
func AppendPart(b []byte, part string) []byte {
	for {
		i := strings.IndexByte(part, 0)
		if i < 0 {
			return append(append(b, part...), 0, 1)
		}
		b = append(append(b, part[:i]...), 0, 0xff)
		part = part[i+1:]
	}
}

// ParseNamespace returns the namespace for bytes that [Namespace.Append] has written.
func ParseNamespace(b []byte) (Namespace, error) {
	var n Namespace
	for len(b) > 0 {
		part, rest, err := cutPart(b)
		if err != nil {
			return nil, err
		}
		n, b = append(n, part), rest
	}
	return n, nil
}

func cutPart(b []byte) (part string, rest []byte, err error) {
	var out []byte
	for at := b; ; {
		i := bytes.IndexByte(at, 0)
		if i < 0 || i+1 == len(at) || at[i+1] != 1 && at[i+1] != 0xff {
			return "", nil, fmt.Errorf("store: namespace %q: %w: want parts that end with 00 01", b, ErrDamaged)
		}
		out = append(out, at[:i]...)
		if at[i+1] == 1 {
			return string(out), at[i+2:], nil
		}
		out, at = append(out, 0), at[i+2:]
	}
}

// check returns an *InvalidError unless n can be a namespace, or the root if root is true.
func (n Namespace) check(field string, root bool) error {
	if len(n) == 0 && !root {
		return &InvalidError{field, "no parts", "at least one part"}
	}
	size := 0
	for i, part := range n {
		if part == "" {
			return &InvalidError{fmt.Sprintf("%s[%d]", field, i), "an empty part", "at least one byte"}
		}
		if size += len(part) + 2 + strings.Count(part, "\x00"); size > MaxNamespace {
			return &InvalidError{
				field, fmt.Sprintf("%d bytes up to part %d", size, i),
				fmt.Sprintf("at most %d, with 2 for each part", MaxNamespace),
			}
		}
	}
	return nil
}

// Part matches one part of a namespace in a [NamespaceQuery].
type Part struct {
	Name string // the part
	Any  bool   // any part; Name must be empty
}

// NamespaceQuery selects namespaces. The zero NamespaceQuery selects all that have items.
type NamespaceQuery struct {
	Prefix []Part    // match the first parts
	Suffix []Part    // match the last parts
	Depth  int       // the maximum number of parts: longer namespaces are cut, and listed once; less than 1 is no limit
	After  Namespace // only namespaces that sort after this whole one, for paging; nil is all
	Limit  int       // the maximum number of namespaces; less than 1 is all, for a Backend MaxPage
}

// Matches reports whether q selects n, apart from Depth, After and Limit.
func (q *NamespaceQuery) Matches(n Namespace) bool {
	if len(n) < len(q.Prefix) || len(n) < len(q.Suffix) {
		return false
	}
	return matches(q.Prefix, n[:len(q.Prefix)]) && matches(q.Suffix, n[len(n)-len(q.Suffix):])
}

func matches(parts []Part, n Namespace) bool {
	for i, part := range parts {
		if !part.Any && part.Name != n[i] {
			return false
		}
	}
	return true
}

// Cut returns n without the parts below q.Depth.
func (q *NamespaceQuery) Cut(n Namespace) Namespace {
	if q.Depth > 0 && len(n) > q.Depth {
		return n[:q.Depth:q.Depth]
	}
	return n
}

// Literal returns the parts that begin all namespaces that q selects.
func (q *NamespaceQuery) Literal() Namespace {
	var n Namespace
	for _, part := range q.Prefix {
		if part.Any {
			break
		}
		n = append(n, part.Name)
	}
	return n
}

// Check returns an [*InvalidError] for the first value in q that no backend accepts, or nil.
func (q *NamespaceQuery) Check() error {
	for _, list := range [...]struct {
		field string
		parts []Part
	}{{"prefix", q.Prefix}, {"suffix", q.Suffix}} {
		for i, part := range list.parts {
			if part.Any != (part.Name == "") {
				return &InvalidError{fmt.Sprintf("%s[%d]", list.field, i), fmt.Sprintf("%+v", part), "either a name or Any"}
			}
		}
	}
	return q.After.check("after", true)
}
