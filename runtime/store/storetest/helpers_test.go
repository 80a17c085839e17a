package storetest

import (
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/store"
)

func TestFailuresNameEveryKindOfOperation(t *testing.T) {
	names := make(map[string]bool)
	for kind := store.OpGet; kind <= store.OpVectors; kind++ {
		name, _, _ := strings.Cut(describe([]store.Op{{Kind: kind, Namespace: users, Key: "k"}}), " ")
		names[name] = true
	}
	if len(names) != 5 || names[""] {
		t.Errorf("got the names %v, want 5", names)
	}
}
