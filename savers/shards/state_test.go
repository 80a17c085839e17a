package shards_test

//go:generate go tool graphgen -type=Order

// Order is the state of the graphs in tests.
type Order struct {
	Log []string `graph:"append"`
}
