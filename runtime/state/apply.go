package state

// Apply returns what s becomes when u is merged into it. It is for tests of nodes and reducers. Fields of s that are not
// zero count as written before. s is not changed; the result shares with s and u what it did not have to copy. Errors are
// those of [Live].Merge.
func Apply[S, U any](schema *Schema[S, U], s S, u U) (S, error) {
	live := schema.New(Options{})
	live.Load(s)
	if err := live.Merge(0, &u); err != nil {
		return s, err
	}
	return live.View(), nil
}
