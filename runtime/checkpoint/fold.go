package checkpoint

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
)

// Fold returns the snapshot that a snapshot and the deltas that follow it come to, in order. It runs no user code
// and needs no schema. Data that is not what it should be is an ErrDamaged with a *wire.Error in it. The result
// may share memory with snapshot when there are no deltas; the arguments are not modified.
func Fold(snapshot []byte, deltas ...[]byte) ([]byte, error) {
	state, err := delta.Fold(snapshot, deltas...)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: fold: %w: %w", ErrDamaged, err)
	}
	return state, nil
}

// JoinDeltas returns one delta that does what deltas do one after the other, and a table with which CutDeltas takes it
// apart into the same bytes. ok is false if that is not possible: a payload need not be a delta that Fold knows, since
// wrappers of savers may encrypt it.
func JoinDeltas(deltas ...[]byte) (joined, table []byte, ok bool) { return delta.Join(deltas...) }

// CutDeltas takes apart what JoinDeltas returned. Other bytes are an ErrDamaged.
func CutDeltas(joined, table []byte) ([][]byte, error) {
	deltas, err := delta.Cut(joined, table)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: cut joined deltas: %w: %w", ErrDamaged, err)
	}
	return deltas, nil
}
