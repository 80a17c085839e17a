// Package strict checks in tests that a Saver keeps the rules of a rows.Change.
package strict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/savers/rows"
)

// Store is a rows.Store that refuses a Change which breaks the rules that a Saver keeps.
type Store struct{ rows.Store }

// Apply stores c, or returns what is wrong with it.
func (s Store) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	if err := broken(c); err != nil {
		return 0, nil, err
	}
	return s.Store.Apply(ctx, c)
}

// broken returns an error if c breaks a rule.
func broken(c *rows.Change) error {
	checks := make(map[string]uint64)
	for _, k := range c.Checks {
		if _, found := checks[k.Thread]; found {
			return fmt.Errorf("strict: a change has two checks of the thread %q", k.Thread)
		}
		checks[k.Thread] = k.Rev
	}
	if len(checks) == 0 {
		return errors.New("strict: a change has no check")
	}
	put := make(map[string]bool)
	for i := range c.Puts {
		p := &c.Puts[i]
		id := p.Table.String() + " " + string(p.Bytes)
		_, checked := checks[p.Thread]
		deleted := func(d rows.Range) bool {
			return d.Table == p.Table && (d.To == nil && bytes.Equal(d.Bytes, p.Bytes) ||
				d.To != nil && bytes.Compare(d.Bytes, p.Bytes) <= 0 && bytes.Compare(p.Bytes, d.To) < 0)
		}
		switch {
		case put[id]:
			return fmt.Errorf("strict: a change puts two rows %q", id)
		case len(p.Bytes) == 0 || len(p.Bytes) > rows.MaxKey:
			return fmt.Errorf("strict: a change puts a row whose key has %d bytes", len(p.Bytes))
		case (len(p.Value) == 0) != (p.Table == rows.Index):
			return fmt.Errorf("strict: a change puts a row %q with a value of %d bytes", id, len(p.Value))
		case (p.Thread == "") != (p.Table == rows.Index || p.Table >= rows.Items):
			return fmt.Errorf("strict: a change puts a row %q of the thread %q", id, p.Thread)
		case (p.Columns != nil) != (p.Table == rows.Threads || p.Table == rows.States):
			return fmt.Errorf("strict: a change puts a row %q with the columns %v", id, p.Columns)
		case p.Table == rows.Threads && (p.New || !checked || string(p.Bytes) != p.Thread):
			return fmt.Errorf("strict: a change puts the row %q of a thread without a check", id)
		case p.New && slices.ContainsFunc(c.Deletes, deleted):
			return fmt.Errorf("strict: a change deletes a row %q, and puts it as a new one", id)
		}
		put[id] = true
	}
	for thread, rev := range checks {
		if rev == 0 && !put[rows.Threads.String()+" "+thread] && !put[rows.Items.String()+" "+thread] {
			return fmt.Errorf("strict: a change checks that there is no thread %q, and does not put it", thread)
		}
	}
	for _, d := range c.Deletes {
		if d.Limit != 0 || d.Reverse {
			return fmt.Errorf("strict: a change deletes a range of the table %s with the limit %d", d.Table, d.Limit)
		}
	}
	return nil
}
