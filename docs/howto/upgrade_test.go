package howto

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestStoredRefundsContinue(t *testing.T) {
	app, err := NewRefunds(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	graphtest.Lock(t, app, "testdata/refunds.lock")
	graphtest.Replay(t, app, memory.New(), "testdata/threads")
}
