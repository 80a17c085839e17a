//go:build tools

// Package tools lists the programs that working on this module takes, each with its reason. Those
// that only check it are in the folder tools, a module of its own, so that nobody who uses
// graphgen gets their requirements.
package tools

import (
	// The generator: go generate runs it as go tool graphgen, here and in every module that uses
	// it.
	_ "github.com/graphgen-go/graphgen/cmd/graphgen"
)
