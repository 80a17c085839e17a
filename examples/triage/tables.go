package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// table returns a writer that aligns columns separated by tabs. The caller must flush it.
func table(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 8, 2, ' ', 0) }

// writeSummary writes the summary of a run: the number of tickets by standing, and the tickets
// that need a person.
func writeSummary(out io.Writer, reports []Report, p *progress) error {
	slices.SortFunc(reports, func(a, b Report) int { return cmp.Compare(a.Ticket, b.Ticket) })
	outcomes := make(map[Outcome]int)
	for _, r := range reports {
		if r.Standing == Finished {
			outcomes[r.State.Outcome]++
		}
	}
	var came []string
	for _, o := range slices.Sorted(maps.Keys(outcomes)) {
		came = append(came, fmt.Sprintf("%d %s", outcomes[o], o))
	}
	w := table(out)
	fmt.Fprintf(w, "\nfinished\t%d\t%s\n", p.count[Finished], strings.Join(came, ", "))
	fmt.Fprintf(w, "waiting\t%d\tfor a decision on a refund\n", p.count[Waiting])
	fmt.Fprintf(w, "failed\t%d\t\n", p.count[Failed])
	if n := p.count[Stopped]; n > 0 {
		fmt.Fprintf(w, "stopped\t%d\trun again to continue\n", n)
	}
	fmt.Fprintf(w, "total\t%d\t%.0f/s\n", p.told, p.rate())
	for _, standing := range []Standing{Waiting, Failed} {
		if p.count[standing] > 0 {
			fmt.Fprintf(w, "\n%s:\n", standing)
		}
		for _, r := range reports {
			switch {
			case r.Standing != standing:
			case r.Err != nil:
				fmt.Fprintf(w, "%s\t%v\n", r.Ticket, r.Err)
			default:
				fmt.Fprintf(w, "%s\t%s\t%s\n", r.Ticket, r.State.Refund, r.State.Ticket.Subject)
			}
		}
	}
	return w.Flush()
}

// writeThread writes one line of a list of threads.
func writeThread(w io.Writer, id string, snap graph.Snapshot[State]) {
	s := &snap.State
	at := string(s.Outcome)
	if len(snap.Next) > 0 {
		at = "next " + join(snap.Next)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", id, standing(snap), s.Category, at, s.Ticket.Subject)
}

// standing returns the standing of a stored thread.
func standing(snap graph.Snapshot[State]) Standing {
	switch {
	case len(snap.Next) == 0:
		return Finished
	case waits(snap):
		return Waiting
	case snap.Status == checkpoint.Failed:
		return Failed
	}
	return Stopped
}

// writeShow writes all facts about a ticket.
func writeShow(out io.Writer, id string, snap graph.Snapshot[State]) error {
	s := &snap.State
	w := table(out)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	row("ticket", "%s", id)
	row("standing", "%s", standing(snap))
	if len(snap.Next) > 0 {
		row("next", "%s", join(snap.Next))
	}
	row("from", "%s", s.Ticket.From)
	row("subject", "%s", s.Ticket.Subject)
	row("about", "%s, in %s", join(s.Labels), s.Lang)
	row("desk", "%s, priority %d, within %d h, urgent: %t", s.Desk, s.Priority, s.ReplyHours, s.Urgent)
	for _, k := range slices.Sorted(maps.Keys(s.Facts)) {
		row(k, "%s", s.Facts[k])
	}
	if s.Refund.Minor > 0 {
		row("refund", "%s, %s", s.Refund, cmp.Or(s.Decision, "not decided"))
	}
	if s.Outcome != "" {
		row("outcome", "%s", s.Outcome)
	}
	for _, t := range snap.Tasks {
		if t.Failure != "" {
			row("failed", "%s: %s", t.Node, t.Failure)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range s.Checks {
		fmt.Fprintf(out, "check: %s, %s\n", c.Kind, c.became())
	}
	fmt.Fprintf(out, "\n%s\n\n", s.Ticket.Body)
	if s.Reply != nil {
		fmt.Fprintf(out, "--- reply\n%s\n\n", s.Reply.Text())
	}
	fmt.Fprintln(out, "--- log")
	for _, line := range s.Log {
		fmt.Fprintln(out, line)
	}
	return nil
}

// became returns the history of a kind of problem as text.
func (c Check) became() string {
	if c.Mended == 0 {
		return fmt.Sprintf("found in try %d and still there", c.Found)
	}
	return fmt.Sprintf("found in try %d, mended in try %d", c.Found, c.Mended)
}

// writeCheckpoint writes one line of a thread's history.
func writeCheckpoint(w io.Writer, snap graph.Snapshot[State]) {
	last := ""
	if n := len(snap.State.Log); n > 0 {
		last = snap.State.Log[n-1]
	}
	fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", snap.Step, snap.Source, cmp.Or(join(snap.Next), "-"),
		snap.Created.Format("15:04:05.000"), snap.Checkpoint, last)
}

// join joins words by commas.
func join[T ~string](words []T) string {
	s := make([]string, len(words))
	for i, w := range words {
		s[i] = fmt.Sprint(w) // an ID as its display name
	}
	return strings.Join(s, ", ")
}
