package sqlite

import "database/sql/driver"

// WrapConnector is an option that gives a test the connections.
func WrapConnector(wrap func(driver.Connector) driver.Connector) Option {
	return func(o *options) { o.wrap = wrap }
}
