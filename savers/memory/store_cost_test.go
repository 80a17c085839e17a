package memory_test

import (
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestStoreCallsAllocateLittle counts the allocations of calls on a store of 1,000 items.
func TestStoreCallsAllocateLittle(t *testing.T) {
	b, ns := memory.NewStore(), store.Namespace{"facts", "ada"}
	put := make([]store.Op, 1000)
	for i := range put {
		put[i] = store.Op{
			Kind: store.OpPut, Namespace: ns, Key: fmt.Sprint(i), Value: []byte("value"),
			Index: []store.Entry{{Index: "kind", Value: []byte("x")}},
		}
	}
	if _, err := b.Do(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	get := []store.Op{{Kind: store.OpGet, Namespace: ns, Key: "500"}}
	for name, c := range map[string]struct {
		ops  []store.Op
		most float64
	}{"a get": {get, 6}, "a put of an item with an index entry": {put[500:501], 21}} {
		got := testing.AllocsPerRun(100, func() {
			if _, err := b.Do(t.Context(), c.ops); err != nil {
				t.Fatal(err)
			}
		})
		if t.Logf("%s: %v allocations", name, got); got > c.most {
			t.Errorf("%s: %v allocations, want at most %v", name, got, c.most)
		}
	}
}
