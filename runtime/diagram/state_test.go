package diagram_test

//go:generate go tool graphgen -type=Order

// Order is the state of the drawn graphs.
type Order struct {
	Name string
	Done []string `graph:"append"`
}
