package memrows_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/internal/memrows/strict"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// newStore returns an empty Store that refuses a Change which breaks a rule.
func newStore() rows.Store { return strict.Store{Store: memrows.New()} }

// packed is a Store whose records a Saver packs by a policy.
type packed struct {
	rows.Store
	policy pack.Policy
}

func (p packed) Packing() pack.Policy { return p.policy }

func TestConformance(t *testing.T) {
	for name, policy := range map[string]pack.Policy{"default": {}, "packed": {Every: 2, Keep: 1, AtOnce: true}} {
		t.Run(name, func(t *testing.T) {
			savertest.Run(t, func(testing.TB) savertest.Storage {
				store := packed{newStore(), policy}
				return savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) {
					return rows.New("rows", store, rows.Options{}), nil
				}}
			})
		})
	}
}

func TestPacks(t *testing.T) {
	store := newStore()
	packtest.PacksAgain(t, func(testing.TB) checkpoint.Saver { return rows.New("rows", store, rows.Options{}) })
}
