package checkpoint

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
)

// Fold applies deltas, in order, to the snapshot that they follow, and returns the resulting
// snapshot. It runs no user code and needs no schema. It returns an ErrDamaged that wraps a
// *wire.Error if the data is invalid. Without deltas the result may share memory with snapshot.
// Fold does not modify its arguments.
func Fold(snapshot []byte, deltas ...[]byte) ([]byte, error) {
	state, err := delta.Fold(snapshot, deltas...)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: fold: %w: %w", ErrDamaged, err)
	}
	return state, nil
}

// JoinDeltas returns one delta with the effect of deltas in order. It also returns a table, with
// which SplitDeltas restores the same deltas. ok is false if that is not possible. For example, a
// payload that a wrapping saver encrypted is not a delta.
func JoinDeltas(deltas ...[]byte) (joined, table []byte, ok bool) { return delta.Join(deltas...) }

// SplitDeltas returns the deltas that JoinDeltas joined. It returns an ErrDamaged for other bytes.
func SplitDeltas(joined, table []byte) ([][]byte, error) {
	deltas, err := delta.Cut(joined, table)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: cut joined deltas: %w: %w", ErrDamaged, err)
	}
	return deltas, nil
}
