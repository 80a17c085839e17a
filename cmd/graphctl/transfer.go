package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// text returns the totals for people, after a verb such as "copied".
func (p *progress) text(verb string) string {
	text := fmt.Sprintf("%s %s, %s, %s, %s", verb, count(p.Threads, "thread", "threads"), count(p.Versions, "version", "versions"),
		count(p.Records, "record", "records"), size(p.Bytes))
	if p.Already > 0 {
		text += fmt.Sprintf("; %s there already", count(p.Already, "version was", "versions were"))
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
	operate.Totals

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
	p.Each = p.tick
	if forced {
		p.out = a.err
	} else if file, ok := a.err.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.out, p.next = a.err, a.now().Add(progressPause)
		}
	}
	return p
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
	return a.one(&p.Totals, func() error {
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
