// Package nested has reducers where they mean nothing.
package nested

//graphgen:state
type State struct {
	Inner Inner
}

// Inner is not a state.
type Inner struct {
	Log []string `graph:"append"` // want `Inner.Log: reducer "append" does nothing here, since Inner is not a state: only the fields of a state are merged one by one; remove it, or name Inner with -type`
	Run string   `graph:"run"`    // want `Inner.Run: option "run" does nothing here, since Inner is not a state`
	Tag string   `graph:"lsat"`   // want `Inner.Tag: unknown reducer "lsat"; did you mean "last"\?`
}
