package graphtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
)

// archiveFiles are the files in a folder that Replay reads.
const archiveFiles = "*.graphgen"

// Rehearser is a compiled graph: a *graph.Graph[S, U] of any state.
type Rehearser interface {
	Rehearse(ctx context.Context, saver checkpoint.Saver, thread string) error
}

// Replay checks that app can continue threads that graphctl export has written. It reads each file
// of the folder dir whose name ends in ".graphgen". Each version of a thread is a subtest, named
// by its file and thread.
//
// Replay resumes each thread dry: it does the work of a worker up to the first call of a node or a
// route. So it finds the causes of graph.ErrGraphChanged. It also decodes each
// checkpoint of the thread, its stored results, its open questions and its messages. Reducers and
// codecs run. Nothing is written to the files. It does not decode the results of durable calls
// (graph.Do), because only a node knows their types. See graph.Graph.Rehearse.
//
// scratch is an empty saver for copies of the threads, such as memory.New(). It has one thread at
// a time. Replay refuses a thread that scratch already has. The saver of app is not used.
func Replay(t *testing.T, app Rehearser, scratch checkpoint.Saver, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, archiveFiles))
	if err != nil || len(names) == 0 {
		t.Fatalf("graphtest: %s has no file %s; write one by: graphctl export %s --all",
			dir, archiveFiles, filepath.Join(dir, "threads.graphgen"))
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			err := eachVersion(name, func(v checkpoint.Version, items *archive.Reader) error {
				var err error
				t.Run(subtest(v), func(t *testing.T) {
					var faulty bool
					if faulty, err = rehearse(t.Context(), app, scratch, v, items); faulty {
						t.Error(err)
						err = nil
					}
				})
				return err
			})
			if err != nil {
				t.Fatalf("graphtest: %s: %v", name, err)
			}
		})
	}
}

// subtest returns the name of the subtest of a version.
func subtest(v checkpoint.Version) string {
	if v.Released.IsZero() {
		return v.Thread
	}
	return fmt.Sprintf("%s, version %d", v.Thread, v.Number)
}

// eachVersion calls f with each version in an archive file. f must read the items.
func eachVersion(name string, f func(v checkpoint.Version, items *archive.Reader) error) (err error) {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	r, err := archive.NewReader(file)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		v, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && n == 0:
			return errors.New("the archive has no thread; export some by graphctl export")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := f(v, r); err != nil {
			return err
		}
	}
}

// rehearse copies a version to scratch, resumes it dry, and removes the copy. faulty reports that
// the error is about the thread, so that the next ones can be read.
func rehearse(ctx context.Context, app Rehearser, scratch checkpoint.Saver, v checkpoint.Version, r *archive.Reader) (faulty bool, err error) {
	known, err := scratch.Versions(ctx, v.Thread)
	if err != nil {
		return false, err
	}
	if len(known) > 0 {
		return false, fmt.Errorf("the scratch saver already has thread %q; pass an empty saver, such as memory.New()", v.Thread)
	}
	if err := scratch.Import(ctx, v.Thread, r.Items()); err != nil {
		return errors.Is(err, archive.ErrIncomplete), fmt.Errorf("thread %q: %w", v.Thread, err)
	}
	defer func() { err = errors.Join(err, scratch.Delete(context.WithoutCancel(ctx), v.Thread)) }()
	err = app.Rehearse(ctx, scratch, v.Thread)
	return err != nil, err
}
