package postgres_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

func TestConformance(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		url := testenv.Postgres(tb)
		return savertest.Storage{
			Shared: true,
			Open:   func() (checkpoint.Saver, error) { return postgres.Open(tb.Context(), url) },
			Damage: func(string) error {
				_, err := connect(tb, url).Exec(tb.Context(), `UPDATE graph_write SET data = '\x7f'`)
				return err
			},
		}
	})
}
