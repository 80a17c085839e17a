package encrypt_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestMemory(t *testing.T) {
	savertest.Run(t, func(testing.TB) savertest.Storage {
		return savertest.Storage{Open: func() (checkpoint.Saver, error) { return wrapped(memory.New(), nil) }}
	})
}

func TestFile(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) {
			return wrapped(file.Open(dir))
		}}
	}, savertest.Without("the wrapper does not know what it wraps; TestMemory runs the suite, and these need a place that two savers share",
		savertest.Records, savertest.History, savertest.Writes, savertest.Outcomes, savertest.Schemas, savertest.Leases,
		savertest.Versions, savertest.Listings, savertest.Wakes, savertest.Inbox))
}

func wrapped(s checkpoint.Saver, err error) (checkpoint.Saver, error) {
	if err != nil {
		return nil, err
	}
	return encrypt.New(s, encrypt.Key{ID: "k1", Secret: secret(1)})
}

func secret(n byte) []byte {
	b := make([]byte, encrypt.SecretSize)
	for i := range b {
		b[i] = n
	}
	return b
}
