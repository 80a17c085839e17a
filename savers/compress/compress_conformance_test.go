package compress_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/compress"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestFile(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) {
			return wrapped(file.Open(dir, file.NoSync()))
		}}
	})
}

func wrapped(s checkpoint.Saver, err error) (checkpoint.Saver, error) {
	if err != nil {
		return nil, err
	}
	return compress.New(s, compress.MinSize(1))
}
