package jobs

//go:generate go tool graphgen -type=Job

// Job is the state of the graphs.
type Job struct {
	Log  []string `graph:"append"`
	Left int      `graph:"sum"`
}
