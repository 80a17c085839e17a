// Package impl has types that only package sdk may import.
package impl

// Secret has a public name in package sdk.
type Secret struct {
	A int
	B []string
}

// Policy has one, too.
type Policy struct{ Attempts int }

type color int8

// Kind is another name of an unexported type.
type Kind = color
