package shards

import (
	"context"

	"github.com/graphgen-go/graphgen/savers/rows"
)

// Advance stores the next phase of the change of the layout, as Rebalance does after a walk.
func (s *Saver) Advance(ctx context.Context) error {
	l, err := s.least(ctx)
	if err != nil {
		return err
	}
	return s.advance(ctx, l)
}

// Places returns the shards as package rows has them.
func (s *Saver) Places(ctx context.Context) (all []rows.Place, err error) {
	for _, sh := range s.shards {
		p, err := sh.place(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
