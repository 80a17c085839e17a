// Package fleet measures workers in several processes: threads a second, take-over after a kill,
// tasks of a queue, and the cost of threads that wait.
package fleet
