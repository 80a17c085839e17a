package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
)

// totals counts what a command has read or written.
type totals struct {
	Threads  int   `json:"threads"`
	Versions int   `json:"versions"`
	Already  int   `json:"versions_already_there,omitempty"`
	Records  int   `json:"records"`
	Messages int   `json:"messages"`
	Bytes    int64 `json:"payload_bytes"`
}

func (t *totals) count(item *checkpoint.ExportItem) {
	switch {
	case item.Record != nil:
		t.Records++
		t.Bytes += int64(len(item.Record.Payload))
	case item.Write != nil:
		t.Bytes += int64(len(item.Write.Payload))
	case item.Message != nil:
		t.Messages++
		t.Bytes += int64(len(item.Message.Payload))
	}
}

// text returns the totals for people, after a verb such as "copied".
func (t *totals) text(verb string) string {
	text := fmt.Sprintf("%s %s, %s, %s, %s", verb, count(t.Threads, "thread", "threads"), count(t.Versions, "version", "versions"),
		count(t.Records, "record", "records"), size(t.Bytes))
	if t.Already > 0 {
		text += fmt.Sprintf("; %s there already", count(t.Already, "version was", "versions were"))
	}
	return text
}

// size returns a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// progress prints totals to a terminal while a command works.
type progress struct {
	totals

	verb string
	out  io.Writer // nil if nobody looks
	now  func() time.Time
	next time.Time // of the next line
}

// progressPause is the time between two lines of progress.
const progressPause = time.Second

// progress returns the progress of a command. It prints only if forced, or if standard error is a
// terminal. A command that ends within a second prints no progress to a terminal.
func (a *app) progress(verb string, forced bool) *progress {
	p := &progress{verb: verb, now: a.now}
	if forced {
		p.out = a.err
	} else if file, ok := a.err.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.out, p.next = a.err, a.now().Add(progressPause)
		}
	}
	return p
}

// counted yields items and counts them.
func (p *progress) counted(items iter.Seq2[checkpoint.ExportItem, error]) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for item, err := range items {
			if err == nil {
				p.count(&item)
				p.tick()
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// thread notes that one more thread is finished.
func (p *progress) thread() {
	p.Threads++
	p.tick()
}

// tick prints the totals if the time of the next line is over.
func (p *progress) tick() {
	if p.out == nil {
		return
	}
	if at := p.now(); !at.Before(p.next) {
		p.next = at.Add(progressPause)
		fmt.Fprintln(p.out, p.text(p.verb))
	}
}

// end prints the result of a command.
func (a *app) end(p *progress) error {
	return a.one(&p.totals, func() error {
		_, err := fmt.Fprintln(a.out, p.text(p.verb))
		return err
	})
}

// versionsOf returns the versions of a thread, oldest first. Inputs that wait without an open
// version are a version with the number 0.
func versionsOf(ctx context.Context, s checkpoint.Saver, thread string, openOnly bool) ([]checkpoint.Version, error) {
	versions, err := archive.Versions(ctx, s, thread)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, noThread(thread)
	}
	last := len(versions) - 1
	if err != nil || !openOnly {
		return versions, err
	}
	if !versions[last].Released.IsZero() {
		return nil, &missingError{"thread " + quoteID(thread) + " has released versions only; leave out --open-only"}
	}
	return versions[last:], nil
}

// importer stores versions in a saver. A version that is there already is left out, so an
// interrupted command can be repeated.
type importer struct {
	to       checkpoint.Saver
	progress *progress
	thread   string // whose versions are known
	there    []checkpoint.Version
}

// version stores one version.
func (i *importer) version(ctx context.Context, v checkpoint.Version, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if v.Number == 0 {
		return i.inputs(ctx, v.Thread, items)
	}
	there, err := i.stored(ctx, v)
	if err != nil {
		return err
	}
	if there == nil {
		if err := i.to.Import(ctx, v.Thread, i.progress.counted(items)); err != nil {
			return err
		}
		i.progress.Versions++
	} else {
		i.progress.Already++
	}
	if v.Released.IsZero() || there != nil && !there.Released.IsZero() {
		return nil
	}
	i.there = nil
	_, err = i.to.Release(ctx, v.Thread, v.Head)
	return err
}

// stored returns the version with the same head in the target, or nil. It returns an error if the
// version has changed since it was stored.
func (i *importer) stored(ctx context.Context, v checkpoint.Version) (*checkpoint.Version, error) {
	if i.there == nil || i.thread != v.Thread {
		there, err := i.to.Versions(ctx, v.Thread)
		if err != nil {
			return nil, err
		}
		i.thread, i.there = v.Thread, there
	}
	for n := range i.there {
		t := &i.there[n]
		if v.Head.IsZero() || t.Head != v.Head {
			continue
		}
		if v.Released.IsZero() && (t.Records != v.Records || t.Status != v.Status || !t.Released.IsZero()) {
			return nil, &changedError{v.Thread, t.Number}
		}
		return t, nil
	}
	i.there = nil
	return nil, nil
}

// inputs posts the inputs of a thread without an open version. A message that is there already has
// no effect.
func (i *importer) inputs(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	p := checkpoint.Post{Thread: thread, MaxInputs: checkpoint.DefaultMaxInputs, MaxOthers: checkpoint.DefaultMaxOthers}
	for item, err := range items {
		switch {
		case err != nil:
			return err
		case item.Thread != nil:
			p.Graph, p.Title, p.Labels, p.Priority = item.Thread.Graph, item.Thread.Title, item.Thread.Labels, item.Thread.Priority
		case item.Message != nil:
			p.Messages = append(p.Messages, *item.Message)
		}
	}
	if len(p.Messages) == 0 {
		return nil
	}
	p.MaxInputs, p.MaxOthers = max(p.MaxInputs, 2*len(p.Messages)), max(p.MaxOthers, 2*len(p.Messages))
	posted, err := i.to.Post(ctx, p)
	if err == nil {
		err = posted[0].Err
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(posted[0].Messages, func(m checkpoint.PostedMessage) bool { return !m.Known }) {
		i.progress.Already++
		return nil
	}
	i.progress.Versions++
	for n := range p.Messages {
		i.progress.count(&checkpoint.ExportItem{Message: &p.Messages[n]})
	}
	return nil
}

// changedError reports a version that is not the same in two savers.
type changedError struct {
	thread  string
	version int
}

func (e *changedError) Error() string {
	return fmt.Sprintf("thread %s has version %d in the target, and one of the two has changed since; delete the thread in the target to copy it again",
		quoteID(e.thread), e.version)
}

// Is reports whether target is ErrConflict.
func (e *changedError) Is(target error) bool { return target == checkpoint.ErrConflict }

// mishaps are the errors of threads that do not stop the others.
type mishaps struct{ errs []error }

// add notes the error of a thread. It returns an error only if the command must end.
func (f *mishaps) add(ctx context.Context, thread string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.errs = append(f.errs, fmt.Errorf("thread %s: %w", quoteID(thread), err))
	return nil
}

func (f *mishaps) err() error { return errors.Join(f.errs...) }
