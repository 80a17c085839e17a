package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// exportFlags are the flags of export.
type exportFlags struct {
	transferFlags

	force, resume bool
}

func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export FILE [THREAD ...]",
		Short: "Write threads to an archive",
		Long: `Write threads to an archive, with all versions, questions and messages. FILE - is standard output. Name threads, select
them by flags, or pass --all. --after and --limit divide a large saver among several archives.

The archive is written as FILE.partial, and gets its name when it is complete. It has checksums. With the keys of an encrypted saver,
its payloads are not encrypted. Without them, they stay encrypted.

An interrupted command leaves FILE.partial. Repeat the command with --resume to continue it: threads that FILE.partial has whole are not
read again. They stay as they were at that time. Without --resume, the archive begins again.`,
		Example: `  graphctl export backup.graphgen --all
  graphctl export backup.graphgen --all --resume
  graphctl export - order-7 | gzip > order-7.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.sel.tasks = true
			if err := f.sel.explicit(args[1:]); err != nil {
				return err
			}
			if args[0] == "-" && f.resume {
				return &usageError{"standard output cannot be resumed; name a file"}
			}
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.export(ctx, s, args, &f) })
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.force, "force", false, "replace an existing file")
	cmd.Flags().BoolVar(&f.resume, "resume", false, "continue the archive that an interrupted command has left")
	return cmd
}

func (a *app) export(ctx context.Context, s checkpoint.Saver, args []string, f *exportFlags) error {
	e := &exporter{a: a, from: s, f: f, progress: a.progress("exported", f.progress)}
	if args[0] == "-" {
		failed, err := e.write(ctx, archive.NewWriter(e.watch(a.out)), args[1:])
		fmt.Fprintln(a.err, e.progress.text("exported"))
		return errors.Join(failed, err)
	}
	failed, err := e.file(ctx, args[0], args[1:])
	if err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, a.end(e.progress))
}

// exporter writes the archive of one command.
type exporter struct {
	a        *app
	from     checkpoint.Saver
	f        *exportFlags
	progress *progress
	out      *watchedWriter
	have     map[string]bool // the threads that an interrupted command has written
	failed   mishaps         // those of them that are incomplete
}

func (e *exporter) watch(out io.Writer) io.Writer {
	e.out = &watchedWriter{Writer: out}
	return e.out
}

// write writes the selected threads. failed has the errors of single threads. After err the
// archive is not complete.
func (e *exporter) write(ctx context.Context, w *archive.Writer, args []string) (failed, err error) {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	failed = e.f.sel.each(work, e.a, e.from, args, func(id string) error {
		if e.have[id] {
			return nil
		}
		err := e.thread(work, w, id)
		if e.out.err != nil || errors.Is(err, checkpoint.ErrUnavailable) {
			stop(err) // the other threads would fail, too
		}
		return err
	})
	failed = errors.Join(e.failed.err(), failed)
	if work.Err() != nil {
		return failed, context.Cause(work)
	}
	if list := (*listError)(nil); errors.As(failed, &list) {
		return nil, failed
	}
	return failed, w.Close()
}

// thread writes all versions of a thread.
func (e *exporter) thread(ctx context.Context, w *archive.Writer, id string) error {
	versions, err := versionsOf(ctx, e.from, id, e.f.openOnly)
	if err != nil {
		return err
	}
	for _, v := range versions {
		if err := w.Add(v, e.progress.Items(archive.Items(ctx, e.from, v))); err != nil {
			return err
		}
		e.progress.Versions++
	}
	e.progress.thread()
	return nil
}

// file writes the archive as a file under a temporary name, and renames the file when it is
// complete.
func (e *exporter) file(ctx context.Context, name string, args []string) (failed, err error) {
	if _, err := os.Stat(name); err == nil && !e.f.force {
		return nil, &usageError{fmt.Sprintf("%s exists; pass --force to replace it", cell(name))}
	}
	partial := name + ".partial"
	mode := os.O_RDWR | os.O_CREATE
	if !e.f.resume {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(partial, mode, 0o600) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, &usageError{"the archive cannot be written: " + err.Error()}
	}
	failed, err = e.fill(ctx, f, partial, args)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		return failed, os.Rename(partial, name)
	}
	if other := (*notPartialError)(nil); !errors.As(err, &other) {
		fmt.Fprintf(e.a.err, "%s is not complete; repeat the command with --resume to continue it\n", cell(partial))
	}
	return failed, err
}

// fill writes the archive to a file, or the part that the file lacks.
func (e *exporter) fill(ctx context.Context, f archive.File, name string, args []string) (failed, err error) {
	out := e.watch(f)
	if !e.f.resume {
		return e.write(ctx, archive.NewWriter(out), args)
	}
	e.have = make(map[string]bool)
	w, err := archive.Continue(struct {
		io.ReadSeeker
		io.Writer
		truncater
	}{f, out, f}, func(v checkpoint.Version, incomplete error) error {
		if !e.have[v.Thread] {
			e.have[v.Thread] = true
			e.progress.thread()
		}
		e.progress.Already++
		return e.failed.add(ctx, v.Thread, incomplete)
	})
	var format *archive.FormatError
	switch {
	case errors.Is(err, archive.ErrComplete):
		return e.failed.err(), nil
	case errors.Is(err, checkpoint.ErrDamaged), errors.As(err, &format):
		return nil, &notPartialError{name, err}
	case err != nil:
		return nil, err
	}
	return e.write(ctx, w, args)
}

type truncater interface{ Truncate(size int64) error }

// notPartialError reports a file that no interrupted export has left.
type notPartialError struct {
	file string
	err  error
}

func (e *notPartialError) Error() string {
	return fmt.Sprintf("%s cannot be resumed: %v; remove the file, or export without --resume", cell(e.file), e.err)
}

func (e *notPartialError) Unwrap() error { return e.err }

func (a *app) importCommand() *cobra.Command {
	var progress bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Store the threads of an archive",
		Long: `Store the threads of an archive in a saver of any kind. FILE - is standard input. The storage of the saver is created if
it does not exist.

` + resumeHelp + `

Imported threads keep their status. A worker does not run them before they get a message or graphctl wake. Only inputs that wait on
a thread without an open version are due.`,
		Example: `  graphctl import backup.graphgen --saver postgres://app@new/app`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.importFile(cmd, args[0], progress) },
	}
	progressFlag(cmd, &progress)
	return cmd
}

func (a *app) importFile(cmd *cobra.Command, name string, forced bool) (err error) {
	if err := a.checkFormat(); err != nil {
		return err
	}
	ctx, cancel := a.limited(cmd.Context())
	defer cancel()
	in := a.in
	if name != "-" {
		f, err := os.Open(name) // #nosec G304 -- the user names the file
		if errors.Is(err, os.ErrNotExist) {
			return &missingError{fmt.Sprintf("there is no file %s; check the path", cell(name))}
		} else if err != nil {
			return &usageError{"the archive cannot be read: " + err.Error()}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		in = f
	}
	r, err := archive.NewReader(in)
	if err != nil {
		return err
	}
	s, err := a.open(ctx, &a.source, true)
	if err != nil {
		return err
	}
	p := a.progress("imported", forced)
	var failed mishaps
	stored := &operate.Importer{To: s, Totals: &p.Totals}
	err = stored.Archive(ctx, r, func(thread string, err error) error { return failed.add(ctx, thread, err) })
	return errors.Join(failed.err(), err, a.end(p), s.Close())
}
