package main

import (
	"slices"
	"testing"
)

func rules(t *testing.T) Rules {
	t.Helper()
	r, err := loadRules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDetectKnowsEveryLanguageByItsText(t *testing.T) {
	r := rules(t)
	for text, want := range map[string]string{
		"Where is my parcel? You said it was on the way.":  "en",
		"Ich warte seit drei Wochen auf das Paket":         "de",
		"Où est mon colis ? Je ne sais pas quoi faire":     "fr",
		"¿Dónde está mi pedido?":                           "es",
		"Não consigo entrar na minha conta":                "pt",
		"荷物がまだ届きません。":                                      "ja",
		"Siparişim hâlâ gelmedi, ne zaman kargoya verilir": "tr",
		"Proszę o zwrot pieniędzy za kurtkę":               "pl",
		"12345":                                            "en",
	} {
		if got := r.detect(text); got != want {
			t.Errorf("detect(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestAWordCountsFromItsBeginningOnly(t *testing.T) {
	for _, c := range []struct {
		text, word string
		want       bool
	}{
		{"a refund please", "refund", true},
		{"refunded", "refund", true},
		{"nonrefundable", "refund", false},
		{"42box", "box", false},
		{"inbox and box", "box", true},
		{"商品の返金をお願い", "返金", true},
		{"", "box", false},
	} {
		if got := has(c.text, c.word); got != c.want {
			t.Errorf("has(%q, %q) = %t, want %t", c.text, c.word, got, c.want)
		}
	}
}

func TestRankPutsTheMainMatterFirst(t *testing.T) {
	for name, c := range map[string]struct {
		scores map[Category]int
		want   []Category
	}{
		"nothing":                     {nil, []Category{Other}},
		"one":                         {map[Category]int{Refund: 1}, []Category{Refund}},
		"a tie, by the order of ours": {map[Category]int{Shipping: 3, Outage: 3}, []Category{Outage, Shipping}},
		"a second with half as many":  {map[Category]int{Refund: 4, Shipping: 2}, []Category{Refund, Shipping}},
		"a second with too few":       {map[Category]int{Refund: 5, Shipping: 2}, []Category{Refund}},
		"spam beats what it mentions": {map[Category]int{Spam: 3, Refund: 3}, []Category{Spam}},
		"a mention of spam":           {map[Category]int{Spam: 1, Access: 3}, []Category{Access}},
		"abuse is about nothing else": {map[Category]int{Abuse: 3, Refund: 2}, []Category{Abuse}},
	} {
		if got := rank(c.scores); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
