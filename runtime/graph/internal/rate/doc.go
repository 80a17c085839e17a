// Package rate tests graph.Rate with the limiter of golang.org/x/time. It is not a test of package
// graph, because go.sum of each program has the modules that tests of its imports need.
package rate
