package gen

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Diagnostic is a fault in the user's sources.
type Diagnostic struct {
	Pos     token.Position // the field, tag, type or directive; the filename is relative if that is shorter
	Subject string         // such as State.Messages; empty for errors of the compiler
	Message string         // the fault and its cause; after a semicolon, the remedy
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

// diagnostics collects the faults in all packages of one Generate call.
type diagnostics struct {
	dir  string
	list []Diagnostic
}

// empty reports whether nothing is wrong.
func (ds *diagnostics) empty() bool { return len(ds.list) == 0 }

// add records a fault. It ignores a repeated message at the same position.
func (ds *diagnostics) add(pos token.Position, subject, format string, args ...any) {
	pos.Filename = relative(ds.dir, pos.Filename)
	pos.Offset = 0
	d := Diagnostic{Pos: pos, Subject: subject, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(ds.list, d) {
		ds.list = append(ds.list, d)
	}
}

// sorted returns the faults in order of position.
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

// relative returns path relative to dir if path is below dir, and otherwise path.
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
