package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed testdata/tickets.jsonl testdata/customers.json testdata/policies.json
var files embed.FS

// Customer is the shop's data about a customer.
type Customer struct {
	Email   string `json:"email"`
	Name    string `json:"name"`
	Plan    string `json:"plan"` // "basic", "plus", "guide"
	Lang    string `json:"lang"` // the language of the account
	Refunds int    `json:"refunds"`
}

// Order is one purchase.
type Order struct {
	ID     string    `json:"id"`
	Email  string    `json:"email"`
	Total  Money     `json:"total"`
	Status string    `json:"status"` // "packed", "shipped", "delivered", "refused", "returned", "lost"
	Date   time.Time `json:"date"`   // the date of the purchase
}

// Policy contains the rules of the house for a category.
type Policy struct {
	Desk       string `json:"desk"`
	Priority   int    `json:"priority"`
	ReplyHours int    `json:"replyHours"`
	Refundable bool   `json:"refundable"`
	WindowDays int    `json:"windowDays"` // days after the purchase in which a refund is possible
	MaxLength  int    `json:"maxLength"`  // the maximum length of a reply, in characters
	CaseNumber bool   `json:"caseNumber"` // a reply needs a case number from a person
}

// Sources are the two sources of data about tickets. They are read once and never changed.
type Sources struct {
	customers map[string]Customer
	orders    map[string]Order
	policies  map[Category]Policy
}

// tooManyRefunds is the number of refunds in a year after which a person takes over.
const tooManyRefunds = 3

// loadSources reads both sources.
func loadSources() (Sources, error) {
	var people struct {
		Customers []Customer `json:"customers"`
		Orders    []Order    `json:"orders"`
	}
	s := Sources{customers: make(map[string]Customer), orders: make(map[string]Order)}
	if err := load("testdata/customers.json", &people); err != nil {
		return s, err
	}
	if err := load("testdata/policies.json", &s.policies); err != nil {
		return s, err
	}
	for _, c := range people.Customers {
		s.customers[strings.ToLower(c.Email)] = c
	}
	for _, o := range people.Orders {
		s.orders[o.ID] = o
	}
	for _, c := range append(slices.Clone(categories), Other) {
		if _, ok := s.policies[c]; !ok {
			return s, fmt.Errorf("testdata/policies.json: no policy for %q", c)
		}
	}
	return s, nil
}

// load reads a JSON file that is embedded in the program.
func load(name string, into any) error {
	raw, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// order returns the order in a ticket if it belongs to the sender.
func (s Sources) order(t Ticket) (Order, bool) {
	o, ok := s.orders[t.Order]
	return o, ok && strings.EqualFold(o.Email, t.From)
}

// The refund that a ticket asks for, at most the paid amount. It is the largest
// amount in the ticket in the order's currency. If the ticket has none, it is the paid amount.
func owed(o Order, named []Money) Money {
	want := Money{Currency: o.Total.Currency}
	for _, m := range named {
		if m.Currency == want.Currency {
			want.Minor = max(want.Minor, m.Minor)
		}
	}
	if want.Minor == 0 || want.Minor > o.Total.Minor {
		return o.Total
	}
	return want
}

// within reports whether a ticket arrived within the time for refunds.
func within(p Policy, o Order, received time.Time) bool {
	return received.Sub(o.Date) <= time.Duration(p.WindowDays)*24*time.Hour
}
