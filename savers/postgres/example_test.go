package postgres_test

import (
	"context"
	"log"

	"github.com/graphgen-go/graphgen/savers/postgres"
)

// A saver on a server whose tables somebody else makes, by the files of postgres.Schema.
func ExampleOpen() { //nolint:testableexamples // it would need a server
	ctx := context.Background()
	saver, err := postgres.Open(ctx, "postgres://app:secret@db.internal/app", postgres.VerifySchema(), postgres.MaxConns(32))
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := saver.Close(); err != nil {
			log.Print(err)
		}
	}()
}
