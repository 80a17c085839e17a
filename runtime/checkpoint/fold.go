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
