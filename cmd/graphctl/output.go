package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// flushRows is how many rows of a table are aligned with each other. A list of many threads is
// printed while it is read.
const flushRows = 500

// list prints values one by one: as a table, as a JSON array, or as one JSON value a line.
type list struct {
	a       *app
	columns []string
	table   *tabwriter.Writer
	rows    int
}

// list returns a list with the given columns.
func (a *app) list(columns ...string) *list {
	return &list{a: a, columns: columns, table: tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)}
}

// add prints one value. cells is called for tables only.
func (l *list) add(value any, cells func() []string) error {
	l.rows++
	switch l.a.format {
	case "table":
		if l.rows == 1 {
			fmt.Fprintln(l.table, strings.Join(l.columns, "\t"))
		}
		fmt.Fprintln(l.table, strings.Join(cells(), "\t"))
		if l.rows%flushRows == 0 {
			return l.table.Flush()
		}
		return nil
	case "jsonl":
		return l.a.jsonLine(value)
	}
	b, err := encodeJSON(value, "  ")
	if err != nil {
		return err
	}
	before := ",\n  "
	if l.rows == 1 {
		before = "[\n  "
	}
	_, err = fmt.Fprintf(l.a.out, "%s%s", before, bytes.TrimSpace(b))
	return err
}

// text prints a line of a table that has a first column only.
func (l *list) text(first string) {
	fmt.Fprintln(l.table, first+strings.Repeat("\t", len(l.columns)-1))
}

// end prints the end of the list, and returns errs. none is the text of an empty table, if nothing
// has failed.
func (l *list) end(none string, errs ...error) error {
	failed := errors.Join(errs...)
	var err error
	switch {
	case l.a.format == "json" && l.rows == 0:
		_, err = fmt.Fprintln(l.a.out, "[]")
	case l.a.format == "json":
		_, err = fmt.Fprintln(l.a.out, "\n]")
	case l.a.format == "table" && l.rows == 0 && none != "" && failed == nil:
		fmt.Fprintln(l.a.err, none)
	default:
		err = l.table.Flush()
	}
	return errors.Join(failed, err)
}

// jsonLine prints a value as one line of JSON.
func (a *app) jsonLine(value any) error {
	b, err := encodeJSON(value, "")
	if err != nil {
		return err
	}
	_, err = a.out.Write(b)
	return err
}

// one prints a single value: as JSON, or by table.
func (a *app) one(value any, table func() error) error {
	switch a.format {
	case "table":
		return table()
	case "jsonl":
		return a.jsonLine(value)
	}
	b, err := encodeJSON(value, "")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return err
	}
	_, err = a.out.Write(out.Bytes())
	return err
}

// encodeJSON returns value as JSON that is safe on a terminal, with a line end. Lines begin with
// prefix if it is not empty.
func encodeJSON(value any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if prefix != "" {
		e.SetIndent(prefix, "  ")
	}
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return safeJSON(b.Bytes()), nil
}

// checkFormat returns an error for an unknown --output.
func (a *app) checkFormat() error {
	switch a.format {
	case "table", "json", "jsonl":
		return nil
	}
	return &usageError{fmt.Sprintf("--output is %q; want table, json or jsonl", a.format)}
}

// utc returns a time for JSON; nil for the zero time.
func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
