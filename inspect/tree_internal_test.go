package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/shape/value"
)

// sized returns the number of nodes of a tree, and of the parts that it does not show.
func sized(t *valueTree) (nodes, hidden int) {
	nodes, hidden = 1, t.Hidden
	for i := range t.Children {
		n, h := sized(&t.Children[i])
		nodes, hidden = nodes+n, hidden+h
	}
	return nodes, hidden
}

func text(s string) value.Value { return value.Value{Kind: value.String, Text: s} }

func list(n int, item value.Value) value.Value {
	v := value.Value{Kind: value.List}
	for range n {
		v.Items = append(v.Items, item)
	}
	return v
}

func mapOf(n int, item value.Value) value.Value {
	v := value.Value{Kind: value.Map}
	for i := range n {
		v.Fields = append(v.Fields, value.Field{Name: fmt.Sprint(i), Value: item})
	}
	return v
}

// A page shows a bounded part of a value, and says how much it leaves out.
func TestTreesAreBounded(t *testing.T) {
	for _, c := range []struct {
		name          string
		v             value.Value
		nodes, hidden int
		count         string
		open          bool
	}{
		{"a text", text("tea"), 1, 0, "", true},
		{"an empty list", list(0, text("x")), 1, 0, "0 items", true},
		{"a list", list(20, text("x")), 21, 0, "20 items", true},
		{"a list that is folded", list(21, text("x")), 22, 0, "21 items", false},
		{"the longest list", list(100, text("x")), 101, 0, "100 items", false},
		{"a longer list", list(101, text("x")), 101, 1, "101 items", false},
		{"the longest map", mapOf(100, text("x")), 101, 0, "100 entries", true},
		{"a longer map", mapOf(250, text("x")), 101, 150, "250 entries", true},
		{"lists of lists", list(39, list(99, text("x"))), 3901, 0, "39 items", false},
		{"more than all nodes", list(100, list(100, text("x"))), 4000, 41 + 60, "100 items", false},
	} {
		tree := treeOf(&c.v)
		nodes, hidden := sized(&tree)
		if nodes != c.nodes || hidden != c.hidden || tree.Count != c.count || tree.Open != c.open {
			t.Errorf("%s: got %d nodes, %d hidden, %q, open %t; want %d, %d, %q, %t", c.name, nodes, hidden, tree.Count, tree.Open,
				c.nodes, c.hidden, c.count, c.open)
		}
	}
}

// A long text shows its beginning. The fold has more of it, and the count has all.
func TestLongTextsAreFolded(t *testing.T) {
	for _, c := range []struct{ n, short, long int }{{100, 100, 0}, {101, 101, 101}, {4096, 101, 4096}, {5000, 101, 4097}} {
		v := text(strings.Repeat("ä", c.n))
		tree := treeOf(&v)
		if got := len([]rune(tree.Text)); got != c.short {
			t.Errorf("%d characters: the page shows %d, want %d", c.n, got, c.short)
		}
		if got := len([]rune(tree.Long)); got != c.long {
			t.Errorf("%d characters: the fold has %d, want %d", c.n, got, c.long)
		}
		if want := fmt.Sprintf("%d characters", c.n); c.long > 0 && tree.Count != want {
			t.Errorf("got the count %q, want %q", tree.Count, want)
		}
	}
}
