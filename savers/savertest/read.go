package savertest

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// answered prints the results of a call.
func answered(v any, err error) string {
	if err != nil {
		return "error: " + kindOf(err)
	}
	return fmt.Sprintf("%+v", v)
}

// kindOf prints the type of an error.
func kindOf(err error) string {
	var conflict *checkpoint.ConflictError
	var busy *checkpoint.BusyError
	var invalid *checkpoint.InvalidError
	switch {
	case errors.As(err, &conflict) && conflict.Reason == "birth":
		return fmt.Sprintf("conflict %q birth", conflict.Thread)
	case errors.As(err, &conflict):
		if conflict.Found.IsZero() { // no version exists; some savers do not know whether one ever existed
			conflict = &checkpoint.ConflictError{Thread: conflict.Thread, Namespace: conflict.Namespace, Want: conflict.Want}
		}
		return fmt.Sprintf("conflict %+v", *conflict)
	case errors.As(err, &busy):
		return fmt.Sprintf("busy %q %q", busy.Thread, busy.Holder)
	case errors.As(err, &invalid):
		return fmt.Sprintf("invalid %+v", *invalid)
	case errors.Is(err, checkpoint.ErrNotFound):
		return "not found"
	}
	return err.Error()
}

// read prints everything that can be read of the round's threads, except the times of the saver's
// clock. It includes the contents of released versions only if whole is true.
func (m *modeller) read(s checkpoint.Saver, whole bool) string {
	var b strings.Builder
	ctx := m.tb.Context()
	fmt.Fprintf(&b, "threads: %s\n", every(s.Threads(ctx, checkpoint.ThreadQuery{Prefix: m.prefix}), timeless))
	for status := checkpoint.Running; status <= checkpoint.Cancelled; status++ {
		fmt.Fprintf(&b, "threads with status %d: %s\n", status, newest(ctx, s, checkpoint.ThreadQuery{Prefix: m.prefix, Status: status}))
	}
	fmt.Fprintf(&b, "threads and released ones: %s\n", every(s.Threads(ctx, checkpoint.ThreadQuery{Prefix: m.prefix, Released: true}), timeless))
	for _, thread := range m.threads {
		versions, err := s.Versions(ctx, thread)
		if err != nil {
			fmt.Fprintf(&b, "%q versions: %s\n", thread, kindOf(err))
		}
		m.readMail(&b, s, thread)
		m.readVersion(&b, s, thread, 0)
		for _, v := range versions {
			open := v.Released.IsZero()
			v.Released = time.Time{}
			fmt.Fprintf(&b, "%q version %+v open %t\n", thread, v, open)
			if whole {
				m.readVersion(&b, s, thread, v.Number)
			}
		}
	}
	return b.String()
}

// readMail prints the messages that are kept, except the taken ones. An export has those.
func (m *modeller) readMail(b *strings.Builder, s checkpoint.Saver, thread string) {
	for _, handled := range []bool{false, true} {
		found, err := s.Mail(m.tb.Context(), checkpoint.MailQuery{Thread: thread, Handled: handled})
		fmt.Fprintf(b, "%q mail, handled %t: %s\n", thread, handled, answered(messagesText(found), err))
	}
}

// readVersion writes all that a saver returns of a version.
func (m *modeller) readVersion(b *strings.Builder, s checkpoint.Saver, thread string, version int) {
	ctx := m.tb.Context()
	for _, namespace := range m.namespaces {
		p := checkpoint.Ref{Thread: thread, Version: version, Namespace: namespace}
		fmt.Fprintf(b, "%+v: %s\n", p, answered(loaded(s.Load(ctx, p))))
		q := checkpoint.Query{Sources: []checkpoint.Source{1, 2, 3, 4, 5}}
		for r, err := range s.History(ctx, p, q) {
			fmt.Fprintf(b, "%+v record: %s\n", p, answered(r, err))
			if err == nil && r.Seq%3 == 0 {
				at := p
				at.At = r.ID
				fmt.Fprintf(b, "%+v: %s\n", at, answered(loaded(s.Load(ctx, at))))
			}
		}
	}
	schemas, err := s.Schemas(ctx, thread, version)
	fmt.Fprintf(b, "%q version %d schemas: %s\n", thread, version, answered(schemas, err))
	fmt.Fprintf(b, "%q version %d export: %s\n", thread, version, every(s.Export(ctx, thread, version), func(i checkpoint.ExportItem) string {
		switch {
		case i.Thread != nil:
			return timeless(*i.Thread)
		case i.Record != nil:
			return fmt.Sprintf("%+v", *i.Record)
		case i.Message != nil:
			return messageText(*i.Message)
		}
		return fmt.Sprintf("%+v", *i.Write)
	}))
}

// loaded returns a chain as text for comparisons, without times.
func loaded(c checkpoint.Chain, err error) (any, error) {
	return fmt.Sprint(c.Version, c.Last, state(&c), c.Chained, c.Head, c.Fence, c.Due, c.Writes, c.Committed, " ", timeless(c.Thread)), err
}

// state prints the state of a chain, because savers may join deltas. They must not join records of
// other kinds.
func state(c *checkpoint.Chain) string {
	folded, err := checkpoint.Fold(c.Snapshot, c.Deltas...)
	if err != nil {
		return fmt.Sprintf("%q %q", c.Snapshot, c.Deltas)
	}
	return fmt.Sprintf("%q", folded)
}

// timeless prints a thread without the times of the saver's clock.
func timeless(t checkpoint.Thread) string {
	wake := wakeText(t.Wake)
	t.Updated, t.Now, t.Created, t.Wake = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	if !t.Lease.IsZero() {
		t.Lease = time.Unix(1, 0).UTC()
	}
	return fmt.Sprintf("%+v due %s", t, wake)
}

// every prints the values of a sequence, one a line.
func every[V any](seq iter.Seq2[V, error], show func(V) string) string {
	var b strings.Builder
	for v, err := range seq {
		if err != nil {
			return b.String() + "error: " + kindOf(err)
		}
		b.WriteString("\n\t" + show(v))
	}
	return b.String()
}

// firstDifference returns the first lines in which two texts differ. Both are empty if the texts
// are equal.
func firstDifference(got, want string) (gotLine, wantLine string) {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		gotLine, wantLine = "nothing", "nothing"
		if i < len(g) {
			gotLine = g[i]
		}
		if i < len(w) {
			wantLine = w[i]
		}
		if gotLine != wantLine {
			return gotLine, wantLine
		}
	}
	return "", ""
}
