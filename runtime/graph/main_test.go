package graph_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv/tmpfs"
)

func TestMain(m *testing.M) {
	tmpfs.InMemory() // some tests store with the savers of files
	m.Run()
}
