package howto_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func ExampleOrder() {
	ctx, saver := context.Background(), memory.New()
	read := func(_ context.Context, name string) (string, error) { return "the text of " + name, nil }
	app, err := howto.NewReader(read, saver)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // the second call repeats the first
		if err := howto.Order(ctx, app, "7", howto.StateUpdate{Names: state.Append("a", "b")}); err != nil {
			log.Fatal(err)
		}
	}
	if err := howto.Order(ctx, app, "8", howto.StateUpdate{Names: state.Append("c")}); err != nil {
		log.Fatal(err)
	}
	if err := howto.Withdraw(ctx, app, "8", "the customer left"); err != nil {
		log.Fatal(err)
	}
	work(ctx, app, saver)
	for _, id := range []string{"order-7", "order-8"} {
		snap, err := app.Thread(id).State(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id, snap.Status, snap.State.Log)
	}
	// Output:
	// order-7 done [read 2 documents, 0 failed]
	// order-8 cancelled []
}

func ExampleSell() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sales")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "sales.db")
	saver, err := sqlite.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer saver.Close()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE sale (number TEXT PRIMARY KEY)"); err != nil {
		log.Fatal(err)
	}
	read := func(_ context.Context, name string) (string, error) { return "the text of " + name, nil }
	app, err := howto.NewReader(read, saver)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // the second sale has the number of the first, and neither row nor input is stored
		in := howto.StateUpdate{Names: state.Append("a", "b")}
		if err := howto.Sell(ctx, db, saver, app, "7", in); err != nil {
			fmt.Println("not sold")
		}
	}
	work(ctx, app, saver)
	snap, err := app.Thread("sale-7").State(ctx)
	fmt.Println(snap.Status, snap.State.Log, err)
	// Output:
	// not sold
	// done [read 2 documents, 0 failed] <nil>
}

// work runs what is due, as a worker does.
func work(ctx context.Context, app *graph.Graph[howto.State, howto.StateUpdate], saver checkpoint.Saver) {
	names, err := app.Serves(saver)
	if err != nil {
		log.Fatal(err)
	}
	for {
		found, err := saver.Ready(ctx, checkpoint.ReadyQuery{Graphs: names, Limit: 10})
		if err != nil {
			log.Fatal(err)
		}
		if len(found.Threads) == 0 {
			return
		}
		for _, t := range found.Threads {
			if _, err := app.ResumeDue(ctx, t, graph.DueOptions{}); err != nil {
				log.Fatal(err)
			}
		}
	}
}
