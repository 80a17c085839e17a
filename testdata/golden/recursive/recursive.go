// Package recursive has types that contain themselves, directly or through others.
package recursive

//go:generate go tool graphgen -type=State,Node

// State holds trees.
type State struct {
	Root  *Node
	Lists []List          `graph:"append"`
	Trees map[string]Tree `graph:"merge"`
	A     A
	Steps []Step `graph:"upsert,key=Name"`
	Sum   Expr
	Last  *Node `graph:"reduce=keepLast"`
}

// Node has children by pointer and a parent's worth of everything.
type Node struct {
	Name     string
	Children []*Node
	ByName   map[string]Node
	Next     *Node
}

// List is a slice of itself.
type List []List

// Tree is a map of itself.
type Tree map[string]Tree

// A and B hold each other.
type A struct{ B *B }

// B and A hold each other.
type B struct {
	A    []A
	Text string
}

// Step has further steps.
type Step struct {
	Name string
	Then []Step
}

// Expr is a union whose members hold others.
type Expr interface{ expr() }

//graphgen:union Expr = Num | *Add | Neg

// Num is a number.
type Num int

// Add adds two expressions.
type Add struct{ L, R Expr }

// Neg negates one.
type Neg struct{ X Expr }

func (Num) expr()  {}
func (*Add) expr() {}
func (Neg) expr()  {}

func keepLast(_ *Node, in *Node) *Node { return in }
