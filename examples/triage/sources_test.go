package main

import (
	"testing"
	"time"
)

func TestOwedIsNeverMoreThanWasPaid(t *testing.T) {
	order := Order{Total: Money{"EUR", 10000}}
	for name, c := range map[string]struct {
		named []Money
		want  int64
	}{
		"none named":              {nil, 10000},
		"one named":               {[]Money{{"EUR", 2500}}, 2500},
		"the largest of two":      {[]Money{{"EUR", 2500}, {"EUR", 4000}}, 4000},
		"more than was paid":      {[]Money{{"EUR", 99900}}, 10000},
		"in another currency":     {[]Money{{"USD", 2500}}, 10000},
		"also in another":         {[]Money{{"USD", 9900}, {"EUR", 700}}, 700},
		"exactly what was paid":   {[]Money{{"EUR", 10000}}, 10000},
		"a smaller and one above": {[]Money{{"EUR", 100}, {"EUR", 20000}}, 10000},
	} {
		if got := owed(order, c.named); got != (Money{"EUR", c.want}) {
			t.Errorf("%s: owed is %v, want EUR %d", name, got, c.want)
		}
	}
}

func TestWithinCountsTheDaysSinceThePurchase(t *testing.T) {
	bought := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	p := Policy{WindowDays: 30}
	for days, want := range map[int]bool{0: true, 30: true, 31: false} {
		if got := within(p, Order{Date: bought}, bought.AddDate(0, 0, days)); got != want {
			t.Errorf("after %d days of 30: %t, want %t", days, got, want)
		}
	}
}

func TestAnOrderIsItsBuyersOnly(t *testing.T) {
	s, err := loadSources()
	if err != nil {
		t.Fatal(err)
	}
	mine := Ticket{From: "Maya.Lindqvist@example.com", Order: "A-40117"}
	if _, own := s.order(mine); !own {
		t.Error("the buyer's own order is not found when the address is spelled with capitals")
	}
	for _, other := range []Ticket{
		{From: "t.okafor@example.com", Order: "A-40117"},
		{From: "", Order: "A-40117"},
		{From: "maya.lindqvist@example.com", Order: "A-1"},
		{From: "maya.lindqvist@example.com"},
	} {
		if o, own := s.order(other); own {
			t.Errorf("%+v got order %+v, which is not the sender's", other, o)
		}
	}
}
