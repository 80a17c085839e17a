package main

import (
	"slices"
	"testing"
)

func TestFindMoneyReadsAmountsAsManyCountriesWriteThem(t *testing.T) {
	for text, want := range map[string][]Money{
		"refund the $129.00 please":        {{"USD", 12900}},
		"two lines of $64.50 and $64.50":   {{"USD", 6450}},
		"die Erstattung von 349,90 €":      {{"EUR", 34990}},
		"EUR 1.249,00 überwiesen":          {{"EUR", 124900}},
		"CHF 2'098.00":                     {{"CHF", 209800}},
		"1 189,50 zł":                      {{"PLN", 118950}},
		"¥12,800 の返金":                      {{"JPY", 12800}},
		"8,400円":                           {{"JPY", 8400}},
		"R$ 249,90":                        {{"BRL", 24990}},
		"1.890,00 TL":                      {{"TRY", 189000}},
		"£84.99 or US$ 5":                  {{"GBP", 8499}, {"USD", 500}},
		"order A-40117 of 20.10., size 42": nil,
		"$0.00":                            nil,
		"":                                 nil,
	} {
		if got := findMoney(text); !slices.Equal(got, want) {
			t.Errorf("findMoney(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestMoneyPrintsItsMinorUnits(t *testing.T) {
	for want, m := range map[string]Money{
		"EUR 349.90": {"EUR", 34990},
		"EUR 0.05":   {"EUR", 5},
		"JPY 12800":  {"JPY", 12800},
	} {
		if got := m.String(); got != want {
			t.Errorf("%#v prints as %q, want %q", m, got, want)
		}
	}
}

func FuzzFindMoney(f *testing.F) {
	for _, s := range []string{"$1", "1.234.567,89 €", "¥99999999999999999999", "£\u00a01 000", "1,2,3 zł"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range findMoney(text) {
			if m.Minor <= 0 || m.Currency == "" {
				t.Errorf("findMoney(%q) found %#v, which is no money", text, m)
			}
		}
	})
}
