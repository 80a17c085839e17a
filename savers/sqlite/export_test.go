package sqlite

import (
	"database/sql/driver"

	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// WrapConnector is an option that gives a test the connections.
func WrapConnector(wrap func(driver.Connector) driver.Connector) Option {
	return func(o *options) { o.wrap = wrap }
}

// Packing is an option that says when records are packed.
func Packing(p pack.Policy) Option { return func(o *options) { o.Packing = p } }

// WrapDB is an option that gives a test the database.
func WrapDB(wrap func(sqlsaver.DB) sqlsaver.DB) Option { return func(o *options) { o.db = wrap } }
