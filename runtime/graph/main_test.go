package graph_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.TempInMemory() // some tests store with the savers of files
	m.Run()
}
