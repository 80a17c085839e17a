// Package pages has the tests of package inspect. They are apart from it, because the go.sum of a
// program has what the tests of the packages that it imports need. Some of these need a database.
package pages
