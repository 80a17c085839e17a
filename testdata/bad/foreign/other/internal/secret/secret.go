// Package secret is internal.
package secret

// Secret cannot be imported from everywhere.
type Secret struct{ A int }
