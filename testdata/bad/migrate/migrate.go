// Package migrate has a method Migrate that graphgen cannot call.
package migrate

//graphgen:state
type State struct{ A int }

func (s *State) Migrate(from string) error { return nil } // want `State.Migrate: has the signature func\(from string\) error, but graphgen calls func \(s \*State\) Migrate\(from \*state.OldFields\) error`
