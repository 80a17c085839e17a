package journal

import (
	"strings"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// PathElement is the task that makes one of the subgraph calls that lead to a node.
type PathElement struct {
	Node  string
	Index int // of the send that the task is of
}

func appendPath(b []byte, path []PathElement) []byte {
	b = wire.AppendArrayLen(b, len(path))
	for _, e := range path {
		b = wire.AppendString(wire.AppendArrayLen(b, 2), e.Node)
		b = wire.AppendInt(b, int64(e.Index))
	}
	return b
}

func readPath(r *wire.Reader) (path []PathElement) {
	for range r.ArrayLen() {
		r.FixedArray(2)
		if path = append(path, PathElement{r.Str(), r.Int()}); !r.OK() {
			break
		}
	}
	return path
}

// outside returns the namespace that a call is in.
func outside(namespace string) string {
	return namespace[:max(strings.LastIndexByte(namespace, '/'), 0)]
}

// depth returns how many calls lead to a namespace.
func depth(namespace string) int {
	if namespace == "" {
		return 0
	}
	return strings.Count(namespace, "/") + 1
}
