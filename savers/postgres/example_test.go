package postgres_test

import (
	"context"
	"log"

	"github.com/graphgen-go/graphgen/runtime/worker"
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

// Workers on several machines learn of due threads by NOTIFY. The saver uses PgBouncer, and the
// engine listens on a direct connection.
func ExampleNewEngine() { //nolint:testableexamples // it would need a server
	ctx := context.Background()
	db, err := postgres.Open(ctx, "postgres://app:secret@pgbouncer.internal:6432/app")
	if err != nil {
		log.Fatal(err)
	}
	engine := postgres.NewEngine(db, postgres.ListenURL("postgres://app:secret@db.internal/app"))
	saver := worker.Announce(db, engine, nil)              // for the graphs in each process
	w := worker.New(saver, worker.Options{Engine: engine}) // with the graphs as further arguments
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
