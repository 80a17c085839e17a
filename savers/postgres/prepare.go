package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// probe is a name that two clients prepare.
const probe = "graphgen_probe"

// canPrepare returns an error if a pooler shares a connection of the server between clients, and
// does not know which statements each of them prepared. On its own connection, no client meets a
// name that another client prepared.
func canPrepare(ctx context.Context, config *pgx.ConnConfig) (err error) {
	var conns [2]*pgx.Conn
	for i := range conns {
		if conns[i], err = pgx.ConnectConfig(ctx, config); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conns[i].Close(ctx)) }()
	}
	if _, err := conns[0].Prepare(ctx, probe, "SELECT 1"); err != nil {
		return explain(err)
	}
	defer func() { err = errors.Join(err, conns[0].Deallocate(ctx, probe)) }() // of a pooler's connection, which stays
	_, err = conns[1].Prepare(ctx, probe, "SELECT 1")
	return explain(err)
}

// pooledError is an error that only a pooler can cause: a prepared statement does not exist, or
// exists already.
type pooledError struct{ error }

func (e *pooledError) Unwrap() error { return e.error }

func (e *pooledError) Error() string {
	return e.error.Error() + ": a pooler gives the server's connections to one client after another and does not know what each prepared: " +
		"leave out PrepareStatements, or use a pooler that knows, such as PgBouncer 1.21 with max_prepared_statements"
}

// readOnlyError is the error of a write to a server that takes none.
type readOnlyError struct{ error }

func (e *readOnlyError) Unwrap() error { return e.error }

func (e *readOnlyError) Error() string {
	return e.error.Error() + ": the server is a standby, or default_transaction_read_only is on: name the primary in the URL, " +
		"or set default_transaction_read_only = off for the role"
}

// explain makes an error say what to do about a pooler or a standby, once.
func explain(err error) error {
	var e *pgconn.PgError
	switch {
	case !errors.As(err, &e), errors.As(err, new(*pooledError)), errors.As(err, new(*readOnlyError)):
		return err
	case e.Code == "26000", e.Code == "42P05":
		return &pooledError{err}
	case e.Code == codeReadOnly:
		return &readOnlyError{err}
	}
	return err
}
