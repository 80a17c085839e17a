package graphmodel

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// diary has what happened to a thread, in order, for the report of a storm that failed. Ids have
// short names in it.
type diary struct {
	mu    sync.Mutex
	lines []string
	names map[checkpoint.ID]string
}

// note adds a line.
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

// name returns the short name of an id: r1 is the first record that was noted.
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
	if len(r.PendingRoutes) > 0 {
		fmt.Fprintf(&b, ", pending routes of %v", r.PendingRoutes)
	}
	if len(r.ClearedStops) > 0 {
		fmt.Fprintf(&b, ", cleared stops %v", r.ClearedStops)
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

// ending describes what a call of the saver says of the run.
func ending(status checkpoint.Status, end bool) string {
	text := "status as it was"
	if status != 0 {
		text = status.String()
	}
	if end {
		text += ", the end"
	}
	return text
}

// noted is a saver whose writes and loads are noted in a diary, with the answers.
type noted struct {
	checkpoint.Saver
	d *diary
}

func (n *noted) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	text := fmt.Sprintf("  append to %.8q after %s: %s", a.Namespace, n.d.name(a.After), ending(a.Status, a.End))
	if a.Open != nil {
		text += ", an opening"
	} else {
		text += ", fence " + n.d.name(a.Fence)
	}
	for i := range a.Records {
		text += "\n    " + n.d.record(&a.Records[i])
	}
	for i := range a.Writes {
		text += "\n    " + n.d.write(&a.Writes[i])
	}
	done, err := n.Saver.Append(ctx, a)
	n.d.note("%s\n    -> head %d, %d writes pending, %v", text, done.Head, len(done.Writes), err)
	return done, err
}

func (n *noted) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	text := fmt.Sprintf("  put writes: %s, fence %s", ending(p.Status, p.End), n.d.name(p.Fence))
	for i := range p.Writes {
		text += "\n    " + n.d.write(&p.Writes[i])
	}
	done, err := n.Saver.PutWrites(ctx, p)
	n.d.note("%s\n    -> %v", text, err)
	return done, err
}

func (n *noted) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := n.Saver.Load(ctx, p)
	n.d.note("  load of %.8q at %s -> head %s, %s, %d due, committed: %t, unfinished: %t, %v",
		p.Namespace, n.d.name(p.At), n.d.name(c.Head), c.Thread.Status, len(c.Due), c.Committed, c.Unfinished(), err)
	return c, err
}

// all describes everything in the open version of a thread, except the states.
func (d *diary) all(ctx context.Context, s checkpoint.Saver, thread string) string {
	var b strings.Builder
	c, err := s.Load(ctx, checkpoint.Ref{Thread: thread})
	fmt.Fprintf(&b, "%s, version %d of %d, head %s, step %d, held by %q until %v, updated %v; %v\n",
		c.Thread.Status, c.Thread.Version, c.Thread.Versions, d.name(c.Head), c.Thread.Step,
		c.Thread.Holder, c.Thread.Lease, c.Thread.Updated, err)
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
