package main

import (
	"slices"
	"strings"
	"testing"
)

func phrases(t *testing.T) Phrases {
	t.Helper()
	p, err := loadPhrases()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kinds lists problems the way the log does.
func kinds(problems []Problem) []string {
	var s []string
	for _, p := range problems {
		s = append(s, p.String())
	}
	return s
}

// plain is a brief that a first draft answers without a problem.
func plain() Brief {
	return Brief{
		Ticket: Ticket{ID: "T-1", From: "a@example.com"}, Lang: "en", Name: "Ann", Account: "en",
		Labels: []Category{Praise}, Policy: Policy{MaxLength: 1000},
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	p := phrases(t)
	for name, c := range map[string]struct {
		change func(*Brief)
		want   []string
	}{
		"nothing":                   {func(*Brief) {}, nil},
		"the account's language":    {func(b *Brief) { b.Account = "de" }, []string{"greeting"}},
		"the order is not named":    {func(b *Brief) { b.Ticket.Order = "A-7" }, []string{"order"}},
		"a promise":                 {func(b *Brief) { b.Labels = []Category{Outage} }, []string{"promise"}},
		"a second matter":           {func(b *Brief) { b.Labels = []Category{Praise, Feature} }, []string{"missing feature"}},
		"too long":                  {func(b *Brief) { b.Policy.MaxLength = 50 }, []string{"length"}},
		"nobody to send it to":      {func(b *Brief) { b.Ticket.From = "" }, []string{"address"}},
		"a number nobody here has":  {func(b *Brief) { b.Policy.CaseNumber = true }, []string{"case"}},
		"a language we do not have": {func(b *Brief) { b.Lang, b.Account = "nl", "" }, nil},
	} {
		b := plain()
		c.change(&b)
		if got := kinds(p.check(b, editReply(nil, p.draft(b)))); !slices.Equal(got, c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

func TestRepairMendsAllButWhatOnlyAPersonHas(t *testing.T) {
	p := phrases(t)
	b := plain()
	b.Account, b.Ticket.Order, b.Labels, b.Policy.MaxLength = "fr", "A-7", []Category{Shipping, Feature}, 330
	r := editReply(nil, p.draft(b))
	for range 2 {
		r = editReply(r, p.repair(b, p.check(b, r)))
	}
	if left := p.check(b, r); left != nil {
		t.Errorf("after two repairs %q are left, want none; the reply:\n%s", kinds(left), r.Text())
	}
	b.Ticket.From = ""
	b.Policy.CaseNumber = true
	left := p.check(b, editReply(r, p.repair(b, p.check(b, r))))
	if want := []string{"address", "case"}; !slices.Equal(kinds(left), want) {
		t.Errorf("left is %q, want %q", kinds(left), want)
	}
}

func TestEditReplyLeavesTheOldReplyAlone(t *testing.T) {
	old := &Reply{Greeting: "Hi", Sentences: []Sentence{{"a", "A."}, {"b", "B."}}, Closing: "Bye"}
	before := old.Text()
	next := editReply(old, ReplyEdit{Greeting: "Hello", Drop: []string{"a"}, First: []Sentence{{"z", "Z."}}, Add: []Sentence{{"c", "C."}}})
	if want := "Hello\n\nZ. B. C.\n\nBye"; next.Text() != want {
		t.Errorf("the new reply is %q, want %q", next.Text(), want)
	}
	next.Sentences[0].Text = "changed"
	if old.Text() != before {
		t.Errorf("the old reply became %q, was %q", old.Text(), before)
	}
	if got := editReply(nil, ReplyEdit{Start: old}).Text(); got != before {
		t.Errorf("a start on nothing gives %q, want %q", got, before)
	}
}

func TestADeniedRefundIsNotPromised(t *testing.T) {
	p := phrases(t)
	b := plain()
	b.Labels, b.Refund = []Category{Refund}, Money{"EUR", 34990}
	yes := editReply(nil, p.draft(b))
	if !strings.Contains(yes.Text(), "EUR 349.90") {
		t.Errorf("the amount is not in the reply:\n%s", yes.Text())
	}
	no := editReply(yes, p.decline(b))
	if strings.Contains(no.Text(), "349.90") || !strings.Contains(no.Text(), p.say("en", "declined")) {
		t.Errorf("a denied refund reads:\n%s", no.Text())
	}
}
