// Package opt has a generic type for other packages.
package opt

// Of is a T or nothing.
type Of[T any] struct {
	Value T
	OK    bool
}
