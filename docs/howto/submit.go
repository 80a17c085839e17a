package howto

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// Order submits one order. It can be called again with the same number if its outcome is unknown.
func Order(ctx context.Context, app *graph.Graph[State, StateUpdate], number string, in StateUpdate) error {
	_, err := app.Thread("order-"+number).Submit(ctx, in, graph.RequestID(number), graph.Label("kind", "order"))
	if errors.Is(err, checkpoint.ErrInboxFull) {
		return fmt.Errorf("order %s: try again later: %w", number, err)
	}
	return err
}

// Withdraw cancels what was asked of the thread of an order.
func Withdraw(ctx context.Context, app *graph.Graph[State, StateUpdate], number, reason string) error {
	return app.Thread("order-"+number).Cancel(ctx, reason)
}

// Sell stores a sale and submits it in one transaction.
func Sell(ctx context.Context, db *sql.DB, saver *sqlite.Saver, app *graph.Graph[State, StateUpdate], number string, in StateUpdate) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it does nothing after Commit
	if _, err := tx.ExecContext(ctx, "INSERT INTO sale (number) VALUES (?)", number); err != nil {
		return err
	}
	if _, err := app.Via(saver.InTx(tx)).Thread("sale-"+number).Submit(ctx, in, graph.RequestID(number)); err != nil {
		return err
	}
	return tx.Commit()
}
