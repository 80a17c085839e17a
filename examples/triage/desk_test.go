package main

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
)

// testDesk returns a desk whose outbox is not read.
func testDesk(t *testing.T) *desk {
	t.Helper()
	d, err := newDesk(outbox{t.TempDir()}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestClassifyDoesNotOverruleTheCustomersLanguage(t *testing.T) {
	d := testDesk(t)
	ticket := Ticket{Subject: "Erstattung", Body: "Ich habe das Zelt zurückgeschickt, bitte 20,00 € erstatten"}
	for said, want := range map[string]string{"": "de", "en": "en"} {
		_, s, err := graphtest.Run(t, StateSchema, d.classify, State{Ticket: ticket, Lang: said})
		if err != nil || s.Lang != want {
			t.Errorf("said %q: the language is %q, error %v; want %q", said, s.Lang, err, want)
		}
	}
	_, s, err := graphtest.Run(t, StateSchema, d.classify, State{Ticket: ticket, Labels: []Category{Refund}})
	if err != nil || !slices.Equal(s.Labels, []Category{Refund}) || !slices.Equal(s.Amounts, []Money{{"EUR", 2000}}) {
		t.Errorf("labels %v, amounts %v, error %v; want refund once, and EUR 20.00", s.Labels, s.Amounts, err)
	}
}

func TestPolicyAgreesToARefundInTimeOnly(t *testing.T) {
	d := testDesk(t)
	bought := time.Date(2026, 10, 12, 0, 0, 0, 0, time.UTC)
	for days, want := range map[int]bool{10: true, 60: true, 61: false} {
		in := State{
			Ticket:   Ticket{From: "maya.lindqvist@example.com", Order: "A-40117", Received: bought.AddDate(0, 0, days)},
			Category: Refund, Labels: []Category{Refund}, Priority: 9, ReplyHours: 1,
		}
		_, s, err := graphtest.Run(t, StateSchema, d.askPolicy, in)
		if err != nil || s.Refundable != want {
			t.Errorf("after %d days: refundable %t, error %v; want %t", days, s.Refundable, err, want)
		}
		if s.Priority != 9 || s.ReplyHours != 1 {
			t.Errorf("priority %d, %d h; want the greater and the shorter that were there: 9, 1 h", s.Priority, s.ReplyHours)
		}
	}
}

func TestRefundDoesNothingBeforeADecision(t *testing.T) {
	d := testDesk(t)
	s := State{Ticket: Ticket{ID: "T-1"}, Refund: Money{"EUR", 500}}
	if _, _, err := graphtest.Run(t, StateSchema, d.refund, s); !errors.Is(err, errUndecided) {
		t.Errorf("undecided: %v, want errUndecided", err)
	}
	s.Decision = Approved
	_, after, err := graphtest.Run(t, StateSchema, d.refund, s)
	if err != nil || after.Outcome != Refunded {
		t.Errorf("approved: outcome %q, error %v; want refunded", after.Outcome, err)
	}
}
