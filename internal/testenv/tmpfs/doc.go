// Package tmpfs puts the temporary folders of tests into memory. Package testenv has the drivers
// of databases, which the tests of most packages must not need: they would be in the go.sum of
// each program.
package tmpfs
