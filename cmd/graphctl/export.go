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
)

func (a *app) exportCommand() *cobra.Command {
	var f transferFlags
	var force bool
	cmd := &cobra.Command{
		Use:   "export FILE [THREAD ...]",
		Short: "Write threads to an archive",
		Long: `Write threads to an archive, with all versions, questions and messages. FILE - is standard output. Name threads, select
them by flags, or pass --all. --after and --limit divide a large saver among several archives.

The archive is written under another name, and gets its name when it is complete. It has checksums. With the keys of
an encrypted saver, its payloads are not encrypted. Without them, they stay encrypted.`,
		Example: `  graphctl export backup.graphgen --all
  graphctl export - order-7 | gzip > order-7.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.sel.explicit(args[1:]); err != nil {
				return err
			}
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.export(ctx, s, args, &f, force) })
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

func (a *app) export(ctx context.Context, s checkpoint.Saver, args []string, f *transferFlags, force bool) error {
	p := a.progress("exported", f.progress)
	write := func(out io.Writer) (failed, err error) { return a.writeArchive(ctx, s, out, args[1:], f, p) }
	if args[0] == "-" {
		failed, err := write(a.out)
		fmt.Fprintln(a.err, p.text(p.verb))
		return errors.Join(failed, err)
	}
	failed, err := writeFile(args[0], force, write)
	if err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, a.end(p))
}

// writeArchive writes the selected threads. failed has the errors of single threads. After err the
// archive is not complete.
func (a *app) writeArchive(ctx context.Context, s checkpoint.Saver, out io.Writer, args []string, f *transferFlags, p *progress) (failed, err error) {
	watched := &watchedWriter{Writer: out}
	w := archive.NewWriter(watched)
	work, stop := context.WithCancel(ctx)
	defer stop()
	failed = f.sel.each(work, a, s, args, func(id string) error {
		versions, err := versionsOf(ctx, s, id, f.openOnly)
		if err != nil {
			return err
		}
		for _, v := range versions {
			if err := w.Add(v, p.counted(archive.Items(work, s, v))); err != nil {
				if watched.failed {
					stop() // no thread can be written any more
				}
				return err
			}
			p.Versions++
		}
		p.thread()
		return nil
	})
	if ctx.Err() != nil {
		return nil, errors.Join(failed, ctx.Err())
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return failed, nil
}

// watchedWriter notes that a write has failed.
type watchedWriter struct {
	io.Writer

	failed bool
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.failed = w.failed || err != nil
	return n, err
}

// writeFile writes a file under a temporary name, and renames it when it is complete.
func writeFile(name string, force bool, write func(io.Writer) (failed, err error)) (failed, err error) {
	if _, err := os.Stat(name); err == nil && !force {
		return nil, &usageError{fmt.Sprintf("%s exists; pass --force to replace it", cell(name))}
	}
	partial := name + ".partial"
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, &usageError{"the archive cannot be written: " + err.Error()}
	}
	failed, err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(partial, name)
	}
	if err != nil {
		return failed, errors.Join(err, os.Remove(partial))
	}
	return failed, nil
}

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
			return &missingError{fmt.Sprintf("there is no file %s", cell(name))}
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
	failed := importAll(ctx, r, &importer{to: s, progress: p})
	return errors.Join(failed, a.end(p), s.Close())
}

// importAll stores the versions of an archive. If one version of a thread fails, it skips the
// later ones of the thread, because they would get wrong numbers.
func importAll(ctx context.Context, r *archive.Reader, in *importer) error {
	var f mishaps
	thread, begun, bad := "", false, false
	for {
		v, err := r.Next()
		if begun && !bad && (err != nil || v.Thread != thread) {
			in.progress.thread()
		}
		if errors.Is(err, io.EOF) {
			return f.err()
		}
		if err != nil {
			return errors.Join(f.err(), err)
		}
		if begun && bad && v.Thread == thread {
			continue
		}
		thread, begun, bad = v.Thread, true, false
		if err := in.version(ctx, v, r.Items()); err != nil {
			bad = true
			if damaged := (*archive.DamagedError)(nil); errors.As(err, &damaged) {
				continue // Next returns it, too
			}
			if err := f.add(ctx, thread, err); err != nil {
				return err
			}
		}
	}
}
