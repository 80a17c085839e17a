//go:build tools

// Package tools lists the programs that check graphgen, each with its reason.
//
// They live in a module of their own, so that nobody who uses graphgen gets their 250
// requirements. Its go.mod pins the versions, and its tool lines let the go command build and run
// them from the root of the repository:
//
//	go tool -modfile=tools/go.mod golangci-lint run
//
// graphgen itself is a tool line of the main module: go tool graphgen.
package tools

import (
	// Many small linters in one pass over the types, staticcheck and the analyzers of go vet among
	// them; .golangci.yml says which and why.
	_ "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
	// Checks the prose of pages and comments; .vale holds the rules. Its parser of Go needs a C
	// compiler.
	_ "github.com/vale-cli/vale/v3/cmd/vale"
	// Compares the API of stable packages with that of the last release; .ci/check-api uses it.
	_ "golang.org/x/exp/cmd/apidiff"
	// Compares the nightly benchmarks with those of the night before.
	_ "golang.org/x/perf/cmd/benchstat"
	// Finds calls of functions with known vulnerabilities.
	_ "golang.org/x/vuln/cmd/govulncheck"
	// The failures of a long test run gathered at its end; .ci/run uses it.
	_ "gotest.tools/gotestsum"
)
