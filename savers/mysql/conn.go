package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

// conn is a connection that the pool closes once a statement has failed in a way that leaves the
// connection in doubt. After a value that is too long, for one, each later use of the prepared
// statement fails on MariaDB.
type conn struct {
	driverConn
	doubt bool
}

// driverConn and driverStmt are what connections and statements of the driver implement.
type (
	driverConn interface {
		driver.Conn
		driver.ConnBeginTx
		driver.ConnPrepareContext
		driver.ExecerContext
		driver.QueryerContext
		driver.NamedValueChecker
		driver.Pinger
		driver.SessionResetter
		driver.Validator
	}
	driverStmt interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
		driver.NamedValueChecker
	}
)

// watch wraps a connection of the driver in a conn, which notices errors after which it is not
// reused. It refuses connections of other drivers.
func watch(c driver.Conn) (driver.Conn, error) {
	whole, ok := c.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's connections are %T, which this saver does not know", c), c.Close())
	}
	return &conn{driverConn: whole}, nil
}

// IsValid reports whether the pool may keep the connection.
func (c *conn) IsValid() bool { return !c.doubt && c.driverConn.IsValid() }

// note notes the error of a statement, and returns it.
func (c *conn) note(err error) error {
	c.doubt = c.doubt || err != nil && !harmless(err)
	return err
}

// harmless reports whether a connection is as before after a statement with an error.
func harmless(err error) bool {
	if errors.Is(err, driver.ErrSkip) { // nothing was sent
		return true
	}
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case errNull, errDuplicate, errLockTimeout, errDeadlock, errDiskFull, errRecordFull:
		return true
	}
	return false
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	r, err := c.driverConn.ExecContext(ctx, text, args)
	return r, c.note(err)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	r, err := c.driverConn.QueryContext(ctx, text, args)
	return r, c.note(err)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.driverConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, c.note(err)
	}
	whole, ok := s.(driverStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's statements are %T, which this saver does not know", s), s.Close())
	}
	return &stmt{whole, c}, nil
}

// stmt is a prepared statement of a conn.
type stmt struct {
	driverStmt
	c *conn
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	r, err := s.driverStmt.ExecContext(ctx, args)
	return r, s.c.note(err)
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	r, err := s.driverStmt.QueryContext(ctx, args)
	return r, s.c.note(err)
}
