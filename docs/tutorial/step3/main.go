// Step 3 of the tutorial: each refund is a thread in SQLite, so a failed refund can be resumed.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, order string) (err error) {
	saver, err := sqlite.Open("refunds.db")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	app, err := newRefund(saver)
	if err != nil {
		return err
	}
	res, err := app.Thread(order).Invoke(ctx, StateUpdate{Order: state.Set(order)}, graph.RequestID(order))
	if err != nil {
		return err
	}
	fmt.Println(res.Status, res.State.Log)
	return nil
}
