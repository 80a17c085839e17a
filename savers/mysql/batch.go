package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// database is a pool whose connections take several statements in one message.
type database struct{ *sqlsaver.Std }

var _ sqlsaver.Batcher = database{}

// must fails if the statement before it has found no row: the server runs no statement after one
// that fails.
const must = "INSERT INTO graph_index (pk) SELECT NULL FROM DUAL WHERE ROW_COUNT() < 1"

// Batch runs calls in one round trip: the statements are one text, several of them in a
// transaction. A batch that fails takes another round trip, which rolls it back.
func (d database) Batch(ctx context.Context, calls []sqlsaver.Call, scan func(sqlsaver.Rows) error) error {
	text, err := textOf(calls)
	switch {
	case err != nil:
		return err
	case len(calls) == 1:
		return run(ctx, d.Read, text, scan)
	}
	conn, err := d.Write.Conn(ctx)
	if err != nil {
		return err
	}
	if err = run(ctx, conn, "START TRANSACTION; "+text+"; COMMIT", scan); err != nil {
		if _, failed := conn.ExecContext(ctx, "ROLLBACK"); failed != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool closes the connection
		}
	}
	_ = conn.Close() // it goes back to the pool
	return err
}

// Begin starts a transaction.
func (d database) Begin(ctx context.Context, writes bool) (sqlsaver.Tx, error) {
	tx, err := d.Std.Begin(ctx, writes)
	if err != nil {
		return nil, err
	}
	return transaction{tx, tx.(interface{ Raw() *sql.Tx }).Raw()}, nil
}

// transaction is a transaction of a database.
type transaction struct {
	sqlsaver.Tx
	raw *sql.Tx
}

var _ sqlsaver.Batcher = transaction{}

// Batch runs calls in one round trip.
func (t transaction) Batch(ctx context.Context, calls []sqlsaver.Call, scan func(sqlsaver.Rows) error) error {
	text, err := textOf(calls)
	if err != nil {
		return err
	}
	return run(ctx, t.raw, text, scan)
}

// textOf returns calls as one text. Values in it are numbers or hexadecimal, so no value can end a
// literal.
func textOf(calls []sqlsaver.Call) (string, error) {
	var b strings.Builder
	for i := range calls {
		if i > 0 {
			b.WriteString("; ")
		}
		if err := write(&b, &calls[i]); err != nil {
			return "", err
		}
		if calls[i].Must {
			b.WriteString("; " + must)
		}
	}
	return b.String(), nil
}

// querier is a pool, a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// run runs a text, and scans the rows of all its statements.
func run(ctx context.Context, q querier, text string, scan func(sqlsaver.Rows) error) error {
	found, err := q.QueryContext(ctx, text)
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) && e.Number == errNull {
		return rows.ErrChanged
	}
	if err != nil {
		return err
	}
	defer func() { _ = found.Close() }() // Err says what was wrong
	for {
		for found.Next() {
			if err := scan(found); err != nil {
				return err
			}
		}
		if !found.NextResultSet() {
			return errors.Join(found.Err(), found.Close())
		}
	}
}

// write writes the text of a call with its values.
func write(b *strings.Builder, c *sqlsaver.Call) error {
	args := c.Args
	for part := range strings.SplitAfterSeq(c.Text, "?") {
		text, more := strings.CutSuffix(part, "?")
		if b.WriteString(text); !more {
			continue
		}
		switch v := args[0].(type) {
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case []byte:
			b.WriteString("x'" + hex.EncodeToString(v) + "'")
		case string:
			if utf8.ValidString(v) { // the server takes no other bytes as the text of a JSON value
				b.WriteString("_utf8mb4 ")
			}
			b.WriteString("x'" + hex.EncodeToString([]byte(v)) + "'")
		default:
			return fmt.Errorf("a batch has no values of type %T", v)
		}
		args = args[1:]
	}
	return nil
}
