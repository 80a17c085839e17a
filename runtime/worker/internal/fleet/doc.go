// Package fleet has the tests of workers that need a database, or processes that are killed. They
// are apart from those of package worker, because the go.sum of a program has what the tests of
// the packages that it imports need.
package fleet
