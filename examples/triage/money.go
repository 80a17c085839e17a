package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Money is an amount in the smallest unit of its currency: cents, grosze, or whole yen. The zero
// Money is no money.
type Money struct {
	Currency string `json:"currency"` // ISO 4217
	Minor    int64  `json:"minor"`
}

// String returns the amount with its code, which is independent of the language: "EUR 349.90",
// "JPY 12800".
func (m Money) String() string {
	if digits(m.Currency) == 0 {
		return fmt.Sprintf("%s %d", m.Currency, m.Minor)
	}
	return fmt.Sprintf("%s %d.%02d", m.Currency, m.Minor/100, m.Minor%100)
}

// currencies maps the signs in the tickets to codes. Longer signs precede the shorter signs at
// their end.
var currencies = []struct{ sign, code string }{
	{"US$", "USD"}, {"R$", "BRL"}, {"$", "USD"}, {"€", "EUR"}, {"£", "GBP"}, {"¥", "JPY"}, {"円", "JPY"}, {"₺", "TRY"},
	{"zł", "PLN"}, {"TL", "TRY"}, {"EUR", "EUR"}, {"USD", "USD"}, {"GBP", "GBP"}, {"JPY", "JPY"}, {"TRY", "TRY"},
	{"PLN", "PLN"}, {"BRL", "BRL"}, {"CHF", "CHF"},
}

// digits returns the number of decimals of a currency.
func digits(currency string) int {
	if currency == "JPY" {
		return 0
	}
	return 2
}

// amount matches a number next to a currency sign. The number has groups of three digits, and two
// decimals or none. A point, a comma, an apostrophe or a space separates the groups.
var amount = func() *regexp.Regexp {
	var signs []string
	for _, c := range currencies {
		signs = append(signs, regexp.QuoteMeta(c.sign))
	}
	sign := `(` + strings.Join(signs, "|") + `)`
	number := `(\d{1,3}(?:[.,'’ \x{00a0}\x{202f}]\d{3})+(?:[.,]\d{2})?|\d+(?:[.,]\d{2})?)`
	gap := `[ \x{00a0}\x{202f}]?`
	return regexp.MustCompile(sign + gap + number + `\b|\b` + number + gap + sign)
}()

// findMoney returns the amounts in text, in order, each once.
func findMoney(text string) []Money {
	var found []Money
	for _, m := range amount.FindAllStringSubmatch(text, -1) {
		sign, number := m[1], m[2]
		if sign == "" {
			number, sign = m[3], m[4]
		}
		if money, ok := toMoney(sign, number); ok && !slices.Contains(found, money) {
			found = append(found, money)
		}
	}
	return found
}

// toMoney parses a number in the notations of many countries. A point or comma before exactly two
// final digits separates the decimals. All other marks separate thousands.
func toMoney(sign, number string) (Money, bool) {
	var m Money
	for _, c := range currencies {
		if c.sign == sign {
			m.Currency = c.code
			break
		}
	}
	whole, cents := number, ""
	if i := strings.LastIndexAny(number, ".,"); i >= 0 && len(number)-i == 3 {
		whole, cents = number[:i], number[i+1:]
	}
	whole = strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, whole)
	if digits(m.Currency) == 0 {
		cents = ""
	} else if cents == "" {
		cents = "00"
	}
	minor, err := strconv.ParseInt(whole+cents, 10, 64)
	m.Minor = minor
	return m, err == nil && minor > 0
}
