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

// FoldChain returns the snapshot that the last record of a chain comes to. The chain's first record has a
// snapshot and each later one is the next in the log, as in [Chain].Records; anything else is an error.
func FoldChain(chain []Record) ([]byte, error) {
	if len(chain) == 0 || !chain[0].Snapshot {
		return nil, fmt.Errorf("checkpoint: fold: the chain of %d records does not start with a snapshot: %w", len(chain), ErrDamaged)
	}
	last := len(chain) - 1
	for last > 0 && !chain[last].Snapshot {
		last--
	}
	deltas := make([][]byte, 0, len(chain)-last-1)
	for i := last + 1; i < len(chain); i++ {
		deltas = append(deltas, chain[i].Payload)
	}
	state, err := Fold(chain[last].Payload, deltas...)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: fold records %d to %d: %w", chain[last].Seq, chain[len(chain)-1].Seq, err)
	}
	return state, nil
}
