package graphtest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

//go:generate go tool graphgen -o payloads_graphgen_test.go -type=ofInt32,ofInt64,ofUint32,ofFloat,ofString,ofPointer,ofBytes,ofBytes2,ofArray,ofList,ofMap,ofLargerMap,ofItem,ofItems,ofItemRef,ofItemRefs,ofRenamed,ofUnion,ofLargerUnion,ofText,ofBinary,ofTree,ofNode,ofOther,ofWas

// The payloads of TestLockAgreesWithTheCodecs.
type (
	//graphgen:payload
	ofInt32       struct{ V int32 }
	ofInt64       struct{ V int64 }
	ofUint32      struct{ V uint32 }
	ofFloat       struct{ V float64 }
	ofString      struct{ V string }
	ofPointer     struct{ V *string }
	ofBytes       struct{ V []byte }
	ofBytes2      struct{ V [2]byte }
	ofArray       struct{ V [2]int32 }
	ofList        struct{ V []int64 }
	ofMap         struct{ V map[int8]int32 }
	ofLargerMap   struct{ V map[int64]int64 }
	ofItem        struct{ V item }
	ofItems       struct{ V []item }
	ofItemRef     struct{ V *itemMore }
	ofItemRefs    struct{ V []*itemMore }
	ofRenamed     struct{ V itemWas }
	ofUnion       struct{ V figure }
	ofLargerUnion struct{ V moreFigures }
	ofText        struct{ V cents }
	ofBinary      struct{ V blob }
	ofTree        struct{ V tree }
	ofNode        struct{ V *node }
	ofOther       struct{ W int32 }
	ofWas         struct {
		W int64 `graph:"was=V"`
	}
)

type item struct{ X int32 }

type itemMore struct {
	X int64
	Y string
}

type itemWas struct {
	Z int32 `graph:"was=X"`
}

type figure interface{ isFigure() }

type moreFigures interface{ isFigure() }

//graphgen:union figure = circle | *square
//graphgen:union moreFigures = *circle | *square | line

type (
	circle struct{ R int32 }
	square struct{ A int32 }
	line   struct{}
)

func (circle) isFigure() {}
func (square) isFigure() {}
func (line) isFigure()   {}

// tree is a list of itself.
type tree []tree

type node struct {
	Label string
	Next  *node
}

type cents struct{ n int }

func (c cents) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(c.n), 10), nil }

func (c *cents) UnmarshalText(b []byte) (err error) {
	c.n, err = strconv.Atoi(string(b))
	return err
}

type blob struct{ b byte }

func (b blob) MarshalBinary() ([]byte, error) { return []byte{'b', b.b, 0}, nil }

func (b *blob) UnmarshalBinary(from []byte) error {
	if len(from) != 3 {
		return fmt.Errorf("got %d bytes, want 3", len(from))
	}
	b.b = from[1]
	return nil
}

// payloadType is a type of payloads with some values.
type payloadType struct {
	name   string
	stored [][]byte
	decode func(b []byte) error
	app    graphtest.Described
}

// sent describes a type, in a graph that sends it, asks with it and receives it as a signal.
func sent[T any, P wire.Generated[T]](t *testing.T, values ...T) payloadType {
	t.Helper()
	p := payloadType{name: fmt.Sprintf("%T", *new(T)), decode: func(b []byte) error { return P(new(T)).DecodeWire(b) }}
	for i := range values {
		b, err := P(&values[i]).AppendWire(nil)
		if err != nil {
			t.Fatal(err)
		}
		p.stored = append(p.stored, b)
	}
	b := graph.New("sends", OrderSchema)
	each := graph.TaskNode[Order, OrderUpdate, T, P](b, "each", func(context.Context, Order, T) (u OrderUpdate, err error) { return u, nil },
		graph.NewQuestion[T, T, P, P]("question"), graph.NewSignal[T, P]("signal"))
	b.Route(graph.Start, func(context.Context, Order) (graph.Next, error) { return each.Send(*new(T)), nil }, "each")
	b.Edge("each", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	p.app = app
	return p
}

// TestLockAgreesWithTheCodecs replaces each type of payloads by each other one. Lock says breaking
// if and only if the new type cannot decode a value of the old one.
func TestLockAgreesWithTheCodecs(t *testing.T) {
	word := "word"
	all := []payloadType{
		sent(t, ofInt32{1<<31 - 1}, ofInt32{-1 << 31}), sent(t, ofInt64{1<<63 - 1}, ofInt64{-1 << 63}), sent(t, ofUint32{1<<32 - 1}),
		sent(t, ofFloat{0.1}), sent(t, ofString{""}, ofString{word}), sent(t, ofPointer{}, ofPointer{&word}),
		sent(t, ofBytes{[]byte("abcd")}), sent(t, ofBytes2{}), sent(t, ofArray{[2]int32{-1 << 31, 7}}), sent(t, ofList{[]int64{1 << 62, 2, 3}}),
		sent(t, ofMap{map[int8]int32{1: -1 << 31}}), sent(t, ofLargerMap{map[int64]int64{1 << 62: 1 << 62}}),
		sent(t, ofItem{item{1 << 30}}), sent(t, ofItems{[]item{{1}, {2}}}), sent(t, ofItemRef{&itemMore{1 << 62, "y"}}, ofItemRef{}),
		sent(t, ofItemRefs{[]*itemMore{nil, {1 << 62, "y"}}}), sent(t, ofRenamed{itemWas{7}}),
		sent(t, ofUnion{circle{1}}, ofUnion{&square{2}}, ofUnion{}), sent(t, ofLargerUnion{&circle{1}}, ofLargerUnion{line{}}),
		sent(t, ofText{cents{7}}), sent(t, ofBinary{blob{7}}), sent(t, ofTree{tree{tree{}, tree{tree{}}}}),
		sent(t, ofNode{&node{"a", &node{"b", nil}}}, ofNode{}), sent(t, ofOther{7}), sent(t, ofWas{1 << 62}),
	}
	allowed := 0
	for _, old := range all {
		path := filepath.Join(t.TempDir(), "graph.lock")
		t.Setenv("GRAPHGEN_REWRITE", "1")
		graphtest.Lock(t, old.app, path)
		t.Setenv("GRAPHGEN_REWRITE", "")
		for _, now := range all {
			said := lockFailure(t, now.app, path)
			breaks := strings.Contains(said, "breaking:")
			var err error
			for _, b := range old.stored {
				if err = now.decode(b); err != nil {
					break
				}
			}
			if breaks != (err != nil) {
				t.Errorf("%s decodes %s: %v; Lock says %s", now.name, old.name, err, said)
			}
			if old.name == now.name && said != "" {
				t.Errorf("%s: Lock says %s of the same program", old.name, said)
			}
			if !breaks && old.name != now.name {
				allowed++
			}
		}
	}
	if allowed < 16 {
		t.Errorf("%d changes are allowed, want at least 16", allowed)
	}
}
