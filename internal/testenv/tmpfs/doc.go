// Package tmpfs puts the temporary folders of tests into memory. It is apart from package testenv,
// which has drivers of databases, because the go.sum of a program has what the tests of the packages
// that it imports need.
package tmpfs
