package state

// Build returns the update that f makes. It makes any update in one expression, such as an input
// or a row of a table in a test:
//
//	state.Build(func(u *StateUpdate) { u.Tags.Add("new"); u.Tokens.Clear() })
//
// For single operations of the most frequent kinds, [Set], [Append], [Upsert], [Put], [Merge] and
// [Add] are shorter.
func Build[U any](f func(u *U)) U {
	var u U
	f(&u)
	return u
}
