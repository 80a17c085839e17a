package savertest_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// The test of a saver whose storage is a folder.
func ExampleRun() { //nolint:testableexamples // it is the body of a test
	test := func(t *testing.T) { //nolint:thelper // it is the body of a test
		savertest.Run(t, func(tb testing.TB) savertest.Storage { //nolint:thelper // a part of a test
			dir := tb.TempDir()
			return savertest.Storage{
				Shared: true,
				Open:   func() (checkpoint.Saver, error) { return file.Open(dir) },
			}
		})
	}
	_ = test
}
