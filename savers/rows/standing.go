package rows

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// Standing is what the row of a thread says to a Store whose threads expire, or whose rows of
// Index are in another partition.
type Standing struct {
	Index [][]byte // the keys in the table Index that the thread must have, and no others
	Over  bool     // the thread is done or released, has no messages and no wake, and does not move
}

// Standing returns what a row of Threads says. The error is ErrDamaged.
func (r *Row) Standing() (Standing, error) {
	t, err := r.thread()
	if err != nil {
		return Standing{}, err
	}
	ended := t.Open == 0 || t.Status == checkpoint.Done && t.Until.IsZero()
	return Standing{Index: t.index(), Over: ended && t.transit.stage == 0 && t.Wake.IsZero() && t.Inputs+t.Others == 0}, nil
}
