package gen

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Diagnostic is one fault in the user's sources.
type Diagnostic struct {
	Pos     token.Position // of the field, tag, type or directive; the filename is relative where that is shorter to read
	Subject string         // what it is about, such as State.Messages; empty for the compiler's own errors
	Message string         // what is wrong and what was found; then, after a semicolon, how to fix it
}

// String returns the diagnostic on one line: file:line:col: subject: message.
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.Pos.IsValid() || d.Pos.Filename != "" {
		b.WriteString(d.Pos.String())
		b.WriteString(": ")
	}
	if d.Subject != "" {
		b.WriteString(d.Subject)
		b.WriteString(": ")
	}
	b.WriteString(d.Message)
	return b.String()
}

// diagnostics collects what is wrong in all packages of one Generate.
type diagnostics struct {
	dir  string
	list []Diagnostic
}

func (ds *diagnostics) empty() bool { return len(ds.list) == 0 }

// add records a fault. Two messages that are alike at one place are one fault.
func (ds *diagnostics) add(pos token.Position, subject, format string, args ...any) {
	pos.Filename = relative(ds.dir, pos.Filename)
	pos.Offset = 0
	d := Diagnostic{Pos: pos, Subject: subject, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(ds.list, d) {
		ds.list = append(ds.list, d)
	}
}

// sorted returns the faults in the order of their positions.
func (ds *diagnostics) sorted() []Diagnostic {
	slices.SortStableFunc(ds.list, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.Pos.Filename, b.Pos.Filename),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			strings.Compare(a.Subject, b.Subject),
			strings.Compare(a.Message, b.Message),
		)
	})
	return ds.list
}

// relative returns path as seen from dir when it lies below dir, and path itself otherwise.
func relative(dir, path string) string {
	if path == "" {
		return ""
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}
