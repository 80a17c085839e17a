package mysql_test

import (
	"context"
	"log"

	"github.com/graphgen-go/graphgen/savers/mysql"
)

// A saver on a server whose tables somebody else makes, by the files of mysql.Schema.
func ExampleOpen() { //nolint:testableexamples // it would need a server
	ctx := context.Background()
	saver, err := mysql.Open(ctx, "app:secret@tcp(db.internal:3306)/app", mysql.VerifySchema(), mysql.MaxConns(32))
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := saver.Close(); err != nil {
			log.Print(err)
		}
	}()
}
