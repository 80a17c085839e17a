package fleet_test

//go:generate go tool graphgen -type=Job

// Job is the state of the graphs in tests.
type Job struct {
	Log  []string `graph:"append"`
	Left int      `graph:"sum"`
}
