// Package recursive has types that hold themselves in ways that cannot be stored.
package recursive

//graphgen:state
type State struct {
	P P // want `State.P: type P is a pointer to a pointer`
	C *C
	R R
	M map[string]M
	F []F `graph:"union"` // want `reducer "union" needs elements that == compares by value, got F`
}

// P is a pointer to itself.
type P *P

// C has a channel at every level.
type C struct {
	Next *C
	Done chan int // want `C.Done: type chan int is a channel`
}

// R holds itself by value.
type R struct{ R R } // want `invalid recursive type: R refers to itself`

// M has a func at every level.
type M struct {
	More map[string]M
	Func func() // want `M.Func: type func\(\) is a func`
}

// F holds others.
type F struct{ F *F }
