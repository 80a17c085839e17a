package main

//go:generate go tool graphgen -type=State,Payment

// State is the state of one order. The id of its thread is the number of the order.
type State struct {
	Order     Order
	Card      string   // that pays, as the bank names it; empty until the customer has paid
	Paid      string   // when, such as 2026-11-02T15:04:05Z; empty until then
	Cancelled bool     // by the customer
	Outcome   Outcome  // how the order ends; empty while that is open
	Log       []string `graph:"append"` // what happened, for people
}

// Order is the goods that a customer orders.
type Order struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
	Cents    int64  `json:"cents"`
}

// Payment is the permission to charge a card once, which the customer gives at the bank.
type Payment struct {
	Card string `json:"card"`
}

// Outcome is how an order ends.
type Outcome string

// The outcomes.
const (
	Shipped   Outcome = "shipped"
	Refused   Outcome = "refused" // by the warehouse, the bank or the carrier
	Expired   Outcome = "expired" // not paid in time
	Cancelled Outcome = "cancelled"
)
