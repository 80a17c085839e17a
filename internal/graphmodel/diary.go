package graphmodel

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// diary is what was done to a thread, in the order in which it happened, for the report of a storm that ended wrongly. Ids
// have short names in it.
type diary struct {
	mu    sync.Mutex
	lines []string
	names map[checkpoint.ID]string
}

// note takes down a line.
func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// last returns the newest lines.
func (d *diary) last(n int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines[max(len(d.lines)-n, 0):], "\n")
}

// name returns the short name of an id: r1 is that of the first record heard of.
func (d *diary) name(id checkpoint.ID) string {
	if id.IsZero() {
		return "nothing"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names == nil {
		d.names = make(map[checkpoint.ID]string)
	}
	if d.names[id] == "" {
		d.names[id] = fmt.Sprint("r", len(d.names)+1)
	}
	return d.names[id]
}

// record describes a record, without its state.
func (d *diary) record(r *checkpoint.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, step %d, parent %s", d.name(r.ID), r.Source, r.Step, d.name(r.Parent))
	if r.Base != r.ID {
		fmt.Fprintf(&b, ", base %s", d.name(r.Base))
	}
	if !r.Commits.IsZero() {
		fmt.Fprintf(&b, ", commits %s", d.name(r.Commits))
	}
	for _, t := range r.Due {
		fmt.Fprintf(&b, ", due %s.%d", t.Node, t.Index)
	}
	if len(r.Owed) > 0 {
		fmt.Fprintf(&b, ", owed %v", r.Owed)
	}
	if len(r.Pass) > 0 {
		fmt.Fprintf(&b, ", pass %v", r.Pass)
	}
	return b.String()
}

func (d *diary) write(w *checkpoint.Write) string {
	text := fmt.Sprintf("%s %q of task %.8s in %.8q, base %s", w.Kind, w.Name, w.Task, w.Namespace, d.name(w.Base))
	if w.Kind == checkpoint.Failure {
		text += fmt.Sprintf(": %.100q", w.Payload)
	}
	return text
}

// says describes what a call of the saver says of the run.
func says(status checkpoint.Status, end bool) string {
	text := "status as it was"
	if status != 0 {
		text = status.String()
	}
	if end {
		text += ", the end"
	}
	return text
}

// told is a saver whose calls that write are taken down, as they reach the storage, with what it answered.
type told struct {
	checkpoint.Saver
	d *diary
}

func (t *told) Append(ctx context.Context, a checkpoint.Append) (checkpoint.Appended, error) {
	text := fmt.Sprintf("  append to %.8q after %s: %s", a.Namespace, t.d.name(a.After), says(a.Status, a.End))
	if a.Open != nil {
		text += ", an opening"
	} else {
		text += ", fence " + t.d.name(a.Fence)
	}
	for i := range a.Records {
		text += "\n    " + t.d.record(&a.Records[i])
	}
	for i := range a.Writes {
		text += "\n    " + t.d.write(&a.Writes[i])
	}
	done, err := t.Saver.Append(ctx, a)
	t.d.note("%s\n    -> head %d, %d writes pending, %v", text, done.Head, len(done.Writes), err)
	return done, err
}

func (t *told) PutWrites(ctx context.Context, p checkpoint.PutWrites) error {
	text := fmt.Sprintf("  put writes: %s, fence %s", says(p.Status, p.End), t.d.name(p.Fence))
	for i := range p.Writes {
		text += "\n    " + t.d.write(&p.Writes[i])
	}
	err := t.Saver.PutWrites(ctx, p)
	t.d.note("%s\n    -> %v", text, err)
	return err
}

func (t *told) Load(ctx context.Context, p checkpoint.Place) (checkpoint.Chain, error) {
	c, err := t.Saver.Load(ctx, p)
	t.d.note("  load of %.8q at %s -> head %s, %s, %d due, committed: %t, unfinished: %t, %v",
		p.Namespace, t.d.name(p.At), t.d.name(c.Head), c.Thread.Status, len(c.Due), c.Committed, c.Unfinished(), err)
	return c, err
}

// all describes everything that a thread's open version holds, states left out.
func (d *diary) all(ctx context.Context, s checkpoint.Saver, thread string) string {
	var b strings.Builder
	c, err := s.Load(ctx, checkpoint.Place{Thread: thread})
	fmt.Fprintf(&b, "%s, version %d of %d, head %s, step %d, held by %q until %v, updated %v; %v\n",
		c.Thread.Status, c.Thread.Version, c.Thread.Versions, d.name(c.Head), c.Thread.Step, c.Thread.Holder, c.Thread.Lease, c.Thread.Updated, err)
	for item, err := range s.Export(ctx, thread, 0) {
		switch {
		case err != nil:
			fmt.Fprintln(&b, err)
		case item.Thread != nil:
			fmt.Fprintf(&b, "exported as %s\n", item.Thread.Status)
		case item.Record != nil:
			fmt.Fprintf(&b, "  %d in %.8q, %s\n", item.Record.Seq, item.Record.Namespace, d.record(&item.Record.Record))
		case item.Write != nil:
			fmt.Fprintf(&b, "  %s\n", d.write(item.Write))
		}
	}
	return b.String()
}
