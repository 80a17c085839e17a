// Package compile does not compile for reasons of its own.
package compile

//graphgen:state
type State struct {
	A Undeclared  // want `undefined: Undeclared`
	U StateUpdate // want `State.U: uses a type that graphgen generates; a state cannot hold what is generated from it; use a type that you declare`
}

func node(s State) (StateUpdate, error) { return StateUpdate{}, nil } // declared by graphgen: not a fault

func other(x Nowhere) {} // want `undefined: Nowhere`
